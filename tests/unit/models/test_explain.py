"""Why a row gets its class: `model.explain` and `counterpane explain`."""

from __future__ import annotations

import json
import math
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import counterpane as cp
from counterpane.additive.effects import explained_probabilities
from counterpane.data.encoding import UnknownCells
from error_checks import warns

ROW = {"status": "third", "age": "adult", "sex": "male"}


def by_columns(records) -> dict:
    """Contributions by the set of columns; None for what is left over."""
    return {
        None if r["columns"] is None else frozenset(r["columns"]): r["contributions"]
        for r in records
    }


@pytest.mark.parametrize(
    "learner",
    [cp.InteractionClassifier, cp.MarkovClassifier, cp.TAN, cp.NaiveBayes, cp.BayesNetClassifier],
)
def test_contributions_sum_to_the_log_odds(learner, tmp_path: Path) -> None:
    fitted = learner().fit(cp.load_dataset("titanic"), "survived")
    fitted.model_.save(tmp_path / "m.cp")
    model = cp.load(tmp_path / "m.cp")
    records = model.explain(ROW)
    no, yes = fitted.predict_proba({name: [cell] for name, cell in ROW.items()})[0]
    total = sum(record["contributions"]["yes"] for record in records)
    assert total == pytest.approx(math.log(yes / no))
    assert explained_probabilities(records) == pytest.approx({"no": no, "yes": yes})
    if hasattr(fitted, "explain"):
        ours, theirs = by_columns(records), by_columns(fitted.explain(ROW))
        assert ours.keys() == theirs.keys()
        for columns, values in ours.items():
            assert values == pytest.approx(theirs[columns])


def test_naive_bayes_adds_log_likelihood_ratios_of_the_rows() -> None:
    titanic = cp.load_dataset("titanic")
    model = (
        cp.NaiveBayes(smoothing="even", equivalent_sample_size=1e-9).fit(titanic, "survived").model_
    )
    survived = titanic.column("survived") == "yes"
    male = titanic.column("sex") == "male"
    ratio = math.log(male[survived].mean() / male[~survived].mean())
    found = by_columns(model.explain(ROW))
    assert found[frozenset({"sex"})]["yes"] == pytest.approx(ratio)
    assert found[frozenset()]["yes"] == pytest.approx(
        math.log(survived.mean() / (~survived).mean())
    )


def test_more_than_two_classes_and_unknown_cells() -> None:
    model = cp.TAN().fit(cp.load_dataset("iris"), "class").model_
    row = {"petal_length": 5.0, "petal_width": 2.0}
    records = model.explain(row)
    expected = model.query("class", row).to_dict()
    assert explained_probabilities(records) == pytest.approx(expected)
    with warns(UnknownCells, about=("'petal_width'", "'strange'")):
        odd = model.explain({"petal_length": 5.0, "petal_width": "strange"})
    assert explained_probabilities(odd) == pytest.approx(
        model.query("class", {"petal_length": 5.0}).to_dict()
    )


def test_impossible_cells_give_no_nan() -> None:
    schema = cp.Schema.from_cards([2, 2])
    tables = [[0.5, 0.5], [[1.0, 0.0], [0.5, 0.5]]]
    model = cp.BayesianNetwork(schema, cp.Dag(2, [(0, 1)]), tables)
    found = explained_probabilities(model.explain({"x1": 1}, "x0"))
    assert found == pytest.approx({0: 0.0, 1: 1.0})


def test_the_command_explains_pairs(run, tmp_path: Path) -> None:
    run("learn", "titanic", "--target", "survived", "-o", "m.cp")
    words = ("sex=female", "status=third", "age=adult")
    code, out, _ = run("explain", "m.cp", *words, "--class", "yes")
    assert code == 0
    model = cp.load(tmp_path / "m.cp")
    row = dict(word.split("=") for word in words)
    expected = model.predict_proba({name: [cell] for name, cell in row.items()})[0]
    assert f"P(survived | row): no {expected[0]:.4f}, yes {expected[1]:.4f}" in out
    assert f"P(survived = yes) = {expected[1]:.3f}; log-odds:" in out
    assert f"{math.log(expected[1] / expected[0]):+.3f}  in total" in out
    facts = json.loads(run("explain", "m.cp", *words, "--json")[1])
    assert facts["row"] == row
    found = {tuple(part["columns"] or ["?"]): part["log_odds"] for part in facts["interactions"]}
    sizes = [abs(part["log_odds"]) for part in facts["interactions"]]
    assert sizes == sorted(sizes, reverse=True)
    records = by_columns(model.explain(row))
    assert found[("sex",)] == pytest.approx(records[frozenset({"sex"})][facts["class"]])


