"""Policies for missing cells, and the choice that missing="auto" makes, with its reason.

EM is right if cells are missing at random, or depending on observed cells, as long as values are
observed in every context. If a column has no value in some context ("not applicable"), no row shows
what EM should fill in, and missing as a state can be better. Then both are fitted to parts of the
rows and compared on the others, by the nats of their observed cells: once given which other cells
are missing, and once not. See docs/design/missing.md.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from counterpane.counts.memory import MemoryCounts
from counterpane.counts.source import CountSource, threads_of
from counterpane.counts.view import with_missing_policy
from counterpane.data.schema import MISSING
from counterpane.data.table import Table, with_missing_state
from counterpane.errors import DataError, Setting, TableSizeError
from counterpane.inference.completion import Completion
from counterpane.learners.driver import StoppedEarly
from counterpane.models.bayesian_network import BayesianNetwork
from counterpane.models.record import MissingCells
from counterpane.typing import Array, Bools, Floats, Ints

MAX_CELLS = 2_000_000  # distinct rows × columns for EM: 10 s if a tenth of the cells is missing
FEW_LOST = 0.05  # the share of rows that may be left out if EM is too slow
TRIAL_ROWS = 3_000  # rows on which EM and states are compared
FOLDS = 2
NEVER = 0.01  # a column does not apply where at most this share of its cells is observed
MUCH = 0.2  # the least share of a column's missing cells that are where it does not apply
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
        amount = "in " if self.cells is None else f"{self.cells:,.0f} in "
        amount += f"{n} column{'s' if n > 1 else ''}"
        what = WORDS[self.policy]
        if self.policy == "em" and self.states:
            what = f"kept as the state {MISSING} in {first_few(self.states)}, the others are {what}"
        why = f": {self.why}" if self.why else ""
        return f"Missing cells: {amount} ({first_few(self.columns)}); {what}{why}."

    def to_record(self) -> MissingCells:
        """The same for the record of a model."""
        return MissingCells(
            self.policy, self.columns, self.states, self.cells, self.why, self.sentence
        )


def first_few(words: Sequence[str]) -> str:
    """The first few words, with commas."""
    return ", ".join(words[:SHOWN]) + (", …" if len(words) > SHOWN else "")


def choose_policy(
    source: CountSource, fit: Callable[[Table], BayesianNetwork]
) -> tuple[GapPolicy, CountSource]:
    """The policy for a source, and the source on which it is carried out.

    `fit` learns by EM from a table with gaps. The choice depends on the distinct rows and their
    weights alone, so that it is the same for every kind of source and any order of the columns.
    """
    complete = with_missing_policy(source, "state")
    gaps = complete.schema.cards > source.schema.cards
    if not gaps.any():
        return GapPolicy("none"), complete
    names = np.array(source.schema.names, dtype=object)
    margins = list(complete.counts([(int(i),) for i in np.flatnonzero(gaps)]))
    total, cells = float(margins[0].sum()), float(sum(m[-1] for m in margins))
    choice = GapPolicy("state", tuple(names[gaps]), tuple(names[gaps]), cells)
    rows = _rows_for_em(source)
    depends = _inapplicable_columns(complete, gaps, total)
    if rows is None:
        return _without_em(source, complete, choice, None if depends else total)
    boxes = np.zeros(gaps.size, dtype=bool)  # columns that have at most one value
    boxes[gaps] = [np.count_nonzero(m[:-1]) < 2 for m in margins]
    states, why = boxes, ""
    if depends:
        more = boxes.copy()
        more[list(depends)] = True
        if (more & ~boxes).any():
            states, why = _best_states(rows, [boxes, more], fit)
        if why:
            why = _dependence_words(depends, boxes, names) + why
    if boxes.any():
        have = "has" if boxes.sum() == 1 else "have"
        reason = f"{', '.join(names[boxes])} {have} at most one value where not missing"
        why = f"{reason}; {why}" if why else reason
    if states[gaps].all():
        return choice._replace(why=why), complete
    with_gaps = MemoryCounts(_table_with_states(rows, states), n_jobs=threads_of(source))
    with_gaps.n_rows = source.n_rows or 0
    return choice._replace(policy="em", states=tuple(names[states]), why=why), with_gaps


def too_slow(choice: GapPolicy, reason: str) -> GapPolicy:
    """The policy "state", with the reason that EM is too slow."""
    return choice._replace(policy="state", states=choice.columns, why=f"EM is too slow: {reason}")


def _rows_for_em(source: CountSource) -> Table | None:
    """The rows of a source; None if there are too many distinct ones for EM."""
    limit = MAX_CELLS // len(source.schema)
    everything = range(len(source.schema))
    if source.table is not None:
        few = source.table.n_rows <= limit or source.table.distinct().n_rows <= limit
        return source.table if few else None
    try:
        return source.distinct(everything, limit=limit)
    except TableSizeError:
        return None


def _without_em(
    source: CountSource, complete: CountSource, choice: GapPolicy, total: float | None
) -> tuple[GapPolicy, CountSource]:
    """The policy "drop" if few of the `total` rows are lost; otherwise "state"."""
    n = len(source.schema)
    reason = f"for EM, the table of {n} columns has more than {MAX_CELLS // n:,} distinct rows"
    if total is not None:
        try:
            rows = with_missing_policy(source, "drop")
        except DataError:  # each row has a gap
            return choice._replace(why=reason), complete
        lost = 1 - float(rows.total_weight or 0.0) / total
        if lost <= FEW_LOST:
            why = f"they are {lost:.1%}; {reason}"
            return choice._replace(policy="drop", states=(), why=why), rows
    return choice._replace(why=reason), complete


def _inapplicable_columns(complete: CountSource, gaps: Bools, total: float) -> dict[int, int]:
    """Columns that have no value where another column is in certain states, and that column.

    There no row tells what EM should fill in: that the cell is missing is a value by itself, such
    as "not applicable". In such states (missing among them) at most `NEVER` of the cells are shown,
    and chance does not explain it; at least `MUCH` of the column's missing cells are there. By BIC
    "missing or not" must depend on the other column as a whole, too.
    """
    places = np.flatnonzero(gaps).tolist()
    penalty = 0.5 * math.log(max(total, 2.0))
    depends = {}
    for start in range(0, len(places), BLOCK):
        left = places[start : start + BLOCK]
        pairs = complete.pair_counts(left, against=range(gaps.size))
        first = pairs.right_from[:-1]
        for i, column in enumerate(left):
            block = pairs.counts[pairs.left_from[i] : pairs.left_from[i + 1]].astype(np.float64)
            missing, every = block[-1], block.sum(axis=0)
            lost = float(missing[: pairs.right_from[1]].sum())
            if not 0 < lost < total:
                continue
            sure = every * math.log(total / lost) > penalty + math.log(gaps.size)
            never = sure & (every - missing <= NEVER * every)
            there = np.add.reduceat(np.where(never, missing, 0.0), first) / lost
            ratio = np.add.reduceat(_split_log_likelihood(missing, every), first)
            ratio -= _split_log_likelihood(np.array([lost]), np.array([total]))
            free = np.add.reduceat(every > 0, first) - 1.0
            there[(ratio <= penalty * free + math.log(gaps.size)) | (there < MUCH)] = 0.0
            there[column] = 0.0
            if there.any():
                depends[column] = int(there.argmax())
    return depends


def _split_log_likelihood(part: Floats, total: Floats) -> Floats:
    """The maximum log-likelihood of a split of `total` into `part` and the rest; 0 ln 0 = 0."""
    rest = np.maximum(total - part, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = [np.where(n > 0, n * np.log(n / total), 0.0) for n in (part, rest)]
    result: Floats = logs[0] + logs[1]
    return result


def _table_with_states(table: Table, columns: Bools) -> Table:
    """`table` with missing as a state in some columns."""
    return Table(with_missing_state(table.schema, columns), table.codes, table.weights)


def _dependence_words(depends: dict[int, int], boxes: Bools, names: Array) -> str:
    """A text that says on which column the missing cells of each column depend."""
    parts = [f"{names[i]} on {names[by]}" for i, by in depends.items() if not boxes[i]]
    return f"it depends on other columns whether there is a value ({first_few(parts)}), "


def _best_states(
    rows: Table, candidates: Sequence[Bools], fit: Callable[[Table], BayesianNetwork]
) -> tuple[Bools, str]:
    """The columns in which missing should be a state, and why: the nats of held-out cells.

    Rows are asked about with and without the knowledge of which cells are missing; the measure is
    the mean of both. The first candidate is kept unless the second is better by `SURE` standard
    errors.
    """
    order = sorted(range(rows.n_columns), key=lambda i: rows.schema.names[i])
    sample, weights, fold = _trial_rows(rows.select(order))
    logs = np.zeros((2, weights.size))
    for number in range(FOLDS):
        test = fold == number
        for i, states in enumerate(candidates):
            table = _table_with_states(sample, states[order])
            try:
                model = _trial_network(fit, table.take(~test))
                for known in (False, True):
                    unseen = observed_log_prob(model, table.take(test), gaps_known=known)
                    logs[i, test] += 0.5 * unseen
            except TableSizeError:
                return candidates[0], ""
    total = float(weights.sum())
    gain = logs[1] - logs[0]
    mean = float(gain @ weights) / total
    error = math.sqrt(float(weights @ (gain - mean) ** 2)) / total
    if not mean > SURE * error:
        return candidates[0], ""
    shown = float(weights @ (sample.codes < sample.schema.cards[:, None]).sum(axis=0))
    nats = -(logs @ weights) / shown
    return candidates[1], (
        f"and the state predicts held-out cells better than EM ({nats[1]:.3f} and "
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


def _trial_network(fit: Callable[[Table], BayesianNetwork], table: Table) -> BayesianNetwork:
    """The network of a trial; Ctrl-C during its search raises KeyboardInterrupt."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", StoppedEarly)
        try:
            return fit(table)
        except StoppedEarly:
            raise KeyboardInterrupt from None


