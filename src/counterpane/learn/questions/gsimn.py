"""Grow–shrink with inference: tests that follow from known ones are not asked of the data."""

from __future__ import annotations

from counterpane.learn.questions.gsmn import GSMN


class GSIMN(GSMN):
    """`GSMN` with inference: tests whose answer can be inferred are not executed.

    On data, a test is inferred from executed tests of the same pair, and from the pair tables where
    what these allow is clear by a margin (`Margins`). With `variant="paper"`, and where the test
    is not one of data, such as `Oracle`, inference is that of Bromberg, Margaritis & Honavar
    (2009): strong union and the triangle rules of `Knowledge`, which are sound where answers are.
    Parameters and results are those of `GSMN`.

    >>> import counterpane as cp
    >>> learner = cp.GSIMN().fit(cp.load_dataset("titanic"))
    >>> learner.n_tests_, learner.cost_, learner.table_cost_
    (7, 16, 4)
    """

    _infer = True
