"""What every learner of the registry must do, whatever it learns."""

from __future__ import annotations

import copy
import inspect
import json
import pickle
from functools import partial

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone

import counterpane as cp
from contract.contributed import has_document, printed_module
from counterpane.counts import MemoryCounts, StreamCounts
from counterpane.errors import (
    CounterpaneError,
    DataError,
    FitError,
    NotFittedError,
    ParameterError,
    UnknownNameError,
    WeightError,
)
from counterpane.learners.base import Learner
from counterpane.learners.driver import Search, StoppedEarly
from counterpane.learners.registry import find_learner, learners
from counterpane.models.arrays import arrays_of
from counterpane.scores import BDeu
from error_checks import raises, warns

SHORT = {"k2": {"restarts": 3}, "particle-filter": {"moves": 20}}  # parameters that save time
VARIANTS = {
    "chow-liu-bic": ("chow-liu", {"criterion": "bic"}),
    "chow-liu-bdeu": ("chow-liu", {"criterion": BDeu(5)}),
    "chow-liu-k2": ("chow-liu", {"criterion": "k2"}),
    "hill-climb-tabu": ("hill-climb", {"tabu": 3, "restarts": 2}),
    "gsimn-g2": ("gsimn", {"test": "g2"}),
}
NAMED = {name: (name, SHORT.get(name, {})) for name in learners("network", "field")}
LEARNERS = [
    pytest.param(partial(find_learner(name).make, **parameters), id=label)
    for label, (name, parameters) in (NAMED | VARIANTS).items()
]
if has_document():
    make = printed_module("learners/bayesian/best_parent.py").BestParent
    LEARNERS.append(pytest.param(make, id="contributed"))
all_learners = pytest.mark.parametrize("make", LEARNERS)


def make_frame(rows=400, seed=0):
    """A frame of five dependent columns of text, a chain in disguise."""
    rng = np.random.default_rng(seed)
    names = ("smoke", "lung", "cough", "sleep", "mood")
    states = (("no", "yes"), ("bad", "good", "so-so"), ("dry", "none", "wet"), ("no", "yes"),
              ("down", "up"))  # fmt: skip
    columns, last = {}, rng.integers(0, 2, rows)
    for i, (name, labels) in enumerate(zip(names, states, strict=True)):
        noisy = rng.random(rows) < 0.15 + 0.1 * i
        last = np.where(noisy, rng.integers(0, len(labels), rows), last % len(labels))
        columns[name] = np.array(labels, dtype=object)[last]
    return pd.DataFrame(columns)


def same_model(a, b):
    assert a.schema == b.schema
    assert set(a.graph.edges) == set(b.graph.edges)
    arrays, others = arrays_of(a), arrays_of(b)
    assert arrays.keys() == others.keys()
    for name, array in arrays.items():
        assert array.tobytes() == others[name].tobytes()


def same_results(a, b):
    same_model(a.model_, b.model_)
    assert set(a.graph_.edges) == set(b.graph_.edges)
    assert objective(a) == objective(b)


def objective(learner):
    """The score of the result, or what it cost to ask for it."""
    return learner.score_ if hasattr(learner, "score_") else learner.cost_


def skeleton(learner):
    return {frozenset(edge) for edge in learner.graph_.edges}


# ---- conventions ---------------------------------------------------------------------------------


@all_learners
def test_parameters_are_stored_and_cloned(make):
    learner = make()
    params = learner.get_params()
    assert {"missing", "time_limit", "n_jobs", "progress", "checkpoint"} <= set(params)
    changed = make().set_params(time_limit=3.5, n_jobs=2)
    assert (changed.time_limit, changed.n_jobs) == (3.5, 2)
    twin = clone(changed)
    assert twin is not changed
    assert repr(twin.get_params()) == repr(changed.get_params())
    assert type(learner)(**params).get_params() == params
    with raises((ValueError, UnknownNameError), parameter="parameter", value="time_limmit"):
        learner.set_params(time_limmit=3)


@all_learners
def test_the_representation_shows_what_was_changed(make):
    shown = repr(make(n_jobs=2))
    assert shown.startswith(type(make()).__name__ + "(")
    assert "n_jobs=2" in shown
    assert "time_limit" not in shown


