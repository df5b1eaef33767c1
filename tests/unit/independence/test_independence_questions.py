"""Questions, oracle, ledger and names: what is asked, remembered and refused."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from counterpane.counts import CountBatch, MemoryCounts
from counterpane.data import Schema, Table, Variable
from counterpane.errors import FitError, ParameterError, ScopeError, UnknownNameError
from counterpane.graphs import Dag, UndirectedGraph
from counterpane.independence import (
    BayesianTest,
    ChiSquare,
    GTest,
    Ledger,
    Oracle,
    Verdict,
    as_test,
)
from counterpane.progress import Control, Stopped
from error_checks import raises

NAMES = ("smoke", "lung", "bronc", "dysp")


class Watched(MemoryCounts):
    """A source that notes how often it is asked, and for how many tables."""

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self.calls: list[int] = []

    def counts(self, subsets, **options) -> CountBatch:
        subsets = list(subsets)
        self.calls.append(len(subsets))
        return super().counts(subsets, **options)


@pytest.fixture
def source() -> Watched:
    codes = np.random.default_rng(0).integers(0, 2, (4, 200))
    codes[1] = codes[0]
    return Watched(Table(Schema(Variable(n, ("no", "yes")) for n in NAMES), codes))


def test_names_positions_and_orders_are_one_question(source: Watched) -> None:
    test = GTest().bind(source)
    assert test.question("dysp", "smoke", ["bronc", "lung"]) == (0, 3, (1, 2))
    assert test.question(np.int64(3), 0, np.array([1, 2])) == (0, 3, (1, 2))
    assert test.question(0, 3, "bronc") == (0, 3, (2,)) == test.question(0, 3, 2)
    assert test.question(0, 3, np.int64(2)) == (0, 3, (2,))
    assert test("dysp", "smoke", ["bronc", "lung"]) == test(0, 3, (1, 2))


@pytest.mark.parametrize(
    ("question", "error", "words"),
    [
        ((1, "lung", ()), ScopeError, r"^x and y are both 'lung'; a test needs two variables\.$"),
        ((0, 1, [1]), ScopeError, "'lung' is both asked about and given"),
        (("dysp", 1, ["dysp"]), ScopeError, "'dysp' is both asked about and given"),
        ((0, 1, [2, "bronc"]), ScopeError, "'bronc' is given more than once"),
        ((0, 4, ()), ScopeError, "there is no column 4; positions run from 0 to 3"),
        ((0, 1, [-1]), ScopeError, "there is no column -1"),
        (("smok", 1, ()), UnknownNameError, "'smok' is not known; did you mean 'smoke'"),
        ((0, 1, [2.5]), UnknownNameError, "'2.5' is not known"),
    ],
)
def test_malformed_questions_are_refused(source: Watched, question, error, words) -> None:
    for test in (GTest().bind(source), Oracle(Dag(4), NAMES), Ledger(BayesianTest().bind(source))):
        with pytest.raises(error, match=words):
            test(*question)
        with pytest.raises(error, match=words):
            test.verdicts([(0, 1, ()), question])
    assert source.calls == []


def test_an_unbound_test_says_so() -> None:
    with raises(FitError, about=("alpha=0.05", "ChiSquare")):
        ChiSquare()(0, 1)


def test_a_batch_asks_once(source: Watched) -> None:
    GTest().bind(source).verdicts([(0, 1, ()), (0, 2, (1,)), (1, 3, (0, 2))])
    assert source.calls == [3]


def test_binding_leaves_the_test_as_it_was(source: Watched) -> None:
    test = GTest(0.01)
    bound = test.bind(source)
    assert bound.alpha == 0.01
    with pytest.raises(FitError):
        test(0, 1)


def test_control_reaches_the_counting(source: Watched) -> None:
    ctl = Control()
    test = Ledger(GTest()).bind(source, ctl=ctl)
    assert test(0, 2).p_value is not None
    ctl.cancel()
    with pytest.raises(Stopped):
        test(0, 3)
    assert test.n_tests == 1


def test_a_verdict_is_true_where_independent() -> None:
    assert Verdict(True)
    assert not Verdict(False, 3.0, 0.01, 1)


def test_ledger_asks_each_question_once(source: Watched) -> None:
    ledger = Ledger(GTest()).bind(source)
    first = ledger(0, 3, [1, 2])
    assert ledger("dysp", 0, ["bronc", 1]) is first
    assert (ledger.n_tests, ledger.cost, source.calls) == (1, 4, [1])
    asked = [(2, 1, ()), (1, 2, ()), (3, 0, (2, 1)), (0, 2, 1)]
    verdicts = ledger.verdicts(asked)
    assert verdicts[0] is verdicts[1]
    assert verdicts[2] is first
    assert (ledger.n_tests, ledger.cost, source.calls) == (3, 4 + 2 + 3, [1, 2])
    assert verdicts == GTest().bind(source).verdicts(asked)
    ledger.verdicts(asked)
    assert (ledger.n_tests, ledger.cost, source.calls[:2]) == (3, 9, [1, 2])


def test_ledger_records_are_tidy(source: Watched) -> None:
    ledger = Ledger(GTest().bind(source))
    ledger(3, 0, [2, 1])
    ledger(1, 0)
    first, second = ledger.records
    assert first[:3] == ("smoke", "dysp", ("lung", "bronc"))
    assert (first.cost, second.cost) == (4, 2)
    assert second == ("smoke", "lung", (), False, ledger(0, 1).p_value, None, 2, None)
    assert sum(r.cost for r in ledger.records) == ledger.cost
    bayesian = Ledger(BayesianTest().bind(source))
    verdict = bayesian(0, 1)
    assert bayesian.records[0].log_likelihoods == verdict.log_likelihoods
    assert bayesian.records[0].p_value is None


def test_a_failed_batch_costs_nothing(source: Watched) -> None:
    ledger = Ledger(GTest().bind(source))
    with pytest.raises(ScopeError):
        ledger.answer([(0, 1, ()), (0, 9, ())])
    assert (ledger.n_tests, ledger.cost, ledger.records) == (0, 0, [])


def test_oracle_answers_by_the_graph() -> None:
    collider = Oracle(Dag(4, [(0, 2), (1, 2), (2, 3)]))
    assert collider(0, 1)
    assert not collider(0, 1, 3)
    assert collider("0", "3", "2") == (True, None, None, None, None, None, None)
    path = Oracle(UndirectedGraph(3, [(0, 1), (1, 2)]), ["a", "b", "c"])
    assert [v.independent for v in path.verdicts([("a", "c", ()), ("c", "a", "b")])] == [
        False,
        True,
    ]


def test_oracle_takes_names_from_the_data(source: Watched) -> None:
    oracle = Oracle(Dag(4, [(0, 1)])).bind(source)
    assert oracle.names == NAMES
    assert not oracle("smoke", "lung")
    with raises(FitError, about=("3 nodes", "4 columns")):
        Oracle(Dag(3)).bind(source)


def test_oracle_refuses_what_is_no_graph() -> None:
    with raises(ParameterError, parameter="graph"):
        Oracle([(0, 1)])  # type: ignore[arg-type]
    with raises(ParameterError, about=("2 names", "3 nodes")):
        Oracle(Dag(3), ["a", "b"])


def test_tests_by_name() -> None:
    for name, kind in [("chi2", ChiSquare), ("G2", GTest), ("bayesian", BayesianTest)]:
        assert type(as_test(name)) is kind
    own = GTest(0.01)
    assert as_test(own) is own
    with raises(UnknownNameError, parameter="test", value="bayes"):
        as_test("bayes")
    with raises(ParameterError, parameter="test", value=3):
        as_test(3)  # type: ignore[arg-type]


def test_tests_travel_to_other_processes(source: Watched) -> None:
    plain = MemoryCounts(source.table)
    ledger = Ledger(ChiSquare(0.1)).bind(plain)
    verdict = ledger(0, 2, 1)
    copy = pickle.loads(pickle.dumps(ledger))
    assert copy(2, 0, 1) == verdict
    assert copy.n_tests == 1
    assert repr(copy) == "Ledger(test=ChiSquare(alpha=0.1, degrees_of_freedom='observed'), cost=3)"
