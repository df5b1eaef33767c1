"""Dates are numbers that are cut, and read as dates again."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import counterpane as cp
from counterpane.data.columns import Numbers, columns_of
from counterpane.data.dates import date_labels, day_number, find_day_first, round_cuts
from counterpane.data.encoding import UnknownCells
from counterpane.data.schema import Variable
from error_checks import warns

MARCH = (datetime.date(2021, 3, 4) - datetime.date(1970, 1, 1)).days


@pytest.mark.parametrize(
    "text",
    ["2021-03-04", "2021/3/4", "2021.03.04", " 2021-03-04 ", "4.3.2021", "04.03.2021",
     "4 March 2021", "4-Mar-2021", "Mar 4, 2021", "March 4 2021", "2021-03-04T00:00",
     "2021-03-04 00:00:00.000", "2021-03-04T00:00:00Z", "2021-03-04T02:00+02:00",
     "2021-03-03 22:30:00-01:30"],
)  # fmt: skip
def test_usual_forms(text: str) -> None:
    assert day_number(text) == MARCH


@pytest.mark.parametrize(
    "text", ["", "soon", "2021-02-30", "2021-13-01", "20210304", "2021-03/04", "3/4/2021", "12.5",
             "2021-03-04T25:00", "4 Smarch 2021", "2021"]
)  # fmt: skip
def test_what_is_no_date_or_could_be_two(text: str) -> None:
    assert day_number(text) is None


def test_days_first_is_told_by_the_column() -> None:
    assert day_number("13/3/2021") == MARCH + 9
    assert day_number("3/13/2021") == MARCH + 9
    assert day_number("4/3/2021", day_first=True) == MARCH
    assert day_number("3/4/2021", day_first=False) == MARCH
    assert day_number("3/13/2021", day_first=True) == MARCH + 9  # it can only be one
    assert day_number("5-5-2021") == day_number("2021-05-05")
    assert find_day_first(["1/2/2020", "30/1/2020"]) is True
    assert find_day_first(["1/2/2020", "1/30/2020"]) is False
    assert find_day_first(["1/2/2020", "30.1.2020"]) is None


def test_times_of_the_day_are_parts_of_it() -> None:
    assert day_number("1970-01-01 06:00") == 0.25
    assert day_number("1969-12-31T18:00:00") == -0.25
    assert day_number(datetime.datetime(1970, 1, 2, 12)) == 1.5
    zone = datetime.timezone(datetime.timedelta(hours=6))
    assert day_number(datetime.datetime(1970, 1, 2, 12, tzinfo=zone)) == 1.25
    assert day_number(datetime.date(1970, 1, 3)) == 2
    assert day_number(3.5) is None


def test_cuts_become_whole_days_unless_that_moves_rows() -> None:
    days = np.repeat(np.arange(100.0), 3)
    assert round_cuts(days, np.array([24.5, 49.5])).tolist() == [25, 50]
    minutes = np.arange(1000) / 1440
    cuts = round_cuts(minutes, np.array([500.5 / 1440]))
    assert cuts.tolist() == [501 / 1440]
    assert date_labels(cuts) == ("<1970-01-01 08:21", "≥1970-01-01 08:21")
    assert date_labels([]) == ("all dates",)
    same = round_cuts(np.array([0.5, 0.500001]), np.array([0.5000005]))
    assert 0.5 < same[0] <= 0.500001


def frames():
    days = [datetime.datetime(2020, 1, 1) + datetime.timedelta(days=i) for i in range(40)]
    days[3] = None
    plain = [None if d is None else d.date() for d in days]
    yield {"when": days}
    yield {"when": plain}
    yield {"when": np.array(days, dtype="M8[s]")}
    yield pd.DataFrame({"when": pd.to_datetime(pd.Series(days))})
    yield pd.DataFrame({"when": pd.to_datetime(pd.Series(days)).dt.tz_localize("UTC")})
    yield pd.DataFrame({"when": plain})
    yield pl.DataFrame({"when": days})
    yield pl.DataFrame({"when": plain})
    yield pa.table({"when": pa.array(plain, pa.date32())})
    yield pa.table({"when": pa.array(days, pa.timestamp("ms"))})


@pytest.mark.parametrize("frame", list(frames()), ids=lambda f: type(f).__module__)
def test_dates_of_every_library_are_one_table(frame) -> None:
    table = cp.Table.from_frame(frame, discretize="quantile", n_bins=2)
    variable = table.schema["when"]
    assert variable.states == ("<2020-01-21", "≥2020-01-21")
    assert table.codes[0].tolist() == [0, 0, 0, 2, *[0] * 16, *[1] * 20]
    again = cp.Table.from_frame(frame, schema=table.schema)
    assert (again.codes == table.codes).all()


def test_zones_are_taken_to_utc() -> None:
    stamps = pd.Series(pd.to_datetime(["2020-01-01 00:30"])).dt.tz_localize("Europe/Berlin")
    (column,) = columns_of(pd.DataFrame({"a": stamps}))
    assert isinstance(column, Numbers)
    assert column.labels().states == ("2019-12-31 23:30",)


def test_few_dates_are_states_and_lengths_of_time_are_seconds() -> None:
    table = cp.read({"a": [datetime.date(2020, 1, 2), datetime.date(2020, 1, 1)] * 2})
    assert table.schema["a"].states == ("2020-01-01", "2020-01-02")
    (column,) = columns_of({"a": [datetime.timedelta(minutes=1), None]})
    assert column.values.tolist() == [60, 0]
    assert column.missing.tolist() == [False, True]
    assert not column.dated
    (other,) = columns_of(pl.DataFrame({"a": [datetime.timedelta(minutes=1), None]}))
    assert other.values.tolist() == column.values.tolist()


def test_a_cut_variable_takes_dates_and_no_numbers() -> None:
    variable = Variable("when", ("<2020-01-21", "≥2020-01-21", None), (18282.0,))
    assert variable.dated
    assert [variable.find(v) for v in ("2020-01-20", "21.1.2020", datetime.date(2021, 1, 1))] == [
        0, 1, 1]  # fmt: skip
    assert variable.find("≥2020-01-21") == 1
    assert variable.find(None) == 2
    assert variable.find("3.5") is None
    assert variable.find(20000) is None
    numeric = Variable("n", ("<3", "≥3"), (3.0,))
    assert not numeric.dated
    assert numeric.find("2020-01-20") is None


def test_numbers_do_not_pass_for_dates() -> None:
    schema = cp.Schema([Variable("when", ("<2020-01-21", "≥2020-01-21"), (18282.0,))])
    table = cp.Table.from_frame({"when": np.array([1.5, 99999.5])}, schema=schema, unseen="missing")
    assert table.codes.tolist() == [[2, 2]]


def test_own_cuts_may_be_dates() -> None:
    days = pd.date_range("2020-01-01", periods=40)
    table = cp.Table.from_frame({"a": days}, discretize={"a": ["2020-01-11"]})
    assert table.schema["a"].states == ("<2020-01-11", "≥2020-01-11")
    assert table.codes[0].sum() == 30


def test_a_model_with_dates_is_saved_and_asked(tmp_path) -> None:
    days = pd.date_range("2020-01-01", periods=200)
    frame = pd.DataFrame({"when": days, "late": ["yes" if i >= 100 else "no" for i in range(200)]})
    table = cp.Table.from_frame(frame, discretize="mdl", target="late")
    cp.ChowLiu().fit(table).model_.save(tmp_path / "m.cp")
    model = cp.load(tmp_path / "m.cp")
    assert model.schema["when"].states == ("<2020-04-10", "≥2020-04-10")
    assert model.query("late", {"when": "2020-06-01"}).to_dict()["yes"] > 0.9
    for learner in (cp.NaiveBayes(), cp.InteractionClassifier()):
        learner.fit(frame, "late")
        learner.model_.save(tmp_path / "c.cp")
        same = cp.load(tmp_path / "c.cp").predict_proba({"when": ["2020-02-01", "1.6.2020"]})
        assert same.argmax(axis=1).tolist() == [0, 1]
        assert np.allclose(
            same, learner.predict_proba(pd.DataFrame({"when": days[[31, 152]]})), atol=1e-9
        )


def test_classifiers_keep_dates_apart_from_numbers_and_through_dropped_rows() -> None:
    days = pd.date_range("2020-01-01", periods=200)
    late = ["yes" if i >= 100 else "no" for i in range(200)]
    frame = pd.DataFrame({"when": days, "late": late})
    model = cp.InteractionClassifier().fit(frame, "late").model_
    unknown = model.predict_proba({"when": [None]})[0].tolist()
    with warns(UnknownCells, about="18270"):
        number = model.predict_proba({"when": [18_270.0]})[0].tolist()
    assert number == unknown  # which lies among the dates, as a number of days
    frame.loc[3, "when"] = None
    learner = cp.NaiveBayes(missing="drop").fit(frame, "late")
    assert learner.schema_["when"].states == ("<2020-04-10", "≥2020-04-10")


def test_months_and_periods_are_dates() -> None:
    months = pd.period_range("1949-01", periods=144, freq="M")
    kind = ["a", "b"] * 72
    texts = cp.read({"month": months.astype(str).tolist(), "kind": kind})
    periods = cp.read(pd.DataFrame({"month": months, "kind": kind}))
    assert texts.schema["month"].dated and texts.schema == periods.schema
    assert (texts.codes == periods.codes).all()
    assert texts.schema["month"].find("1950-02") == texts.schema["month"].find("1950-02-01")
    seasons = [f"{y}-{(y + 1) % 100:02}" for y in range(2001, 2011)] * 12
    assert cp.read({"season": seasons, "kind": kind[:120]}).schema["season"].states[0] == "2001-02"
