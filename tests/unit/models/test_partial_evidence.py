"""P(class | evidence) of the interaction classifier where evidence leaves columns out."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pandas as pd
import pytest

import counterpane as cp
from counterpane.data.encoding import UnknownCells
from counterpane.errors import EvidenceError, FileFormatError, ParameterError, UnknownNameError
from counterpane.models import row_average, training_rows
from counterpane.models.arrays import arrays_of
from counterpane.models.record import KeptRows
from counterpane.models.row_average import RowAverage
from counterpane.models.training_rows import ColumnEvidence, TrainingRows
from error_checks import raises, warns
from reference.partial_evidence_reference import average, conditional


def evidence_cells(table, target, size):
    """(evidence, counts of the classes) for each state or pair of states that has ten rows."""
    names = [n for n in table.schema.names if n != target]
    y = table.codes[table.schema.index(target)]
    for columns in itertools.combinations(names, size):
        own = [table.codes[table.schema.index(n)] for n in columns]
        for states in itertools.product(*(range(table.schema[n].card) for n in columns)):
            fit = np.all([c == s for c, s in zip(own, states, strict=True)], axis=0)
            if fit.sum() >= 10:
                known = zip(columns, states, strict=True)
                yield (
                    {n: table.schema[n].states[s] for n, s in known},
                    np.bincount(y[fit], minlength=table.schema[target].card),
                )


def errors_of(model, table, target, size):
    """|answer − frequency| in standard errors, and plain."""
    z, plain = [], []
    for evidence, counts in evidence_cells(table, target, size):
        p, n = model.query(target, evidence).probabilities, counts.sum()
        apart = np.abs(p - counts / n)
        z.extend(apart / np.sqrt(np.maximum(p * (1 - p), 1e-9) / n))
        plain.extend(apart)
    return np.array(z), np.array(plain)


@pytest.fixture(scope="module")
def titanic():
    return cp.InteractionClassifier().fit(cp.load_dataset("titanic"), "survived").model_


@pytest.mark.parametrize(
    ("evidence", "yes", "rows"),
    [({}, 711, 2201), ({"sex": "male"}, 367, 1731), ({"sex": "female"}, 344, 470)],
)
def test_the_answer_is_the_share_among_the_rows_that_fit(titanic, evidence, yes, rows):
    answer = titanic.query("survived", evidence)
    assert answer["yes"] == pytest.approx(yes / rows, abs=0.1 * (0.25 / rows) ** 0.5)
    assert answer.basis.rows_that_fit == rows
    assert answer.basis.effective_rows == pytest.approx(rows)
    assert not answer.basis.looser
    assert f"averaged over the {rows:,} training rows that fit" in str(answer.basis)


@pytest.mark.parametrize(
    ("name", "target"),
    [("titanic", n) for n in ("survived", "sex", "age", "status")]
    + [("iris", "class"), ("monks1", "class"), ("balance", "class")],
)
def test_answers_are_within_sampling_error_of_the_frequencies(name, target):
    table = cp.load_dataset(name)
    model = cp.InteractionClassifier().fit(table, target).model_
    for size in (1, 2):
        z, plain = errors_of(model, table, target, size)
        assert (z < 2).mean() >= 0.95
        assert z.max() < 4
        assert plain.mean() < 0.03


def known_joint():
    """P(a, b, c, class), with features that depend on each other and on the class."""
    rng = np.random.default_rng(0)
    features = rng.dirichlet(np.full(12, 0.8)).reshape(3, 2, 2)
    a, b, c = np.meshgrid(*(np.arange(k) for k in (3, 2, 2)), indexing="ij")
    odds = 1.2 * (a - 1) + 1.5 * b - 0.8 * c + 1.0 * (a == 2) * b
    yes = 1 / (1 + np.exp(-odds))
    return np.stack([features * (1 - yes), features * yes], axis=-1)


def test_answers_of_a_known_distribution_are_its_own():
    joint = known_joint()
    cells = np.array(list(np.ndindex(joint.shape))).T
    schema = cp.Schema.from_cards(joint.shape)
    table = cp.Table(schema, cells, np.maximum(np.rint(1e5 * joint.reshape(-1)), 1))
    model = cp.InteractionClassifier().fit(table, "x3").model_
    for columns in [(), (0,), (1,), (2,), (0, 1), (0, 2), (1, 2)]:
        for states in itertools.product(*(range(joint.shape[c]) for c in columns)):
            pairs = list(zip(columns, states, strict=True))
            truth = conditional(joint.tolist(), {c: {s} for c, s in pairs})
            answer = model.query("x3", {f"x{c}": s for c, s in pairs})
            assert answer.probabilities == pytest.approx(truth, abs=0.01)
    truth = conditional(joint.tolist(), {0: {0, 2}, 2: {1}})
    answer = model.query("x3", {"x0": {0, 2}, "x2": 1})
    assert answer.probabilities == pytest.approx(truth, abs=0.01)


def make_rows(n=60, seed=0):
    """Kept rows of two columns of states and one of numbers, with whole weights."""
    rng = np.random.default_rng(seed)
    codes = np.array([rng.integers(0, 3, n), rng.integers(0, 2, n), np.zeros(n)]).astype(np.uint8)
    numbers = rng.integers(0, 20, (1, n)).astype(float)
    codes[2] = numbers[0] >= 10
    weights = rng.integers(1, 4, n).astype(float)
    return TrainingRows(codes, np.array([2]), numbers, weights, n)


def some_log_proba(codes, numbers):
    """Class probabilities that depend on all columns."""
    eta = 0.7 * codes[0] - 1.1 * codes[1] + 0.15 * numbers[0] * (codes[0] == 1) - 0.5
    yes = 1 / (1 + np.exp(-eta))
    return np.log(np.stack([1 - yes, yes], axis=1))


def by_loops(rows, evidence, enough):
    weights = rows.weights.tolist()
    cells = [
        (int(a), int(b), float(x))
        for a, b, x in zip(rows.codes[0], rows.codes[1], rows.numbers[0], strict=True)
    ]

    def rank(x):
        below = sum(w for (_, _, v), w in zip(cells, weights, strict=True) if v < x)
        equal = sum(w for (_, _, v), w in zip(cells, weights, strict=True) if v == x)
        return (below + equal / 2) / sum(weights)

    def probabilities(row):
        codes = np.array([[row[0]], [row[1]], [0]])
        return np.exp(some_log_proba(codes, np.array([[row[2]]]))[0]).tolist()

    return average(cells, weights, evidence, probabilities, enough, {2: rank})


@pytest.mark.parametrize("enough", [5.0, 40.0])
@pytest.mark.parametrize(
    "evidence", [{}, {0: 1}, {0: 2, 1: 1}, {2: 7.0}, {2: 7.5}, {0: 1, 2: 3.0}, {0: 1, 1: 0, 2: 3.5}]
)
def test_averages_are_those_of_plain_loops(monkeypatch, enough, evidence):
    monkeypatch.setattr(row_average, "ENOUGH", (enough,))
    rows = make_rows()
    given = [ColumnEvidence(c, np.array([int(x)])) for c, x in evidence.items() if c < 2]
    if 2 in evidence:
        x = np.array([evidence[2]])
        given.append(ColumnEvidence(2, (x >= 10).astype(int), None, 0, x))
    found = RowAverage(rows, some_log_proba)(given, 1)
    mean, mass, effective = by_loops(rows, evidence, enough)
    assert found.probabilities[0] == pytest.approx(mean, abs=1e-3)  # small weights are dropped
    assert found.fitting[0] == mass
    assert found.effective[0] == pytest.approx(effective, rel=0.02)
    assert found.looser[0] == (mass < enough)


def test_weights_of_states_are_sets_and_likelihoods():
    rows = make_rows()
    average_of = RowAverage(rows, some_log_proba)

    def weighed(*weights):
        return average_of([ColumnEvidence(0, np.array([1]), np.array([weights]))], 1).probabilities[
            0
        ]

    own = np.exp(some_log_proba(rows.codes, rows.numbers))
    for weights in ([0.0, 1.0, 1.0], [0.5, 1.0, 0.25], [2.0, 4.0, 1.0]):
        w = rows.weights * np.array(weights)[rows.codes[0]]
        assert weighed(*weights) == pytest.approx(w @ own / w.sum())
    point = average_of([ColumnEvidence(0, np.array([1]))], 1)
    assert weighed(0.0, 1.0, 0.0) == pytest.approx(point.probabilities[0])


@pytest.fixture(scope="module")
def frame():
    """States with gaps, states without, numbers; the class depends on all."""
    rng = np.random.default_rng(1)
    n = 600
    group = rng.choice(["a", "b", "c"], n)
    size = rng.normal(loc=(group == "a") * 1.5, size=n).round(2)
    port = rng.choice(["x", "y"], n).astype(object)
    port[rng.random(n) < 0.15] = None
    odds = 1.2 * size + (group == "b") - 0.8 * (port == "x")
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-odds)), "yes", "no")
    return pd.DataFrame({"group": group, "size": size, "port": port, "y": y})


@pytest.fixture(scope="module")
def fitted(frame):
    return cp.InteractionClassifier().fit(frame, "y")


def test_full_evidence_keeps_the_exact_answer(frame, fitted):
    model = fitted.model_
    expected = np.exp(model.log_proba(*model.encode(frame)))
    assert (model.predict_proba(frame) == expected).all()
    assert (fitted.predict_proba(frame) == expected).all()
    for row in range(5):
        evidence = frame.drop(columns="y").iloc[row].to_dict()
        answer = model.query("y", evidence)
        assert answer.probabilities == pytest.approx(expected[row], abs=1e-12)
        assert answer.basis is None


def test_predictions_and_queries_mean_the_same(frame, fitted):
    model, some = fitted.model_, frame.iloc[:40]
    for left in (["port"], ["size"], ["group"], ["group", "size"], ["size", "port"]):
        known = some.drop(columns=[*left, "y"])
        whole = model.predict_proba(known)
        one = [
            model.query("y", row._asdict()).probabilities for row in known.itertuples(index=False)
        ]
        assert whole == pytest.approx(np.array(one), abs=1e-12)
        turned = model.predict_proba(known.iloc[::-1])[::-1]
        assert (whole == turned).all()


def test_a_cell_that_says_nothing_is_averaged_over(frame, fitted):
    model, some = fitted.model_, frame.iloc[:40].drop(columns="y")
    without = model.predict_proba(some.drop(columns="size"))
    assert fitted.predict_proba(some.assign(size=np.nan)) == pytest.approx(without, abs=1e-12)
    without = model.predict_proba(some.drop(columns="group"))
    with warns(UnknownCells, about=("'group'", "'new'")):
        assert fitted.predict_proba(some.assign(group="new")) == pytest.approx(without, abs=1e-12)
    mixed = some.assign(size=some["size"].where(np.arange(40) % 2 == 0))
    found = fitted.predict_proba(mixed)
    assert (found[::2] == fitted.predict_proba(some)[::2]).all()
    gone = model.predict_proba(some.drop(columns="size"))
    assert found[1::2] == pytest.approx(gone[1::2], abs=1e-12)


def test_missing_stays_a_state_where_training_had_it(frame, fitted):
    model = fitted.model_
    one = {"group": ["a"], "size": [0.5], "port": [None]}
    missing = model.predict_proba(one)
    expected = np.exp(model.log_proba(*model.encode(pd.DataFrame(one))))
    assert (missing == expected).all()
    absent = model.predict_proba({"group": ["a"], "size": [0.5]})
    assert abs(absent - missing).max() > 0.01
    fit = frame[frame["port"].isna()]
    answer = model.query("y", {"port": None})
    assert answer.basis.rows_that_fit == len(fit)
    assert answer["yes"] == pytest.approx((fit["y"] == "yes").mean(), abs=0.05)


def test_intervals_and_sets_take_the_rows_in_them(frame, fitted):
    model = fitted.model_
    for state in model.schema["size"].states:
        low = model.schema["size"].states.index(state)
        cuts = [-np.inf, *model.schema["size"].cuts, np.inf]
        fit = frame[(frame["size"] >= cuts[low]) & (frame["size"] < cuts[low + 1])]
        answer = model.query("y", {"size": state})
        assert answer.basis.rows_that_fit == len(fit)
        assert answer["yes"] == pytest.approx((fit["y"] == "yes").mean(), abs=0.06)
    fit = frame[frame["group"].isin(["a", "b"])]
    answer = model.query("y", {"group": {"a", "b"}})
    assert answer.basis.rows_that_fit == len(fit)
    assert answer.basis.columns == ("size", "port")
    assert answer["yes"] == pytest.approx((fit["y"] == "yes").mean(), abs=0.03)
    whole = model.query("y", {"group": {"a", "b", "c"}})
    assert whole.probabilities == pytest.approx(model.query("y").probabilities)
    weighed = model.query("y", {"group": {"a": 1.0, "b": 1.0}})
    assert weighed.probabilities == pytest.approx(answer.probabilities)
    for nonsense in (set(), {"a": 0.0}, {"a": 1.0, "b": -1.0}, {"a": np.inf}):
        with raises(EvidenceError, about="'group'"):
            model.query("y", {"group": nonsense})


def test_few_rows_that_fit_are_filled_up_with_similar_ones(fitted):
    answer = fitted.model_.query("y", {"size": 12.0})
    assert answer.basis.rows_that_fit == 0
    assert answer.basis.looser
    assert "no training row fits the evidence, so averaged over similar rows" in str(answer.basis)
    assert 1 < answer.basis.effective_rows < 200
    assert answer["yes"] > 0.9


def test_without_rows_partial_evidence_is_refused(frame, tmp_path):
    fitted = cp.InteractionClassifier(keep_rows=False).fit(frame, "y")
    fitted.model_.save(tmp_path / "m.cp")
    model = cp.load(tmp_path / "m.cp")
    assert not any(name.startswith("rows.") for name in arrays_of(model))
    some = frame.iloc[:9].drop(columns="y")
    assert (model.predict_proba(some) == fitted.predict_proba(some)).all()
    with raises(ParameterError, about=("(size, port)", "keep_rows")):
        model.query("y", {"group": "a"})
    with raises(ParameterError, about="rows"):
        model.predict_proba(some.drop(columns="size"))
    with pytest.warns(UnknownCells):
        assert np.isfinite(fitted.predict_log_proba(some.assign(group="new"))).all()


def test_saved_rows_come_back(frame, fitted, tmp_path):
    fitted.model_.save(tmp_path / "m.cp")
    again = cp.load(tmp_path / "m.cp")
    known = frame[["group", "size"]]
    assert (again.predict_proba(known) == fitted.model_.predict_proba(known)).all()
    assert again.record.data.kept_rows == KeptRows(len(again.rows), again.rows.seen)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("rows.codes", lambda a: a[:-1]),
        ("rows.codes", lambda a: a | 255),
        ("rows.numbers", lambda a: a[:, 1:]),
        ("rows.weights", lambda a: -a),
        ("rows.seen", lambda a: a * 0),
    ],
)
def test_nonsense_in_kept_rows_is_refused(fitted, tmp_path, monkeypatch, name, change):
    arrays = arrays_of(fitted.model_)
    arrays[name] = change(arrays[name])
    monkeypatch.setattr("counterpane.models.base.arrays_of", lambda _: arrays)
    fitted.model_.save(tmp_path / "bad.cp")
    with raises(FileFormatError, about="bad.cp"):
        cp.load(tmp_path / "bad.cp")


def test_a_sample_of_the_rows_is_kept_where_they_are_many(frame, fitted, monkeypatch):
    monkeypatch.setattr(training_rows, "MAX_ROWS", 150)
    some = cp.InteractionClassifier().fit(frame, "y").model_
    assert len(some.rows) <= 150
    assert some.rows.seen == fitted.model_.rows.seen > 500
    assert some.rows.weights.sum() == pytest.approx(600)
    turned = cp.InteractionClassifier().fit(frame.sample(frac=1, random_state=2), "y").model_
    assert (turned.rows.codes == some.rows.codes).all()
    assert (turned.rows.numbers == some.rows.numbers).all()
    for group in "abc":
        fit = frame[frame["group"] == group]
        rate = (fit["y"] == "yes").mean()
        assert some.query("y", {"group": group})["yes"] == pytest.approx(rate, abs=0.05)


def test_weights_count_as_rows(frame):
    weights = np.random.default_rng(0).integers(1, 4, len(frame))
    twice = frame.loc[frame.index.repeat(weights)]
    a = cp.InteractionClassifier().fit(frame, "y", sample_weight=weights).model_
    b = cp.InteractionClassifier().fit(twice, "y").model_
    for evidence in ({"group": "a"}, {"size": 0.31}, {"group": "b", "port": "x"}):
        one, other = a.query("y", evidence), b.query("y", evidence)
        assert one.probabilities == pytest.approx(other.probabilities, abs=1e-9)
        assert one.basis[1:] == pytest.approx(other.basis[1:])


def test_the_command_says_what_it_averaged_over(run, frame, tmp_path):
    frame.to_csv(tmp_path / "rows.csv", index=False)
    run("learn", "rows.csv", "--target", "y", "-o", "m.cp")
    code, out, err = run("query", "m.cp", "y", "-g", "group=a")
    rows = (frame["group"] == "a").sum()
    assert code == 0
    assert f"Not given: size, port; averaged over the {rows} training rows that fit" in err
    answer = json.loads(run("query", "m.cp", "y", "-g", "size=12", "--json")[1])
    assert answer["averaged_over"]["looser"]
    assert answer["averaged_over"]["rows_that_fit"] == 0
    (tmp_path / "new.csv").write_text("group\na\nb\n")
    code, out, err = run("predict", "m.cp", "new.csv")
    assert "Not in DATA, so summed out: 'size', 'port'." in err
    first = float(out.splitlines()[1].split(",")[-1])
    assert first == pytest.approx((frame["y"][frame["group"] == "a"] == "yes").mean(), abs=0.03)


def test_one_row_is_its_own_average():
    model = cp.InteractionClassifier().fit({"a": ["x"], "b": [1.5]}, ["yes"]).model_
    assert model.query("class", {"a": "x"}).to_dict() == {"yes": 1.0}
    assert model.query("class", {"b": 7.0}).to_dict() == {"yes": 1.0}
    two = (
        cp.InteractionClassifier(discretize="mdl")
        .fit({"a": ["x", "y"], "b": [1, 1]}, ["yes", "no"])
        .model_
    )
    assert two.query("class", {"b": 1})["yes"] == pytest.approx(0.5)


@pytest.fixture(scope="module")
def ages():
    """A table whose target falls with age, steadily, and a classifier of it."""
    r = np.random.default_rng(3)
    age, plan = r.normal(45, 15, 3000).round(), r.choice(["basic", "plus"], 3000)
    age[r.random(3000) < 0.1] = np.nan
    z = -0.05 * (np.nan_to_num(age, nan=45) - 45) + (plan == "basic")
    left = np.where(r.random(3000) < 1 / (1 + np.exp(-z)), "yes", "no")
    frame = pd.DataFrame({"age": age, "plan": plan, "left": left})
    return frame, cp.InteractionClassifier().fit(frame, "left").model_


@pytest.mark.parametrize(
    ("low", "high"), [(60, None), (None, 30), (52, 57), (60.5, 61.5), (None, 46)]
)
def test_a_range_takes_the_rows_whose_numbers_lie_in_it(ages, low, high):
    frame, model = ages
    fit = (frame.age >= (low or -np.inf)) & (frame.age < (high or np.inf))
    answer = model.query("left", {"age": cp.Range(low, high)})
    assert answer.basis.rows_that_fit == fit.sum()
    assert answer.basis.columns == ("plan",)
    share, error = (frame.left[fit] == "yes").mean(), (0.25 / fit.sum()) ** 0.5
    assert answer["yes"] == pytest.approx(share, abs=2 * error)


def test_a_range_with_few_rows_takes_the_nearest_ones(ages):
    _, model = ages
    few = model.query("left", {"age": cp.Range(85, None)})
    assert few.basis.looser and few.basis.rows_that_fit < 20
    assert few["yes"] < 0.4 < model.query("left")["yes"]


def test_columns_given_in_part_are_not_called_not_given(ages):
    _, model = ages
    answer = model.query("left", {"age": cp.Range(60, None), "plan": {"basic", "plus"}})
    assert answer.basis.columns == ()
    assert str(answer.basis).startswith("Averaged over the ")


def test_a_column_that_is_not_there_is_named(ages):
    _, model = ages
    with raises(UnknownNameError, parameter="column", value="laft"):
        model.query("laft")


def test_one_more_column_is_one():
    basis = row_average.Basis(tuple("abcdefg"), 12.0, 12.0, False)
    assert str(basis).startswith("Not given: a, b, c, d, e, f and 1 more column; ")
    estimated = basis._replace(columns=("a",), estimated=True)
    assert str(estimated) == (
        "Not given: a; averaged over about 12 training rows that fit the evidence."
    )


def test_no_row_fits_a_likelihood_on_several_columns():
    """A mixture that keeps rows answers from similar rows then."""
    model = cp.MarkovClassifier().fit(cp.load_dataset("tictactoe"), "class").model_
    state = {"top_left": "x", "top_middle": "x", "top_right": "x", "middle_left": "x"}
    likely = {"middle_middle": {"x": 1.0, "o": 0.0, "b": 0.0}}
    answer = model.query("class", state, virtual_evidence=likely)
    assert answer.basis.rows_that_fit == 0
    assert answer.probabilities.sum() == pytest.approx(1)
