"""The plan of a fit against what the fit then takes."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import counterpane as cp
from counterpane.evaluate import estimate_cost
from counterpane.evaluate.cost import SAMPLE_ROWS, SampledSource, estimate_file_cost

FIXED = {  # learners whose number of passes does not depend on the data
    "ChowLiu": None, "NaiveBayes": "a", "TAN": "a", "ExactPosterior": None,
    "DependencyNetworkLearner": None,
}  # fmt: skip
SEARCHES = ("HillClimb", "StructureSearch", "GSIMN")


@pytest.fixture(scope="module")
def rows():
    """A chain of six columns, three times as long as a sample."""
    rng, n = np.random.default_rng(0), 3 * SAMPLE_ROWS
    column = rng.integers(0, 2, n)
    columns = {"a": column}
    for k in range(5):
        column = np.where(rng.random(n) < 0.7, column, rng.integers(0, 3, n))
        columns[f"c{k}"] = column
    return pa.table(columns)


@pytest.fixture(scope="module")
def folder(rows, tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows")
    pq.write_table(rows, folder / "a.parquet", row_group_size=10_000)
    return folder


def fitted(learner, source, target):
    """The scans of a fit."""
    before = source.n_scans
    if target is None:
        learner.fit(source)
    else:
        learner.fit(source, target)
    return source.n_scans - before


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("name", FIXED)
def test_known_numbers_of_scans_are_exact(folder, name, kept):
    source, learner = cp.FileSource(folder, cache=kept), getattr(cp, name)()
    plan = estimate_cost(source, learner, FIXED[name])
    took = fitted(learner, source, FIXED[name])
    assert plan.scans == (took, took)
    assert plan.scan_bytes == (folder / "a.parquet").stat().st_size
    assert plan.complete
    assert fitted(getattr(cp, name)(), source, FIXED[name]) == (0 if kept else took)
    assert estimate_cost(source, learner, FIXED[name]).scans == (0, 0) if kept else (took, took)


@pytest.mark.parametrize("name", SEARCHES)
def test_scans_of_searches_are_in_a_range(folder, name):
    source, learner = cp.FileSource(folder, cache=False), getattr(cp, name)()
    plan = estimate_cost(source, learner)
    least, most = plan.scans
    assert least <= fitted(learner, source, None) <= most
    assert 0 < plan.seconds[0] <= plan.seconds[1]


def test_dask_keeps_rows_for_searches(rows):
    dd = pytest.importorskip("dask.dataframe", reason="Dask is not installed: extra [dask]")
    source = cp.DaskSource(dd.from_pandas(rows.to_pandas(), npartitions=3))
    plan = estimate_cost(source, cp.HillClimb())
    assert plan.scans == (fitted(cp.HillClimb(), source, None),) * 2


def test_the_learner_stays_as_it_is(folder):
    learner = cp.HillClimb(tabu=3)
    text = str(estimate_cost(cp.FileSource(folder), learner))
    assert not hasattr(learner, "model_")
    assert text.startswith("HillClimb on 30,000 rows × 6 columns: 1 scan of ")
    assert "\n" not in text


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_files_that_are_not_read_yet(rows, tmp_path, suffix):
    frame = rows.to_pandas()
    frame["size"] = np.arange(len(frame)) / 7  # numbers that must be cut
    path = tmp_path / f"rows.{suffix}"
    frame.to_parquet(path) if suffix == "parquet" else frame.to_csv(path, index=False)
    plan = estimate_file_cost(path, cp.ChowLiu(), discretize="quantile")
    assert plan.n_rows == pytest.approx(len(frame), rel=0.1)
    source = cp.FileSource(path, discretize="quantile")
    cp.ChowLiu().fit(source)
    assert plan.scans == (source.n_scans, source.n_scans)


def test_the_command(rows, run, tmp_path):
    (tmp_path / "parts").mkdir()
    pq.write_table(rows, tmp_path / "parts" / "a.parquet")
    code, out, err = run("plan", "parts", "--method", "chow-liu")
    assert (code, err) == (0, "")
    assert out.startswith("ChowLiu on 30,000 rows × 6 columns: 2 scans of ")
    code, out, _ = run("plan", "parts", "--method", "tan", "--target", "a", "--json")
    assert code == 0
    assert '"scans": [2, 2]' in out
    pd.DataFrame(rows.slice(0, 50).to_pandas()).to_csv(tmp_path / "small.csv", index=False)
    code, out, err = run("plan", "small.csv")
    assert code == 0
    assert "it is read once" in err
    assert "StructureSearch on 50 rows" in out
    assert "Not in this time: bootstrap samples, for at most 5 s" in " ".join(err.split())
    assert "Not in this time" not in run("plan", "small.csv", "--method", "chow-liu")[2]
    code, out, err = run("plan", "small.csv", "--method", "tan", "--target", "a")
    assert code == 0 and "up to five more fits" in " ".join(err.split())
    assert "bootstrap samples" in json.loads(run("plan", "small.csv", "--json")[1])["left_out"]
    assert run("plan", "none.csv")[0] == 2


@pytest.mark.parametrize("row_weight", [1, 5])
def test_work_on_rows_grows_with_the_distinct_ones(row_weight):
    columns = {"a": [*range(8), 8, 8], "b": [0, 1] * 5}
    table = cp.Table.from_frame(columns, discretize=None)
    weights = np.full(table.n_rows, row_weight)
    sample = cp.Table(table.schema, table.codes, weights)
    stage = SampledSource(sample, np.zeros(2, bool), share=5, row_weight=row_weight)
    stage.distinct([1])
    assert stage.row_growth == 1  # a table of few columns is no copy of the rows
    assert stage.distinct([0, 1]).n_rows == 10
    assert stage.row_growth == 5  # every row is new
    twice = cp.Table(table.schema, np.repeat(table.codes, 2, 1), np.repeat(weights, 2))
    stage = SampledSource(twice, np.zeros(2, bool), share=5, row_weight=row_weight)
    stage.distinct([0, 1])
    assert stage.row_growth == 1  # every row was seen before
