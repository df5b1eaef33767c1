"""What is said of weighted rows is what is said of the same rows written out as often."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import counterpane as cp

ROW_COUNTS = {
    "rows",
    "learned",
    "overview",
    "marginals",
}  # which tell the number of lines of the table
LEARNERS: dict[str, Any] = {
    "naive-bayes": lambda: cp.NaiveBayes(),
    "interaction": lambda: cp.InteractionClassifier(parts="tables"),
    "tan": lambda: cp.TAN(),
    "chow-liu": lambda: cp.ChowLiu(),
    "search": lambda: cp.StructureSearch(),
    "trees": lambda: cp.DependencyNetworkLearner(),
    "pairwise": lambda: cp.PairwiseMarkovLearner(),
}


def survivors(times: int = 9) -> tuple[cp.Table, cp.Table]:
    """The titanic with survivors weighted, and with survivors written out as often."""
    table = cp.load_dataset("titanic")
    survived = table.schema.index("survived")
    yes = table.schema[survived].find("yes")
    weights = np.where(table.codes[survived] == yes, times, 1)
    weighted = cp.Table(table.schema, table.codes, weights=weights.astype(float))
    return weighted, table.take(np.repeat(np.arange(table.n_rows), weights))


def content(tmp_path: Path, model: Any, data: Any, **options: Any) -> dict[str, Any]:
    page = cp.write_report(model, data, tmp_path / "report.html", **options).read_text("utf-8")
    found = re.search(r'<script id="content" type="application/json">(.*?)</script>', page, re.S)
    assert found is not None
    value: dict[str, Any] = json.loads(found[1])
    return value


def same(one: Any, two: Any, where: str = "") -> None:
    """Equal, number by number, but for the last digits that are printed."""
    assert type(one) is type(two) or {type(one), type(two)} == {int, float}, where
    if isinstance(one, dict):
        assert one.keys() == two.keys()
        for key in one:
            same(one[key], two[key], f"{where}.{key}")
    elif isinstance(one, list):
        assert len(one) == len(two), where
        for place, pair in enumerate(zip(one, two, strict=True)):
            same(*pair, f"{where}[{place}]")
    elif isinstance(one, float):
        assert one == pytest.approx(two, rel=2e-3, abs=2e-3), where
    else:
        assert one == two, where


@pytest.mark.parametrize("name", LEARNERS)
def test_a_report_of_weighted_rows_is_that_of_repeated_rows(name: str, tmp_path: Path) -> None:
    weighted, repeated = survivors()
    learner = LEARNERS[name]()
    if hasattr(learner, "predict_proba"):
        model = learner.fit(weighted, "survived").model_
    else:
        model = learner.fit(weighted).model_
    one = content(tmp_path, model, weighted, folds=0)
    two = content(tmp_path, model, repeated, folds=0)
    for key in ROW_COUNTS:
        one.pop(key), two.pop(key)
    same(one, two)


def test_the_baseline_and_the_confusion_have_the_weights(tmp_path: Path) -> None:
    weighted, _ = survivors()
    model = cp.NaiveBayes().fit(weighted, "survived").model_
    found = content(tmp_path, model, weighted, folds=0)["measures"]
    measures = {line[0]: line[2:] for line in found["lines"]}
    share = 711 * 9 / (711 * 9 + 1490)
    assert measures["accuracy"][2] == pytest.approx(share)
    assert measures["log-loss"][2] == pytest.approx(
        -share * np.log(share) - (1 - share) * np.log(1 - share)
    )
    assert np.sum(found["confusion"]) == 711 * 9 + 1490
    assert np.trace(found["confusion"]) / np.sum(found["confusion"]) == pytest.approx(
        measures["accuracy"][1]
    )
    assert sum(n for n, _, _ in found["calibration"][0]) == 711 * 9 + 1490


def test_measures_of_held_out_rows_have_the_weights(tmp_path: Path) -> None:
    weighted, _ = survivors()
    model = cp.NaiveBayes().fit(weighted, "survived").model_
    found = content(tmp_path, model, weighted, folds=3)["measures"]
    fresh, itself, base = {line[0]: line[2:] for line in found["lines"]}["accuracy"]
    assert fresh == pytest.approx(0.82, abs=0.03) and itself is None
    assert base == pytest.approx(0.81, abs=0.03)


def test_a_classifier_scores_weighted_rows_as_repeated_ones() -> None:
    weighted, repeated = survivors()
    learner = cp.NaiveBayes().fit(weighted, "survived")
    assert learner.score(weighted, "survived") == pytest.approx(learner.score(repeated, "survived"))


@pytest.mark.parametrize("target", [None, "survived"])
def test_comparing_learns_and_measures_with_the_weights(target: str | None) -> None:
    """Folds of weighted rows are others than those of repeated rows, so that figures are close."""
    weighted, repeated = survivors()
    learners: dict[str, Any] = {"chow-liu": cp.ChowLiu()}
    options: dict[str, Any] = {}
    if target is not None:
        learners["naive-bayes"] = cp.NaiveBayes()
        options["baselines"] = ["class-shares", "logistic-regression"]
    found = [
        {r["method"]: r for r in cp.evaluate.compare(learners, X, target, **options).records}
        for X in (weighted, repeated)
    ]
    names = ("log_loss", "accuracy") if target else ("pll", "log_likelihood")
    for method in found[0]:
        for name in names:
            one, two = (records[method][name] for records in found)
            if one is not None or two is not None:
                assert one == pytest.approx(two, abs=0.03), (method, name)


def test_held_out_measures_have_the_weights() -> None:
    weighted, _ = survivors()
    measures = cp.evaluate.held_out_measures(cp.NaiveBayes(), weighted, "survived")
    share = 711 * 9 / (711 * 9 + 1490)
    assert measures.prior.accuracy == pytest.approx(share)
    assert measures.accuracy.value > share - 0.01
    assert measures.figures("").rows == 711 * 9 + 1490
