"""χ² and G²: against scipy slice by slice, a naive twin, and pyAgrum."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2, chi2_contingency

from counterpane.counts import MemoryCounts
from counterpane.data import Schema, Table
from counterpane.errors import ParameterError, TableSizeError
from counterpane.independence import ChiSquare, GTest, count_tests
from error_checks import raises
from reference import independence_reference as naive

BOTH = [(ChiSquare, True), (GTest, False)]


@pytest.fixture(scope="module")
def table() -> Table:
    """Six columns, of which x0 and x1 depend on each other, and x2 has a state that is rare."""
    rng = np.random.default_rng(7)
    cards = [2, 3, 4, 2, 3, 1]
    codes = np.array([rng.integers(0, r, 600) for r in cards])
    codes[1] = np.where(rng.random(600) < 0.2, codes[0], codes[1])
    codes[2] = np.where(codes[2] == 3, rng.integers(0, 3, 600), codes[2])
    codes[2, :2] = 3
    return Table(Schema.from_cards(cards), codes)


@pytest.mark.parametrize(("method", "pearson"), BOTH)
def test_a_batch_gives_what_single_questions_give(
    table: Table, method: type, pearson: bool
) -> None:
    test = method().bind(MemoryCounts(table))
    rows = list(zip(*table.codes.tolist(), strict=True))
    asked = [(0, 1, ()), (1, 2, (0,)), (3, 4, (0, 1, 2)), (5, 4, 2), (0, 3, (4,))]
    for question, verdict in zip(asked, test.verdicts(asked), strict=True):
        assert verdict == test(*question)
        x, y, given = test.question(*question)
        tables = naive.slices(rows, x, y, given).values()
        statistic, freedom = naive.asymptotic(tables, pearson)
        assert verdict.statistic == pytest.approx(statistic, rel=1e-10, abs=1e-12)
        assert verdict.degrees_of_freedom == freedom
    assert test.verdicts([]) == []


@pytest.mark.parametrize("freedom", ["observed", "full"])
@pytest.mark.parametrize("method", [ChiSquare, GTest])
def test_no_degrees_of_freedom_mean_independent(table: Table, method: type, freedom: str) -> None:
    verdict = method(degrees_of_freedom=freedom).bind(MemoryCounts(table))("x0", "x5", ["x2"])
    assert verdict == (True, 0.0, 1.0, 0, None, None, None)


@pytest.mark.parametrize("method", [ChiSquare, GTest])
def test_no_complete_row_means_independent(method: type) -> None:
    missing = Table(Schema.from_cards([2, 2]), [[0, 1, 2, 2], [2, 2, 0, 1]])
    assert method().bind(MemoryCounts(missing))(0, 1) == (True, 0.0, 1.0, 0, None, None, None)


@pytest.mark.parametrize("method", [ChiSquare, GTest])
def test_statistic_is_finite_for_extreme_weights(method: type) -> None:
    codes = [[0, 0, 1, 1], [0, 1, 0, 1]]
    for weights in ([1e-300, 1.0, 1.0, 1e-300], [1e99, 1.0, 1e-200, 1e9]):
        table = Table(Schema.from_cards([2, 2]), codes, weights)
        verdict = method().bind(MemoryCounts(table))(0, 1)
        assert np.isfinite([verdict.statistic, verdict.p_value]).all()


@pytest.mark.parametrize(("method", "pearson"), BOTH)
def test_tables_too_large_for_memory_are_tested_from_their_cells(
    method: type, pearson: bool
) -> None:
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 3, (16, 400))
    codes[2:14] = codes[2]  # many columns, few configurations
    codes[13, :40] = rng.integers(0, 3, 40)
    source = MemoryCounts(Table(Schema.from_cards([3] * 16), codes))
    given = tuple(range(2, 16))
    batch = source.counts([(*given, 0, 1)])
    assert batch.is_sparse(0)
    rows = list(zip(*codes.tolist(), strict=True))
    test = method().bind(source)
    dense, verdict = test.verdicts([(0, 1, (2,)), (0, 1, given)])
    statistic, freedom = naive.asymptotic(naive.slices(rows, 0, 1, given).values(), pearson)
    assert freedom > 0
    assert verdict.statistic == pytest.approx(statistic, rel=1e-10)
    assert verdict.degrees_of_freedom == freedom
    assert dense == test(0, 1, (2,))
    full = method(degrees_of_freedom="full").bind(source)(0, 1, given)
    assert full.degrees_of_freedom == 4 * 3**14


def test_compact_table_above_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(count_tests, "MAX_BATCH_CELLS", 100)
    codes = np.random.default_rng(5).integers(0, 3, (16, 300))
    test = GTest().bind(MemoryCounts(Table(Schema.from_cards([3] * 16), codes)))
    with raises(TableSizeError, about="3 states"):
        test(0, 1, range(2, 16))


@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.1, float("nan")])
def test_alpha_outside_its_range_is_refused(alpha: float) -> None:
    with raises(ParameterError, parameter="alpha"):
        GTest(alpha)


def test_unknown_degrees_of_freedom_are_refused() -> None:
    with raises(ParameterError, parameter="degrees_of_freedom", value="some"):
        ChiSquare(degrees_of_freedom="some")  # type: ignore[arg-type]


def test_alpha_decides(table: Table) -> None:
    source = MemoryCounts(table)
    p_value = GTest().bind(source)(3, 4).p_value
    assert 0 < p_value < 0.9
    assert GTest(p_value * 0.99).bind(source)(3, 4).independent
    assert not GTest(p_value).bind(source)(3, 4).independent


@pytest.mark.parametrize(("method", "pearson"), BOTH)
def test_unconditional_statistic_is_scipys(table: Table, method: type, pearson: bool) -> None:
    counts = MemoryCounts(table).counts([[0, 1]])[0]
    expected = chi2_contingency(counts, correction=False, lambda_=None if pearson else 0)
    verdict = method().bind(MemoryCounts(table))(0, 1)
    assert verdict.statistic == pytest.approx(expected.statistic, rel=1e-12)
    assert verdict.p_value == pytest.approx(expected.pvalue, rel=1e-9)
    assert verdict.degrees_of_freedom == expected.dof
    assert not verdict.independent


@pytest.mark.parametrize(("method", "pearson"), BOTH)
@pytest.mark.parametrize("given", [[2], [4], [2, 3], [2, 3, 4]])
def test_conditional_statistic_sums_scipys_slices(
    table: Table, method: type, pearson: bool, given: list[int]
) -> None:
    statistic = freedom = 0.0
    counts = MemoryCounts(table).counts([[*given, 0, 1]])[0]
    for piece in counts.reshape(-1, 2, 3):
        piece = piece[piece.sum(axis=1) > 0][:, piece.sum(axis=0) > 0]
        if min(piece.shape) > 1:
            one = chi2_contingency(piece, correction=False, lambda_=None if pearson else 0)
            statistic += one.statistic
            freedom += one.dof
    verdict = method().bind(MemoryCounts(table))(1, 0, given)
    assert verdict.statistic == pytest.approx(statistic, rel=1e-12)
    assert verdict.degrees_of_freedom == freedom
    assert verdict.p_value == pytest.approx(chi2.sf(statistic, freedom), rel=1e-9)


def test_full_degrees_of_freedom_count_every_configuration(table: Table) -> None:
    source = MemoryCounts(table)
    full = GTest(degrees_of_freedom="full").bind(source)(0, 1, [2, 4])
    observed = GTest().bind(source)(0, 1, [2, 4])
    assert full.statistic == observed.statistic
    assert full.degrees_of_freedom == 1 * 2 * 12 > observed.degrees_of_freedom
    assert full.p_value == pytest.approx(chi2.sf(full.statistic, 24), rel=1e-9)
    assert full.p_value > observed.p_value


def test_full_g2_is_pyagrums(table: Table) -> None:
    gum = pytest.importorskip("pyagrum", reason="pyAgrum is the reference here")
    pandas = pytest.importorskip("pandas", reason="pyAgrum reads frames")
    names = table.schema.names[:5]
    frame = pandas.DataFrame({n: table.codes[i].astype(str) for i, n in enumerate(names)})
    learner = gum.BNLearner(frame)
    test = GTest(degrees_of_freedom="full").bind(MemoryCounts(table))
    for x, y, given in [("x0", "x1", []), ("x0", "x1", ["x4"]), ("x1", "x3", ["x0", "x4"])]:
        statistic, p_value = learner.G2(x, y, given)
        verdict = test(x, y, given)
        assert verdict.statistic == pytest.approx(statistic, rel=1e-9)
        assert verdict.p_value == pytest.approx(p_value, rel=1e-6, abs=1e-12)
