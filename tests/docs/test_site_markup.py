"""The site's configuration runs without Sphinx, and every public docstring becomes sound markup.

`make docs` builds the site; it needs Sphinx, and so it is not part of the checks. These are the
faults that stop it most often.
"""

from __future__ import annotations

import importlib.util
import inspect
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import counterpane as cp

DOCS = Path(__file__).parents[2] / "docs"
SECTIONS = {"Parameters", "Returns", "Attributes", "Examples", "Raises", "Notes", "Yields"}
RUBRIC = ".. rubric:: "
pytestmark = pytest.mark.skipif(not DOCS.exists(), reason="the documents are not beside the tests")


@pytest.fixture(scope="module")
def configuration(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """`docs/conf.py`, run beside copies of what it reads, so that it writes nothing here."""
    folder = tmp_path_factory.mktemp("site") / "docs"
    folder.mkdir()
    for path in DOCS.glob("*.py"):
        shutil.copy(path, folder)
    shutil.copytree(DOCS / "_figures", folder / "_figures")
    spec = importlib.util.spec_from_file_location("docs_conf", folder / "conf.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    path_before, modules_before = list(sys.path), set(sys.modules)
    spec.loader.exec_module(module)
    yield module
    sys.path[:] = path_before
    for name in {"figures", "names", "paper_tables"} - modules_before:
        sys.modules.pop(name, None)


def documented() -> Iterator[tuple[str, str]]:
    """(name, docstring) of all public names, and of the public members of classes."""
    for name in cp.__all__:
        thing: Any = getattr(cp, name)
        if isinstance(thing, ModuleType) or not getattr(thing, "__module__", "").startswith(
            "count"
        ):
            continue
        yield name, inspect.getdoc(thing) or ""
        for member, value in vars(thing).items() if inspect.isclass(thing) else ():
            known = inspect.isfunction(value) or isinstance(value, (property, classmethod))
            if known and not member.startswith("_"):
                yield f"{name}.{member}", inspect.getdoc(value) or ""


def faults(lines: list[str]) -> Iterator[str]:
    """What Sphinx would warn of in the markup of one docstring."""
    blocks = re.split(r"\n{2,}", "\n".join(lines).strip("\n"))
    entries = False
    for before, block in zip(["", *blocks], blocks, strict=False):
        if block.startswith(RUBRIC):
            section = block.removeprefix(RUBRIC)
            entries = section != "Examples"
            if section not in SECTIONS:
                yield f"a section {section!r}"
        elif ">>>" not in block and block.count("`") % 2:
            yield f"an odd number of backticks in {block[:60]!r}"
        elif entries and before.startswith(RUBRIC):
            margins = [len(line) - len(line.lstrip()) for line in block.split("\n")]
            if margins[0] or set(margins) - {0, 4}:
                yield f"entries and texts have the margins {sorted(set(margins))} in {block[:60]!r}"


def test_the_configuration_writes_names_and_figures(configuration: ModuleType) -> None:
    folder = Path(configuration.__file__ or "").parent
    assert "counterpane.Table" in (folder / "api" / "index.rst").read_text(encoding="utf-8")
    assert (folder / "_generated" / "papers" / "lowd.md").exists()
    assert configuration.nitpicky and configuration.project == "Counterpane"


def test_docstrings_become_sound_markup(configuration: ModuleType) -> None:
    wrong = []
    texts = list(documented())
    assert len(texts) > 200
    for name, text in texts:
        lines = text.split("\n")
        configuration.plain_docstring(None, "", name, None, None, lines)
        wrong += [f"{name}: {fault}" for fault in faults(lines)]
    assert wrong == []


@pytest.mark.parametrize(
    "text",
    ["One `name.", "First.\n\nParametres\n----------\nx : int\n    What.",
     "First.\n\nParameters\n----------\nx : int\n  What."],
)  # fmt: skip
def test_faults_are_seen(configuration: ModuleType, text: str) -> None:
    lines = text.split("\n")
    configuration.plain_docstring(None, "", "x", None, None, lines)
    assert list(faults(lines))
