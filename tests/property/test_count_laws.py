"""Laws of counts on random tables, for a source in memory and one that streams."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from counterpane.counts import MemoryCounts, StreamCounts
from counterpane.data import Schema, Table
from law_settings import examples

SETTINGS = examples(60, suppress_health_check=list(HealthCheck))


@st.composite
def tables(draw, weighted=True):
    """A table of 1 to 6 columns of 1 to 5 states, perhaps with missing cells and whole weights."""
    cards = draw(st.lists(st.integers(1, 5), min_size=1, max_size=6))
    rows = draw(st.sampled_from([1, 2, 7, 64, 65, 200]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    extra = draw(st.booleans())  # missing cells
    codes = np.array([rng.integers(0, card + extra, rows) for card in cards])
    weights = None
    if weighted and draw(st.booleans()):
        weights = rng.integers(0, 4, rows)
        weights[0] += 1
    return Table(Schema.from_cards(cards), codes, weights)


def source_of(table, kind):
    if kind == "memory":
        return MemoryCounts(table)
    parts = np.array_split(np.arange(table.n_rows), min(2, table.n_rows))
    if table.weights is not None and not table.weights[parts[-1]].any():
        parts = [np.arange(table.n_rows)]  # a part without weight is no table
    return StreamCounts(table.schema, lambda: map(table.take, parts))


def scope_in(draw, table):
    size = draw(st.integers(0, table.n_columns))
    return draw(st.permutations(range(table.n_columns)))[:size]


kinds = st.sampled_from(["memory", "stream"])
policies = st.sampled_from(["drop", "state"])


@SETTINGS
@given(st.data(), tables(), kinds)
def test_a_smaller_table_is_a_marginal(data, table, kind):
    scope = scope_in(data.draw, table)
    keep = sorted(data.draw(st.sets(st.sampled_from(range(len(scope))))) if scope else [])
    gone = tuple(i for i in range(len(scope)) if i not in keep)
    batch = source_of(table, kind).counts([scope, [scope[i] for i in keep]], missing="state")
    assert np.array_equal(batch[0].sum(axis=gone), batch[1])


@SETTINGS
@given(st.data(), tables(), kinds)
def test_totals(data, table, kind):
    scope = scope_in(data.draw, table)
    source = source_of(table, kind)
    complete = (table.codes[scope] < table.schema.cards[scope][:, None]).all(axis=0)
    weights = np.ones(table.n_rows, dtype=int) if table.weights is None else table.weights
    assert source.counts([scope], missing="state").n[0] == weights.sum()
    assert source.counts([scope]).n[0] == weights[complete].sum()


@SETTINGS
@given(st.data(), tables(), kinds, policies)
def test_axes_come_in_the_order_asked(data, table, kind, missing):
    scope = scope_in(data.draw, table)
    order = data.draw(st.permutations(range(len(scope))))
    batch = source_of(table, kind).counts([scope, [scope[i] for i in order]], missing=missing)
    assert np.array_equal(batch[0].transpose(order), batch[1])


@SETTINGS
@given(st.data(), tables(weighted=False), kinds, policies)
def test_split_tables_merge(data, table, kind, missing):
    scope = scope_in(data.draw, table)
    cut = data.draw(st.integers(0, table.n_rows))
    parts = [rows for rows in np.split(np.arange(table.n_rows), [cut]) if rows.size]
    whole = source_of(table, kind).counts([scope], missing=missing)[0]
    counted = [source_of(table.take(r), kind).counts([scope], missing=missing)[0] for r in parts]
    assert np.array_equal(sum(counted), whole)


@SETTINGS
@given(st.data(), tables(), kinds, policies)
def test_distinct_rows_count_the_same(data, table, kind, missing):
    scope = scope_in(data.draw, table)
    whole = source_of(table, kind).counts([scope], missing=missing)[0]
    compact = source_of(table.distinct(), kind).counts([scope], missing=missing)[0]
    assert np.array_equal(whole, compact)
    asked = source_of(table, kind).distinct(range(table.n_columns))
    assert np.array_equal(asked.codes, table.distinct().codes)
    assert np.array_equal(asked.weights, table.distinct().weights)


@SETTINGS
@given(st.data(), tables(), kinds, policies)
def test_weights_are_repetitions(data, table, kind, missing):
    scope = scope_in(data.draw, table)
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    times = rng.integers(0, 4, table.n_rows)
    times[0] += 1
    plain = Table(table.schema, table.codes)
    repeated = source_of(plain.take(np.repeat(np.arange(table.n_rows), times)), kind)
    weighted = source_of(plain.reweighted(times), kind)
    a, b = (s.counts([scope], missing=missing)[0] for s in (repeated, weighted))
    assert a.dtype == b.dtype == np.int64
    assert np.array_equal(a, b)
    assert np.array_equal(repeated.pair_counts().counts, weighted.pair_counts().counts)


@SETTINGS
@given(tables(), kinds)
def test_pairs_are_tables_of_two(table, kind):
    source = source_of(table, kind)
    pairs = source.pair_counts()
    assert np.array_equal(pairs.counts, pairs.counts.T)
    n = table.n_columns
    asked = [(i, j) for i in range(n) for j in range(n) if i != j]
    for (i, j), counted in zip(asked, source.counts(asked), strict=True):
        assert np.array_equal(pairs.table(i, j), counted)


@SETTINGS
@given(st.data(), tables(), policies)
def test_sparse_and_dense_agree(data, table, missing):
    scope = scope_in(data.draw, table)
    if not scope:
        return
    source = MemoryCounts(table)
    dense = source.counts([scope], missing=missing)[0]
    sparse = source.counts([scope], missing=missing, max_cells=0).sparse(0)
    rebuilt = np.zeros(sparse.shape, dtype=sparse.values.dtype)
    rebuilt[tuple(sparse.codes)] = sparse.values
    assert np.array_equal(rebuilt, dense)
    assert (sparse.values > 0).all()
