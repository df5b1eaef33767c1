"""Numbers of which one value is frequent, such as zero, keep what they say when discretized."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import counterpane as cp
from counterpane.data.intervals import find_cut_points


def gains(n: int = 8000, zeros: float = 0.92) -> pd.DataFrame:
    """Capital gains, mostly zero, and an income that follows them."""
    rng = np.random.default_rng(3)
    gain = np.where(rng.random(n) < zeros, 0, np.rint(rng.lognormal(8.5, 1.0, n)))
    rich = rng.random(n) < np.where(gain > 6000, 0.95, np.where(gain > 0, 0.4, 0.2))
    hours = np.rint(rng.normal(40, 9, n))
    income = np.where(rich, "high", "low")
    return pd.DataFrame({"gain": gain.astype(int), "hours": hours, "income": income})


def test_a_column_of_mostly_zeros_stays_in_the_network():
    frame = gains()
    model = cp.StructureSearch().fit(frame).model_
    assert frame["gain"].eq(0).mean() > 0.9
    assert model.schema["gain"].states[0] == "<1" and model.schema["gain"].card == 5
    for low in (0, 3000, 6000, 10_000):
        rows = frame["income"][frame["gain"] > low].eq("high")
        answer = model.query("income", {"gain": cp.Range(low=low, include_low=False)})
        # 6,000 lies within an interval, whose income is that of its lower numbers as well.
        assert answer["high"] == pytest.approx(rows.mean(), abs=0.1 if low == 6000 else 0.03)
    rows = frame["gain"][frame["income"] == "high"].gt(0).mean()
    assert 1 - model.query("gain", {"income": "high"})["<1"] == pytest.approx(rows, abs=0.01)


@pytest.mark.parametrize("zeros", [0.2, 0.45, 0.57, 0.7, 0.76, 0.97])
@pytest.mark.parametrize("n_bins", [3, 4, 10])
def test_zero_is_never_in_one_interval_with_small_numbers(zeros, n_bins):
    rng = np.random.default_rng(1)
    numbers = np.where(rng.random(3000) < zeros, 0.0, np.round(rng.exponential(2, 3000), 1) + 0.1)
    variable = cp.read({"x": numbers, "y": rng.integers(0, 2, 3000)}, n_bins=n_bins).schema["x"]
    assert variable.cuts[0] == 0.1 and 3 <= variable.card <= n_bins + 1


def test_frequent_values_between_others_have_their_own_intervals():
    rng = np.random.default_rng(2)
    numbers = rng.normal(0, 30, 4000).round(2)
    numbers[:1000], numbers[1000:1600] = 12.5, -1.0
    variable = cp.read({"x": numbers, "y": rng.integers(0, 2, 4000)}).schema["x"]
    for value in (12.5, -1.0):
        code = variable.find(value)
        assert {variable.find(value - 0.01), variable.find(value + 0.01)}.isdisjoint({code})
        assert variable.quantiles[code] == (value,) * 21
    days = np.datetime64("2020-01-01") + rng.integers(0, 700, 900)
    days[:500] = np.datetime64("1900-01-01")
    dated = cp.read({"day": days, "y": rng.integers(0, 2, 900)}).schema["day"]
    assert dated.states[0] == "<1900-01-02" and dated.dated


@given(
    st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0, 7.0, 7.1]) | st.floats(-50, 50), min_size=2),
    st.integers(2, 6),
)
def test_a_column_that_varies_has_two_states_and_none_is_empty(numbers, n_bins):
    values = np.array(numbers)
    cuts = find_cut_points(values, np.ones(len(values)), n_bins)
    seen = np.unique(np.searchsorted(cuts, values, side="right"))
    assert (np.diff(cuts) > 0).all() and len(seen) == len(cuts) + 1
    assert (len(cuts) > 0) == (len(np.unique(values)) > 1)


def test_weights_are_copies_of_rows():
    numbers, counts = np.array([0.0, 1.5, 2.0, 3.0, 9.0, 11.0]), np.array([40, 12, 3, 5, 14, 26])
    rows = find_cut_points(np.repeat(numbers, counts), np.ones(100), 4)
    assert find_cut_points(numbers, counts.astype(float), 4).tolist() == rows.tolist()


def test_blocks_have_the_same_intervals(tmp_path):
    rng = np.random.default_rng(0)
    n = 20_000
    frame = pd.DataFrame({
        "zeros": np.where(rng.random(n) < 0.7, 0, rng.lognormal(3, 1, n)),
        "two": np.choose(rng.choice(3, n, p=[0.3, 0.2, 0.5]), [55.5, -1.25, rng.normal(0, 9, n)]),
        "whole": np.where(rng.random(n) < 0.9, 0, rng.integers(100, 30_000, n)),
        "none": rng.normal(0, 1, n),
    })  # fmt: skip
    frame.to_parquet(tmp_path / "rows.parquet")
    cuts = [v.cuts for v in cp.read(frame).schema]
    options = {"discretize": "quantile", "max_memory": 2**26}
    source = cp.FileSource(tmp_path / "rows.parquet", **options)
    assert [v.cuts for v in source.schema] == cuts


def test_given_cut_points_combine_with_automatic_ones(tmp_path):
    frame = gains(2000)
    table = cp.read(frame, discretize={"gain": [1, 5000]})
    assert table.schema["gain"].states == ("<1", "[1, 5000)", "≥5000")
    assert table.schema["hours"] == cp.read(frame).schema["hours"]
    by_class = cp.read(frame, discretize={"gain": [1, 5000]}, target="income")
    assert by_class.schema["hours"] == cp.read(frame, target="income").schema["hours"]
    frame.to_parquet(tmp_path / "rows.parquet")
    source = cp.FileSource(tmp_path / "rows.parquet", discretize={"gain": [1, 5000]})
    assert list(source.schema)[:2] == list(table.schema)[:2]
    model = cp.HillClimb(discretize={"gain": [1, 5000]}).fit(frame).model_
    assert model.schema["gain"].cuts == (1, 5000)


@pytest.mark.parametrize("target", [(), ("--target", "income")])
def test_the_command_takes_cut_points(run, tmp_path, target):
    gains(1500).to_csv("rows.csv", index=False)
    words = ("learn", "rows.csv", "-o", "m.cp", "--cuts", "gain=1,5000", *target)
    code, _, errors = run(*words, "--quiet")
    assert code == 0, errors
    assert cp.load("m.cp").schema["gain"].cuts == (1, 5000)
    code, out, _ = run("query", "m.cp", "income", "--given", "gain=6000", "--json")
    assert code == 0 and json.loads(out)["cells"][0]["states"] == ["high"]
    code, _, errors = run("learn", "rows.csv", "--cuts", "gain")
    assert code != 0 and "--cuts must be COLUMN=CUT,CUT" in errors
    code, _, errors = run("learn", "rows.csv", "--cuts", "gian=3")
    assert code != 0 and "did you mean 'gain'" in errors
