"""What every count source must do, whatever holds its rows.

A backend is a name and a factory from `Table` to source; see `test_count_sources.py`. Counts must
equal the naive reference exactly: whole numbers always, and float weights here too, because they
are eighths, whose sums are exact in any order.
"""

from __future__ import annotations

import pickle
import tracemalloc
from functools import cache

import numpy as np
import pytest

from counterpane.data import Schema, Table
from counterpane.errors import (
    CounterpaneError,
    DataError,
    ParameterError,
    ScopeError,
    TableSizeError,
    UnknownNameError,
)
from counterpane.progress import Control, Stopped
from error_checks import raises
from reference import count_reference as reference
from reference.random_codes import random_codes, random_weights

CARDS = (2, 3, 4, 1, 5, 2, 3, 2, 6, 2)
ROWS = (1, 63, 64, 65, 8191, 8193, 131_073)
WEIGHTS = (None, "whole", "eighths")


@cache  # tables are read-only
def make_table(cards=CARDS, rows=500, seed=0, *, missing=0.0, weights=None):
    """A random table; see `random_codes`."""
    codes = random_codes(cards, rows, seed, missing=missing)
    return Table(Schema.from_cards(cards), codes, random_weights(weights, rows, seed + 1))


def scopes_of_all_sizes(n, seed):
    """Scopes of 0 to 7 columns, some asked twice, the second time in another order."""
    rng = np.random.default_rng(seed)
    scopes = [rng.permutation(n)[:k].tolist() for k in (0, 1, 2, 3, 4, 5, 6, 7, 2, 3)]
    return [*scopes, *(scope[::-1] for scope in scopes[2:6]), scopes[3]]


@cache
def expected_counts(table, scope, missing="drop"):
    """The reference's table, counted once for all sources."""
    return reference.count(table.codes, table.weights, table.schema.cards, scope, missing)


def assert_counts(source, table, scopes, missing="drop", **options):
    """Every table of the batch equals the reference: cells, shape and type. Returns the batch."""
    batch = source.counts(scopes, missing=missing, **options)
    assert len(batch) == len(scopes)
    for i, scope in enumerate(scopes):
        expected = expected_counts(table, tuple(scope), missing)
        assert batch[i].dtype == expected.dtype
        assert batch[i].shape == expected.shape
        assert np.array_equal(batch[i], expected), scope
        assert batch.n[i] == expected.sum()
    return batch


def assert_sparse(counts, table, scope, missing="drop"):
    """The sparse table equals the reference, cell by cell."""
    cards = table.schema.cards
    expected = reference.cells(table.codes, table.weights, cards, scope, missing)
    assert counts.shape == tuple(cards[scope] + (missing == "state"))
    assert list(map(tuple, counts.codes.T.tolist())) == [cell for cell, _ in expected]
    assert counts.values.tolist() == [n for _, n in expected]


def sum_and_rows(codes, weights):
    """A sum that a learner may ask for: rows, weighted codes."""
    weight = np.ones(codes.shape[1]) if weights is None else weights
    return np.concatenate([[codes.shape[1], weight.sum()], codes @ weight])


class Rows:
    """Rows that merge end to end: shows the order in which blocks are added."""

    def __init__(self, codes, weights):
        self.codes = codes.copy()

    def __add__(self, other):
        return Rows(np.concatenate([self.codes, other.codes], axis=1), None)


class Reports(list):
    """A report function that remembers, and may cancel at its first call."""

    control: Control | None = None

    def __call__(self, what, done, total):
        self.append((done, total))
        if self.control is not None:
            self.control.cancel()


