"""Cuts found block by block are those that the same rows get in memory."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import counterpane as cp
from counterpane.data import Table, tallies
from counterpane.data.distinct_values import ordered_bits
from counterpane.data.reading import read_table
from counterpane.data.tallies import NumberTally
from counterpane.errors import DiscretizeError, ParameterError, UnknownNameError
from counterpane.progress import Control, Stopped
from error_checks import raises


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
    """Whether columns have more texts than are kept, and come in several blocks."""
    if request.param:
        monkeypatch.setattr(tallies, "MOST_TEXTS", 50)
        monkeypatch.setattr("counterpane.data.readers.blocks.BLOCK_ROWS", 333)
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
    assert source.n_scans == (3 if rule == "mdl" else 2)  # the last keeps the rows, packed
    lazy = cp.read(pl.from_pandas(frame).lazy(), **options)
    assert lazy.schema == table.schema


@pytest.mark.parametrize("weights", [None, "n"])
@pytest.mark.parametrize("n_bins", [1, 2, 4, 10, 40])
def test_quantiles_of_any_number_of_intervals(tmp_path, many, n_bins, weights):
    frame = frame_of()
    options = {"discretize": "quantile", "weights": weights, "n_bins": n_bins}
    source = cp.read(folder_of(frame, tmp_path), **options)
    same(source, Table.from_frame(frame, **options))


@pytest.mark.parametrize("rule", ["quantile", "mdl"])
def test_cuts_of_more_numbers_than_are_kept(tmp_path, monkeypatch, rule):
    """A cut moves by less than the rows of a bin, whose numbers agree in their leading bits."""
    monkeypatch.setattr("counterpane.data.readers.blocks.BLOCK_ROWS", 333)
    frame = frame_of(20_000)
    options = {"discretize": rule, "target": "kind", "n_bins": 10}
    exact = cp.read(folder_of(frame, tmp_path), **options).schema
    monkeypatch.setattr(tallies, "MOST_NUMBERS", 2048)
    monkeypatch.setattr("counterpane.data.block_schema.MOST_NUMBERS", 2048)
    source = cp.read(tmp_path, **options)
    assert source.n_rows == 20_000
    for variable, other in zip(source.schema, exact, strict=True):
        if variable.cuts is None:
            assert variable == other
            continue
        values = np.sort(frame[variable.name].dropna())
        ranks = [np.searchsorted(values, v.cuts) for v in (variable, other)]
        assert rule == "mdl" or len(ranks[0]) == len(ranks[1])
        for mine, theirs in (ranks, ranks[::-1]):
            for rank in mine:
                assert np.abs(theirs - rank).min() <= 0.01 * len(values)


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
@pytest.mark.parametrize("rule", ["quantile", "auto"])
def test_a_late_text_among_many_numbers(tmp_path, many, rule, odd):
    cells = [f"{i}.5" for i in range(500)]
    path = tmp_path / "a.csv"
    path.write_text(
        "\n".join(["a,b", *(f"{c},{'uv'[i % 2]}" for i, c in enumerate(cells)), f"{odd},u"])
    )
    if rule == "quantile" and many:
        return  # one text makes texts of all, and more than are kept
    source = cp.FileSource(path, discretize=rule)
    same(source, read_table(path, discretize=rule))
    assert source.notes == read_table(path, discretize=rule).notes
    path.write_text("\n".join(["a,b", *(f"{c},1" for c in cells), " NA,1"]))
    source = cp.FileSource(path, discretize="quantile")
    assert source.has_missing.tolist() == [True, False]
    assert source.schema["a"].cuts == (124.5 + 0.5, 249.5 + 0.5, 374.5 + 0.5)


def test_missing_cells_after_many_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr("counterpane.data.readers.blocks.BLOCK_ROWS", 100)
    for gap in (None, float("nan")):
        column = pa.array([*np.arange(500) / 3, gap])
        pq.write_table(pa.table({"a": column}), tmp_path / "a.parquet")
        source = cp.FileSource(tmp_path / "a.parquet", discretize="quantile")
        assert source.has_missing.tolist() == [True]
        assert source.counts([[0]], missing="state")[0].tolist() == [125, 125, 125, 125, 1]


def test_refusals(tmp_path):
    folder_of(frame_of(300), tmp_path)
    for error, words, options in (
        (ParameterError, "discretize='mdl'", {"discretize": "mdl"}),
        (UnknownNameError, "'kin'", {"discretize": "mdl", "target": "kin"}),
        (UnknownNameError, "'n'", {"discretize": "mdl", "target": "n", "weights": "n"}),
        (DiscretizeError, "'x'", {"discretize": "mdl", "target": "x"}),
        (ParameterError, "n_bins=0", {"discretize": "quantile", "n_bins": 0}),
        (ParameterError, "discretize=MDLDiscretizer()", {"discretize": cp.MDLDiscretizer()}),
    ):
        with raises(error, about=words) as caught:
            cp.read(tmp_path, **options)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("scan", [1, 2])
def test_finding_cuts_can_be_stopped(tmp_path, scan):
    folder_of(frame_of(300), tmp_path)
    stages = []
    options = {"discretize": "mdl", "target": "kind"}
    control = Control(lambda *stage: stages.append(stage))
    cp.read(tmp_path, ctl=control, **options)
    assert len(stages) == 6  # two scans of three files

    def stop(*stage):
        stages.append(stage)
        if len(stages) == 6 + 3 * scan - 1:
            control.cancel()

    control = Control(stop)
    with pytest.raises(Stopped):
        cp.read(tmp_path, ctl=control, **options)


# ---- tallies -------------------------------------------------------------------------------------


def test_numbers_are_tallied_as_they_come():
    rng = np.random.default_rng(0)
    values, weights = rng.integers(0, 60, 5000) / 7, rng.integers(0, 3, 5000).astype(float)
    expected = pd.Series(weights).groupby(values).agg(["size", "sum"])
    for limit in (1000, 60, 59):
        tally = NumberTally(limit)
        for lo in range(0, 5000, 100):
            tally.add(values[lo : lo + 100], weights[lo : lo + 100])
        found, rows, sums = tally.cells()
        assert bool(tally.shift) == (limit < 60)
        assert tally.facts(dated=False).n_values == 60
        if tally.shift:
            assert len(found) <= limit
            assert (rows.sum(), sums.sum()) == (5000, weights.sum())
        else:
            assert np.array_equal(found, expected.index)
            assert np.array_equal(rows, expected["size"])
            assert np.array_equal(sums, expected["sum"])


@pytest.mark.parametrize("limit", [50, 2000, 10_000])
def test_tallies_of_any_parts_are_the_same(limit):
    rng = np.random.default_rng(1)
    values = rng.normal(size=6000).round(3) * 100
    whole = NumberTally(limit)
    whole.add(values)
    total = NumberTally(limit)
    for part in np.split(rng.permutation(values), [30, 60, 1000, 3000, 5970]):
        tally = NumberTally(limit)
        tally.add(part)
        total = total + tally
    for mine, theirs in zip(total.cells(), whole.cells(), strict=True):
        assert np.array_equal(mine, theirs)
    assert total.facts(dated=False) == whole.facts(dated=False)


def test_bits_keep_the_order_of_numbers():
    numbers = np.array([-np.inf, -1e300, -2.5, -5e-324, 0.0, 5e-324, 1.0, 1e300, np.inf])
    assert (np.diff(ordered_bits(numbers).astype(object)) > 0).all()
    assert ordered_bits(np.array([-0.0])) == ordered_bits(np.array([0.0]))
    assert (np.diff(ordered_bits(np.array([-(2**63), -1, 0, 2**62])).astype(object)) > 0).all()