@all_learners
def test_nothing_is_known_before_the_fit(make):
    learner = make()
    with raises(NotFittedError, about="'model_'"):
        _ = learner.model_
    assert not hasattr(learner, "graph_")
    with raises(AttributeError, about="'nonsense'"):
        _ = learner.nonsense
    learner.fit(make_frame())
    with raises(AttributeError, about="edge_wishes_"):
        _ = learner.edge_wishes_


@all_learners
def test_a_fit_returns_the_learner_and_keeps_its_parameters(make):
    learner = make()
    before = copy.deepcopy(learner.get_params())
    assert learner.fit(make_frame()) is learner
    assert repr(learner.get_params()) == repr(before)


@all_learners
def test_a_fit_that_fails_changes_nothing(make):
    learner = make().fit(make_frame())
    before = {name: id(value) for name, value in vars(learner).items()}
    with pytest.raises(CounterpaneError):
        learner.fit("there-is-no-such-file.csv")
    assert {name: id(value) for name, value in vars(learner).items()} == before


@all_learners
def test_learners_have_one_fit(make):
    kind = type(make())
    takes_more = "validation" if kind is cp.DependencyNetworkLearner else "interventions"
    parameters = set(inspect.signature(kind.fit).parameters)
    assert kind.fit is Learner.fit or takes_more in parameters
    assert kind._fit is Learner._fit


@all_learners
def test_a_fitted_learner_can_be_pickled_and_copied(make):
    learner = make().fit(make_frame())
    same_results(pickle.loads(pickle.dumps(learner)), learner)
    same_results(copy.deepcopy(learner), learner)


@all_learners
def test_a_second_fit_forgets_the_first(make):
    learner = make().fit(make_frame(seed=1))
    same_results(learner.fit(make_frame()), make().fit(make_frame()))


@all_learners
def test_a_failed_fit_changes_nothing(make):
    learner = make().fit(make_frame())
    model = learner.model_
    with pytest.raises(DataError):
        learner.fit(make_frame().iloc[:0])
    assert learner.model_ is model


@all_learners
def test_the_configuration_is_json_and_makes_the_same_learner(make):
    learner = make(n_jobs=2, discretize={"lung": 3})
    config = json.loads(json.dumps(learner.to_config(), allow_nan=False))
    twin = type(learner).from_config(config)
    assert type(twin) is type(learner)
    assert repr(twin.get_params()) == repr(learner.get_params())
    assert twin.to_config() == learner.to_config()


@all_learners
def test_the_model_keeps_the_configuration(make, tmp_path):
    learner = make().fit(make_frame())
    learner.model_.save(tmp_path / "model.cp")
    config = cp.load(tmp_path / "model.cp").record.learner.config
    same_results(type(learner).from_config(config).fit(make_frame()), learner)


# ---- inputs --------------------------------------------------------------------------------------


@all_learners
def test_inputs_are_not_altered(make):
    frame, weights = make_frame(), np.linspace(0.5, 2.0, 400)
    kept, kept_weights = frame.copy(deep=True), weights.copy()
    make().fit(frame, sample_weight=weights)
    pd.testing.assert_frame_equal(frame, kept)
    assert np.array_equal(weights, kept_weights)
    table = cp.read(frame)
    codes = table.codes.copy()
    make().fit(table)
    assert np.array_equal(table.codes, codes)
    array = table.codes.T.astype(np.int64)
    before = array.copy()
    make().fit(array)
    assert np.array_equal(array, before)
    assert array.flags.writeable


@all_learners
def test_every_kind_of_table_gives_the_same(make, tmp_path):
    frame = make_frame()
    table = cp.read(frame)
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    parts = [table.take(range(150)), frame.iloc[150:], frame.iloc[:0]]
    expected = make().fit(frame)
    inputs = {
        "polars": pl.from_pandas(frame),
        "pyarrow": pa.Table.from_pandas(frame),
        "dict": {name: frame[name].tolist() for name in frame},
        "csv": tmp_path / "t.csv",
        "path as text": str(tmp_path / "t.csv"),
        "parquet": tmp_path / "t.parquet",
        "table": table,
        "memory": MemoryCounts(table),
        "memory, 2 threads": MemoryCounts(table, n_jobs=2),
        "stream": StreamCounts(table.schema, lambda: parts),
    }
    for kind, given in inputs.items():
        try:
            same_results(make().fit(given), expected)
        except AssertionError as error:
            raise AssertionError(kind) from error


