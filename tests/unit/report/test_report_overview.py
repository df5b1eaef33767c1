"""The sentences at the top of a report say what the figures below them say."""

from dataclasses import replace

import numpy as np

import counterpane as cp
from counterpane.models.record import CalibrationError, MeasuredValue
from counterpane.report.content import content_of
from counterpane.report.rows import report_rows


def overview(model, data, target=None, **options):
    rows = None if data is None else report_rows(data, model.schema, model.record.data.target)
    return content_of(
        model, rows, title="t", target=target, confidence=None, folds=5, seed=0, **options
    )["overview"]


def test_a_network():
    titanic = cp.load_dataset("titanic")
    model = cp.StructureSearch().fit(titanic).model_
    what, good, advice = overview(model, titanic)
    assert "joins 4 columns by 5 edges" in what and "2,201 rows" in what
    assert "survived — sex (0.138 bits per row)" in what
    assert "nats per row, and" in good and "independent columns" in good
    assert "An edge is an association, not an effect" in advice
    assert "no data was given" in overview(model, None)[1]


def test_a_classifier_that_predicts_and_one_that_does_not():
    titanic = cp.load_dataset("titanic")
    learner = cp.InteractionClassifier().fit(titanic, "survived")
    what, good, _ = overview(learner.model_, titanic, "survived")
    assert what.startswith("This model predicts survived from 3 columns.")
    assert "sex, status and status × age" in what
    assert "class shares alone" in good
    rng = np.random.default_rng(0)
    noise = {"a": rng.integers(0, 3, 300).astype(str), "y": rng.choice(["no", "yes"], 300)}
    model = cp.InteractionClassifier().fit(noise, "y").model_
    assert "do not rely on single predictions" in overview(model, noise, "y")[2]


def test_held_out_figures_of_the_model_file_come_first():
    titanic = cp.load_dataset("titanic")
    learner = cp.InteractionClassifier().fit(titanic, "survived")
    model = learner.model_
    measures = cp.evaluate.held_out_measures(learner, titanic, "survived")
    found = measures.figures("learned again without them")
    told = replace(found, calibration_error=CalibrationError(0.09, 0.02))
    model.record = model.record.with_parts(measures=told)
    _, good, advice = overview(model, titanic, "survived")
    for words in ("0.484 ± 0.012", "0.630", "AUC 0.765", "78.9%", "67.7%", "in 5 folds"):
        assert words in good
    assert "differ by 9.0 points on average" in advice
    told = replace(found, log_loss=MeasuredValue(0.62, 0.01))
    model.record = model.record.with_parts(measures=told)
    assert "do not rely" in overview(model, titanic, "survived")[2]
