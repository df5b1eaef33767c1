"""Searches on bnlearn's tables, against what bnlearn 4.8.3 reports and the best scores known."""

from __future__ import annotations

from pathlib import Path

import pytest

from counterpane.data import Table
from counterpane.data.reading import read_table
from counterpane.graphs import Dag, same_class
from counterpane.learners import GES, HillClimb, StructureSearch
from counterpane.scores import BDeu


def table_of(shared_data: Path, name: str) -> Table:
    return read_table(shared_data / "bnlearn" / f"{name}.csv.gz")


@pytest.mark.parametrize("score", ["bic", "aic", BDeu(10)], ids=str)
@pytest.mark.parametrize("learner", [HillClimb, GES, StructureSearch])
def test_learning_test_is_recovered(shared_data: Path, learner, score) -> None:
    table = table_of(shared_data, "learning.test")
    edges = ["AB", "AD", "CD", "BE", "FE"]
    true = Dag(6, [tuple(table.schema.index(n) for n in edge) for edge in edges])
    assert same_class(learner(score).fit(table).model_.dag, true)


def test_asia(shared_data: Path) -> None:
    table = table_of(shared_data, "asia")
    reported = -11107.293309  # bnlearn's hc
    assert StructureSearch("bic").fit(table).score_ == pytest.approx(reported, rel=1e-9)
    restarted = HillClimb("bic", restarts=10, perturb=3, random_state=1).fit(table)
    assert restarted.score_ == pytest.approx(reported, rel=1e-9)


@pytest.mark.parametrize(
    ("name", "asked", "tabu"),
    [("alarm", -218_750, -220_727.331509), ("insurance", -264_850, -265_500.923940)],
)
def test_default_search_beats_bnlearn(
    shared_data: Path, name: str, asked: float, tabu: float
) -> None:
    table = table_of(shared_data, name)
    default = StructureSearch("bic").fit(table).score_
    assert default >= asked > tabu
    assert StructureSearch("bic", effort="thorough").fit(table).score_ >= default - 1e-6
