"""What CONTRIBUTING shows is run as it stands; the contract suites run it, too."""

from __future__ import annotations

import re

import numpy as np
import pytest

import counterpane as cp
from contract.contributed import DOCUMENT, has_document, printed_module
from counterpane.learners.registry import LEARNERS, LearnerEntry
from counterpane.scores import score_dag, score_families

pytestmark = pytest.mark.skipif(not has_document(), reason="the documents are not beside the tests")


def test_score_skeleton() -> None:
    score = printed_module("scores/hannan_quinn.py").HannanQuinn()
    source = cp.MemoryCounts(cp.load_dataset("titanic"))
    families = [(3, [2, 0])]
    fit = score_families(cp.LogLikelihood(), source, families)[0]
    assert score_families(score, source, families)[0] == pytest.approx(
        fit - 8 * np.log(np.log(2201))
    )


def test_source_skeleton() -> None:
    shards = printed_module("counts/shards.py").ShardCounts
    table = cp.load_dataset("tictactoe")
    source = shards([table.take(np.arange(400)), table.take(np.arange(400, 958))])
    whole = cp.MemoryCounts(table)
    subsets = [(0, 4, 9), (1,), ()]
    for ours, theirs in zip(source.counts(subsets), whole.counts(subsets), strict=True):
        assert (ours == theirs).all()
    assert (source.pair_counts().counts == whole.pair_counts().counts).all()


def test_learner_skeleton() -> None:
    learner = printed_module("learners/bayesian/best_parent.py").BestParent(criterion="bic")
    table = cp.load_dataset("titanic")
    model = learner.fit(table).model_
    assert all(len(model.dag.parents(c)) <= 1 for c in range(4))
    source = cp.MemoryCounts(table)
    empty = score_dag(cp.BIC(), source, [[]] * 4)
    assert score_dag(cp.BIC(), source, [model.dag.parents(i) for i in range(4)]) > empty


def test_registry_line() -> None:
    line = re.search(r"^LearnerEntry\(.*\)$", DOCUMENT.read_text(encoding="utf-8"), flags=re.M)
    assert line is not None
    entry = eval(line[0], {"LearnerEntry": LearnerEntry})
    assert entry.name not in {known.name for known in LEARNERS}
    assert entry.task in {known.task for known in LEARNERS}
    home = f"learners/{entry.module.replace('.', '/')}.py"
    assert hasattr(printed_module(home), entry.class_name)
