"""Grow–shrink with inference: tests that follow from known ones are not asked of the data."""

from __future__ import annotations

from counterpane.learn.independence.gsmn import GSMN


class GSIMN(GSMN):
    """`GSMN` with inference: tests whose result can be inferred are not executed.

    On data, a result is inferred from executed tests of the same pair, and from the pair tables if
    these decide it by a clear margin (`Margins`). With `variant="paper"`, and if the test does not
    use data (such as `Oracle`), the inference is that of Bromberg, Margaritis & Honavar (2009):
    strong union and the triangle rules of `Knowledge`, which are sound if all answers are correct.
    Parameters and results are those of `GSMN`.

    >>> import counterpane as cp
    >>> learner = cp.GSIMN().fit(cp.load_dataset("titanic"))
    >>> learner.n_tests_, learner.cost_, learner.table_cost_
    (7, 16, 4)
    """

    _infer = True
