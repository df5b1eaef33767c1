"""Grow–shrink with inference: tests that follow from known ones are not asked of the data."""

from __future__ import annotations

from counterpane.learn.questions.gsmn import GSMN


class GSIMN(GSMN):
    """`GSMN` with inference: tests that follow from earlier tests are not executed.

    Strong union and the triangle rules of `Knowledge` are sound if the distribution has a graph.
    Then the result is that of `GSMN`, at most at the same cost (Bromberg, Margaritis & Honavar
    2009). Parameters and results are those of `GSMN`.

    >>> import counterpane as cp
    >>> learner = cp.GSIMN("g2").fit(cp.load_dataset("titanic"))
    >>> learner.n_tests_, learner.cost_
    (13, 39)
    """

    _infer = True
