"""missing="auto": what is done about the missing cells of a table, and why.

Structural EM predicts cells best where gaps are random, or depend on cells that are shown. Where
being missing tells something of other columns ("not applicable"), a state of its own can be better.
Both are fitted to parts of the rows and judged on the others, by the nats of the cells that those
show: once given which of the others are missing, and once not. See docs/design/missing.md.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from counterpane.counts.memory import MemoryCounts
from counterpane.counts.resolved import resolved
from counterpane.counts.source import CountSource
from counterpane.data.schema import MISSING
from counterpane.data.table import Table, with_missing_state
from counterpane.errors import DataError, TableSizeError
from counterpane.learn.driver import StoppedEarly
from counterpane.learn.observed_rows import observed_log_prob
from counterpane.models.bayesian_network import BayesianNetwork
from counterpane.typing import Array, Bools, Floats, Ints

MAX_CELLS = 2_000_000  # of distinct rows × columns for EM: ten seconds where a tenth is missing
FEW_LOST = 0.05  # the share of rows that may be left out where EM is too slow
TRIAL_ROWS = 3_000  # by which EM and states are compared
FOLDS = 2
STRONG = 0.5  # the share of the entropy of being missing that one other column explains
SURE = 2.0  # standard errors by which states must be better than EM
SHOWN = 6  # columns named in a sentence
BLOCK = 64  # columns with gaps whose pairs are counted at once

WORDS = {
    "em": "estimated by EM",
    "available": "each family of columns is counted on the rows that are complete in it",
    "drop": "rows with missing cells are left out",
    "state": f"kept as the state {MISSING}",
}


class GapPolicy(NamedTuple):
    """What was done about missing cells: `policy` is "none" where there are no such cells.

    `columns` have missing cells; in those of `states` missing is a state, also by the policy "em".
    `cells` is their weight, where it was counted; `why` is the reason of a choice.
    """

    policy: str
    columns: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    cells: float | None = None
    why: str = ""

    @property
    def sentence(self) -> str:
        """The policy in one sentence; empty where nothing is missing."""
        if not self.columns:
            return ""
        n = len(self.columns)
        columns = ", ".join(self.columns[:SHOWN]) + (", …" if n > SHOWN else "")
        amount = "in " if self.cells is None else f"{self.cells:,.0f} in "
        amount += f"{n} column{'s' if n > 1 else ''}"
        what = WORDS[self.policy]
        if self.policy == "em" and self.states:
            some = ", ".join(self.states[:SHOWN]) + (", …" if len(self.states) > SHOWN else "")
            what = f"kept as the state {MISSING} in {some}, the others are {what}"
        why = f": {self.why}" if self.why else ""
        return f"Missing cells: {amount} ({columns}); {what}{why}."

    def to_dict(self) -> dict[str, Any]:
        """The parts by name, for a model's file and for JSON."""
        return {
            "policy": self.policy,
            "columns": list(self.columns),
            "states": list(self.states),
            "cells": self.cells,
            "why": self.why,
            "note": self.sentence,
        }


def choose_policy(
    source: CountSource, fit: Callable[[Table], BayesianNetwork]
) -> tuple[GapPolicy, CountSource]:
    """The policy for a source, and the source on which it is carried out.

    `fit` learns by EM from a table with gaps. The choice depends on the distinct rows and their
    weights alone, so that it is the same for every kind of source and any order of the columns.
    """
    complete = resolved(source, "state")
    gaps = complete.schema.cards > source.schema.cards
    if not gaps.any():
        return GapPolicy("none"), complete
    names = np.array(source.schema.names, dtype=object)
    margins = list(complete.counts([(int(i),) for i in np.flatnonzero(gaps)]))
    cells = float(sum(m[-1] for m in margins))
    choice = GapPolicy("state", tuple(names[gaps]), tuple(names[gaps]), cells)
    rows = _rows_for_em(source)
    depends = _telling_columns(complete, gaps)
    if rows is None:
        return _without_em(source, complete, choice, telling=bool(depends))
    boxes = np.zeros(gaps.size, dtype=bool)  # ticked or not: being missing is all that varies
    boxes[gaps] = [np.count_nonzero(m[:-1]) < 2 for m in margins]
    states, why = boxes, ""
    if depends:
        states, why = _best_states(rows, _candidates(boxes, depends), fit)
    if boxes.any():
        have = "has" if boxes.sum() == 1 else "have"
        reason = f"{', '.join(names[boxes])} {have} at most one value where not missing"
        why = f"{reason}; {why}" if why else reason
    if states[gaps].all():
        return choice._replace(why=why), complete
    kept = MemoryCounts(_with_states(rows, states), n_jobs=getattr(source, "n_jobs", 1))
    kept.n_rows = source.n_rows or 0
    return choice._replace(policy="em", states=tuple(names[states]), why=why), kept