@all_learners
def test_an_array_is_a_table_of_numbers(make):
    table = cp.read(make_frame())
    learner = make().fit(table.codes.T.astype(np.int64))
    assert learner.model_.schema.names == ("x0", "x1", "x2", "x3", "x4")
    number = {name: f"x{i}" for i, name in enumerate(table.schema.names)}
    edges = make().fit(table).graph_.edges
    assert skeleton(learner) == {frozenset((number[a], number[b])) for a, b in edges}


@all_learners
@pytest.mark.parametrize("rows", [400, 70_000])
def test_threads_do_not_matter(make, rows):
    frame = make_frame(rows)
    weights = np.random.default_rng(0).gamma(1.0, 1.0, rows) if rows == 400 else None
    one, two = (make(n_jobs=n).fit(frame, sample_weight=weights) for n in (1, 2))
    same_results(one, two)


@all_learners
def test_weights_are_repetitions(make):
    frame = make_frame(200)
    times = np.random.default_rng(1).integers(0, 4, 200)
    times[:3] = 1
    table = cp.read(frame)
    weighted = make().fit(table, sample_weight=times)
    repeated = make().fit(table.take(np.repeat(np.arange(200), times)))
    same_results(weighted, repeated)
    same_results(make().fit(table.reweighted(times)), weighted)
    same_results(make().fit(table, sample_weight=pd.Series(times)), weighted)


@all_learners
def test_the_order_of_columns_does_not_matter(make):
    frame = make_frame()
    expected = make().fit(frame)
    for seed in range(3):
        names = np.random.default_rng(seed).permutation(list(frame)).tolist()
        learner = make().fit(frame[names])
        assert learner.model_.schema.names == tuple(names)
        assert skeleton(learner) == skeleton(expected)
        if hasattr(learner, "score_"):
            assert learner.score_ == pytest.approx(expected.score_, rel=1e-12)


@all_learners
def test_the_order_of_rows_does_not_matter(make):
    frame = make_frame()
    same_results(make().fit(frame.sample(frac=1, random_state=0)), make().fit(frame))


@all_learners
def test_names_and_states_are_kept(make):
    frame = make_frame()
    frame["mood"] = pd.Categorical(frame["mood"], ["up", "flat", "down"])
    learner = make().fit(frame)
    assert set(learner.graph_.nodes) == set(frame)
    assert isinstance(learner.graph_, nx.Graph)
    assert learner.model_.schema["mood"].states == ("up", "flat", "down")
    assert learner.model_.schema["lung"].states == ("bad", "good", "so-so")


# ---- small and odd tables ------------------------------------------------------------------------


@all_learners
@pytest.mark.parametrize(
    "frame",
    [
        pytest.param(make_frame(1), id="one row"),
        pytest.param(make_frame()[["lung"]], id="one column"),
        pytest.param(make_frame(1)[["lung"]], id="one cell"),
        pytest.param(make_frame().assign(lung="same", mood="same"), id="constant columns"),
        pytest.param(pd.DataFrame({"a": ["x"] * 9, "b": ["y"] * 9}), id="only constant columns"),
        pytest.param(make_frame().assign(twin=make_frame()["lung"]), id="identical columns"),
    ],
)
def test_odd_tables_are_learned(make, frame):
    learner = make().set_params(discretize=None).fit(frame)
    assert learner.model_.schema.names == tuple(frame)
    assert np.isfinite(objective(learner))
    assert np.isfinite(learner.model_.pseudo_log_likelihood(frame)).all()
    if not isinstance(learner.model_, cp.DependencyNetwork):  # which has no joint distribution
        assert np.isfinite(learner.model_.score_samples(frame)).all()


@all_learners
def test_identical_columns_are_joined(make):
    frame = make_frame().assign(twin=make_frame()["lung"])
    assert frozenset(("lung", "twin")) in skeleton(make().fit(frame))


# ---- refusals ------------------------------------------------------------------------------------


@all_learners
def test_weights_are_checked(make):
    frame = make_frame(4)
    with raises(WeightError, about="4 rows"):
        make().fit(frame, sample_weight=[1, 2])
    with raises(WeightError, about="row 2"):
        make().fit(frame, sample_weight=[1, 2, np.nan, 1])
    with raises(ParameterError, about="sample_weight"):
        make().fit(MemoryCounts(cp.read(frame)), sample_weight=[1, 1, 1, 1])


@all_learners
def test_threads_are_a_positive_number(make):
    with raises(ParameterError, parameter="n_jobs", value=0):
        make(n_jobs=0).fit(make_frame())


