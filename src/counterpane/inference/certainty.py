"""How certain an estimated answer is, and the warnings that say so."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from counterpane.errors import Advice, CounterpaneError, UntrustedError
from counterpane.inference.gibbs import Estimate
from counterpane.typing import Floats

AGREED = 1.1  # R-hat up to which chains are taken to agree
TRUSTED = 0.02  # the largest difference between sampling and propagation that is trusted


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
    `converged`. An estimate that replaces an exact answer is `trusted` if chains agree with each
    other and sampling and propagation differ by at most .02; `difference` is the largest one.
    """

    method: str
    converged: bool = True
    standard_errors: Floats | None = None
    rhat: float | None = None
    effective_size: float | None = None
    trusted: bool | None = None
    difference: float | None = None

    @classmethod
    def of_chains(cls, estimate: Estimate) -> Certainty:
        """Of an answer by Gibbs sampling."""
        worst, size = float(estimate.rhat.max()), float(estimate.effective_size.min())
        return cls("gibbs", not worst > AGREED, estimate.standard_errors, worst, size)

    @property
    def doubt(self) -> str:
        """What an answer that is not trusted says first; empty for the others."""
        if self.trusted is not False:
            return ""
        if self.difference is None:
            return f"not trusted: {self.method} alone, and propagation says nothing"
        if self.difference <= TRUSTED:
            return "not trusted: the chains of sampling disagree"
        return f"not trusted: sampling and propagation differ by {self.difference:.2g}"

    def __str__(self) -> str:
        if self.standard_errors is None:
            text = f"{self.method}, {'converged' if self.converged else 'not converged'}"
        else:
            errors = self.standard_errors
            text = f"{self.method}, standard errors "
            text += "unknown" if np.isnan(errors).all() else f"up to {np.nanmax(errors):.2g}"
            text += "" if self.rhat is None else f", R-hat up to {self.rhat:.3g}"
        if self.trusted:
            text += f", trusted: sampling and propagation differ by {self.difference or 0:.2g}"
        return text


def worst_of(certainties: Sequence[Certainty]) -> Certainty:
    """The certainty of the answer that is trusted least."""
    return max(
        certainties,
        key=lambda c: (c.trusted is False, c.difference or 0, not c.converged, c.rhat or 1),
    )


def warn_if_inexact(
    certainty: Certainty, reason: CounterpaneError | None = None, *, strict: bool = False
) -> None:
    """Warn of an estimate where, for a reason, no exact answer was found, and of a bad one.

    With `strict`, an estimate that is not trusted raises.
    """
    if strict and not certainty.trusted:
        cause = "the estimate" if reason is None else f"{reason.reason}; the estimate instead"
        raise UntrustedError(
            f"{cause} is {certainty.doubt or 'not trusted'} ({certainty}); give more evidence, ",
            Advice(
                "allow an exact answer by exact=… and max_memory=…, or accept it by strict=False.",
                "allow an exact answer by --exact and --max-memory, or drop --strict.",
            ),
        )
    if reason is not None:
        doubt = f"{certainty.doubt}; " if certainty.doubt else ""
        warn_inexact(f"{doubt}{reason.reason}; this is an estimate instead ({certainty}).")
    elif certainty.doubt:
        warn_inexact(f"{certainty.doubt} ({certainty}).")
    elif not certainty.converged:
        way = "more sweeps" if certainty.method == "gibbs" else "a larger max_iter, or damping"
        warn_inexact(f"the answer is not settled ({certainty}); use {way}, or another method.")


def warn_inexact(sentence: str) -> None:
    """Warn at the line that called into the package."""
    depth, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").startswith("counterpane."):
        depth, frame = depth + 1, frame.f_back
    warnings.warn(sentence, InexactAnswer, stacklevel=depth)
