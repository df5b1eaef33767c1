"""Pictures of effects: curves with bands, bars, maps and slices that say what the model says."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot

import counterpane as cp
from counterpane.additive.effect_tables import effect_table
from counterpane.errors import ParameterError
from counterpane.plots import effects, top_effects
from error_checks import raises

mpl.use("Agg")


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def messy():
    """Two classes; numbers, dates, states with long names, missing cells."""
    rng = np.random.default_rng(0)
    n = 500
    frame = pd.DataFrame(
        {"income": np.exp(rng.normal(10.5, 0.6, n)), "age": rng.integers(18, 90, n)}
    )
    frame["joined"] = pd.Timestamp("2015-01-01") + pd.to_timedelta(rng.integers(0, 3000, n), "D")
    frame["region"] = rng.choice([f"a region with a long name, {k}" for k in range(6)], n)
    frame["owner"] = rng.choice(["yes", "no"], n)
    flag = (frame["age"] > 50) ^ (frame["owner"] == "yes") ^ (frame["income"] > 40_000)
    frame["class"] = np.where(flag ^ (rng.random(n) < 0.1), "left", "stayed")
    frame.loc[rng.random(n) < 0.1, "income"] = np.nan
    return cp.InteractionClassifier(parts="trees").fit(frame, "class")


@pytest.fixture(scope="module")
def iris():
    from sklearn.datasets import load_iris

    data = load_iris(as_frame=True)
    return cp.InteractionClassifier(parts="trees").fit(
        data.data, pd.Series(data.target_names[data.target], name="kind")
    )


def overlapping(labels, renderer):
    """Pairs of visible labels of one axis that overlap."""
    boxes = [t.get_window_extent(renderer) for t in labels if t.get_text() and t.get_visible()]
    return [(a, b) for i, a in enumerate(boxes) for b in boxes[i + 1 :] if a.overlaps(b)]


def assert_readable(ax):
    ax.figure.canvas.draw()
    renderer = ax.figure.canvas.get_renderer()
    for axis in (ax.xaxis, ax.yaxis):
        assert not overlapping(axis.get_ticklabels(), renderer)
        assert axis.get_label_text()


def test_a_curve_has_a_band_a_rug_and_missing_cells(messy):
    ax = messy.plot_effects("income")
    table = effect_table(messy.model_, ["income"])
    line = next(ln for ln in ax.lines if len(ln.get_xdata()) == table.axes[0].n_numbers)
    assert line.get_ydata() == pytest.approx(table.values[:-1, 1])
    assert ax.collections  # the band
    assert "missing" in [label.get_text() for label in ax.get_xticklabels()]
    assert ax.get_ylabel() == "adds to log-odds of class = stayed"
    assert_readable(ax)


def test_states_are_bars_with_their_shares(messy):
    ax = effects(messy, "owner")
    heights = [bar.get_height() for bar in ax.patches]
    assert heights == pytest.approx(effect_table(messy.model_, ["owner"]).values[:, 1])
    assert all("%" in label.get_text() for label in ax.get_xticklabels())
    assert_readable(ax)
    long = effects(messy, "region")
    assert len(long.get_yticklabels()) == 6  # long names lie
    assert_readable(long)


def test_dates_are_written_as_dates(messy):
    ax = effects(messy, "joined")
    assert {"2016", "2018"} & {label.get_text() for label in ax.get_xticklabels()}
    assert_readable(ax)


def test_a_pair_is_a_map_of_its_table(messy):
    ax = effects(messy, ["age", "owner"], state="left")
    table = effect_table(messy.model_, ["age", "owner"])
    drawn = np.asarray(ax.collections[0].get_array()).ravel()
    assert drawn == pytest.approx(table.values[..., 0].T.ravel())
    assert_readable(ax)


def test_a_triple_is_slices(messy):
    axes = effects(messy, ["income", "age", "owner"])
    assert [ax.get_title() for ax in axes] == ["owner = no", "owner = yes"]
    for ax in axes[:1]:
        assert_readable(ax)


def test_three_classes_are_three_curves(iris):
    ax = effects(iris, "petal length (cm)")
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["setosa", "versicolor", "virginica"]
    assert_readable(ax)
    assert effects(iris, "petal length (cm)", state="setosa").get_legend() is None


def test_a_page_of_the_largest_effects(iris, messy):
    axes = iris.plot_effects(top=4)
    assert len(axes) == 4
    assert axes[0].get_title() == "petal length (cm)"
    for ax in messy.model_.plot_effects():
        assert_readable(ax)
    assert len(top_effects(messy, ["age", ["age", "owner"]])) == 2


def test_an_unknown_class_is_refused(messy):
    with raises(ParameterError, parameter="state", value="gone"):
        effects(messy, "age", state="gone")
