"""Cuts found block by block are those that the same rows get in memory."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import counterpane as cp
from counterpane.counts.engines import schema_scan, stream_cuts
from counterpane.counts.engines.stream_cuts import _keys, _numbers, _Values
from counterpane.data import Table
from counterpane.data.files import read_table
from counterpane.errors import DiscretizeError, ParameterError, UnknownNameError
from counterpane.progress import Control, Stopped


def frame_of(rows=4000, seed=0):
    """Numbers of every kind beside a class that depends on some of them."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=rows)
    frame = pd.DataFrame({
        "kind": np.where(x > 0.4, "high", np.where(rng.random(rows) < 0.3, "low", "mid")),
        "x": x,
        "round": np.round(x, 1),
        "whole": (x * 40).astype(np.int64),
        "skew": np.where(rng.random(rows) < 0.6, 0.0, -rng.random(rows) * 1e300),
        "small": rng.random(rows).astype(np.float32) * 1e-40,
        "few": rng.integers(0, 3, rows),
        "n": rng.integers(0, 4, rows),
    })  # fmt: skip
    frame.loc[::7, "x"] = None
    frame.loc[::11, "kind"] = None
    frame.loc[3, "round"], frame.loc[4, "round"], frame.loc[5, "skew"] = np.inf, -np.inf, -0.0
    return frame


def folder_of(frame, folder, n=3):
    for i, rows in enumerate(np.array_split(np.arange(len(frame)), n)):
        frame.iloc[rows].to_parquet(folder / f"{i}.parquet", index=False, row_group_size=500)
    return folder


def same(source, table):
    assert source.schema == table.schema
    assert source.has_missing.tolist() == table.has_missing.tolist()
    memory = cp.MemoryCounts(table).pair_counts()
    assert np.array_equal(source.pair_counts().counts, memory.counts)


@pytest.fixture(params=[False, True], ids=["few", "many"])
def many(request, monkeypatch):
    """Whether columns have more values than states can be, and come in several blocks."""
    if request.param:
        monkeypatch.setattr(schema_scan, "MAX_STATES", 50)
        monkeypatch.setattr("counterpane.counts.engines.file_readers.BLOCK_ROWS", 333)
    return request.param


@pytest.mark.parametrize("weights", [None, "n"])
@pytest.mark.parametrize("rule", ["quantile", "mdl"])
def test_cuts_are_those_of_memory(tmp_path, many, rule, weights):
    frame = frame_of()
    options = {"discretize": rule, "target": "kind", "weights": weights, "n_bins": 5}
    table = Table.from_frame(frame, **options)
    assert sum(bool(v.cuts) for v in table.schema) >= 3
    source = cp.read(folder_of(frame, tmp_path), **options)
    same(source, table)
    assert source.n_scans == 4 - 1  # states, values, rows: pair_counts keeps them packed
    lazy = cp.read(pl.from_pandas(frame).lazy(), **options)
    assert lazy.schema == table.schema


@pytest.mark.parametrize("weights", [None, "n"])
@pytest.mark.parametrize("n_bins", [1, 2, 4, 10, 40])
def test_quantiles_of_more_values_than_are_kept(tmp_path, monkeypatch, many, n_bins, weights):
    monkeypatch.setattr(stream_cuts, "VALUE_BYTES", 2**40)
    frame = frame_of()
    options = {"discretize": "quantile", "weights": weights, "n_bins": n_bins}
    source = cp.read(folder_of(frame, tmp_path), **options)
    same(source, Table.from_frame(frame, **options))
    scans = 4 if 2 * n_bins <= 32 else 8  # half of the rows have a frequent value of `skew`
    others = 4 if n_bins <= 31 else 8  # the values beside it
    assert source.n_scans == 1 + 1 + scans + (others if n_bins > 1 else 0) + 1


def test_mdl_of_more_values_than_are_kept_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(stream_cuts, "VALUE_BYTES", 2**18)
    folder_of(frame_of(), tmp_path)
    with pytest.raises(DiscretizeError, match=r"'x' has more than 204 different.*'quantile'"):
        cp.read(tmp_path, discretize="mdl", target="kind")


def test_csv_numbers_are_cut_too(tmp_path, many):
    frame = frame_of(900).drop(index=[3, 4])  # infinities are texts in a file of texts
    frame["signed"] = [f"+{v:.3f}" if i % 5 else ("NA", " ?")[i % 2] for i, v in
                       enumerate(np.abs(frame["small"] * 1e40))]  # fmt: skip
    frame.to_csv(tmp_path / "a.csv", index=False)
    for rule in ("quantile", "mdl"):
        options = {"discretize": rule, "target": "kind"}
        source = cp.FileSource(tmp_path / "a.csv", **options)
        same(source, read_table(tmp_path / "a.csv", **options))


