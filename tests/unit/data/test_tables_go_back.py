"""Tables and answers become frames again, of the kind that came in, and intervals numbers."""

import datetime
import json
import struct
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.stats import ks_2samp
from sklearn import datasets

import counterpane as cp
from counterpane.data.export import frame_like
from counterpane.data.intervals import find_quantiles, find_step
from counterpane.data.schema import Variable
from counterpane.errors import DataError, MissingExtraError, ParameterError
from counterpane.formats import native
from error_checks import raises

DAYS = [datetime.date(2020, 1, 1) + datetime.timedelta(i) for i in range(40)]
COLUMNS = {
    "port": ["b", None, "a", "c"] * 10,
    "size": [1, 3, None, 3] * 10,
    "open": [True, None, False, True] * 10,
    "day": DAYS,
    "price": [round(2.5 + 0.25 * i, 2) for i in range(39)] + [None],
    "count": [i * i for i in range(40)],
}
MAKERS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


@pytest.fixture
def table():
    states = {"port": ("c", "b", "a", "d")}
    return cp.Table.from_frame(COLUMNS, states=states, discretize="quantile")


def test_pandas_keeps_order_types_and_gaps(table):
    frame = table.with_numbers(0).to_pandas()
    assert list(frame.columns) == list(COLUMNS)
    assert frame["port"].cat.categories.tolist() == ["c", "b", "a", "d"]
    assert frame["port"].tolist()[::2] == COLUMNS["port"][::2]
    assert frame["port"].isna().tolist() == [v is None for v in COLUMNS["port"]]
    assert frame["size"].fillna(0).tolist() == [v or 0 for v in COLUMNS["size"]]
    assert frame["open"].tolist()[:4] == [True, None, False, True]
    assert frame["day"].dtype.kind == "M" and frame["count"].dtype == np.int64
    assert frame["price"].isna().tolist() == [False] * 39 + [True]
    intervals = table.without_numbers().to_pandas()["price"]
    assert intervals.cat.ordered and intervals.cat.categories[0].startswith("<")


def test_discretized_numbers_come_back_as_they_were_read(table):
    frame = table.to_pandas()
    assert frame["count"].tolist() == COLUMNS["count"]
    assert frame["price"].tolist()[:39] == COLUMNS["price"][:39] and np.isnan(frame["price"][39])
    assert [day.date() for day in frame["day"]] == DAYS
    rows = table.take([5, 39]).select(["price", "count"])
    assert rows["count"].tolist() == [25, 39 * 39] and np.isnan(rows["price"][1])
    again = cp.Table.from_frame(frame, schema=table.schema)
    assert (again.codes == table.codes).all()


def test_polars_and_arrow_have_their_own_missing_values(table):
    drawn = table.with_numbers(0)
    frame = drawn.to_polars()
    assert frame["port"].dtype == pl.Enum(["c", "b", "a", "d"])
    assert frame["port"].to_list() == COLUMNS["port"] and frame["size"].to_list() == COLUMNS["size"]
    assert frame["day"].dtype == pl.Date and frame["price"].null_count() == 1
    assert frame["open"].to_list() == COLUMNS["open"]
    arrow = drawn.to_arrow()
    assert arrow["port"].to_pylist() == COLUMNS["port"]
    assert arrow["port"].chunk(0).dictionary.to_pylist() == ["c", "b", "a", "d"]
    assert arrow.schema.field("day").type == pa.date32() and arrow["price"].null_count == 1
    assert table.without_numbers().to_arrow().schema.field("price").type.ordered


def test_other_libraries_take_tables_and_answers_by_protocol(table):
    assert pl.DataFrame(table)["port"].to_list() == COLUMNS["port"]
    assert pa.table(table)["size"].to_pylist() == COLUMNS["size"]
    assert pd.DataFrame.from_arrow(table)["port"].isna().sum() == 10
    assert pd.api.interchange.from_dataframe(table.to_arrow()).shape == (40, 6)
    assert pd.api.interchange.from_dataframe(table).shape == (40, 6)
    model = cp.ChowLiu().fit(cp.load_dataset("titanic")).model_
    answer = model.query(["survived", "sex"])
    for frame in (pl.DataFrame(answer), pl.from_arrow(pa.table(answer)), answer.to_polars()):
        assert frame.columns == ["survived", "sex", "probability"]
        assert frame["probability"].to_numpy() == pytest.approx(answer.probabilities.reshape(-1))
        assert frame["sex"].to_list() == ["male", "female"] * 2


