"""Sources with a policy for missing cells: the counts of the table resolved in memory."""

from __future__ import annotations

import numpy as np
import pytest

from contract.count_source_suite import (
    CARDS,
    WEIGHTS,
    CountSourceSuite,
    Rows,
    assert_counts,
    make_table,
    scopes_of_all_sizes,
    sum_and_rows,
)
from contract.test_count_sources import SOURCES, stream_of_tables
from counterpane.counts import MemoryCounts, StreamCounts
from counterpane.counts import view as module
from counterpane.counts.view import SourceView, with_missing_policy
from counterpane.data import Schema, Table
from counterpane.errors import DataError, TableSizeError
from error_checks import raises

sources = pytest.mark.parametrize("make", [pytest.param(make, id=name) for name, make in SOURCES])
policies = pytest.mark.parametrize("missing", ["state", "drop"])


def with_incomplete_rows(table):
    """`table` as the complete rows of a stream."""
    if table.has_missing.any():
        pytest.skip("missing cells are what the rows are chosen by")
    wide = [i for i, card in enumerate(table.schema.cards) if card < 300][:3]
    codes = np.repeat(table.codes.astype(np.int64), 2, axis=1)
    for k, column in enumerate(wide):
        codes[column, 2 * k + 1 :: 2 * len(wide)] = table.schema.cards[column]
    weights = None if table.weights is None else np.repeat(table.weights, 2)
    return stream_of_tables(Table(table.schema, codes, weights))


def complete_rows(table):
    return with_missing_policy(with_incomplete_rows(table), "drop")


def complete_rows_streamed(table):
    source = complete_rows(table)
    if isinstance(source, SourceView) and source.missing == "drop":
        source._complete = None
    return source


def nothing_missing(table):
    if table.has_missing.any():
        pytest.skip("missing cells would be states")
    return with_missing_policy(stream_of_tables(table), "state")


@pytest.mark.parametrize("make", [nothing_missing, complete_rows_streamed])
class TestResolvedSource(CountSourceSuite):
    """Every promise, where the with_missing_policy table is the table given."""

    test_progress_and_cancellation = None  # of rows that are left out too
    test_a_stopped_source_still_counts = None
    test_missing_cells = test_missing_cells_can_be_refused = test_all_rows_dropped = None
    test_missing_cells_only_in_rows_of_no_weight = test_many_states = None
    test_asking_again_gives_the_same = test_more_cells_than_an_integer_counts = None
    test_tables_above_the_cell_limit_come_sparse = test_distinct_rows = None
    test_pairs_of_many_rows = None


@sources
@policies
@pytest.mark.parametrize("weights", WEIGHTS)
def test_all_answers_are_those_of_the_resolved_table(make, missing, weights):
    table = make_table(rows=700, missing=0.05, weights=weights, seed=5)
    want = table.resolve_missing(missing)
    source = with_missing_policy(make(table), missing)
    assert source.schema == want.schema
    assert (source.n_rows, source.total_weight) == (want.n_rows, want.total_weight)
    assert not source.has_missing.any()
    scopes = scopes_of_all_sizes(len(CARDS), seed=5)
    for policy in ("drop", "state", "error"):
        assert_counts(source, want, scopes, "drop" if policy == "error" else policy)
        sparse = source.counts([[8, 4, 2, 1], [1]], missing=policy, max_cells=10)
        memory = MemoryCounts(want).counts([[8, 4, 2, 1], [1]], missing=policy, max_cells=10)
        assert sparse.is_sparse(0)
        assert sparse.sparse(0).shape == memory.sparse(0).shape
        assert np.array_equal(sparse.sparse(0).codes, memory.sparse(0).codes)
        assert np.array_equal(sparse.sparse(0).values, memory.sparse(0).values)
        assert np.array_equal(sparse[1], memory[1])
    for left, right in ((None, None), ([6, 1, 4], None), ([2, 0], [0, 8, 3, 2, 1]), ([0], [0])):
        pairs, memory = (s.pair_counts(left, against=right) for s in (source, MemoryCounts(want)))
        assert np.array_equal(pairs.counts, memory.counts)
        assert pairs.counts.dtype == memory.counts.dtype
        assert pairs.left_from.tolist() == memory.left_from.tolist()
        assert pairs.right_from.tolist() == memory.right_from.tolist()
    found = source.distinct([4, 1, 0])
    assert found.schema == want.schema.select([4, 1, 0])
    expected = want.distinct([4, 1, 0])
    assert np.array_equal(found.codes, expected.codes)
    assert np.array_equal(found.weights, expected.weights)
    assert np.array_equal(source.map_reduce(Rows, [2, 1]).codes, want.codes[[2, 1]])
    sums = sum_and_rows(want.codes[[2, 1]].astype(float), want.weights)
    assert source.map_reduce(sum_and_rows, [2, 1]).tolist() == sums.tolist()
    assert_counts(source.cache(), want, scopes[:5])


@sources
def test_missing_cells_can_be_refused(make):
    table = make_table((2, 3, 2), 300, missing=0.1)
    with raises(DataError, about=("'x1'", "missing='drop'")):
        with_missing_policy(make(table), "error")
    complete = make_table((2, 3, 2), 300)
    assert_counts(with_missing_policy(make(complete), "error"), complete, [[0, 1], [2]])


