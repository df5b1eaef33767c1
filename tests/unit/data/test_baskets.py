"""Baskets: lists of items, never written out."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sparse

import counterpane as cp
from counterpane.data.baskets import MAX_DENSE, Baskets, is_baskets
from counterpane.errors import DataError, ParameterError, TableSizeError, UnknownNameError
from error_checks import raises


def some_matrix(rows=50, items=12):
    rng = np.random.default_rng(3)
    return (rng.random((rows, items)) < 0.2).astype(np.int8)


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_a_matrix_is_read_as_it_is(kind):
    dense = some_matrix()
    baskets = cp.read_baskets(kind(dense))
    assert baskets.to_table().codes.tolist() == dense.T.tolist()
    assert (len(baskets), baskets.n_columns) == dense.shape
    assert (baskets.n_entries, baskets.n_cells) == (dense.sum(), dense.size)
    assert baskets.counts.tolist() == dense.sum(axis=0).tolist()
    assert baskets.sizes.tolist() == dense.sum(axis=1).tolist()
    assert baskets.items_of(4).tolist() == np.flatnonzero(dense[4]).tolist()


def test_rows_are_taken():
    dense = some_matrix()
    baskets = cp.read_baskets(sparse.csr_array(dense))
    rows = [7, 7, 0, 31]
    assert baskets.take(rows).to_table().codes.T.tolist() == dense[rows].tolist()
    assert baskets.codes_of(rows).T.tolist() == dense[rows].tolist()
    mask = dense[:, 2] == 1
    assert baskets.take(mask).to_table().codes.T.tolist() == dense[mask].tolist()


def test_lists_of_items():
    baskets = cp.read_baskets([["tea", "jam", "tea"], (), {"ham"}])
    assert baskets.schema.names == ("ham", "jam", "tea")
    assert baskets.to_table().codes.T.tolist() == [[0, 1, 1], [0, 0, 0], [1, 0, 0]]
    again = cp.read_baskets([["jam"]], schema=baskets.schema)
    assert again.to_table().codes.T.tolist() == [[0, 1, 0]]
    assert cp.read_baskets(again) is again
    assert is_baskets([{"a"}, {"b"}])
    assert not is_baskets([["a"], ["b"]])


def test_broken_baskets_are_refused_in_one_sentence():
    with raises(DataError, about=("'tea'", "row 1")):
        cp.read_baskets([["tea"], "tea"])
    with raises(UnknownNameError, parameter="column", value="oil"):
        cp.read_baskets([["oil"]], schema=cp.read_baskets([["tea"]]).schema)
    with raises(ParameterError, about="lists"):
        cp.read_baskets([["tea"]], items=["tea"])
    with raises(DataError, about="matrix"):
        cp.read_baskets(sparse.csr_array([[0, 2]]))
    with raises(DataError, about="0 rows"):
        cp.read_baskets([])
    with raises(DataError, about="'x0'"):
        Baskets(cp.Schema.from_cards([3]), [0], [0], 1)
    with raises(DataError, about="'a'"):
        cp.read_baskets(sparse.csr_array([[0, 1]]), items=["a", "a"])


def test_too_many_cells_are_not_written_out():
    rows = MAX_DENSE // 2
    baskets = cp.read_baskets(sparse.csr_array((rows // 1000, 2001), dtype=np.int8))
    with raises(TableSizeError, about="exceed"):
        baskets.to_table()
    with raises(TableSizeError, about="memory"):
        cp.StructureSearch().fit(baskets)