def test_tables_are_indexed_measured_and_arrays(table):
    assert len(table) == 40 and list(table) == list(COLUMNS)
    assert table["port"].tolist() == COLUMNS["port"]
    assert table.without_numbers()["count"].tolist()[0].startswith("<")
    drawn = table.with_numbers(3)
    assert drawn["count"].dtype == np.int64 and drawn["day"].dtype.kind == "M"
    assert np.asarray(table).shape == (40, 6) and np.asarray(table).dtype == object
    numbers = cp.Table.from_frame({"a": [1, 2, 3], "b": [4, 5, 4]})
    assert np.asarray(numbers).tolist() == [[1, 4], [2, 5], [3, 4]]
    with raises(LookupError, parameter="column", value="prot"):
        table["prot"]


def test_an_answer_is_measured_and_an_array():
    model = cp.ChowLiu().fit(cp.load_dataset("titanic")).model_
    answer = model.query("survived", {"sex": "male"})
    assert len(answer) == 2 and list(answer) == ["no", "yes"]
    assert np.asarray(answer).tolist() == answer.probabilities.tolist()
    assert answer.to_pandas().set_index("survived")["probability"]["yes"] == answer["yes"]
    both = model.query(["survived", "sex"])
    assert len(both) == 4 and next(iter(both)) == ("no", "male")


def test_numbers_lie_in_their_interval_and_are_rounded_as_they_were(table):
    drawn = table.with_numbers(1)
    for name in ("price", "count", "day"):
        variable = table.schema[name]
        again = cp.Table.from_frame(drawn.to_frame("polars"), schema=table.schema.select(
            [table.schema.index(name)]))  # fmt: skip
        assert again.codes[0].tolist() == table.codes[table.schema.index(name)].tolist()
        assert variable.quantiles is not None
    assert table.schema["price"].step == 0.05 and table.schema["count"].step == 1.0
    known = [p for p in drawn["price"].tolist() if p == p]
    assert known == [round(p, 2) for p in known]
    assert drawn.take([0, 5])["count"].tolist() == drawn["count"][[0, 5]].tolist()
    assert drawn.select(["count"]).numbers.keys() == {"count"}
    assert not drawn.without_numbers().numbers
    same = table.with_numbers(1)
    assert all((same.numbers[n] == drawn.numbers[n])[:39].all() for n in drawn.numbers)


def test_quantiles_are_values_of_the_column_and_weights_count_as_rows():
    values = np.array([5, 1, 2, 2, 9, 7])
    plain = find_quantiles(np.repeat(values, [1, 2, 3, 1, 1, 2]), None, [4.0])
    assert plain == find_quantiles(values, np.array([1, 2, 3, 1, 1, 2]), [4.0])
    assert plain[0][0] == 1 and plain[0][-1] == 2 and plain[1][0] == 5 and plain[1][-1] == 9
    assert find_quantiles(values, None, [20.0])[1] == ()
    assert find_step(np.array([0.1, 0.25, 3])) == 0.05
    assert find_step(np.array([0.1, 0.23, 3], dtype=np.float32)) == 0.01
    assert find_step(np.array([1200, 300, 0])) == 100 and find_step(np.array([3, 0])) == 1
    assert find_step(np.array([0.0, 0.0])) == 1 and find_step(np.array([4e6, 0.0])) == 2e6
    assert find_step(np.random.default_rng(0).random(50)) is None
    assert find_step(np.array([1e300, 2.0])) is None
    assert find_step(np.array([0.5, 1.25]), dated=True) == 1 / 24


def test_an_interval_without_values_gives_numbers_within_its_cuts():
    table = cp.Table.from_frame({"x": [1.5, 2.5, 9.5]}, discretize={"x": [0.0, 4.0, 8.0, 20.0]})
    codes = np.repeat([[0, 2, 4]], 50, axis=1)
    drawn = cp.Table(table.schema, codes).with_numbers(0).numbers["x"]
    assert (drawn[:50] == 0).all() and (drawn[100:] == 20).all()
    assert ((drawn[50:100] >= 4) & (drawn[50:100] <= 8)).all()


@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer"])
def test_sampled_numbers_are_distributed_as_those_learned_from(name):
    raw = getattr(datasets, f"load_{name}")(as_frame=True).frame
    table = cp.Table.from_frame(raw, discretize="mdl", target="target")
    rows = cp.HillClimb().fit(table).model_.sample(4000, random_state=1).to_frame()
    assert isinstance(rows, pd.DataFrame) and list(rows) == list(raw)
    distances = [ks_2samp(raw[c], rows[c]).statistic for c in raw.columns if c != "target"]
    assert max(distances) < 0.06 and np.mean(distances) < 0.035
    assert ks_2samp(raw.iloc[:, 0], rows.iloc[:, 0] + raw.iloc[:, 0].std()).statistic > 0.2