def too_slow(choice: GapPolicy, reason: str) -> GapPolicy:
    """The choice where EM turned out to be too slow: a state."""
    return choice._replace(policy="state", states=choice.columns, why=f"EM is too slow: {reason}")


def _rows_for_em(source: CountSource) -> Table | None:
    """The rows of a source; None where its distinct ones are too many for EM."""
    limit = MAX_CELLS // len(source.schema)
    everything = range(len(source.schema))
    if isinstance(source, MemoryCounts):
        few = source.table.n_rows <= limit or source.table.distinct().n_rows <= limit
        return source.table if few else None
    try:
        return source.distinct(everything, limit=limit)
    except TableSizeError:
        return None


def _without_em(
    source: CountSource, complete: CountSource, choice: GapPolicy, *, telling: bool
) -> tuple[GapPolicy, CountSource]:
    """Complete rows, where few are lost and being missing tells nothing; else a state."""
    n = len(source.schema)
    reason = f"for EM, the table of {n} columns has more than {MAX_CELLS // n:,} distinct rows"
    if not telling:
        try:
            rows = resolved(source, "drop")
        except DataError:  # each row has a gap
            return choice._replace(why=reason), complete
        lost = 1 - rows.total_weight / complete.total_weight
        if lost <= FEW_LOST:
            why = f"they are {lost:.1%}; {reason}"
            return choice._replace(policy="drop", states=(), why=why), rows
    return choice._replace(why=reason), complete


def _telling_columns(complete: CountSource, gaps: Bools) -> dict[int, float]:
    """Columns whose being missing depends on another column's state, and how strongly.

    By BIC: the log-likelihood ratio of "missing or not" against the states of one other column,
    missing among them, less ½ ln N for each parameter and ln of the number of columns. The strength
    is the ratio's share of what "missing or not" could be explained at most.
    """
    places = np.flatnonzero(gaps).tolist()
    total = complete.total_weight
    found = {}
    for start in range(0, len(places), BLOCK):
        left = places[start : start + BLOCK]
        pairs = complete.pair_counts(left, against=range(gaps.size))
        for i, column in enumerate(left):
            block = pairs.counts[pairs.left_from[i] : pairs.left_from[i + 1]].astype(np.float64)
            missing, every = block[-1], block.sum(axis=0)
            free = np.add.reduceat(every > 0, pairs.right_from[:-1]) - 1.0
            lost = missing[: pairs.right_from[1]].sum()
            alone = float(_split(np.array([lost]), np.array([total]))[0])
            ratio = np.add.reduceat(_split(missing, every), pairs.right_from[:-1]) - alone
            penalty = 0.5 * free * math.log(max(total, 2.0)) + math.log(gaps.size)
            ratio[column] = penalty[column] = 0.0
            if (ratio - penalty).max() > 0:
                found[column] = float(ratio[(ratio - penalty).argmax()]) / -alone
    return found


def _candidates(least: Bools, telling: dict[int, float]) -> list[Bools]:
    """Sets of columns in which missing might be a state: the least, the strong, all that tell."""
    sets = [least]
    for limit in (STRONG, 0.0):
        states = least.copy()
        states[[column for column, strength in telling.items() if strength >= limit]] = True
        if (states != sets[-1]).any():
            sets.append(states)
    return sets


