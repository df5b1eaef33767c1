"""What CONTRIBUTING shows is run as it stands."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import counterpane as cp
from counterpane.scores import score_dag, score_families

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(
    not (ROOT / "CONTRIBUTING.md").exists(), reason="the documents are not beside the tests"
)


def blocks(document: str, language: str) -> list[str]:
    text = (ROOT / document).read_text(encoding="utf-8")
    found = re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.M | re.S)
    assert found
    return found


def skeleton(title: str) -> dict[str, Any]:
    block = next(b for b in blocks("CONTRIBUTING.md", "python") if b.startswith(f"# {title}"))
    namespace: dict[str, Any] = {"__name__": "skeleton"}
    exec(compile(block, title, "exec"), namespace)
    return namespace


def test_score_skeleton() -> None:
    score = skeleton("scores/hannan_quinn.py")["HannanQuinn"]()
    source = cp.MemoryCounts(cp.load_dataset("titanic"))
    families = [(3, [2, 0])]
    fit = score_families(cp.LogLikelihood(), source, families)[0]
    assert score_families(score, source, families)[0] == pytest.approx(
        fit - 8 * np.log(np.log(2201))
    )


def test_source_skeleton() -> None:
    shards = skeleton("counts/shards.py")["ShardCounts"]
    table = cp.load_dataset("tictactoe")
    source = shards([table.take(np.arange(400)), table.take(np.arange(400, 958))])
    whole = cp.MemoryCounts(table)
    subsets = [(0, 4, 9), (1,), ()]
    for ours, theirs in zip(source.counts(subsets), whole.counts(subsets), strict=True):
        assert (ours == theirs).all()
    assert (source.pair_counts().counts == whole.pair_counts().counts).all()


def test_learner_skeleton() -> None:
    learner = skeleton("learn/best_parent.py")["EarlierParent"]("bic")
    table = cp.load_dataset("titanic")
    model = learner.fit(table).model_
    assert all(p < c for p, c in model.dag.edges)
    source = cp.MemoryCounts(table)
    empty = score_dag(cp.BIC(), source, [[]] * 4)
    assert score_dag(cp.BIC(), source, [model.dag.parents(i) for i in range(4)]) > empty
