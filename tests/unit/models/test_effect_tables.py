"""Tables of effects say what rows get: at every cell, over the fits, and with missing cells."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import counterpane as cp
from counterpane.additive.effect_tables import effect_table, shown_range
from counterpane.errors import ParameterError
from error_checks import raises

ROWS = 600


def frame_of(classes, seed=0):
    """A pair of number and state, a number alone, and missing cells that tell the class."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"x": rng.normal(size=ROWS), "y": rng.normal(size=ROWS)})
    frame["s"] = rng.choice(["a", "b", "c"], ROWS)
    score = np.where(frame["s"] == "a", frame["x"], -frame["x"]) + frame["y"]
    frame.loc[rng.random(ROWS) < 0.1, "y"] = np.nan
    score += 0.5 * rng.normal(size=ROWS) + 2 * frame["y"].isna()
    frame["class"] = pd.qcut(score, classes, labels=False).map(lambda k: f"c{k}")
    return frame


@pytest.fixture(scope="module", params=[(2, "trees"), (3, "trees"), (2, "auto")])
def model_and_rows(request):
    classes, parts = request.param
    frame = frame_of(classes)
    return cp.InteractionClassifier(parts=parts).fit(frame, "class").model_, frame.drop(
        columns="class"
    )


def cells_of(axis, values):
    """The cell of each value of a column; of a curve the nearest point at or below it."""
    if axis.values is None:
        return np.array([axis.labels.index(v) for v in values])
    borders = axis.values if axis.edges is None else axis.edges
    places = np.clip(np.searchsorted(borders, values, side="right") - 1, 0, axis.n_numbers - 1)
    return np.where(np.isnan(values), axis.n_numbers, places)


def test_tables_are_what_rows_get(model_and_rows):
    model, rows = model_and_rows
    parts = model.contributions(*model.encode(rows))
    looked_at = 0
    for place, names in enumerate(model.hyperedges):
        table = effect_table(model, names, most=None if len(names) == 1 else 200)
        smooth = len(names) == 1 and "InteractionClassifier" in model.record.learner.text
        inside = np.ones(len(rows), dtype=bool)
        cells = []
        for axis in table.axes:
            values = rows[axis.name].to_numpy()
            cells.append(cells_of(axis, values))
            if axis.values is not None:
                ends = (axis.values if axis.edges is None else axis.edges)[[0, -1]]
                inside &= np.isnan(values) | ((values >= ends[0]) & (values <= ends[1]))
        # Between the points of a curve, linear terms of a ridge fit move on by a little.
        close = 0.1 if smooth else 1e-6
        shown = table.values[tuple(cells)][inside]
        assert shown == pytest.approx(parts[1 + place][inside], abs=close), names
        looked_at += inside.sum()
    assert looked_at > 0.9 * len(rows) * len(model.hyperedges)


def test_missing_numbers_have_a_cell(model_and_rows):
    model, _ = model_and_rows
    table = effect_table(model, ["y"])
    assert table.axes[0].labels == ("(missing)",)
    assert len(table.values) == table.axes[0].n_numbers + 1
    assert table.values[-1, -1] > 0.5  # missing cells have high scores
    assert effect_table(model, ["x"]).axes[0].labels == ()


def test_the_spread_is_that_of_the_fits(model_and_rows):
    model, rows = model_and_rows
    table = effect_table(model, ["x"])
    assert (table.spread > 0).any()
    codes, numbers = model.encode(rows.head(50))
    for member, share in zip(model.members, model.shares, strict=True):
        scales, each = member.fit_parts((0,), codes, numbers)
        assert scales.sum() == pytest.approx(1)
        parts = sum(part for face, part in member.pure_parts(codes, numbers) if face == (0,))
        assert np.tensordot(scales, each, 1) == pytest.approx(parts, abs=1e-6)
        assert share > 0


def test_axes_are_in_the_order_of_the_names(model_and_rows):
    model, _ = model_and_rows
    one, two = effect_table(model, ["x", "s"]), effect_table(model, ["s", "x"])
    assert [axis.name for axis in two.axes] == ["s", "x"]
    assert (one.values == two.values.transpose(1, 0, 2)).all()


def test_unknown_interactions_are_refused(model_and_rows):
    model, _ = model_and_rows
    with raises(ParameterError, about="interaction"):
        effect_table(model, ["class"])


def test_a_few_far_values_do_not_stretch_the_axis():
    assert shown_range(np.append(np.arange(999.0), 1e9))[1] < 1000
    assert shown_range(np.arange(50.0)) == (0.0, 49.0)
    assert shown_range(np.zeros(0)) == (0.0, 1.0)
