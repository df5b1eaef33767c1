"""Learners side by side: the same rows, honest measures, and how far the edges agree."""

from __future__ import annotations

import json
import math
import warnings

import numpy as np
import pandas as pd
import pytest

import counterpane as cp
from counterpane.errors import MissingExtraError, ParameterError, UnknownNameError
from error_checks import raises, warns

TITANIC = cp.load_dataset("titanic")


@pytest.fixture(scope="module")
def found():
    learners = {
        "tree": cp.ChowLiu(),
        "search": cp.StructureSearch(),
        "trees": cp.DependencyNetworkLearner(),
        "bayes": cp.NaiveBayes(),
        "faces": cp.InteractionClassifier(),
    }
    return cp.evaluate.compare(learners, TITANIC, "survived", folds=3, random_state=5)


def masks(n: int, folds: int, seed: int) -> list[np.ndarray]:
    number = np.empty(n, dtype=int)
    number[np.random.default_rng(seed).permutation(n)] = np.arange(n) % folds
    return [number == fold for fold in range(folds)]


def test_measures_are_those_of_rows_not_learned_from(found) -> None:
    records = {r["method"]: r for r in found.records}
    plls, logs, losses = [], [], []
    for mask in masks(TITANIC.n_rows, 3, 5):
        train, test = TITANIC.take(~mask), TITANIC.take(mask)
        model = cp.StructureSearch().fit(train).model_
        plls.append(cp.evaluate.pll(model, test).mean)
        logs.append(cp.evaluate.log_likelihood(model, test).mean)
        classifier = cp.NaiveBayes().fit(train, "survived")
        truth = test.codes[3].astype(int)
        proba = classifier.predict_proba(test.select(["status", "age", "sex"]))
        losses += (-np.log(proba[np.arange(len(truth)), truth])).tolist()  # of rows, not of folds
    assert records["search"]["pll"] == pytest.approx(np.mean(plls))
    assert records["search"]["log_likelihood"] == pytest.approx(np.mean(logs))
    assert records["bayes"]["log_loss"] == pytest.approx(np.mean(losses))
    assert records["bayes"]["pll"] is None
    assert records["trees"]["log_likelihood"] is None  # a dependency network has no joint
    assert records["trees"]["pll"] < 0
    assert records["tree"]["edges"] == 3
    for record in found.records:
        assert 0.4 < record["log_loss"] < 0.6
        assert 0.7 < record["accuracy"] < 0.9
        assert record["seconds"] > 0
        assert record["failed"] is None


def test_a_network_tells_the_class_by_its_blanket(found) -> None:
    (mask, *_) = masks(TITANIC.n_rows, 3, 5)
    test = TITANIC.take(mask)
    model = cp.ChowLiu().fit(TITANIC.take(~mask)).model_
    proba = model.query_many("survived", test.select(["status", "age", "sex"])).probabilities
    own = proba[np.arange(test.n_rows), test.codes[3].astype(int)]
    assert found.fits["tree"][0].log_loss == pytest.approx(-np.log(own).mean())


def test_the_best_is_first(found) -> None:
    losses = [r["log_loss"] for r in found.records]
    assert losses == sorted(losses)
    assert found.best == found.records[0]["method"]
    plain = cp.evaluate.compare(
        [cp.ChowLiu(), cp.StructureSearch()], TITANIC, holdout=0.3, random_state=1
    )
    assert plain.best == "StructureSearch"
    assert plain.records[0]["log_loss"] is None
    assert [len(fits) for fits in plain.fits.values()] == [1, 1]
    assert plain.to_dict()["folds"] is None


def test_edges_and_agreement(found) -> None:
    names = list(found.fits)
    assert all(found.agreement[n][n] == 1 for n in names)
    assert found.agreement["tree"]["search"] == found.agreement["search"]["tree"]
    by_hand = []
    for a, b in zip(found.fits["tree"], found.fits["search"], strict=True):
        by_hand.append(len(a.pairs & b.pairs) / len(a.pairs | b.pairs))
    assert found.agreement["tree"]["search"] == pytest.approx(np.mean(by_hand))
    assert found.agreement["tree"]["search"] < 1
    assert found.distances["search"]["search"] == 0
    assert found.distances["tree"]["search"] > 0
    assert found.distances["tree"]["trees"] is None
    edge, by = found.edges.between("sex", "survived"), found.edge_shares["sex", "survived"]
    assert by["search"] == by["bayes"] == by["faces"] == 1
    assert edge.share == pytest.approx(np.mean(list(by.values())))
    assert found.edge_shares["age", "status"]["bayes"] == 0


def test_markdown_and_json(found) -> None:
    text = found.to_markdown()
    lines = text.splitlines()
    assert lines[0] == "# 5 learners on 2,201 rows, 3 folds, target survived"
    assert (
        "| method | log-loss | behind | AUC | accuracy | PLL | log-lik. | edges | seconds "
        "| agreement |" in lines
    )
    assert sum(line.startswith("| faces |") for line in lines) == 3
    assert "| sex — survived | 100% |" in text
    assert json.loads(json.dumps(found.to_dict()))["best"] == found.best
    odd = cp.evaluate.compare({"a|b": cp.ChowLiu()}, TITANIC, folds=2)
    assert "| a\\|b |" in odd.to_markdown()
    assert repr(odd) == "Comparison(1 learners on 2,201 rows, 2 folds, best a|b)"