def explicit_policy(
    policy: str, names: Sequence[str], gaps: Bools, cells: float | None
) -> GapPolicy:
    """A policy that the user named, for columns of which some have `gaps`."""
    columns = tuple(name for name, gap in zip(names, gaps, strict=True) if gap)
    if not columns:
        return GapPolicy("none")
    return GapPolicy(policy, columns, columns if policy == "state" else (), cells)


def policy_of_source(policy: str, source: CountSource) -> GapPolicy:
    """A policy that the user named, and the columns of `source` that it concerns.

    Missing cells are counted in memory; of other sources the columns that may have some are named.
    """
    gaps, cells, table = source.has_missing, None, source.table
    if table is not None:
        holes = (table.codes[gaps] == table.schema.cards[gaps, None]).sum(axis=0)
        cells = float(holes.sum() if table.weights is None else holes @ table.weights)
    return explicit_policy(policy, source.schema.names, gaps, cells)


def leave_gaps(source: CountSource, policy: str) -> CountSource:
    """A source whose missing cells stay, for "em" or "available"; checked for the latter.

    EM needs the rows. A source without missing cells is the same by any policy.
    """
    if source.table is None:
        complete = with_missing_policy(source, "state")
        if complete.schema == source.schema:
            return complete
    if policy == "available":
        counted = source.counts([(i,) for i in range(len(source.schema))], missing="drop")
        for i in np.flatnonzero(counted.n == 0):
            raise DataError(
                f"column {source.schema.names[i]!r} has no cell that is not missing, and no family "
                "with it can be scored; leave it out, or pass ",
                Setting("missing", "em"),
                ".",
            )
        return source
    rows = MemoryCounts(source.rows(), n_jobs=threads_of(source))
    rows.n_rows = source.n_rows or 0
    return rows


