"""What the site is made of fits together; checked without building it."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import counterpane as cp
from error_checks import raises

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [p for p in sorted(DOCS.rglob("*.md")) if not p.relative_to(DOCS).parts[0].startswith("_")]
METHODS = [p for p in PAGES if p.parent.name == "methods" and p.stem != "index"]
WITHOUT_PAGE = {
    "BootstrapResult", "CheckpointWarning", "StoppedEarly", "fit_parameters", "fit_parameters_em",
}  # fmt: skip
FIGURES = sorted((DOCS / "_figures").glob("*.json"))
pytestmark = pytest.mark.skipif(not METHODS, reason="the documents are not beside the tests")


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(DOCS))  # the scripts import each other
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(DOCS))
    return module


def test_every_public_name_has_one_place_in_the_reference() -> None:
    listed = [name for names in script("names").listed().values() for name in names]
    assert len(set(listed)) == len(listed)
    expected = {f"counterpane.{name}" for name in cp.__all__}
    expected |= {f"counterpane.plots.{name}" for name in cp.plots.__all__}
    expected |= {f"counterpane.evaluate.{n}" for n in cp.evaluate.__all__ if n not in cp.__all__}
    assert set(listed) == expected


def test_a_name_without_a_group_stops_the_build() -> None:
    with raises(LookupError, about="group"):
        script("names").group_of("Anything", "counterpane.elsewhere")


@pytest.mark.parametrize("path", METHODS, ids=lambda p: p.stem)
def test_method_page_is_complete(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for part in ("Idea", "ormula", "When", "Cost", "Reference", ".. auto"):
        assert part in text, part
    pictures = re.findall(r"sphx_glr_(plot_\w+)_00\d\.png", text)
    assert pictures
    for picture in pictures:
        assert (ROOT / "examples" / f"{picture}.py").exists()
    for name in re.findall(r"\.\. auto\w+:: counterpane\.(\w+)", text):
        assert name in cp.__all__


def test_every_learner_has_a_page() -> None:
    shown = "".join(path.read_text(encoding="utf-8") for path in METHODS)
    for name, home in cp._HOME_OF.items():
        if home.startswith("counterpane.learners.") and name not in WITHOUT_PAGE:
            assert f":: counterpane.{name}\n" in shown, name


@pytest.mark.parametrize("path", FIGURES, ids=lambda p: p.stem)
def test_figures_name_their_source(path: Path) -> None:
    record = json.loads(path.read_text(encoding="utf-8"))
    assert (ROOT / record["script"]).exists() or not (ROOT / "benchmarks").exists()
    text = script("figures").table(record)
    commit = record["commit"].removesuffix("-dirty")
    for told in (record["script"], commit, record["date"], record["machine"]):
        assert told in text
    assert ("with changes not committed" in text) == record["commit"].endswith("-dirty")
    details = record.get("details", [])
    assert len(record["figures"]) + len(details) + bool(details) == text.count("\n| ")
    assert all(f"| {next(iter(row.values()))} |" in text for row in details)
    assert all(row["what"] in text for row in record["figures"])


def test_pages_include_figures_that_are_there(tmp_path: Path) -> None:
    script("figures").write(DOCS / "_figures", tmp_path)
    made = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.md")}
    for page in PAGES:
        for name in re.findall(r"\{include\} (?:\.\./)?_generated/(\S+)", page.read_text("utf-8")):
            assert name in made


def test_extract_keeps_the_wanted_figures() -> None:
    where: dict[str, Any] = {"commit": "abc", "when": "2026-11-15T09:00:00", "python": "3.11",
                             "packages": {"numpy": "2.4", "pgmpy": None},
                             "machine": "x86_64", "cores": 2}  # fmt: skip
    rows = [{"what": "3  a: times as fast", "value": 1.23457, "unit": "×", "limit": 1, "sign": "≥"},
            {"what": "something else", "value": 1.0, "unit": ""},
            {"what": "alarm: first marginals", "value": 3.0, "unit": "", "limit": 5}]  # fmt: skip
    found = script("collect_figures").extract(
        "inference", {"circumstances": where, "results": rows}
    )
    assert found["versions"] == {"python": "3.11", "numpy": "2.4"}
    assert found["date"] == "2026-11-15"
    assert found["figures"] == [
        {"what": "a: times as fast", "value": 1.2346, "unit": "×", "asked": "≥ 1"},
        {"what": "alarm: first marginals", "value": 3.0, "asked": "≤ 5"},
    ]


def test_figures_are_shown_to_four_digits() -> None:
    shown = script("figures").shown
    assert shown({"value": 12345.6, "unit": "s"}) == "12,346\N{NO-BREAK SPACE}s"
    assert shown({"value": 0.123456}) == "0.1235"
    assert shown({"value": 3.0}) == "3"


def test_source_trees_of_the_documents_name_every_package() -> None:
    source = Path(cp.__file__).parent
    folders = {p.parent.name for p in source.glob("*/__init__.py")}
    families = {p.parent.name for p in (source / "learners").glob("*/__init__.py")}
    readme = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Source tree")[2]
    floors = (DOCS / "design" / "architecture.md").read_text(encoding="utf-8")
    for text in (readme, floors):
        named = set(re.findall(r"`(\w+)", text.partition("\n\n## ")[0]))
        named |= set(re.findall(r"`(\w+)", text.partition("## Floors")[2].partition("## ")[0]))
        assert (folders | families | {"_core"}) <= named
