"""The picture of an effect."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

import counterpane as cp
from error_checks import raises


def test_marks_are_where_the_numbers_are() -> None:
    learner = cp.StructureSearch().fit(cp.load_dataset("titanic"))
    result = cp.effect(learner, "status", "survived", draws=20)
    ax = result.plot(ax=Figure().subplots())
    assert [t.get_text() for t in ax.get_yticklabels()] == ["first", "second", "third", "crew"]
    seen = ax.lines[len(result.estimates) + 1].get_xdata()
    assert seen == pytest.approx(result.observed[:, 1])
    thick = np.array([segment[:, 0] for segment in ax.collections[1].get_segments()])
    np.testing.assert_allclose(thick, np.stack([result.least[:, 1], result.most[:, 1]], axis=1))
    every = result.plot(state="no", ax=Figure().subplots())
    seen = every.lines[len(result.estimates) + 1].get_xdata()
    assert seen == pytest.approx(result.observed[:, 0])
    with raises(cp.CounterpaneError, about="causal"):
        cp.plots.causal_effect(3)
