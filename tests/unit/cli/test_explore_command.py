"""`counterpane explore` writes a page, and opens it only in a terminal."""

from __future__ import annotations

import json
from pathlib import Path

import counterpane as cp


def test_explore_writes_a_page(run, tmp_path: Path) -> None:
    cp.ChowLiu().fit(cp.load_dataset("titanic")).model_.save(tmp_path / "m.cp")
    code, out, _ = run("explore", "m.cp", "--data", "titanic")
    assert code == 0 and "m.explore.html" in out and "open it in a browser" in out
    page = (tmp_path / "m.explore.html").read_text("utf-8")
    assert "<title>titanic</title>" in page
    code, out, _ = run("explore", "m.cp", "-o", "x.html", "--title", "Ship", "--json")
    assert code == 0 and json.loads(out)["explorer"] == "x.html"
    assert "<title>Ship</title>" in (tmp_path / "x.html").read_text("utf-8")


def test_explore_refuses_what_it_cannot_write(run, tmp_path: Path) -> None:
    cp.ChowLiu().fit(cp.load_dataset("titanic")).model_.save(tmp_path / "m.cp")
    code, _, err = run("explore", "m.cp", "-o", "nowhere/x.html")
    assert code == 2 and "there is no folder" in err
    code, _, err = run("explore", "m.cp", "--target", "survive")
    assert code == 2 and "did you mean 'survived'" in err
