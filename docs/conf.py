"""How the site is built: `make docs`. Pages are Markdown; names, pictures and figures are made."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import matplotlib as mpl  # noqa: E402

import counterpane as cp  # noqa: E402
import figures  # noqa: E402
import names  # noqa: E402

mpl.use("agg")
names.write(HERE / "api" / "index.rst")
figures.write(HERE / "_figures", HERE / "_generated")
LIVE = HERE / "_generated" / "site" / "live"  # the explorer that a page shows
LIVE.mkdir(parents=True, exist_ok=True)
cp.explore_model(
    cp.StructureSearch().fit(cp.load_dataset("titanic")), LIVE / "titanic.html", title="titanic"
)

project = "Counterpane"
author = "The Counterpane developers"
copyright = author
version = release = cp.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "_generated", "_templates", "design/README.md", "gallery/**/*.ipynb"]
templates_path = ["_templates"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
nitpicky = True
smartquotes = False  # options begin with two dashes
# Annotations name types that have no page; links of our own are still checked.
nitpick_ignore_regex = [("py:class", ".*")]
suppress_warnings = ["config.cache"]  # the gallery's functions cannot be pickled

html_theme = "furo"
html_title = "Counterpane"
html_theme_options = {"navigation_with_keys": True}
html_static_path: list[str] = []
html_extra_path = ["_generated/site"]
html_show_sourcelink = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autosummary_generate = True

sphinx_gallery_conf = {
    "examples_dirs": str(HERE.parent / "examples"),
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "capture_repr": (),
    "show_memory": False,
    "min_reported_time": 1000,  # what took how long is for the benchmarks to say
    "within_subsection_order": "FileNameSortKey",
    "remove_config_comments": True,
    "write_computation_times": False,
}

PIECES = re.compile(r"(`+[^`]+`+)")
SPECIAL = re.compile(r"([\\*|]|_(?!\w))")


def plain_docstring(
    _app: Any, _what: str, _name: str, _obj: Any, _opt: Any, lines: list[str]
) -> None:
    """Docstrings are plain text with `names`, sections and examples: mark them up."""
    blocks = re.split(r"\n{2,}", "\n".join(lines).strip("\n"))
    marked, entries = [], False
    for block in blocks:
        first, *rest = block.split("\n")
        if rest and re.fullmatch("-{3,}", rest[0]):  # a section of numpydoc
            marked.append(f".. rubric:: {first}")
            entries = first != "Examples"
            block = "\n".join(rest[1:])
        if block:
            marked.append(_entries(block) if entries else _marked(block))
    lines[:] = [*"\n\n".join(marked).split("\n"), ""]


def _entries(block: str) -> str:
    """A definition list: names at the margin, what they are below, indented."""
    lines = []
    for line in block.split("\n"):
        text, margin = line.strip(), " " * (len(line) - len(line.lstrip()))
        words = "".join(_name(w) if w.startswith("`") else _escaped(w) for w in PIECES.split(text))
        lines.append(margin + words)
    return "\n".join(lines)


def _marked(block: str) -> str:
    if block.lstrip().startswith(">>>"):
        return block
    if block.startswith("    "):  # a formula
        return "::\n\n" + block
    return "".join(
        _name(piece) if piece.startswith("`") else _escaped(piece) for piece in PIECES.split(block)
    )


def _escaped(text: str) -> str:
    plain = SPECIAL.sub(r"\\\1", text)
    return rf"\ {plain}" if text[:1].isalnum() else plain  # `Table`s: markup must end first


def _name(piece: str) -> str:
    text = " ".join(piece.strip("`").split())
    public = text in cp.__all__
    return f":py:obj:`{text} <counterpane.{text}>`" if public else f"``{text}``"


def skip_foreign(_app: Any, _what: str, name: str, obj: Any, skip: bool, _opt: Any) -> bool:
    """Leave out members that other libraries define and describe."""
    home = getattr(obj, "__module__", None) or getattr(
        getattr(obj, "fget", None), "__module__", None
    )
    return skip or (home is not None and not home.startswith("counterpane"))


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", plain_docstring)
    app.connect("autodoc-skip-member", skip_foreign)