@sources
@policies
def test_missing_cells_in_rows_of_no_weight(make, missing):
    table = make_table((2, 3, 4), 200, weights="whole")
    codes = table.codes.copy()
    codes[1, table.weights == 0] = 3
    table = Table(table.schema, codes, table.weights)
    want = table.resolve_missing(missing)
    source = with_missing_policy(make(table), missing)
    assert source.schema == want.schema
    assert source.n_rows == want.n_rows
    assert_counts(source, want, [[0, 1], [1, 2], [1], [2, 1, 0]])


@sources
def test_no_row_is_complete(make):
    table = Table(Schema.from_cards([2, 3]), [[2, 2, 0], [0, 1, 3]])
    with raises(DataError, about=("missing='state'", "3 rows")):
        with_missing_policy(make(table), "drop")
    assert with_missing_policy(make(table), "state").counts([[0, 1]])[0].tolist() == [
        [0, 0, 0, 1], [0, 0, 0, 0], [1, 1, 0, 0]]  # fmt: skip


def test_a_source_is_resolved_once():
    table = make_table((2, 3), 50, missing=0.1)
    source = with_missing_policy(stream_of_tables(table), "state")
    assert with_missing_policy(source, "drop") is source
    dropped = with_missing_policy(stream_of_tables(table), "drop")
    assert with_missing_policy(dropped, "state") is dropped
    memory = MemoryCounts(make_table((2, 3), 50))
    assert with_missing_policy(memory, "error") is memory


def test_single_columns_are_counted_once():
    table, passes = make_table(missing=0.05), []

    def batches():
        passes.append(1)
        return [table]

    source = with_missing_policy(StreamCounts(table.schema, batches), "state")
    passes.clear()
    singles = [[i] for i in range(len(CARDS))]
    assert source.counts(singles).scans == 0
    first = source.counts(singles)
    first[0][:] = 0  # what is handed out is the caller's own
    assert_counts(source, table.resolve_missing("state"), singles, "state")
    assert not passes
    assert source.counts([[0, 1]]).scans == len(passes) == 1


def test_a_stream_remembers_what_the_look_found():
    table = make_table((2, 3, 2), 100, missing=0.1)
    stream = stream_of_tables(table)
    assert stream.has_missing.all()
    with_missing_policy(stream, "state")
    assert stream.has_missing.tolist() == table.has_missing.tolist()


def test_few_distinct_rows_are_kept_and_many_are_not(monkeypatch):
    table = make_table((2, 3, 2), 400, missing=0.1)
    want = table.resolve_missing("drop")
    kept = with_missing_policy(stream_of_tables(table), "drop")
    assert kept._complete is not None
    monkeypatch.setattr(module, "COMPLETE_ROWS", 10)
    streamed = with_missing_policy(stream_of_tables(table), "drop")
    assert streamed._complete is None
    for source in (kept, streamed):
        assert_counts(source, want, [[0, 1], [2], [1, 2, 0]])
    monkeypatch.undo()
    real = Table(table.schema, table.codes, np.random.default_rng(0).random(400))
    assert (
        with_missing_policy(stream_of_tables(real), "drop")._complete is None
    )  # in the order of the rows


def test_a_batch_that_would_outgrow_its_limit_is_counted_by_rows(monkeypatch):
    table = make_table(rows=300, missing=0.05)
    monkeypatch.setattr(module, "MAX_BATCH_CELLS", 30)
    stream = stream_of_tables(table)
    source = SourceView(stream, missing="state")
    monkeypatch.setattr(stream, "counts", None)  # which would count a state more on each axis
    assert_counts(source, table.resolve_missing("state"), [[8, 4], [1, 2]])


def largest(codes, weights):
    """A sum that has no value for no rows."""
    return codes.max(axis=1).astype(np.int64)


def test_blocks_without_a_complete_row_add_nothing():
    schema = Schema.from_cards([2, 3])
    parts = [Table(schema, [[0, 1], [3, 3]]), Table(schema, [[1], [2]]), Table(schema, [[1], [3]])]
    source = with_missing_policy(StreamCounts(schema, lambda: parts), "drop")
    assert source.map_reduce(largest, [0, 1]).tolist() == [1, 2]
    assert source.n_rows == 1
    gone = Table(schema, [[2, 0], [0, 3]], [0.3, 0.6])
    with raises(DataError, about="2 rows"):
        with_missing_policy(StreamCounts(schema, lambda: [gone]), "drop")


# ---- rows ----------------------------------------------------------------------------------------


@sources
def test_rows_are_those_of_memory_or_distinct_and_weighted(make):
    table = make_table((2, 3, 2), 300, missing=0.1, weights="whole")
    source = make(table)
    rows = source.rows()
    if isinstance(source, MemoryCounts):
        assert rows is table
        assert np.array_equal(source.rows(["x2", "x0"]).codes, table.codes[[2, 0]])
        return
    for columns in (None, [2, 0]):
        found, want = source.rows(columns), table.distinct(columns)
        assert found.schema == want.schema
        assert np.array_equal(found.codes, want.codes)
        assert np.array_equal(found.weights, want.weights)


def test_too_many_rows_are_refused_by_name(monkeypatch):
    table = make_table((2,) * 12, 300)
    monkeypatch.setattr("counterpane.counts.source.MAX_ROW_BYTES", 2000)
    with raises(TableSizeError, about="100 distinct rows"):
        stream_of_tables(table).rows()
    assert stream_of_tables(table).rows(range(4)).n_rows == 16
    assert MemoryCounts(table).rows() is table
    monkeypatch.undo()
    monkeypatch.setattr("counterpane.counts.source.available_memory", lambda: 8000)
    with raises(TableSizeError, about="100 distinct rows"):
        stream_of_tables(table).rows()