def _split(part: Floats, whole: Floats) -> Floats:
    """The log-likelihood of a part and the rest of a whole, at their own shares; 0 ln 0 = 0."""
    rest = np.maximum(whole - part, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = [np.where(n > 0, n * np.log(n / whole), 0.0) for n in (part, rest)]
    result: Floats = logs[0] + logs[1]
    return result


def _with_states(table: Table, columns: Bools) -> Table:
    """`table` with missing as a state in some columns."""
    return Table(with_missing_state(table.schema, columns), table.codes, table.weights)


def _best_states(
    rows: Table, candidates: Sequence[Bools], fit: Callable[[Table], BayesianNetwork]
) -> tuple[Bools, str]:
    """The columns in which missing should be a state, and why: the nats of held-out cells.

    Rows are asked about with and without the knowledge of which cells are missing; the measure is
    the mean of both. The first candidate is kept unless another is better by `SURE` standard
    errors.
    """
    order = sorted(range(rows.n_columns), key=lambda i: rows.schema.names[i])
    sample, weights, fold = _trial_rows(rows.select(order))
    logs = np.zeros((len(candidates), weights.size))
    for number in range(FOLDS):
        test = fold == number
        for i, states in enumerate(candidates):
            table = _with_states(sample, states[order])
            try:
                model = _fitted(fit, table.take(~test))
                for known in (False, True):
                    unseen = observed_log_prob(model, table.take(test), gaps_known=known)
                    logs[i, test] += 0.5 * unseen
            except TableSizeError:
                return candidates[0], ""
    total = float(weights.sum())
    means = logs @ weights / total
    best = int(means.argmax())
    gain = logs[best] - logs[0]
    error = math.sqrt(float(weights @ (gain - gain @ weights / total) ** 2)) / total
    if not means[best] - means[0] > SURE * error:
        return candidates[0], ""
    shown = float(weights @ (sample.codes < sample.schema.cards[:, None]).sum(axis=0))
    nats = -means * total / shown
    kept = np.flatnonzero(candidates[best] & ~candidates[0])
    columns = ", ".join(rows.schema.names[i] for i in kept[:SHOWN]) + (
        ", …" if kept.size > SHOWN else ""
    )
    return candidates[best], (
        f"whether {columns} {'is' if kept.size == 1 else 'are'} missing depends on other columns, "
        f"and the state predicts held-out cells better than EM ({nats[best]:.3f} and "
        f"{nats[0]:.3f} nats a cell)"
    )


def _trial_rows(rows: Table) -> tuple[Table, Floats, Ints]:
    """(some rows, their weights, the fold of each): drawn from the sorted distinct rows."""
    distinct = rows.distinct()
    assert distinct.weights is not None
    rng = np.random.default_rng(0)
    weights: Array = distinct.weights
    if weights.dtype.kind == "i":
        total = int(weights.sum())
        units = rng.choice(total, min(total, TRIAL_ROWS), replace=False)
        place = np.searchsorted(np.cumsum(weights), units, side="right")
        sample, each = distinct.take(place), np.ones(place.size)
        sample = sample.reweighted(None)
    else:
        place = rng.permutation(distinct.n_rows)[:TRIAL_ROWS]
        sample = distinct.take(place)
        assert sample.weights is not None
        each = sample.weights.astype(np.float64)
    return sample, each, np.arange(place.size) % FOLDS


def _fitted(fit: Callable[[Table], BayesianNetwork], table: Table) -> BayesianNetwork:
    """The network of a trial; Ctrl-C in its search ends the trial."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", StoppedEarly)
        try:
            return fit(table)
        except StoppedEarly:
            raise KeyboardInterrupt from None


def explicit_policy(
    policy: str, names: Sequence[str], gaps: Bools, cells: float | None
) -> GapPolicy:
    """A policy that was asked for."""
    columns = tuple(name for name, gap in zip(names, gaps, strict=True) if gap)
    if not columns:
        return GapPolicy("none")
    return GapPolicy(policy, columns, columns if policy == "state" else (), cells)