def test_a_picture(found, tmp_path) -> None:
    pytest.importorskip("matplotlib")
    figure = found.plot(tmp_path / "c.png")
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")
    assert len(figure.axes) == len(found.measures) == 7
    labels = [t.get_text() for t in figure.axes[0].get_yticklabels()]
    assert labels == [r["method"] for r in found.records]


def test_a_picture_without_matplotlib(found, monkeypatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    with raises(MissingExtraError, about="counterpane[plot]"):
        found.plot()


def test_numbers_and_gaps_are_for_each_learner_as_it_takes_them() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=600)
    frame = pd.DataFrame({"x": x, "z": rng.choice(["a", "b", None], 600)})
    frame["y"] = np.where(x + rng.normal(size=600) / 4 > 0.3, "yes", "no")
    found = cp.evaluate.compare(
        [cp.NaiveBayes(), cp.ChowLiu()], frame, "y", folds=2, random_state=0
    )
    losses = {r["method"]: r["log_loss"] for r in found.records}
    assert losses["NaiveBayes"] < losses["ChowLiu"]  # it cuts against the class, not in quarters
    assert math.isfinite(losses["ChowLiu"])
    assert frame.columns.tolist() == ["x", "z", "y"]


def test_what_fails_is_told_and_the_others_go_on() -> None:
    found = cp.evaluate.compare([cp.ChowLiu(), cp.TAN()], TITANIC, folds=2)
    assert found.best == "ChowLiu"
    failed = found.records[1]
    assert "needs a class" in failed["failed"]
    assert failed["pll"] is failed["seconds"] is None
    assert found.agreement["ChowLiu"]["TAN"] is None
    assert "TAN failed: TAN needs a class" in found.to_markdown()
    assert len(found.fits["TAN"]) == 1  # once is enough


def test_two_of_a_class_and_progress() -> None:
    said = []
    found = cp.evaluate.compare(
        [cp.ChowLiu("bic"), cp.ChowLiu("aic")], TITANIC, folds=2, progress=lambda *w: said.append(w)
    )
    assert set(found.fits) == {"ChowLiu 1", "ChowLiu 2"}
    assert [(done, total) for _, done, total in said] == [(1, 4), (2, 4), (3, 4), (4, 4)]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"folds": 1}, "folds=1"),
        ({"folds": 3000}, "folds=3000"),
        ({"holdout": 0}, "holdout=0"),
        ({"holdout": 1.5}, "holdout=1.5"),
        ({"holdout": 0.0001}, "holdout=0.0001"),
    ],
)
def test_mistakes(options, words: str) -> None:
    with raises(ParameterError, about=words):
        cp.evaluate.compare([cp.ChowLiu()], TITANIC, **options)


def test_no_learner_and_no_such_class() -> None:
    with raises(ParameterError, about="learner"):
        cp.evaluate.compare([], TITANIC)
    with raises(UnknownNameError, parameter="column", value="survive"):
        cp.evaluate.compare([cp.ChowLiu()], TITANIC, "survive")


class Stopping(cp.ChowLiu):
    """A tree whose third fit is stopped by Ctrl-C and keeps the best so far, as learners do."""

    fits = 0

    def fit(self, X, y=None):
        type(self).fits += 1
        if type(self).fits == 3:
            stop = cp.StoppedEarly("searching was stopped (Ctrl-C)", reason="Ctrl-C")
            warnings.warn(stop, stacklevel=2)
        return super().fit(X, y)


def test_ctrl_c_keeps_the_folds_that_are_done() -> None:
    with warns(cp.StoppedEarly, about="5 folds"):
        found = cp.evaluate.compare({"a": cp.ChowLiu(), "b": Stopping()}, TITANIC)
    assert {name: len(fits) for name, fits in found.fits.items()} == {"a": 2, "b": 2}
    assert found.folds == 2
    Stopping.fits = 2
    with pytest.raises(KeyboardInterrupt):  # no fold was done
        cp.evaluate.compare([Stopping()], TITANIC)


def test_a_time_limit_does_not_stop_the_others() -> None:
    class Late(cp.ChowLiu):
        def fit(self, X, y=None):
            warnings.warn("searching was stopped (time limit)", cp.StoppedEarly, 2)
            return super().fit(X, y)

    with warns(cp.StoppedEarly, about="time limit"):
        found = cp.evaluate.compare([Late()], TITANIC, folds=3)
    assert len(found.fits["Late"]) == 3


def test_a_classifier_has_no_likelihood_of_rows() -> None:
    model = cp.InteractionClassifier().fit(TITANIC, "survived").model_
    with raises(ParameterError, about="AdditiveClassifier"):
        cp.evaluate.pll(model, TITANIC)


def test_a_notebook_shows_the_measures(found) -> None:
    page = found._repr_html_()
    assert page.startswith("<div")
    assert all(f">{name}</td>" in page for name in found.fits)
    assert "5 learners on 2,201 rows, 3 folds, target survived" in page


def test_measures_are_means_over_rows_and_not_over_folds_of_other_sizes() -> None:
    frame = {"x": ["a", "b", "a", "b"] * 3, "y": ["p", "q", "p", "q", "p", "p"] * 2}
    (record, *_) = cp.evaluate.compare([cp.NaiveBayes()], frame, "y", folds=5).records
    right = 12 * record["accuracy"]
    assert right == pytest.approx(round(right))
