"""Pictures: what they show, and what they say where they cannot be drawn."""

from __future__ import annotations

import builtins

import pytest
from matplotlib.figure import Figure

import counterpane as cp
from counterpane.errors import MissingExtraError, ParameterError
from counterpane.plots import hypergraph
from error_checks import raises


@pytest.fixture(scope="module", name="titanic")
def fit_titanic():
    return cp.MarkovClassifier().fit(cp.load_dataset("titanic"), "survived")


def texts(ax):
    return {t.get_text() for t in ax.texts}


def test_steps_weights_and_percentages_are_shown(titanic):
    ax = titanic.plot(ax=Figure().subplots())
    assert {"sex\n1: 15.7 %", "status\n2: 6.5 %", "age\n3: 0.7 %"} <= texts(ax)
    assert {"4: -0.4 %", "5: 1.2 %\n0.82", "6: 0.3 %\n0.13", "6: 0.1 %\n0.05"} <= texts(ax)
    assert len(ax.lines) == 3 + 3  # three pairs, and a star of three
    assert {line.get_linestyle() for line in ax.lines} == {"-", "--"}
    assert ax.get_title() == "survived"


def test_the_best_structure_alone(titanic):
    places = {"sex": (0.0, 0.0), "status": (1.0, 0.0), "age": (2.0, 0.0)}
    ax = titanic.plot(average=False, positions=places, ax=Figure().subplots(), title="best")
    assert len(ax.lines) == 2
    assert all(line.get_alpha() == 1 for line in ax.lines)
    ends = {tuple(map(tuple, line.get_xydata())) for line in ax.lines}
    assert ends == {((0, 0), (1, 0)), ((2, 0), (1, 0))}
    assert ax.get_title() == "best"


def test_a_picture_without_joint_hyperedges():
    records = [{"hyperedge": (name,), "share": 1.0, "label": ""} for name in "abc"]
    ax = hypergraph(records, ax=Figure().subplots())
    assert texts(ax) == {"a", "b", "c"}
    assert not ax.lines
    assert not hypergraph([], ax=Figure().subplots()).texts


def test_what_cannot_be_drawn(titanic):
    with raises(ParameterError, about="'sex'"):
        titanic.plot(positions={"age": (0, 0)}, ax=Figure().subplots())
    many = [{"hyperedge": (str(k),), "share": 1.0, "label": ""} for k in range(300)]
    with raises(ParameterError, about="300 hyperedges"):
        hypergraph(many)


def test_matplotlib_is_named_where_it_is_missing(titanic, monkeypatch):
    plain = builtins.__import__

    def without(name, *args, **options):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return plain(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with raises(MissingExtraError, about="counterpane[plot]"):
        titanic.plot()


def test_axes_are_made_where_none_are_given(titanic):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    ax = titanic.plot()
    assert ax.figure.get_axes() == [ax]
    pyplot.close(ax.figure)
