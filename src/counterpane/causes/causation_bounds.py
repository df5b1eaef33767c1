"""Bounds on the probabilities of causation, without mechanisms: Tian & Pearl (2000)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from counterpane.checks import BOOLEAN, STRING, accepts
from counterpane.counts.memory import MemoryCounts
from counterpane.counts.open import read
from counterpane.counts.source import CountSource
from counterpane.data.schema import Variable
from counterpane.data.table import Table
from counterpane.errors import DataError, ParameterError
from counterpane.models.joint import JointModel
from counterpane.typing import Floats, State


class Bounds(NamedTuple):
    """The least and the largest value that a probability can have."""

    lower: float
    upper: float

    def __str__(self) -> str:
        tiny = 1e-12  # a half is rounded up, whatever the last bit
        return f"{self.lower + tiny:.3f} … {self.upper + tiny:.3f}"


class CausationBounds(NamedTuple):
    """Sharp bounds on the probabilities of necessity, of sufficiency, and of both.

    `necessity` is P(no outcome without the cause | cause and outcome occurred), `sufficiency`
    P(outcome with the cause | neither occurred), `both` P(outcome with the cause and none without
    it). A probability whose condition never occurs has the bounds 0 and 1.
    """

    necessity: Bounds
    sufficiency: Bounds
    both: Bounds

    def __str__(self) -> str:
        return (
            f"probability of necessity    {self.necessity}\n"
            f"probability of sufficiency  {self.sufficiency}\n"
            f"probability of both         {self.both}"
        )


@accepts(treatment=STRING, outcome=STRING, unconfounded=BOOLEAN)
def causation_bounds(
    treatment: str,
    outcome: str,
    *,
    observational: Any = None,
    experimental: Any = None,
    cause: State = None,
    result: State = None,
    unconfounded: bool = False,
) -> CausationBounds:
    """Sharp bounds on how often `treatment` was a necessary or a sufficient cause of `outcome`.

    Parameters
    ----------
    treatment, outcome : str
        Two columns.
    observational : table, CountSource or model, optional
        Rows in which the treatment was chosen as it happens to be.
    experimental : table, CountSource or model, optional
        Rows in which the treatment was set at random. At least one of the two tables is needed;
        together they give the narrowest bounds.
    cause, result : state, optional
        The state of the treatment that is the cause, and of the outcome that is its result; all
        other states count as its absence. By default the last state of each.
    unconfounded : bool
        Take observational rows as if they were experimental ones, too.

    Returns
    -------
    CausationBounds
        The bounds; they print themselves.

    Examples
    --------
    Deaths with and without a drug, in a trial and among patients who chose (Pearl 2009, 9.4):

    >>> import counterpane as cp
    >>> def rows(**counts):
    ...     cells = [(drug == "x", dead == "y", n) for (drug, dead), n in counts.items()]
    ...     table = cp.read({"drug": [c[0] for c in cells], "dead": [c[1] for c in cells]})
    ...     return table.reweighted([c[2] for c in cells])
    >>> print(cp.causation_bounds("drug", "dead",
    ...     observational=rows(xy=2, xn=998, ny=28, nn=972),
    ...     experimental=rows(xy=16, xn=984, ny=14, nn=986)))
    probability of necessity    1.000 … 1.000
    probability of sufficiency  0.002 … 0.031
    probability of both         0.002 … 0.016
    """
    if treatment == outcome:
        raise ParameterError(
            f"{treatment!r} is both treatment and outcome; a column is no cause of itself."
        )
    if observational is None and experimental is None:
        raise ParameterError("pass observational rows, experimental rows, or both.")
    seen = None
    if observational is not None:
        seen = _shares(observational, treatment, outcome, cause, result)
    trial = None
    if experimental is not None:
        trial = _by_row(_shares(experimental, treatment, outcome, cause, result), treatment)
    elif unconfounded and seen is not None:
        trial = _by_row(seen, treatment)
    return _bounds(seen, trial)


def _by_row(shares: Floats, treatment: str) -> tuple[float, float]:
    """(P(result | cause set), P(result | cause not set))."""
    if not (shares.sum(axis=1) > 0).all():
        raise DataError(
            f"{treatment!r} has one state only in the experimental rows; both with and without "
            "the cause are needed."
        )
    rows = shares[:, 1] / shares.sum(axis=1)
    return float(rows[1]), float(rows[0])


def _bounds(seen: Floats | None, trial: tuple[float, float] | None) -> CausationBounds:
    """Equations 15 to 29 of Tian & Pearl; `seen` has the axes (cause, result), absent first."""
    full = Bounds(0.0, 1.0)
    if trial is None:
        assert seen is not None
        return CausationBounds(full, full, _clipped([0.0], [float(seen[1, 1] + seen[0, 0])]))
    with_it, without = trial
    lowers, uppers = [0.0, with_it - without], [with_it, 1 - without]
    if seen is None:
        return CausationBounds(full, full, _clipped(lowers, uppers))
    _check_agreement(seen, trial)
    xy, nn, total = float(seen[1, 1]), float(seen[0, 0]), float(seen[:, 1].sum())
    lowers += [total - without, with_it - total]
    uppers += [xy + nn, with_it - without + float(seen[1, 0] + seen[0, 1])]
    necessity = sufficiency = full
    if xy > 0:
        necessity = _clipped([0.0, (total - without) / xy], [1.0, (1 - without - nn) / xy])
    if nn > 0:
        sufficiency = _clipped([0.0, (with_it - total) / nn], [1.0, (with_it - xy) / nn])
    return CausationBounds(necessity, sufficiency, _clipped(lowers, uppers))


def _clipped(lowers: list[float], uppers: list[float]) -> Bounds:
    return Bounds(float(np.clip(max(lowers), 0, 1)), float(np.clip(min(uppers), 0, 1)))


def _check_agreement(seen: Floats, trial: tuple[float, float]) -> None:
    """Refuse tables that no population has: P(x, y) ≤ P(y | do(x)) ≤ 1 − P(x, not y)."""
    for code, share, words in ((1, trial[0], "with"), (0, trial[1], "without")):
        low, high = float(seen[code, 1]), 1 - float(seen[code, 0])
        if not low - 1e-9 <= share <= high + 1e-9:
            raise DataError(
                f"{words} the cause the experimental rows have the result in {share:.4g} of all, "
                f"but the observational rows allow {low:.4g} to {high:.4g}; the two tables "
                "describe different populations, or one is too small."
            )


def _shares(source: Any, treatment: str, outcome: str, cause: State, result: State) -> Floats:
    """P(treatment, outcome) as two by two, with the absent states first."""
    if isinstance(source, JointModel):
        x, y = source.schema[treatment], source.schema[outcome]
        table = np.asarray(source.query([treatment, outcome]).probabilities)
    else:
        data = source if isinstance(source, CountSource | Table) else read(source)
        counted: CountSource = data if isinstance(data, CountSource) else MemoryCounts(data)
        x, y = counted.schema[treatment], counted.schema[outcome]
        pair = counted.schema.indices([treatment, outcome])
        table = np.asarray(counted.counts([pair])[0], dtype=np.float64)
    if table.sum() == 0:
        raise DataError(f"no row is complete in {treatment!r} and {outcome!r}.")
    two = _halved(_halved(table, x, cause).T, y, result).T
    shares: Floats = two / two.sum()
    return shares


def _halved(table: Floats, variable: Variable, state: State) -> Floats:
    """The rows of the other states added up, then the row of `state`."""
    if variable.card < 2:
        raise DataError(
            f"{variable.name!r} has one state only; a cause and its absence are needed."
        )
    code = variable.card - 1 if state is None else variable.code(state)
    return np.stack([np.delete(table, code, axis=0).sum(axis=0), table[code]])