class CountSourceSuite:
    """Inherited by the test that lists the backends; `make` is a backend's factory."""

    @pytest.mark.parametrize("weights", WEIGHTS)
    @pytest.mark.parametrize("rows", ROWS)
    def test_tables_of_every_size(self, make, rows, weights):
        table = make_table(rows=rows, weights=weights, seed=rows)
        source = make(table)
        scopes = scopes_of_all_sizes(len(CARDS), seed=rows)
        assert_counts(source, table, scopes)
        assert source.n_rows == rows
        assert source.total_weight == table.total_weight

    @pytest.mark.parametrize("missing", ["drop", "state"])
    @pytest.mark.parametrize("weights", WEIGHTS)
    @pytest.mark.parametrize("rows", [1, 700, 131_073])
    def test_missing_cells(self, make, rows, weights, missing):
        table = make_table(rows=rows, weights=weights, missing=0.1, seed=3)
        assert_counts(make(table), table, scopes_of_all_sizes(len(CARDS), seed=5), missing)

    @pytest.mark.parametrize("rows", [200, 131_073])
    def test_missing_cells_only_in_rows_of_no_weight(self, make, rows):
        table = make_table((5, 6, 7, 4), rows, weights="whole")
        codes = table.codes.copy()
        codes[1, table.weights == 0] = 6
        table = Table(table.schema, codes, table.weights)
        scopes = [[0, 1, 2], [1, 2, 3], [1, 3, 0], [0, 2, 3], [3, 2, 1, 0], [1], [2, 1]]
        for missing in ("drop", "state"):
            assert_counts(make(table), table, scopes, missing)
        allowed = make(table).counts(scopes, missing="error")
        dropped = make(table).counts(scopes)
        assert all(np.array_equal(a, b) for a, b in zip(allowed, dropped, strict=True))

    def test_missing_cells_can_be_refused(self, make):
        table = make_table((2, 3, 2), 300, missing=0.1)
        source = make(table)
        with raises(DataError, about=("'x1'", "missing='drop'")):
            source.counts([[0], [0, 1]], missing="error")
        with raises(DataError, about=("'x2'", "'x1'")):
            source.counts([[2, 0, 1]], missing="error", max_cells=4)
        assert source.counts([[0]], missing="error")[0].sum() == 300

    def test_complete_tables_are_never_refused(self, make):
        # With real weights the sums over all cells and over the observed ones may round apart.
        for seed in range(10):
            table = make_table((3, 4, 5, 2), 400, seed=seed, weights="real")
            batch = make(table).counts([[0, 1, 2], [3, 2, 1, 0], [2, 1]], missing="error")
            assert batch[0].shape == (3, 4, 5)

    def test_an_unknown_policy_is_refused(self, make):
        with raises(ParameterError, parameter="missing", value="ignore"):
            make(make_table()).counts([[0]], missing="ignore")

    def test_all_rows_dropped(self, make):
        table = Table(Schema.from_cards([2, 3]), [[2, 2, 0], [0, 1, 3]])
        batch = make(table).counts([[0, 1], [1, 0]])
        assert batch[0].tolist() == [[0, 0, 0], [0, 0, 0]]
        assert batch.n.tolist() == [0, 0]
        sparse = make(table).counts([[0, 1]], max_cells=2).sparse(0)
        assert sparse.shape == (2, 3)
        assert sparse.codes.shape == (2, 0)
        assert sparse.values.size == 0

    @pytest.mark.parametrize("rows", [1000, 131_073])
    def test_constant_columns_and_unobserved_states(self, make, rows):
        codes = np.zeros((5, rows), dtype=np.int64)
        codes[1] = 2
        codes[4] = np.arange(rows) % 2
        table = Table(Schema.from_cards([1, 4, 1, 7, 3]), codes)
        scopes = [[0], [0, 2], [1], [1, 0], [0, 1], [3, 1], [4, 2, 3, 1, 0], [0, 4]]
        assert_counts(make(table), table, scopes)

    @pytest.mark.parametrize("rows", [1, 900, 70_000])
    def test_many_states(self, make, rows):
        table = make_table((300, 2, 3, 300), rows, missing=0.02)
        assert table.codes.dtype == np.uint16
        scopes = [[0], [0, 1], [2, 0], [3, 0], [0, 3], [1, 3, 2], [1, 2]]
        for missing in ("drop", "state"):
            assert_counts(make(table), table, scopes, missing)
        left, right = [3, 1], [0, 2]
        pairs = make(table).pair_counts(left, against=right)
        for i, j in np.ndindex(2, 2):
            expected = expected_counts(table, (left[i], right[j]))
            assert np.array_equal(pairs.table(i, j), expected)

    @pytest.mark.parametrize("rows", [500, 70_000])
    def test_asking_again_gives_the_same(self, make, rows):
        table = make_table(rows=rows, missing=0.05)
        source = make(table)
        scopes = scopes_of_all_sizes(len(CARDS), seed=1)
        first = assert_counts(source, table, scopes)
        kept = [t.copy() for t in first]
        for t in first:
            t += 1  # what is handed out is the caller's own
        again = assert_counts(source, table, scopes)
        assert all(np.array_equal(a, b) for a, b in zip(again, kept, strict=True))
        assert_counts(source, table, scopes, "state")
        assert_counts(source, table, scopes[::-1])

    def test_names_and_positions(self, make):
        table = make_table()
        source = make(table)
        by_name = source.counts([["x4", "x0"], "x2", []])
        by_place = source.counts([[4, 0], [2], ()])
        assert all(np.array_equal(a, b) for a, b in zip(by_name, by_place, strict=True))
        arrays = source.counts([np.array([4, 0]), np.array(["x2"]), np.array([], dtype=int)])
        assert all(np.array_equal(a, b) for a, b in zip(arrays, by_place, strict=True))
        pairs = source.pair_counts(["x4", "x0"], against=["x1"])
        assert np.array_equal(pairs.counts, source.pair_counts([4, 0], against=[1]).counts)
        rows = source.distinct(["x4", "x0"])
        assert rows.schema.names == ("x4", "x0")

    def test_a_batch_is_a_sequence(self, make):
        batch = make(make_table()).counts([[0], [1, 2]])
        assert np.array_equal(batch[-1], batch[1])
        assert [t.shape for t in batch] == [(2,), (3, 4)]
        for i in (2, -3):
            with pytest.raises(IndexError):
                batch[i]

    def test_no_tables(self, make):
        batch = make(make_table()).counts([])
        assert len(batch) == 0
        assert list(batch) == []
        assert batch.n.size == 0

    # ---- large tables ----------------------------------------------------------------------

    @pytest.mark.parametrize("weights", WEIGHTS)
    @pytest.mark.parametrize("missing", ["drop", "state"])
    def test_tables_above_the_cell_limit_come_sparse(self, make, missing, weights):
        table = make_table(rows=400, missing=0.1, weights=weights)
        scopes = [[0, 1], [4, 2, 8], [1], [9, 8, 4, 2, 1], []]
        batch = make(table).counts(scopes, missing=missing, max_cells=20)
        assert [batch.is_sparse(i) for i in range(5)] == [False, True, False, True, False]
        for i, scope in enumerate(scopes):
            assert_sparse(batch.sparse(i), table, scope, missing)
            assert batch.n[i] == batch.sparse(i).values.sum()
        with raises(TableSizeError, about="table 3"):
            batch[3]

    def test_only_sparse_tables(self, make):
        table = make_table(rows=50, weights="eighths")
        batch = make(table).counts([[4, 2, 8]], max_cells=2)
        assert batch.n.tolist() == [table.weights.sum()]
        assert_sparse(batch.sparse(0), table, [4, 2, 8])

    @pytest.mark.parametrize("missing", ["drop", "state"])
    def test_more_cells_than_an_integer_counts(self, make, missing):
        cards = (4,) * 40  # 4^40 = 2^80 cells
        table = make_table(cards, 120, missing=0.002)
        scope = np.random.default_rng(0).permutation(40).tolist()
        batch = make(table).counts([scope, scope[:2]], missing=missing)
        assert_sparse(batch.sparse(0), table, scope, missing)
        assert not batch.is_sparse(1)

    def test_missing_as_a_state_counts_for_the_limit(self, make):
        table = make_table((2,) * 20, 100)  # 2^20 cells observed, 3^20 with the missing state
        batch = make(table).counts([range(20)], missing="state")
        assert_sparse(batch.sparse(0), table, list(range(20)), "state")

    @pytest.mark.parametrize(("n", "copies"), [(30, 1), (39, 1), (39, 5), (62, 1), (62, 3)])
    def test_a_batch_too_large_is_refused_before_memory_goes(self, make, n, copies):
        source = make(make_table((2,) * 62, 10))
        tracemalloc.start()
        try:
            if n == 62 and source.has_missing.any():  # 3^62 cells would be above max_cells
                return
            with raises(TableSizeError, about="cells"):
                source.counts([range(n)] * copies, max_cells=2**62)
            assert tracemalloc.get_traced_memory()[1] < 2**20
        finally:
            tracemalloc.stop()

    def test_pairs_too_large_are_refused(self, make):
        table = Table(Schema.from_cards([20_000, 20_000]), [[0], [1]])
        with raises(TableSizeError, about="2 columns"):
            make(table).pair_counts()

    # ---- pairs, distinct rows, any sum -----------------------------------------------------

    @pytest.mark.parametrize("missing", [0.0, 0.1])
    @pytest.mark.parametrize("weights", WEIGHTS)
    @pytest.mark.parametrize("rows", [1, 64, 3000])
    def test_pairs(self, make, rows, weights, missing):
        table = make_table(rows=rows, weights=weights, missing=missing, seed=8)
        source = make(table)
        everyone = list(range(len(CARDS)))
        for left, right in ((None, None), ([6, 1, 4], None), ([2, 0], [0, 8, 3, 2, 1])):
            pairs = source.pair_counts(left, against=right)
            lefts = everyone if left is None else left
            rights = lefts if right is None else right
            for i, a in enumerate(lefts):
                for j, b in enumerate(rights):
                    if a == b:
                        expected = np.diag(expected_counts(table, (a,)))
                    else:
                        expected = expected_counts(table, (a, b))
                    assert np.array_equal(pairs.table(i, j), expected)
                    assert pairs.table(i, j).dtype == expected.dtype

    @pytest.mark.parametrize("weights", WEIGHTS)
    def test_pairs_of_many_rows(self, make, weights):
        table = make_table((2, 3, 20), 131_073, weights=weights, missing=0.01)
        source = make(table)
        pairs = source.pair_counts([0, 2, 1])
        other = source.pair_counts([1], against=[0, 1])
        for i, j, a, b in ((0, 1, 0, 2), (1, 0, 2, 0), (1, 2, 2, 1), (2, 0, 1, 0)):
            assert np.array_equal(pairs.table(i, j), expected_counts(table, (a, b)))
        assert np.array_equal(other.table(0, 0), pairs.table(2, 0))
        assert np.array_equal(other.table(0, 1), pairs.table(2, 2))

    @pytest.mark.parametrize("weights", WEIGHTS)
    @pytest.mark.parametrize(("scope", "rows"), [((0, 1), 700), ((8, 4, 2, 1, 6), 700)])
    def test_distinct_rows(self, make, scope, rows, weights):
        table = make_table(rows=rows, missing=0.05, weights=weights)
        found = make(table).distinct(scope)
        assert found.schema == table.schema.select(scope)
        expected = reference.cells(table.codes, table.weights, table.schema.cards, scope, "state")
        assert list(map(tuple, found.codes.T.tolist())) == [cell for cell, _ in expected]
        assert found.weights.tolist() == [n for _, n in expected]

    @pytest.mark.parametrize(("scope", "rows"), [((0, 1), 700), ((8, 4, 2, 1, 6), 700)])
    def test_too_many_distinct_rows(self, make, scope, rows):
        source = make(make_table(rows=rows))
        n = source.distinct(scope).n_rows
        assert source.distinct(scope, limit=n).n_rows == n
        with pytest.raises(TableSizeError, match=f"more than {n - 1} distinct rows"):
            source.distinct(scope, limit=n - 1)

    @pytest.mark.parametrize("weights", WEIGHTS)
    @pytest.mark.parametrize("rows", [1, 500, 263_000])
    def test_any_sum_over_rows(self, make, rows, weights):
        table = make_table(rows=rows, weights=weights)
        fn = pickle.loads(pickle.dumps(sum_and_rows))
        columns = [4, 1, 8]
        expected = sum_and_rows(table.codes[columns].astype(float), table.weights)
        source = make(table)
        assert source.map_reduce(fn, columns).tolist() == expected.tolist()

    def test_blocks_are_added_in_order(self, make):
        table = make_table(rows=263_000)
        assert np.array_equal(make(table).map_reduce(Rows, [2, 0]).codes, table.codes[[2, 0]])

    def test_a_faster_source_gives_the_same(self, make):
        table = make_table()
        assert_counts(make(table).cache(), table, scopes_of_all_sizes(len(CARDS), seed=0))

    # ---- refusals and control --------------------------------------------------------------

    @pytest.mark.parametrize(
        ("scope", "error", "culprit"),
        [
            ([0, 1, 0], ScopeError, r"\[0, 1, 0\]"),
            ([3, 10], ScopeError, r"\[3, 10\].* 0 to 9"),
            ([-1], ScopeError, r"\[-1\]"),
            (["x1", "x1"], ScopeError, r"\[1, 1\]"),
            (["x1", "x77"], UnknownNameError, "'x77'"),
            ([0.5], ScopeError, r"0\.5"),
            ([None], ScopeError, "None"),
        ],
    )
    def test_bad_scopes(self, make, scope, error, culprit):
        source = make(make_table())
        for ask in (
            lambda: source.counts([[2], scope]),
            lambda: source.pair_counts(scope),
            lambda: source.pair_counts([2], against=scope),
            lambda: source.distinct(scope),
        ):
            with pytest.raises(error, match=culprit):
                ask()

    @pytest.mark.parametrize("ask", ["counts", "pairs", "distinct", "map_reduce"])
    def test_progress_and_cancellation(self, make, ask):
        table = make_table(rows=263_000, weights="eighths")
        scopes = scopes_of_all_sizes(len(CARDS), seed=2) * 5

        def run(control):
            source = make(table)
            if ask == "counts":
                source.counts(scopes, ctl=control)
            elif ask == "pairs":
                source.pair_counts([0], against=[1], ctl=control)
            elif ask == "distinct":
                source.distinct(range(10), ctl=control)
            else:
                source.map_reduce(sum_and_rows, [0, 1], ctl=control)

        reports = Reports()
        run(Control(reports))
        done = [d for d, _ in reports]
        assert done == sorted(done)
        assert done[-1] == 263_000
        assert all(total in (None, 263_000) for _, total in reports)
        assert len(done) > 1

        cut = Reports()
        cut.control = Control(cut)
        with raises(Stopped, about="cancelled"):
            run(cut.control)
        assert len(cut) == 1

        late = Reports()
        with raises(Stopped, about="time limit"):
            run(Control(late, deadline=0.0))
        assert len(late) <= 1

    def test_a_stopped_source_still_counts(self, make):
        table = make_table(rows=263_000)
        source = make(table)
        scopes = scopes_of_all_sizes(len(CARDS), seed=4) * 5
        cut = Reports()
        cut.control = Control(cut)
        with pytest.raises(Stopped):
            source.counts(scopes, ctl=cut.control)
        assert_counts(source, table, scopes[:12])

    def test_errors_are_ours(self, make):
        with pytest.raises(CounterpaneError):
            make(make_table()).distinct([])
