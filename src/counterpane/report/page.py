"""The report as one HTML file: skeleton, style, script and contents."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
from importlib.resources import files
from pathlib import Path
from typing import Any

from counterpane.boundary import public
from counterpane.disk import write_atomically
from counterpane.errors import ParameterError, Setting, shown_type
from counterpane.models.mixture import Mixture
from counterpane.models.storage import load
from counterpane.report.content import confidence_of, content_of, model_words, target_of
from counterpane.report.rows import report_rows

ENGINE_SCRIPTS = {  # what a page infers with, by the kind of its engine
    "tree": ("tree_engine.js",),
    "mixture": ("tree_engine.js",),
    "rows": ("class_engine.js", "row_engine.js"),
    "gibbs": ("gibbs_engine.js",),
    "still": ("still_engine.js",),
}
SHARED_SCRIPTS = (
    "evidence.js",
    "monitor.js",
    "edges.js",
    "graph.js",
    "panel.js",
    "list.js",
    "tools.js",
    "shell.js",
)


def page_scripts(kind: str) -> tuple[str, ...]:
    """The scripts of a page whose engine is of a kind, in their order."""
    return ("dom.js", "arrays.js", *ENGINE_SCRIPTS[kind], *SHARED_SCRIPTS)


@public
def write_report(
    model: Any,
    data: Any = None,
    path: str | os.PathLike[str] = "report.html",
    *,
    title: str | None = None,
    target: str | None = None,
    confidence: Any = None,
    held_out: float = 0.2,
    random_state: int = 0,
    progress: bool = False,
) -> Path:
    """Write the report of a model to one HTML file, and return its path.

    The file needs no network connection and no other files. It has the graph, the tables, trees or
    weights of each column, marginals, the strongest interactions, the search trace and how the
    model was learned. The same arguments give the same bytes.

    Parameters
    ----------
    model : model, learner or path
        A model, its file, or a fitted learner.
    data : table, optional
        Rows with the model's columns. They add their shares next to those of the model, and
        measures of fit; a model of a class also gets calibration and confusion.
    path : path
        The HTML file to write.
    title : str, optional
        By default the kind of the model.
    target : str, optional
        The class; by default the one that the model was learned for.
    confidence : BootstrapResult or matrix, optional
        The widths of the edges: the result of `bootstrap`, or edge probabilities; by default the
        strengths of the edges.
    held_out : float
        The share of the rows that is held out; the learner named in the model's provenance learns
        from the rest. The report describes this.
    random_state : int
        The seed of the rows held out.
    progress : bool
        Whether to show a bar while learning.

    Returns
    -------
    Path
        The path of the file.

    Examples
    --------
    >>> import tempfile
    >>> import counterpane as cp
    >>> table = cp.load_dataset("titanic")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_report(cp.ChowLiu().fit(table), table, Path(folder) / "titanic.html")
    ...     path.name, path.stat().st_size < 200_000
    ('titanic.html', True)
    """
    learner, model = model_of(model, "a report")
    if confidence is None and not isinstance(model, Mixture):  # which tells its own
        confidence = getattr(learner, "edge_probabilities_", None)
    if not 0 <= held_out < 1:
        raise ParameterError(
            Setting("held_out", held_out), "; a share from 0 to below 1 is allowed."
        )
    content = content_of(
        model,
        None if data is None else report_rows(data, model.schema, model.provenance),
        title=title or model_words(model),
        target=target_of(model, target),
        confidence=confidence_of(model, confidence),
        held_out=held_out,
        seed=random_state,
        progress=progress,
    )
    write_atomically(path, [page_of(content).encode(errors="replace")])
    return Path(path)


def model_of(model: Any, what: str) -> tuple[Any, Any]:
    """(what was passed, its model): a model, its file, or a fitted learner."""
    if isinstance(model, str | os.PathLike):
        model = load(model)
    learner, model = model, getattr(model, "model_", model)
    if not hasattr(model, "schema") or not hasattr(model, "kind"):
        raise ParameterError(
            f"{what} is of a model, its file or a fitted learner, not of {shown_type(model)}."
        )
    return learner, model


def page_of(content: dict[str, Any], *, report: bool = True) -> str:
    """The page around what it says. Only this very script and style may run; nothing may load."""
    skeleton, style = page_source("page.html"), page_source("report.css")
    scripts = [page_source(f"explorer/{name}") for name in page_scripts(content["engine"]["kind"])]
    if report:
        scripts += [page_source("effects.js"), page_source("report.js")]
    script = "\n".join(['"use strict";', "{", *scripts, "start();", "}"])
    policy = (
        f"default-src 'none'; script-src '{_fingerprint(script)}'; "
        f"style-src '{_fingerprint(style)}'; base-uri 'none'; form-action 'none'"
    )
    parts = {
        "POLICY": policy,
        "KIND": "report" if report else "explore",
        "TITLE": html.escape(content["title"]),
        "STYLE": style,
        "CONTENT": as_script(content),
        "SCRIPT": script,
    }
    pieces = skeleton.split("%%")  # text and names by turns, so that no part is searched for names
    return "".join(parts[p] if i % 2 else p for i, p in enumerate(pieces))


def page_source(name: str) -> str:
    """The text of one of the files that make up a page."""
    return (files("counterpane.report") / name).read_text(encoding="utf-8")


def as_script(content: Any) -> str:
    """JSON that may stand in a script element: no text in it can end the element.

    >>> as_script({"</script>": "&\\u2028"})
    '{"\\\\u003c/script\\\\u003e":"\\\\u0026\\\\u2028"}'
    """
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    # A name may hold half of a pair of surrogates, which UTF-8 has no bytes for.
    return text.encode("utf-8", "backslashreplace").decode()


def _fingerprint(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
