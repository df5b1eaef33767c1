"""The edge strengths that a report prints, compared with a computation from the raw rows.

scikit-learn computes the mutual information and its mean for independent columns with the same
counts; the strength is their difference, within each stratum of the child's other parents.
"""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import mutual_info_score
from sklearn.metrics.cluster import contingency_matrix, expected_mutual_information

import counterpane as cp
from report_page import columns_of

Rows = list[dict[str, Any]]


def strength(rows: Rows, a: str, b: str, others: tuple[str, ...] = ()) -> float:
    """I(a; b | others) in bits per row, minus its mean by chance, summed over strata."""
    strata: dict[Any, Rows] = defaultdict(list)
    for row in rows:
        strata[tuple(row[name] for name in others)].append(row)
    nats = 0.0
    for part in strata.values():
        left, right = [row[a] for row in part], [row[b] for row in part]
        counts = contingency_matrix(left, right, sparse=True)
        chance = expected_mutual_information(counts, len(part))
        nats += len(part) * (mutual_info_score(left, right) - chance)
    return max(nats, 0.0) / len(rows) / math.log(2)


def page_content(model: Any, rows: Rows, folder: Path) -> dict[str, Any]:
    table = {name: [row[name] for row in rows] for name in rows[0]}
    page = cp.write_report(model, table, folder / "report.html").read_text(encoding="utf-8")
    match = re.search(r'<script id="content" type="application/json">(.*?)</script>', page, re.S)
    assert match is not None
    content: dict[str, Any] = json.loads(match[1])
    return content


def check_page(content: dict[str, Any], expected: dict[frozenset[str], float]) -> None:
    """The list, the search box, the drawing and the overview all have the expected strengths."""
    names = [column["n"] for column in content["columns"]]
    for links in (content["listed"], content["links"], content["picture"]["edges"]):
        shown = {frozenset(names[c] for c in columns_of(k)): k["strength"] for k in links}
        assert shown == pytest.approx(expected, abs=1e-5)  # large cells: an expansion
    strengths = [link["strength"] for link in content["listed"]]
    assert strengths == sorted(strengths, reverse=True)
    assert f"({max(expected.values()):.3g} bits per row)" in content["overview"][0]
    assert content["measure"] == "bits per row"


def test_a_tree(tmp_path: Path) -> None:
    titanic = cp.load_dataset("titanic")
    columns = {c.name: [c.states[k] for k in c.codes] for c in titanic.labels()}
    rows = [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
    model = cp.ChowLiu().fit(titanic).model_
    edges = [tuple(edge) for edge in model.graph.edges]
    assert len(edges) == 3
    expected = {frozenset(edge): strength(rows, *edge) for edge in edges}
    check_page(page_content(model, rows, tmp_path), expected)


def test_a_child_of_two_parents(tmp_path: Path) -> None:
    """The strength of each parent is given the other one."""
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(1500):
        a, b = rng.random() < 0.5, rng.random() < 0.3
        c = rng.random() < (0.9 if a and b else 0.2 + 0.2 * a)
        rows.append({"a": "ny"[a], "b": "ny"[b], "c": "ny"[c]})
    model = cp.StructureSearch().fit({k: [row[k] for row in rows] for k in "abc"}).model_
    assert set(model.graph.edges) == {("a", "c"), ("b", "c")}
    expected = {
        frozenset("ac"): strength(rows, "a", "c", ("b",)),
        frozenset("bc"): strength(rows, "b", "c", ("a",)),
    }
    assert expected[frozenset("ac")] != pytest.approx(strength(rows, "a", "c"), abs=1e-3)
    check_page(page_content(model, rows, tmp_path), expected)


def test_a_network_without_counts_is_measured_on_the_rows(tmp_path: Path) -> None:
    titanic = cp.load_dataset("titanic")
    columns = {c.name: [c.states[k] for k in c.codes] for c in titanic.labels()}
    rows = [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
    learned = cp.ChowLiu().fit(titanic).model_
    learned.save(tmp_path / "m.bif")  # which has no counts
    expected = {frozenset(e): strength(rows, *e) for e in learned.graph.edges}
    check_page(page_content(cp.load(tmp_path / "m.bif"), rows, tmp_path), expected)
