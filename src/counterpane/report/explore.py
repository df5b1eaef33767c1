"""The explorer of a model: an HTML file in which a click is evidence and the page itself infers."""

from __future__ import annotations

import html
import os
from pathlib import Path
from typing import Any

from counterpane.checks import NONE, PATH, STRING, accepts
from counterpane.disk import write_atomically
from counterpane.models.mixture import Mixture
from counterpane.report.content import confidence_of, explorer_content, target_of, title_of
from counterpane.report.page import model_of, page_of
from counterpane.report.rows import report_rows

FRAME_HEIGHT = 640


class ExplorerFrame:
    """The explorer as a notebook shows it: a frame with the whole page inside, without a server."""

    def __init__(self, page: str) -> None:
        self.page = page

    def _repr_html_(self) -> str:
        source = html.escape(self.page, quote=True)
        return (
            f'<iframe srcdoc="{source}" sandbox="allow-scripts allow-modals" '
            f'style="width:100%;height:{FRAME_HEIGHT}px;border:0" title="Explorer"></iframe>'
        )


@accepts(path=PATH | NONE, title=STRING | NONE, target=STRING | NONE)
def explore_model(
    model: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    data: Any = None,
    title: str | None = None,
    target: str | None = None,
) -> ExplorerFrame | Path:
    """The explorer of a model: for a notebook, or written to one HTML file.

    Click a state to set it as evidence; all other bars follow. The page infers by itself, without a
    server, a network connection or an installation.

    Parameters
    ----------
    model : model, learner or path
        A model, its file, or a fitted learner.
    path : path, optional
        The HTML file to write. By default the page is returned for a notebook to show.
    data : table, optional
        Rows with the model's columns, from which the strengths of the edges are measured.
    title : str, optional
        By default what the model predicts, or its kind.
    target : str, optional
        The class; by default the one that the model was learned for.

    Returns
    -------
    ExplorerFrame or Path
        What a notebook shows, or the path of the file.

    Examples
    --------
    >>> import tempfile
    >>> import counterpane as cp
    >>> network = cp.ChowLiu().fit(cp.load_dataset("titanic"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = explore_model(network, Path(folder) / "titanic.html")
    ...     path.name, path.stat().st_size < 200_000
    ('titanic.html', True)
    """
    learner, model = model_of(model, "an explorer")
    shares = None if isinstance(model, Mixture) else getattr(learner, "edge_probabilities_", None)
    content = explorer_content(
        model,
        None if data is None else report_rows(data, model.schema, model.record.data.target),
        title=title or title_of(model, target),
        target=target_of(model, target),
        confidence=confidence_of(model, shares),
    )
    page = page_of(content, report=False)
    if path is None:
        return ExplorerFrame(page)
    write_atomically(path, [page.encode(errors="replace")])
    return Path(path)