@pytest.mark.parametrize("odd", ["x", "007", "1e", "--1"])
def test_a_late_text_among_many_numbers(tmp_path, monkeypatch, odd):
    monkeypatch.setattr(schema_scan, "MAX_STATES", 50)
    monkeypatch.setattr("counterpane.counts.engines.file_readers.BLOCK_ROWS", 100)
    cells = [f"{i}.5" for i in range(500)]
    (tmp_path / "a.csv").write_text("\n".join(["a", *cells, odd]))
    with pytest.raises(cp.CounterpaneError, match="'a' has more than 50 different values"):
        cp.FileSource(tmp_path / "a.csv", discretize="quantile")
    (tmp_path / "a.csv").write_text("\n".join(["a,b", *(f"{c},1" for c in cells), " NA,1"]))
    source = cp.FileSource(tmp_path / "a.csv", discretize="quantile")
    assert source.has_missing.tolist() == [True, False]
    assert source.schema["a"].cuts == (124.5 + 0.5, 249.5 + 0.5, 374.5 + 0.5)


def test_missing_cells_after_many_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr(schema_scan, "MAX_STATES", 50)
    monkeypatch.setattr("counterpane.counts.engines.file_readers.BLOCK_ROWS", 100)
    for gap in (None, float("nan")):
        column = pa.array([*np.arange(500) / 3, gap])
        pq.write_table(pa.table({"a": column}), tmp_path / "a.parquet")
        source = cp.FileSource(tmp_path / "a.parquet", discretize="quantile")
        assert source.has_missing.tolist() == [True]
        assert source.counts([[0]], missing="state")[0].tolist() == [125, 125, 125, 125, 1]


def test_refusals(tmp_path):
    folder_of(frame_of(300), tmp_path)
    for error, words, options in (
        (ParameterError, "pass target=", {"discretize": "mdl"}),
        (UnknownNameError, "'kin'.*did you mean 'kind'", {"discretize": "mdl", "target": "kin"}),
        (UnknownNameError, "'n'", {"discretize": "mdl", "target": "n", "weights": "n"}),
        (DiscretizeError, "target 'x' is numeric", {"discretize": "mdl", "target": "x"}),
        (DiscretizeError, "target 'x' is numeric", {"discretize": "quantile", "target": "x"}),
        (ParameterError, "n_bins=0", {"discretize": "quantile", "n_bins": 0}),
        (ParameterError, "discretize=MDL.*mapping", {"discretize": cp.MDLDiscretizer()}),
    ):
        with pytest.raises(error, match=words) as caught:
            cp.read(tmp_path, **options)
        assert "\n" not in str(caught.value)


def test_finding_cuts_can_be_stopped(tmp_path):
    folder_of(frame_of(300), tmp_path)
    stages = []
    control = Control(lambda what, done, total: stages.append((what, done, total)))
    cp.read(tmp_path, discretize="quantile", ctl=control)
    assert stages[-1] == ("finding cuts", 300, 300)

    def stop(what, done, total):
        if what == "finding cuts":
            control.cancel()

    control = Control(stop)
    with pytest.raises(Stopped):
        cp.read(tmp_path, discretize="quantile", ctl=control)


def test_values_are_merged_as_they_come():
    rng = np.random.default_rng(0)
    kept = _Values(1000)
    values, classes = rng.integers(0, 60, 5000) / 7, rng.integers(0, 5, 5000)
    weights = rng.integers(0, 3, 5000).astype(float)
    for lo in range(0, 5000, 100):
        part = slice(lo, lo + 100)
        kept.add(values[part], classes[part], weights[part])
    expected = pd.Series(weights).groupby([values, classes]).sum()
    found = kept.merged()
    assert np.array_equal(found[0], expected.index.get_level_values(0))
    assert np.array_equal(found[1], expected.index.get_level_values(1))
    assert np.array_equal(found[2], expected)
    assert not kept.full
    few = _Values(2)
    few.add(np.array([1.0, 2.0]), np.array([0, 7]), np.ones(2))
    assert [part.tolist() for part in few.merged()] == [[1.0, 2.0], [0, 7], [1.0, 1.0]]
    assert not few.full
    small = _Values(250)
    small.add(values, classes, weights)
    assert small.full


def test_keys_keep_the_order_of_numbers():
    numbers = np.array([-np.inf, -1e300, -2.5, -5e-324, 0.0, 5e-324, 1.0, 1e300, np.inf])
    assert (np.diff(_keys(numbers).astype(object)) > 0).all()
    assert np.array_equal(_numbers(_keys(numbers)), numbers)
    assert _keys(np.array([-0.0])) == _keys(np.array([0.0]))
