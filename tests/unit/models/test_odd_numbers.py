"""Numbers far out, in an open interval or in a gap, are odd; regular rows stay in their order."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

import counterpane as cp
from counterpane.tools.odd_rows import far_out


def cars(rows: int = 400, seed: int = 0) -> pd.DataFrame:
    """Cars by weight, power and consumption, and a number of two clusters."""
    rng = np.random.default_rng(seed)
    weight = np.round(rng.normal(3000, 700, rows).clip(1600, 5200))
    power = np.round(weight / 30 + rng.normal(0, 12, rows))
    mpg = np.round(60 - weight / 90 + rng.normal(0, 2, rows), 1)
    volt = np.round(
        np.where(rng.random(rows) < 0.5, rng.normal(12, 1, rows), rng.normal(48, 1, rows)), 1
    )
    return pd.DataFrame({"weight": weight, "power": power, "mpg": mpg, "volt": volt})


PLANTED = [("weight", 350_000), ("weight", -9000), ("power", 5000), ("mpg", 900.5), ("mpg", -700.0)]


@pytest.mark.parametrize(("column", "number"), PLANTED)
@pytest.mark.parametrize("learned", ["before", "with it"])
def test_a_number_far_out_comes_first(column: str, number: float, learned: str) -> None:
    frame = cars()
    frame[column] = frame[column].astype(float)
    planted = frame.copy()
    planted.loc[77, column] = number
    data = planted if learned == "with it" else frame
    model = cp.StructureSearch().fit(data).model_
    first = model.odd_rows(planted, 3)[0]
    assert first.row == 77
    assert first.cells[0].column == column
    assert first.cells[0].value == number
    assert first.cells[0].probability < 1e-3


def test_a_number_in_a_gap_between_numbers_is_odd() -> None:
    """No cell is between 20 and 40, and 30 is in the middle interval of three."""
    frame = cars(2000)
    frame.loc[55, "volt"] = 30.0
    table = cp.read(frame, discretize={"volt": [10.0, 50.0]})
    found = cp.StructureSearch().fit(table).model_.odd_rows(table, 5)
    assert 55 in [odd.row for odd in found]
    cell = next(odd for odd in found if odd.row == 55).cells[0]
    assert (cell.column, cell.value) == ("volt", 30)


def test_tables_and_frames_are_alike_and_dates_are_dates() -> None:
    frame = cars()
    frame["sold"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(400) % 365, unit="D")
    frame.loc[5, "sold"] = pd.Timestamp("2190-01-01")
    table = cp.read(frame)
    model = cp.StructureSearch().fit(table).model_
    one, two = model.odd_rows(frame, 10), model.odd_rows(table, 10)
    assert [odd.row for odd in one] == [odd.row for odd in two]
    assert one[0].row == 5
    assert one[0].cells[0].column == "sold" and str(one[0].cells[0].value).startswith("2190-01-01")


def test_regular_rows_keep_their_order() -> None:
    frame = cars(2000)
    model = cp.StructureSearch().fit(frame).model_
    found = {odd.row: odd.excess for odd in model.odd_rows(frame, len(frame))}
    intervals = cp.Table.from_frame(frame, schema=model.schema).without_numbers()
    before = {odd.row: odd.excess for odd in model.odd_rows(intervals, len(frame))}
    rows = sorted(found)
    assert spearmanr([found[r] for r in rows], [before[r] for r in rows]).statistic > 0.98


@pytest.mark.parametrize("shape", ["normal", "uniform", "exponential", "lognormal"])
def test_few_numbers_of_a_sample_are_far_out(shape: str) -> None:
    rng = np.random.default_rng(3)
    draw = getattr(rng, shape)
    table = cp.read(pd.DataFrame({"x": draw(size=4000)}))
    variable = table.schema[0]
    fresh = draw(size=4000)
    codes = np.searchsorted(variable.cuts, fresh, side="right")
    nats = far_out(variable, codes, fresh)
    assert (nats > 1).mean() < 0.02
    assert nats.max() < 12
    tail = far_out(variable, np.array([variable.card - 1] * 2), np.array([1e3, 1e6]))
    assert 3 < tail[0] < tail[1] and tail[1] > 25


def test_models_without_quantiles_and_equal_numbers_have_no_tail() -> None:
    variable = cp.Variable("x", ("a", "b"), cuts=(1.0,))
    assert far_out(variable, np.array([0, 1]), np.array([0.0, 1e9])).tolist() == [0.0, 0.0]
    equal = cp.Variable("x", ("a", "b"), (1.0,), ((0.0, 0.0), (2.0, 2.0)), 1.0)
    nats = far_out(equal, np.array([0, 1, 1, 1]), np.array([0.0, 2.0, np.nan, 1e6]))
    assert nats[:3].tolist() == [0.0, 0.0, 0.0] and nats[3] > 10


def test_the_command_names_the_column_and_the_number(run, tmp_path: Path) -> None:
    frame = cars()
    frame.loc[77, "weight"] = 350_000
    frame.to_csv(tmp_path / "cars.csv", index=False)
    assert run("learn", "cars.csv", "-o", "m.cp", "-q")[0] == 0
    _, out, _ = run("score", "m.cp", "cars.csv", "--rows", "-n", "2")
    first = next(line for line in out.splitlines() if line.strip().startswith("78"))
    assert "weight = 350,000" in first
