"""Edges on the command line: one number, its unit, and shares of enough samples or none."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import counterpane as cp
from counterpane.cli.app import with_option_names
from counterpane.workflow.learn import Request, run_request


def listed(out: str) -> dict[frozenset[str], str]:
    """The strength of each edge, as printed."""
    found = re.findall(r"(\w+) [—→] (\w+) +(\d\.\d{4}) bits per row", out)
    return {frozenset((a, b)): bits for a, b, bits in found}


def test_command_json_report_and_python_show_the_same_number(run, tmp_path: Path) -> None:
    _, out, _ = run("learn", "titanic", "-o", "m.cp", "--bootstrap", "0")
    shown = listed(out)
    assert len(shown) == 5
    facts = json.loads(run("learn", "titanic", "-o", "m.cp", "--json", "--bootstrap", "0")[1])
    assert shown == {
        frozenset((e["source"], e["target"])): f"{e['strength']:.4f}" for e in facts["edges"]
    }
    assert "gain" not in facts["edges"][0]
    learner = cp.StructureSearch().fit(cp.load_dataset("titanic"))
    assert shown == {frozenset(e.ends): f"{e.strength:.4f}" for e in learner.strengths_}
    assert run("report", "m.cp", "--data", "titanic", "-o", "r.html")[0] == 0
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    told = re.search(r'<script id="content" type="application/json">(.*?)</script>', page, re.S)
    assert told is not None
    content = json.loads(told[1])
    names = [c["n"] for c in content["columns"]]
    assert shown == {
        frozenset((names[k["source"]], names[k["target"]])): f"{k['strength']:.4f}"
        for k in content["listed"]
    }


def test_a_share_has_its_number_of_samples(run, tmp_path: Path) -> None:
    _, out, _ = run("learn", "titanic", "--bootstrap", "20", "-o", "m.cp")
    assert re.search(r"survived — sex +0\.1379 bits per row, in 20 of 20 samples", out)
    assert "No shares" not in out
    facts = json.loads(run("learn", "titanic", "--bootstrap", "20", "--json", "-o", "m.cp")[1])
    assert facts["bootstrap"]["samples"] == facts["bootstrap"]["requested"] == 20
    assert all(edge["samples"] == 20 for edge in facts["edges"])
    assert cp.load(tmp_path / "m.cp").record.edge_shares[0].samples == 20


def test_shares_of_too_few_samples_are_not_shown(run) -> None:
    learned = run_request(Request("titanic", bootstrap_seconds=1e-9))
    assert not learned.stopped and learned.record.edge_shares == ()
    assert learned.facts["bootstrap"]["samples"] == 1 and learned.edges[0].samples is None
    (table,) = learned.tables()
    few = "No shares are shown: 1 bootstrap sample done within 1e-09 s; at least 20 are needed. "
    assert table.notes[0] == f"{few}bootstrap=20 takes as long as it needs."
    assert with_option_names(table.notes[0]) == f"{few}--bootstrap 20 takes as long as it needs."
    assert "samples" not in str(table.rows)
    _, out, _ = run("learn", "titanic", "--bootstrap", "19", "-o", "m.cp")
    assert "No shares are shown: 19 bootstrap samples; at least 20 are needed." in out
    assert "%" not in out


@pytest.mark.parametrize("method", ["tan", "naive-bayes"])
def test_the_edges_of_a_classifier_have_no_arrow_either(run, method: str) -> None:
    _, out, _ = run("learn", "titanic", "--target", "survived", "--method", method, "-o", "m.cp")
    assert "→ 2,201" not in out
    assert len(listed(out)) >= 3
    assert "→" not in out.split("rows ×")[0]


def test_a_compelled_edge_keeps_its_arrow(run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, (2, 2000))
    c = np.where(rng.random(2000) < 0.1, 1 - (a | b), a | b)
    lines = ["a,b,c", *(f"{x},{y},{z}" for x, y, z in zip(a, b, c, strict=True))]
    (tmp_path / "or.csv").write_text("\n".join(lines))
    _, out, _ = run("learn", "or.csv", "--bootstrap", "0")
    assert "a → c" in out and "b → c" in out and "—" not in out


def test_a_table_without_edges(run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, (200, 3))
    (tmp_path / "noise.csv").write_text("x,y,z\n" + "\n".join(",".join(map(str, r)) for r in rows))
    _, out, _ = run("learn", "noise.csv")
    assert "No edges found: no dependency improves the score." in out