def observed_log_prob(model: BayesianNetwork, table: Table, *, gaps_known: bool = False) -> Floats:
    """ln P(the cells that a row shows | that it shows them), natural log, one number a row.

    Missing cells are summed out. Where missing is a state of a column (None), the probability is
    conditional on the shown cells not being in it: so models with and without such states are
    measured alike, in nats of the same cells. With `gaps_known` it is conditional also on the other
    cells of such columns being missing, which may tell something of those shown. Cost: one pass
    over a junction tree for each row, and one for each pattern of gaps where there are such states.

    >>> import counterpane as cp
    >>> table = cp.read({"a": ["x", "x", "y", None], "b": [0, 0, 1, 1]})
    >>> as_state = cp.ChowLiu(missing="state").fit(table).model_
    >>> expected = cp.ChowLiu(missing="em").fit(table).model_
    >>> [observed_log_prob(m, table).round(2).tolist() for m in (as_state, expected)]
    [[-0.53, -0.53, -1.15, -0.69], [-0.8, -0.8, -0.88, -0.69]]
    >>> observed_log_prob(as_state, table, gaps_known=True).round(2).tolist()
    [-0.53, -0.53, -1.15, -0.13]
    """
    cards = model.schema.cards
    stateful = np.array([v.states[-1] is None for v in model.schema])
    gaps = (table.codes == table.schema.cards[:, None]) | (
        stateful[:, None] & (table.codes == cards[:, None] - 1)
    )
    gap_code = cards - (stateful if gaps_known else 0)
    codes = np.where(gaps, gap_code[:, None], table.codes)
    shown = model.score_samples(Table(model.schema, codes))
    if not stateful.any():
        return shown
    columns = np.flatnonzero(stateful)
    return shown - _log_prob_pattern(model, columns, ~gaps[columns], gaps_known=gaps_known)


def _log_prob_pattern(
    model: BayesianNetwork, columns: Ints, shown: Bools, *, gaps_known: bool
) -> Floats:
    """ln P(the shown cells of `columns` are not in their last state), for each row.

    With `gaps_known`, and the others are. Each column gets a binary child that says whether it is
    shown; this is then the evidence.
    """
    potentials, cards = model.to_potentials(), model.schema.cards
    patterns, pattern_of = np.unique(shown.T, axis=0, return_inverse=True)
    scopes = [p.scope for p in potentials]
    logs = [p.log_values for p in potentials]
    for i, column in enumerate(columns.tolist()):
        is_shown = np.arange(cards[column]) < cards[column] - 1
        with np.errstate(divide="ignore"):
            logs.append(np.log(np.stack([~is_shown, is_shown], axis=1).astype(np.float64)))
        scopes.append((column, cards.size + i))
    sizes = np.append(cards, np.full(columns.size, 2))
    codes = np.repeat(sizes[:, None], len(patterns), axis=1)
    codes[cards.size :] = np.where(patterns.T, 1, 0 if gaps_known else 2)
    rows = Completion(scopes, sizes, codes)
    log_probs: Floats = rows.expected(logs, np.ones(len(patterns)))[1]
    return log_probs[pattern_of.reshape(-1)]