def test_the_command_explains_rows_of_files(run, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    price, big = rng.uniform(500, 5000, 200), rng.integers(0, 2, 200)
    lines = [
        f'"${p:,.0f}",{"ab"[b]},{"ny"[p * (1 + b) > 3000]}'
        for p, b in zip(price.tolist(), big.tolist(), strict=True)
    ]
    (tmp_path / "t.csv").write_text("\n".join(["price,a=b,buy", *lines]))
    assert run("learn", "t.csv", "--target", "buy", "--method", "tan", "-o", "m.cp")[0] == 0
    by_number = json.loads(run("explain", "m.cp", "--data", "t.csv", "--row", "7", "--json")[1])
    cell, group, _ = lines[6].rsplit(",", 2)
    words = (f"price={cell.strip(chr(34))}", f"a=b={group}")
    by_pairs = json.loads(run("explain", "m.cp", *words, "--json")[1])
    assert by_number["probabilities"] == by_pairs["probabilities"]
    assert by_number["row"] == by_pairs["row"] == {"price": round(price[6]), "a=b": group}
    model = cp.load(tmp_path / "m.cp")
    expected = model.query("buy", {"price": round(price[6]), "a=b": group}).to_dict()
    assert by_pairs["probabilities"] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ([], "one row is needed: give it as column=value pairs, or as --data FILE --row NUMBER"),
        (["sex=male", "--data", "titanic"], "one row is needed"),
        (["--row", "3"], "one row is needed"),
        (["sex=mal"], "column 'sex': 'mal' is not one of 2 states"),
        (["sx=male"], "column 'sx' is not known; did you mean 'sex'?"),
        (["male"], "'male' is not of the form column=value"),
        (["sex=male", "sex=female"], "column 'sex' is given twice"),
        (["--data", "titanic", "--row", "9999"], "--row 9999 must be from 1 to 2,201"),
        (["sex=male", "--class", "maybe"], "'maybe' is not one of 2 states"),
        (["sex=male", "--target", "age"], "--target 'age'; the model predicts 'survived' alone"),
    ],
)
def test_what_cannot_be_explained(run, words: list[str], hint: str) -> None:
    run("learn", "titanic", "--target", "survived", "-o", "m.cp", "-q")
    code, _, err = run("explain", "m.cp", *words)
    assert code == 2
    assert hint in err


def test_other_models_are_refused(run) -> None:
    run("learn", "titanic", "--method", "dn-tree", "-o", "d.cp")
    code, _, err = run("explain", "d.cp", "sex=male", "--target", "survived")
    assert code == 2
    assert "a model of the kind 'dependency_network' cannot be explained" in err
    run("learn", "titanic", "--method", "hill-climb", "-o", "b.cp")
    code, _, err = run("explain", "b.cp", "sex=male")
    assert "name the column to predict with --target COLUMN" in err
    assert run("explain", "b.cp", "sex=male", "--target", "survived")[0] == 0


def test_boosted_tables_add_up_exactly() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 400))
    frame = {
        "x": x,
        "y": y,
        "class": np.where(x * y + 0.3 * rng.normal(size=400) > 0, "up", "down"),
    }
    learner = cp.InteractionClassifier(parts="trees").fit(frame, "class")
    model = learner.model_
    for k in range(20):
        row = {"x": x[k], "y": y[k]}
        records = learner.explain(row)
        down, up = learner.predict_proba({name: [cell] for name, cell in row.items()})[0]
        total = sum(record["contributions"]["up"] for record in records)
        assert total == pytest.approx(math.log(up / down), abs=1e-9)
        # Of two classes, smoothing shrinks all lines of the trees by one factor.
        contributions = model.contributions(*model.encode({n: [c] for n, c in row.items()}))
        tables = dict(zip([(), *model.hyperedges], contributions[:, 0, 1].tolist(), strict=True))
        factor = total / sum(tables.values())
        assert 0 < factor < 1
        for record in records:
            expected = factor * tables[record["face"]]
            assert record["contributions"]["up"] == pytest.approx(expected, abs=1e-6)
    words = str(records)
    assert words.startswith(f"P(class = {records.predicted}) = {max(up, down):.3f}; log-odds:")
    assert f"x = {x[19]}" in words and "in total" in words
    assert repr(records) == words


def nearly_certain(rows: int = 2000) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=rows)
    near = np.where(x + 0.05 * rng.normal(size=rows) > 0, "p", "n")
    return {"x": x, "z": rng.normal(size=rows), "class": near}


@pytest.mark.parametrize(
    "row", [{"x": 3.0, "z": 0.1}, {"x": 3.0}, {"z": 0.1}, {"x": -0.01}, {"x": None}]
)
def test_smoothing_and_averages_are_in_the_lines_that_cause_them(row) -> None:
    """A row far from the boundary has log-odds of a hundred, before its probability is smoothed."""
    model = cp.InteractionClassifier().fit(nearly_certain(), "class").model_
    records = model.explain(row)
    n, p = model.predict_proba({name: [cell] for name, cell in row.items()})[0]
    assert sum(r["contributions"]["p"] for r in records) == pytest.approx(math.log(p / n))
    given = {name for name, cell in row.items() if cell is not None}
    names = {r["name"] for r in records}
    absent = [name for name in ("x", "z") if name not in given]
    expected = {f"{name} = {row[name]:.12g}" for name in given} | {"(intercept)"}
    expected |= {f"(not given: {', '.join(absent)})"} if absent else set()
    assert names <= expected and names >= {f"{name} = {row[name]:.12g}" for name in given}
    if row.get("x") == 3.0:
        assert records[0]["columns"] == ["x"]
        assert records[0]["contributions"]["p"] > 7


