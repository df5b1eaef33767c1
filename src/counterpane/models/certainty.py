"""How an answer was found, and how sure it is."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

from counterpane.inference.gibbs import Estimate
from counterpane.typing import Floats

AGREED = 1.1  # R-hat up to which chains are taken to agree


class InexactAnswer(UserWarning):
    """Warns that an answer is an estimate instead of exact, or has not converged.

    >>> import warnings
    >>> import counterpane as cp
    >>> model = cp.ChowLiu().fit(cp.load_dataset("titanic")).model_
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always", cp.InexactAnswer)
    ...     answer = model.query("survived", {"status": "first"}, method=cp.MeanField(max_iter=1))
    >>> told[0].category.__name__, answer.certainty.converged
    ('InexactAnswer', False)
    """


class Certainty(NamedTuple):
    """`method`, and what it tells of its answer.

    Gibbs sampling tells `standard_errors`, in the shape of the probabilities, and of one question
    the largest `rhat` and the least `effective_size` of all states; the others whether they have
    `converged`.
    """

    method: str
    converged: bool = True
    standard_errors: Floats | None = None
    rhat: float | None = None
    effective_size: float | None = None

    @classmethod
    def of_chains(cls, found: Estimate) -> Certainty:
        """Of an answer by Gibbs sampling."""
        worst, size = float(found.rhat.max()), float(found.effective_size.min())
        return cls("gibbs", not worst > AGREED, found.standard_errors, worst, size)

    def __str__(self) -> str:
        if self.standard_errors is None:
            return f"{self.method}, {'converged' if self.converged else 'not converged'}"
        errors = self.standard_errors
        told = f"{self.method}, standard errors "
        told += "unknown" if np.isnan(errors).all() else f"up to {np.nanmax(errors):.2g}"
        return told if self.rhat is None else f"{told}, R-hat up to {self.rhat:.3g}"


def report(certainty: Certainty, reason: Exception | None = None) -> None:
    """Warn of an estimate where, for a reason, no exact answer was found, and of a bad one."""
    if reason is not None:
        warn(f"{str(reason).split(';')[0]}; this is an estimate instead ({certainty}).", 4)
    elif not certainty.converged:
        way = "more sweeps" if certainty.method == "gibbs" else "a larger max_iter, or damping"
        warn(f"the answer is not settled ({certainty}); use {way}, or another method.", 4)


def warn(sentence: str, depth: int = 3) -> None:
    """Warn whoever called the method that calls this."""
    warnings.warn(sentence, InexactAnswer, stacklevel=depth)
