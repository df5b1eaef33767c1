"""Classifiers on the command line: learn with a target, and predict."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import counterpane as cp
from counterpane.cli import predict
from counterpane.workflow import choose, csv_text

METHODS = ["naive-bayes", "tan", "bnc", "markov", "interaction"]


@pytest.fixture
def cars(tmp_path: Path) -> Path:
    """A file with texts, numbers and gaps, whose class follows both."""
    rng = np.random.default_rng(0)
    lines = ["color,price,kind"]
    for _ in range(200):
        color, price = rng.choice(["red", "blue", ""]), rng.normal()
        kind = "fast" if (price > 0.2) != (color == "blue") else "slow"
        lines.append(f"{color},{price:.3f},{kind}")
    path = tmp_path / "cars.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def read_rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize("method", METHODS)
def test_learn_then_predict(run, cars: Path, method: str) -> None:
    code, out, _ = run("learn", "cars.csv", "--target", "kind", "--method", method)
    assert code == 0
    assert "Cut into intervals: price" in out
    assert "Missing cells: 75 in 1 column (color); kept as the state (missing)." in out
    assert "next: counterpane predict cars.cp" in out
    code, out, err = run("predict", "cars.cp", "cars.csv")
    assert (code, err) == (0, "")
    rows = read_rows(out)
    assert list(rows[0]) == ["predicted", "P(fast)", "P(slow)"]
    learner = choose.CLASSIFIERS[method].make().fit(cars, "kind")
    found = np.array([[float(r["P(fast)"]), float(r["P(slow)"])] for r in rows])
    assert np.allclose(found, learner.predict_proba(cars), atol=2e-6)
    assert [r["predicted"] for r in rows] == learner.predict(cars).tolist()
    facts = json.loads(run("predict", "cars.cp", "cars.csv", "--json")[1])
    assert facts["rows"] == 200
    assert facts["target"] == "kind"
    assert sum(facts["predicted"].values()) == 200
    assert facts["accuracy"] == pytest.approx(learner.score(cars, "kind"))
    truth = np.array([r["kind"] == "slow" for r in read_rows(cars.read_text())]).astype(int)
    losses = -learner.predict_log_proba(cars)[np.arange(200), truth]
    assert facts["log_loss"] == pytest.approx(losses.mean(), rel=1e-6)
    code, out, _ = run("query", "cars.cp", "kind", "-g", "price=1.5", "-g", "color=red")
    assert code == 0
    assert "P(kind | price=1.5, color=red)" in out


def test_the_default_with_a_target_is_the_interaction_classifier(run) -> None:
    facts = json.loads(run("learn", "titanic", "--target", "survived", "--json")[1])
    assert facts["method"] == "interaction"
    assert facts["model"] == "titanic.cp"
    assert facts["classes"] == ["no", "yes"]
    assert "parts" not in facts
    assert [i["columns"] for i in facts["interactions"][:2]] == [["sex"], ["status"]]
    assert {"columns", "order", "effect", "explained"} == set(facts["interactions"][0])
    pair = next(i for i in facts["interactions"] if i["order"] == 2)
    assert 0 <= pair["share"] <= 1
    assert pair["samples"] == 20
    answer = json.loads(
        run("query", "titanic.cp", "survived", "--given", "sex=female", "--json")[1]
    )
    assert answer["cells"][1]["states"] == ["yes"]
    assert answer["cells"][1]["probability"] == pytest.approx(344 / 470, abs=0.002)
    assert answer["averaged_over"]["columns"] == ["status", "age"]
    assert answer["averaged_over"]["rows_that_fit"] == 470
    _, _, err = run("query", "titanic.cp", "survived", "--given", "sex=female")
    assert "Not given: status, age; averaged over the 470 training rows that fit" in err
    assert json.loads(run("learn", "titanic", "--json")[1])["method"] == "structure-search"


def test_rows_go_to_a_file_with_their_columns(run, cars: Path, tmp_path: Path) -> None:
    run("learn", "cars.csv", "--target", "kind", "--method", "tan", "-o", "m.cp")
    code, out, _ = run("predict", "m.cp", "cars.csv", "-o", "out.csv.gz", "--keep")
    assert code == 0
    assert "200 rows" in out
    assert "accuracy" in out
    assert "out.csv.gz" in out
    rows = read_rows(gzip.decompress((tmp_path / "out.csv.gz").read_bytes()).decode())
    given = read_rows(cars.read_text())
    assert list(rows[0]) == ["color", "price", "kind", "predicted", "P(fast)", "P(slow)"]
    assert [r["color"] for r in rows] == [r["color"] for r in given]
    assert [float(r["price"]) for r in rows] == [float(r["price"]) for r in given]


def test_a_terminal_shows_the_first_rows(run, cars: Path, monkeypatch) -> None:
    run("learn", "cars.csv", "--target", "kind", "--method", "naive-bayes", "-o", "m.cp")
    monkeypatch.setattr(
        predict, "console", Console(force_terminal=True, color_system=None, width=90)
    )
    _, out, _ = run("predict", "m.cp", "cars.csv")
    assert "… 180 more" in out
    assert "predicted" in out


def test_new_rows_may_lack_the_class_and_hold_new_states(run, cars: Path, tmp_path: Path) -> None:
    run("learn", "cars.csv", "--target", "kind", "--method", "naive-bayes", "-o", "m.cp")
    (tmp_path / "new.csv").write_text("price,color,owner\n9.5,violet,ann\n,blue,bob\n-3,,cy\n")
    rows = read_rows(run("predict", "m.cp", "new.csv")[1])
    assert len(rows) == 3
    assert all(0 < float(r["P(fast)"]) < 1 for r in rows)
    facts = json.loads(run("predict", "m.cp", "new.csv", "--json")[1])
    assert "accuracy" not in facts


def test_losses_are_of_the_rows_that_tell_their_class(run, cars: Path, tmp_path: Path) -> None:
    run("learn", "cars.csv", "--target", "kind", "--method", "naive-bayes", "-o", "m.cp")
    whole = json.loads(run("predict", "m.cp", "cars.csv", "--json")[1])
    more = "red,0.5,\nblue,0.1,flying\n"
    (tmp_path / "more.csv").write_text(cars.read_text() + more)
    some = json.loads(run("predict", "m.cp", "more.csv", "--json")[1])
    assert some["rows"] == 202
    assert some["log_loss"] == pytest.approx(whole["log_loss"])
    assert some["accuracy"] == whole["accuracy"]


def test_a_long_file_is_written_in_chunks(run, cars: Path) -> None:
    run("learn", "cars.csv", "--target", "kind", "--method", "naive-bayes", "-o", "m.cp")
    whole = run("predict", "m.cp", "cars.csv", "--keep")[1]
    lines = cp.rows_for(cp.load("m.cp"), "cars.csv").predict().lines(keep=True, block=9)
    chunks = list(csv_text.csv_chunks(lines, chunk=7))
    assert b"".join(chunks).decode() == whole
    assert whole.count("\n") == 201 and len(chunks) == 29


def test_any_network_predicts_any_of_its_columns(run) -> None:
    run("learn", "titanic", "--method", "ges", "-o", "m.cp")
    facts = json.loads(run("predict", "m.cp", "titanic", "--target", "sex", "--json")[1])
    assert facts["target"] == "sex"
    assert facts["accuracy"] > 0.7
    run("convert", "m.cp", "m.bif")
    again = json.loads(run("predict", "m.bif", "titanic", "--target", "sex", "--json")[1])
    assert again["accuracy"] == facts["accuracy"]


def test_an_embedded_set_keeps_its_cuts(run, tmp_path: Path) -> None:
    run("learn", "iris", "--target", "class", "--method", "naive-bayes")
    (tmp_path / "new.csv").write_text(
        "sepal_length,sepal_width,petal_length,petal_width\n5,3.5,1.4,.2\n6.9,3.1,5.4,2.1\n"
    )
    rows = read_rows(run("predict", "iris.cp", "new.csv")[1])
    assert [r["predicted"] for r in rows] == ["setosa", "virginica"]


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["learn", "titanic", "--method", "tan"], "--method tan needs --target"),
        (["learn", "titanic", "--target", "survive"], "did you mean 'survived'"),
        (["learn", "titanic", "--method", "naive"], "did you mean 'naive-bayes'"),
        (["learn", "titanic", "--target", "sex", "--discretize", "mld"], "did you mean 'mdl'"),
        (["predict", "net.cp", "titanic"], "learned for no class"),
        (["predict", "net.cp", "titanic", "--target", "sexx"], "did you mean 'sex'"),
        (
            ["predict", "net.cp", "other.csv", "--target", "sex"],
            "no column that the model predicts from",
        ),
        (["predict", "absent.cp", "titanic"], "absent.cp"),
        (["predict", "net.cp", "absent.csv"], "absent.csv"),
    ],
)
def test_mistakes_get_one_sentence(run, tmp_path: Path, words: list[str], hint: str) -> None:
    cp.ChowLiu().fit(cp.load_dataset("titanic")).model_.save(tmp_path / "net.cp")
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    before = sorted(p.name for p in tmp_path.iterdir())
    code, out, err = run(*words)
    assert code == 2
    assert out == ""
    assert hint in " ".join(err.split())
    assert sorted(p.name for p in tmp_path.iterdir()) == before


def test_a_known_effect_on_the_terminal_and_in_json(run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.choice(["low", "high"], 20_000)
    chance = 1 / (1 + np.exp(np.where(x == "high", -1.0, 1.0)))
    labels = np.where(rng.random(20_000) < chance, "yes", "no")
    lines = "".join(f"{a},{b}\n" for a, b in zip(x, labels, strict=True))
    (tmp_path / "known.csv").write_text("x,buys\n" + lines)
    facts = json.loads(run("learn", "known.csv", "--target", "buys", "--json")[1])
    (interaction,) = facts["interactions"]
    assert interaction["columns"] == ["x"]
    assert interaction["effect"] == pytest.approx(1.0, abs=0.05)
    assert interaction["explained"] == pytest.approx(1.0)
    _, out, _ = run("learn", "known.csv", "--target", "buys")
    assert f"±{interaction['effect']:.2f}" in out
    assert "of the fits" not in out


def test_what_tells_nothing_has_no_effects(run, tmp_path: Path) -> None:
    (tmp_path / "noise.csv").write_text("x,y\n" + "a,yes\nb,no\na,no\nb,yes\n" * 30)
    _, out, _ = run("learn", "noise.csv", "--target", "y")
    assert "±0.00" in out


def test_the_command_says_what_is_pooled(run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 2))
    kind = np.where((x**2).sum(axis=1) + 0.2 * rng.normal(size=300) < 1.2, "inside", "outside")
    rows = "\n".join(f"{a:.3f},{b:.3f},{k}" for (a, b), k in zip(x, kind, strict=True))
    (tmp_path / "ring.csv").write_text(f"a,b,kind\n{rows}\n")
    code, out, _ = run("learn", "ring.csv", "--target", "kind")
    note = cp.load("ring.cp").record.pool.note
    assert code == 0
    assert note in out
    assert "boosted trees" in note
    facts = json.loads(run("learn", "ring.csv", "--target", "kind", "--json")[1])
    assert facts["pool"]["note"] == note