@all_learners
def test_what_is_no_table_is_refused(make):
    with raises(DataError, about="int"):
        make().fit(7)


# ---- the model -----------------------------------------------------------------------------------


@all_learners
def test_the_model_answers(make):
    frame = make_frame()
    model = make().fit(frame).model_
    answer = model.query("lung", {"smoke": "yes"})
    assert sum(answer.probabilities) == pytest.approx(1.0)
    observed = frame.loc[frame["smoke"] == "yes", "lung"].value_counts(normalize=True)
    assert answer["good"] == pytest.approx(observed["good"], abs=0.05)


@all_learners
def test_the_model_tells_where_it_comes_from(make):
    frame = make_frame()
    learner = make(n_jobs=2)
    told = learner.fit(frame, sample_weight=np.full(400, 2)).model_.record
    assert told.learner.text == repr(learner)
    assert (told.data.rows, told.data.weight) == (400, 800.0)
    assert told.learner.versions["counterpane"] == cp.__version__
    assert told.learner.seconds >= 0
    again = make().fit(frame, sample_weight=np.full(400, 2)).model_.record
    other = make().fit(make_frame(seed=3)).model_.record
    plain = make().fit(frame).model_.record
    assert told.data.fingerprint == again.data.fingerprint
    assert len({told.data.fingerprint, other.data.fingerprint, plain.data.fingerprint}) == 3


@all_learners
def test_the_model_is_saved_and_loaded(make, tmp_path):
    learner = make().fit(make_frame())
    path = tmp_path / "model.cp"
    learner.model_.save(path)
    loaded = cp.load(path)
    same_model(loaded, learner.model_)
    assert loaded.record == learner.model_.record


@all_learners
def test_the_trace_has_a_record_for_each_step(make):
    trace = make().fit(make_frame()).trace_
    assert [record["step"] for record in trace] == list(range(len(trace)))
    assert len(trace) >= 1
    pd.DataFrame(trace)


@all_learners
def test_progress_is_reported(make):
    seen = []
    make(progress=lambda *report: seen.append(report)).fit(make_frame())
    assert seen
    assert all(isinstance(what, str) for what, _, _ in seen)


# ---- stopping and going on -----------------------------------------------------------------------


def stop_the_search(monkeypatch, after):
    """Ctrl-C in the step after `after` steps of any search."""

    def classes(kind):
        for sub in kind.__subclasses__():
            yield sub
            yield from classes(sub)

    steps = []
    for kind in classes(Search):
        if "step" in vars(kind):
            inner = kind.step

            def step(self, state, ctl, inner=inner):
                if len(steps) == after:
                    raise KeyboardInterrupt
                steps.append(1)
                return inner(self, state, ctl)

            monkeypatch.setattr(kind, "step", step)


@all_learners
@pytest.mark.parametrize("as_stream", [False, True])
def test_an_interrupted_fit_goes_on_from_its_checkpoint(make, monkeypatch, tmp_path, as_stream):
    table = cp.read(make_frame())
    given = StreamCounts(table.schema, lambda: [table]) if as_stream else table
    path = tmp_path / "fit.cp"
    with monkeypatch.context() as patch:
        patch.setattr("counterpane.learners.bayesian.chow_liu.STEP_CELLS", 1)  # a child a step
        n_steps = len(make().fit(table).trace_)
        stop_the_search(patch, after=min(1, n_steps - 1))
        with warns(StoppedEarly, about="Ctrl-C"):
            partial = make(checkpoint=path).fit(given)
        assert path.exists()
        assert partial.model_.schema == table.schema
    resumed = make(checkpoint=path).fit(given)
    same_results(resumed, make().fit(table))
    assert list(tmp_path.iterdir()) == []


@all_learners
def test_a_checkpoint_of_another_fit_is_refused(make, monkeypatch, tmp_path):
    path = tmp_path / "fit.cp"
    with monkeypatch.context() as patch:
        stop_the_search(patch, after=0)
        with pytest.warns(StoppedEarly):
            make(checkpoint=path).fit(make_frame())
    before = path.read_bytes()
    for learner, frame in (
        (make(checkpoint=path), make_frame(seed=1)),
        (make(checkpoint=path, missing="error"), make_frame()),
    ):
        with raises(FitError, about="fit.cp"):
            learner.fit(frame)
    assert path.read_bytes() == before
    make(checkpoint=path, n_jobs=2, time_limit=60).fit(make_frame())  # these do not matter
    assert not path.exists()