@pytest.mark.parametrize(
    "learner", [cp.InteractionClassifier, partial(cp.InteractionClassifier, parts="trees")]
)
def test_three_classes_and_missing_columns_add_up(learner) -> None:
    iris = cp.load_dataset("iris")
    model = learner().fit(iris, "class").model_
    for row in ({"petal_length": 5.0}, {"petal_length": 1.4, "sepal_width": 3.0}):
        records = model.explain(row)
        expected = model.predict_proba({name: [cell] for name, cell in row.items()})[0]
        found = explained_probabilities(records)
        assert [found[c] for c in model.target.states] == pytest.approx(expected.tolist())
        assert {c for r in records for c in r["columns"] or ()} == set(row)
        assert max(records, key=lambda r: r["size"])["columns"] == ["petal_length"]


def test_an_average_of_networks_leaves_no_remainder() -> None:
    titanic = cp.load_dataset("titanic")
    model = cp.OrderMCMC(random_state=0, n_samples=50).fit(titanic.take(range(0, 2201, 20))).model_
    row = dict(ROW)
    records = model.explain(row, "survived")
    assert all(r["columns"] is not None for r in records)
    expected = model.query("survived", row).to_dict()
    assert explained_probabilities(records) == pytest.approx(expected)


def test_an_average_with_an_impossible_member_is_no_remainder_of_hundreds() -> None:
    """One network of two says that the row is impossible; the other one counts."""
    schema = cp.Schema.from_cards([2, 2])
    sure = cp.BayesianNetwork(schema, cp.Dag(2, [(0, 1)]), [[0.5, 0.5], [[1.0, 0.0], [0.5, 0.5]]])
    calm = cp.BayesianNetwork(schema, cp.Dag(2, [(0, 1)]), [[0.5, 0.5], [[0.4, 0.6], [0.5, 0.5]]])
    model = cp.models.Mixture([sure, calm])
    records = model.explain({"x1": 1}, "x0")
    assert explained_probabilities(records) == pytest.approx(model.query("x0", {"x1": 1}).to_dict())
    assert {r["name"] for r in records} == {"(intercept)", "x1 = 1"}
    assert max(r["size"] for r in records) < 3


def test_cells_beside_unknown_columns_have_lines_of_their_own() -> None:
    """What `status` says through the unknown `age` and `sex` is the line of `status`."""
    model = cp.StructureSearch().fit(cp.load_dataset("titanic")).model_
    records = model.explain({"status": "first"}, "survived")
    expected = model.query("survived", {"status": "first"}).to_dict()
    assert explained_probabilities(records) == pytest.approx(expected)
    none = model.query("survived").to_dict()
    found = {r["name"]: r["contributions"]["yes"] for r in records}
    more = math.log(expected["yes"] / expected["no"]) - math.log(none["yes"] / none["no"])
    assert found == pytest.approx(
        {"status = first": more, "(intercept)": math.log(none["yes"] / none["no"])}
    )


def test_the_command_has_the_names_of_python(run, tmp_path: Path) -> None:
    run("learn", "titanic", "--target", "survived", "-o", "m.cp")
    model = cp.load(tmp_path / "m.cp")
    for row in (ROW, {"sex": "female"}):
        words = [f"{name}={cell}" for name, cell in row.items()]
        _, out, _ = run("explain", "m.cp", *words)
        facts = json.loads(run("explain", "m.cp", *words, "--json")[1])
        names = [name for name, _ in model.explain(row).parts(facts["class"])]
        assert [part["name"] for part in facts["interactions"]] == names
        assert all(name in out for name in names)
        assert "(other)" not in out and "(smoothing" not in out


def test_an_explanation_prints_sums_and_is_a_table_in_a_notebook() -> None:
    frame = cp.load_dataset("iris", discretize="quantile").to_pandas()
    frame["class"] = frame["class"].astype(str) + "<b>"
    records = cp.InteractionClassifier(parts="tables").fit(frame, "class").explain(frame.iloc[0])
    parts = records.parts(records.predicted)
    total = records.log_odds(records.predicted)
    assert sum(value for _, value in parts) == pytest.approx(total, abs=0.0005)
    assert f"{total:+.3f}  in total" in str(records)
    page = records._repr_html_()
    assert "&lt;b&gt;" in page and "<b>" not in page
    assert page.count("<tr>") == len(parts) + 1
