"""The report as one HTML file: skeleton, style, script and contents."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
import posixpath
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

from counterpane.checks import BOOLEAN, INTEGER, NONE, PATH, STRING, accepts
from counterpane.disk import write_atomically
from counterpane.errors import ParameterError, Setting, shown_type
from counterpane.evaluate.splits import FOLDS
from counterpane.models.mixture import Mixture
from counterpane.report.content import confidence_of, content_of, target_of, title_of
from counterpane.report.rows import report_rows
from counterpane.storage import load

ENGINES = {  # the module with which a page infers, by the kind of its engine
    "tree": "engines/tree.js",
    "mixture": "engines/tree.js",
    "rows": "engines/rows.js",
    "gibbs": "engines/gibbs.js",
    "still": "engines/still.js",
}
_IMPORT = re.compile(r'^import [^;"]*"(\.[^"]+)";\n', re.MULTILINE)


def page_modules(kind: str, *, report: bool) -> list[str]:
    """The JavaScript modules of a page whose engine is of a kind, each after those it imports."""
    found: dict[str, None] = {}
    visited = set()

    def visit(name: str) -> None:
        if name not in visited:
            visited.add(name)
            for path in _IMPORT.findall(page_source(name)):
                visit(posixpath.normpath(posixpath.join(posixpath.dirname(name), path)))
            found[name] = None

    visit(ENGINES[kind])
    visit("report/main.js" if report else "explorer/main.js")
    return list(found)


def page_script(kind: str, *, report: bool) -> str:
    """The modules of a page as one script, without imports, as names are unique, and indents."""
    sources = (_IMPORT.sub("", page_source(name)) for name in page_modules(kind, report=report))
    modules = [re.sub(r"^(export |\s+)", "", source, flags=re.MULTILINE) for source in sources]
    return "\n".join(['"use strict";', "{", *modules, "}"])


@accepts(
    path=PATH,
    title=STRING | NONE,
    target=STRING | NONE,
    folds=INTEGER,
    random_state=INTEGER,
    progress=BOOLEAN,
)
def write_report(
    model: Any,
    data: Any = None,
    path: str | os.PathLike[str] = "report.html",
    *,
    title: str | None = None,
    target: str | None = None,
    confidence: Any = None,
    folds: int = FOLDS,
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
        By default what the model predicts, or its kind.
    target : str, optional
        The class; by default the one that the model was learned for.
    confidence : BootstrapResult or matrix, optional
        The widths of the edges: the result of `bootstrap`, or edge probabilities; by default the
        strengths of the edges.
    folds : int
        If the model has no held-out measures, its learner learns again without each of so many
        parts of the rows, as in `evaluate.compare`; 0 measures the model on the rows given.
    random_state : int
        The seed of the folds.
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
    if folds < 0 or folds == 1:
        raise ParameterError(Setting("folds", folds), "; 0, or at least 2, is allowed.")
    content = content_of(
        model,
        None if data is None else report_rows(data, model.schema, model.record.data.target),
        title=title or title_of(model, target),
        target=target_of(model, target),
        confidence=confidence_of(model, confidence),
        folds=folds,
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
    skeleton, style = page_source("page.html"), page_source("page.css")
    script = page_script(content["engine"]["kind"], report=report)
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
    return (files("counterpane.report") / "web" / name).read_text(encoding="utf-8")


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
