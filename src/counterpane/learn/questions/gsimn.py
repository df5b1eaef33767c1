"""Grow–shrink with inference: tests that follow from known ones are not asked of the data."""

from __future__ import annotations

from counterpane.learn.questions.gsmn import GSMN


class GSIMN(GSMN):
    """`GSMN` with a base of what is known: a test that it implies costs nothing.

    Strong union and the triangle rules of `Knowledge` are sound where the data have a graph, and
    then the result is that of `GSMN`, at no more and mostly at less cost (Bromberg, Margaritis &
    Honavar 2009). Parameters and results are those of `GSMN`.

    >>> import counterpane as cp
    >>> learner = cp.GSIMN("g2").fit(cp.load_dataset("titanic"))
    >>> learner.n_tests_, learner.cost_
    (13, 39)
    """

    _infer = True
