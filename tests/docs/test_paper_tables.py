"""Tables of the papers: complete files, our values beside the printed ones, each on a page."""

from __future__ import annotations

import copy
import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FILES = sorted((DOCS / "_figures" / "papers").glob("*.json"))
PAPERS = [path for path in sorted((DOCS / "papers").glob("*.md")) if path.stem != "index"]
pytestmark = pytest.mark.skipif(not DOCS.exists(), reason="the documents are not beside the tests")

RECORD: dict[str, Any] = {
    "script": "benchmarks/papers/lowd.py",
    "commit": "abc1234",
    "date": "2026-11-16",
    "machine": "2 cores, x86_64",
    "versions": {"python": "3.11.7"},
    "tables": [
        {
            "title": "Table 1: cost & accuracy",
            "columns": ["set", "cost", "cost, printed", "accuracy", "accuracy, printed"],
            "rows": [["a|b", 1335, 1330, 0.8126, 0.81], ["c", 20, None, None, 0.9]],
            "digits": {"accuracy": 3},
            "note": "One seed.",
        }
    ],
}


def module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"docs_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def tables() -> ModuleType:
    return module(DOCS / "paper_tables.py")


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_committed_tables_are_complete(path: Path) -> None:
    record = json.loads(path.read_text(encoding="utf-8"))
    assert tables().problems(record) == []
    assert (ROOT / record["script"]).exists() or not (ROOT / "benchmarks").exists()


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_every_table_is_on_a_page(path: Path) -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAPERS)
    names = tables().pages(path.stem, json.loads(path.read_text(encoding="utf-8")))
    included = {n for n in names if f"{{include}} ../_generated/papers/{n}\n" in text}
    missing = set(names) - included - {f"{path.stem}.md"}
    assert f"{path.stem}.md" in included or not missing


def test_differences_stand_beside_printed_values() -> None:
    text = tables().markdown(RECORD["tables"][0])
    assert text.splitlines() == [
        "| set | cost | cost, printed | difference | accuracy | accuracy, printed | difference |",
        "|---|---:|---:|---:|---:|---:|---:|",
        "| a\\|b | 1,335 | 1,330 | 5 | 0.813 | 0.810 | 0.003 |",
        "| c | 20 |  |  |  | 0.900 |  |",
        "",
        "One seed.",
    ]


def test_a_page_for_each_table_and_one_for_all_with_the_source() -> None:
    made = tables().pages("someone", RECORD)
    assert set(made) == {"someone.md", "someone/table-1-cost-accuracy.md"}
    for text in made.values():
        for fact in ("benchmarks/papers/lowd.py", "abc1234", "2026-11-16", "2 cores", "3.11.7"):
            assert fact in text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r: r.update(commit="abc1234-dirty"), "no commit holds"),
        (lambda r: r.pop("machine"), "no machine"),
        (lambda r: r["tables"][0]["rows"][0].pop(), "row 0 has 4 cells"),
        (
            lambda r: r["tables"][0].update(columns=["set", "x", "cost, printed", "a", "b"]),
            "no col",
        ),
        (lambda r: r["tables"].append(r["tables"][0]), "two tables"),
        (lambda r: r["tables"][0].update(digits={"speed": 1}), "no column speed"),
        (lambda r: r["tables"][0].update(rows=[]), "no rows"),
    ],
)
def test_incomplete_files_are_refused(change: Any, message: str) -> None:
    record = copy.deepcopy(RECORD)
    change(record)
    with pytest.raises(ValueError, match=message):
        tables().pages("someone", record)


@pytest.mark.skipif(not (ROOT / "benchmarks").exists(), reason="no benchmarks beside the tests")
def test_written_tables_are_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    harness = module(ROOT / "benchmarks" / "harness.py")
    monkeypatch.setattr(harness, "PAPERS", tmp_path / "papers")
    where = {"commit": "abc1234", "when": "2026-11-16T10:00:00", "python": "3.11.7",
             "packages": {"pgmpy": None}, "cores": 2, "machine": "x86_64"}  # fmt: skip
    path = harness.publish_tables("someone", RECORD["script"], RECORD["tables"], where)
    assert json.loads(path.read_text(encoding="utf-8")) == RECORD
    assert '   ["c", 20, null, null, 0.9]' in path.read_text(encoding="utf-8")


@pytest.mark.skipif(not (ROOT / "benchmarks").exists(), reason="no benchmarks beside the tests")
def test_lines_of_several_runs_name_every_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    harness = module(ROOT / "benchmarks" / "harness.py")
    monkeypatch.setattr(harness, "commit", lambda: "now")
    records = [{"commit": "a1"}, {"commit": "b2"}, {"commit": "a1"}, {}]
    assert harness.circumstances(records)["commit"] == "a1, b2, unknown"
    assert harness.circumstances()["commit"] == "now"