def test_a_saved_model_draws_the_same_numbers_and_an_older_file_draws_intervals(tmp_path):
    model = cp.ChowLiu().fit(cp.load_dataset("iris")).model_
    model.save(tmp_path / "new.cp")
    again = cp.load(tmp_path / "new.cp")
    assert again.schema["petal_width"].quantiles == model.schema["petal_width"].quantiles
    drawn = model.sample(20, random_state=4)
    assert again.sample(20, random_state=4)["petal_width"].tolist() == drawn["petal_width"].tolist()
    bare = cp.Schema(Variable(v.name, v.states, v.cuts) for v in model.schema)
    assert bare == model.schema  # equal for all that encodes
    older = cp.BayesianNetwork(bare, model.dag, model.tables)
    older.save(tmp_path / "old.cp")
    _, _, size, _ = native.PREFIX.unpack_from((tmp_path / "old.cp").read_bytes())
    assert struct.calcsize("<8sIIQ") == native.PREFIX.size
    header = (tmp_path / "old.cp").read_bytes()[native.PREFIX.size : native.PREFIX.size + size]
    assert set(json.loads(header)["schema"][0]) == {"name", "states", "cuts"}  # as before
    rows = cp.load(tmp_path / "old.cp").sample(5, random_state=4)
    assert not rows.numbers and rows["petal_width"].tolist()[0] in bare["petal_width"].states


@pytest.mark.parametrize(
    "quantiles, step",
    [(((1.0,),), 1.0), (((3.0, 1.0), (20.0,)), None), (((1.0,), (float("nan"),)), None),
     (((1.0,), (20.0,)), -1.0)],
)  # fmt: skip
def test_quantiles_that_do_not_fit_are_refused(quantiles, step):
    with raises(DataError, about="'x'"):
        Variable("x", ("<10", "≥10"), (10.0,), quantiles, step)


@pytest.mark.parametrize("kind", MAKERS)
def test_predictions_are_frames_of_the_kind_that_went_in(kind):
    table = cp.load_dataset("titanic")
    rows = MAKERS[kind]({name: table.column(name)[:50] for name in ("status", "age", "sex")})
    classifier = cp.NaiveBayes().fit(rows, table.column("survived")[:50])
    model = cp.ChowLiu().fit(table).model_
    for found, shares in (
        (classifier.predict_frame(rows), classifier.predict_proba(rows)),
        (
            model.predict_proba(rows, "survived", as_frame=True),
            model.predict_proba(rows, "survived"),
        ),
    ):
        assert type(found) is type(rows)
        frame = found.to_pandas() if kind != "pandas" else found
        assert frame.columns[0] == "predicted"
        assert frame[[c for c in frame if c.startswith("P(")]].to_numpy() == pytest.approx(shares)
    assert type(model.query_many("survived", rows).to_frame()) is type(rows)


def test_a_pandas_index_stays():
    model = cp.ChowLiu().fit(cp.load_dataset("titanic")).model_
    rows = pd.DataFrame({"sex": ["male", "female"]}, index=["x", "y"])
    found = model.predict_proba(rows, "survived", as_frame=True)
    assert found.index.tolist() == ["x", "y"] and found["predicted"].tolist() == ["no", "yes"]


@pytest.mark.parametrize("kind", MAKERS)
def test_samples_are_frames_of_the_kind_that_was_learned_from(kind, tmp_path):
    frame = MAKERS[kind]({"a": ["x", "y"] * 30, "b": [float(i) / 4 for i in range(60)]})
    table = cp.read(frame, discretize="quantile")
    model = cp.ChowLiu().fit(table).model_
    assert type(model.sample(5, random_state=0).to_frame()) is type(frame)
    model.save(tmp_path / "m.cp")
    assert type(cp.load(tmp_path / "m.cp").sample(5, random_state=0).to_frame()) is type(frame)
    classifier = cp.TAN().fit(MAKERS[kind]({"b": [float(i) for i in range(60)]}), ["x", "y"] * 30)
    assert type(classifier.model_.sample(5, random_state=0).to_frame()) is type(frame)


@pytest.mark.parametrize("kind", MAKERS)
def test_like_gives_the_types_of_the_frame(kind, table):
    frame = MAKERS[kind]({k: COLUMNS[k] for k in ("port", "size", "price", "count")})
    again = cp.Table.from_frame(frame, discretize="quantile").with_numbers(0)
    found = frame_like(frame, again)
    assert type(found) is type(frame)
    types = [str(t) for t in (found.schema.types if kind == "pyarrow" else found.dtypes)]
    assert types == [str(t) for t in (frame.schema.types if kind == "pyarrow" else frame.dtypes)]


def test_like_knows_mappings_arrays_and_tables(table):
    assert frame_like({}, table)["port"] == COLUMNS["port"]
    assert frame_like(np.zeros((2, 2)), table).shape == (40, 6)
    assert frame_like(table, table) is table and frame_like("a.csv", table) is table


def test_what_is_not_installed_is_said(table, monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    with raises(MissingExtraError, about="polars"):
        table.to_polars()
    with raises(ParameterError, parameter="kind", value="spark"):
        table.to_frame("spark")
