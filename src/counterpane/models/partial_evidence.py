"""P(class | evidence) where evidence leaves columns out: an average over rows that fit it.

    P(class | e) = Σ_i w_i P(class | e, rest of row i) / Σ_i w_i

Rows that fit the evidence have their own weight. Where these are fewer than `ENOUGH`, rows that do
not fit make up for what is missing, each with the evidence put in: w_i is then the row's weight
times exp(−d_i / h), d_i being its distance from the evidence, and h such that the sum of the
weights is `ENOUGH`. Distances sum over the columns of the evidence: 1 for another state, and for a
number the share of rows between the two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from counterpane.models.kept_rows import KeptRows
from counterpane.typing import Bools, Codes, Floats, Ints

ENOUGH = (2.5, 5.0, 10.0, 20.0, 40.0, 80.0)  # rows
LEFT_OUT = 128  # rows at most, to choose one of them
TINY = 1e-12
NEAREST = 128  # rows that do not fit are at most so many, the nearest
CANDIDATES = 2**12  # they are looked for among so many rows
BLOCK_CELLS = 2**21  # evidence × rows at a time
HALVINGS = 40

LogProba = Callable[[Codes, Floats], Floats]


@dataclass(frozen=True, eq=False)
class Given:
    """What several pieces of evidence say of one column: a state, or a weight for each state.

    `weights`, (evidence, states), are 1 for each state of a set, or likelihoods; `codes` is then
    the state that is put into rows that do not fit. Of a column of numbers, which is at `place`
    among them, `values` are the numbers, NaN where only the state is known.
    """

    column: int
    codes: Codes  # (evidence,)
    weights: Floats | None = None
    place: int | None = None
    values: Floats | None = None
    intervals: bool = False  # whether some values are NaN where the state is not that of missing

    @property
    def is_point(self) -> bool:
        """Whether all of the evidence is one state, or one number where there are numbers."""
        return self.weights is None and not self.intervals

    def take(self, some: slice | Ints) -> Given:
        """Some pieces of evidence."""
        weights = None if self.weights is None else self.weights[some]
        values = None if self.values is None else self.values[some]
        return Given(self.column, self.codes[some], weights, self.place, values, self.intervals)

    def factor(self, rows: KeptRows) -> Floats:
        """How well the rows fit, (evidence, rows), from 0 to 1."""
        if self.weights is None:
            return (self.distance(rows) == 0).astype(np.float64)
        scaled: Floats = self.weights / self.weights.max(axis=1, keepdims=True)
        return scaled[:, rows.codes[self.column]]

    def distance(self, rows: KeptRows) -> Floats:
        """From 0, where a row fits, to 1, (evidence, rows)."""
        own = rows.codes[self.column]
        if self.weights is not None:
            return (self.weights[:, own] == 0).astype(np.float32)
        other: Floats = (self.codes[:, None] != own).astype(np.float32)
        if self.place is None or self.values is None:
            return other
        apart = np.abs(rows.rank(self.place, self.values)[:, None] - rows.own_ranks[self.place])
        gaps = np.isnan(apart)
        return np.where(gaps, other, apart) if gaps.any() else apart

    def put_in(self, rows: KeptRows, which: Ints, codes: Codes, numbers: Floats) -> None:
        """Write the evidence `which` into codes and numbers; a row that fits a set keeps its own."""
        own, state = codes[self.column], self.codes[which]
        fits = own == state if self.weights is None else self.weights[which, own] > 0
        codes[self.column] = np.where(fits, own, state)
        if self.place is not None:
            typical = rows.typical(self.place, self.codes)[which]
            inside = np.where(fits, numbers[self.place], typical)
            values = np.full(len(which), np.nan) if self.values is None else self.values[which]
            numbers[self.place] = np.where(np.isnan(values), inside, values)


class Basis(NamedTuple):
    """What an answer to partial evidence is averaged over.

    `columns` were not given, or only in part; `rows_that_fit` is the weight of the training rows
    that fit the evidence. `effective_rows` is the effective number of the rows that were used,
    (Σ w)² / Σ w²; rows that do not fit are among them where `looser`.
    """

    columns: tuple[str, ...]
    rows_that_fit: float
    effective_rows: float
    looser: bool

    def __str__(self) -> str:
        names, size = ", ".join(self.columns), f"{self.rows_that_fit:,.0f}"
        if not self.looser:
            rows = "row that fits" if size == "1" else "rows that fit"
            return f"Not given: {names}; averaged over the {size} training {rows} the evidence."
        fit = {"0": "no training row fits", "1": "one training row fits"}
        return (
            f"Not given: {names}; {fit.get(size, f'{size} training rows fit')} the evidence, so "
            f"averaged over similar rows as well (effective number {self.effective_rows:,.0f})."
        )


class Averages(NamedTuple):
    """Class probabilities of each piece of evidence, and what they rest on."""

    probabilities: Floats  # (evidence, classes)
    fitting: Floats  # the weight of the rows that fit
    effective: Floats  # the effective number of rows, (Σ w)² / Σ w²
    looser: Bools  # whether rows that do not fit were used


class RowAverage:
    """Averages of P(class | row) over kept rows; see the module."""

    def __init__(self, rows: KeptRows, log_proba: LogProba) -> None:
        self.rows = rows
        self.log_proba = log_proba
        self._enough: dict[frozenset[int], float] = {}

    def __call__(self, given: Sequence[Given], n: int) -> Averages:
        """P(class | evidence) of `n` pieces of evidence on the same columns."""
        fit = self._fit(given, n)
        sums, mass, squares = fit.sums, fit.mass.copy(), fit.squares.copy()
        few = np.flatnonzero(mass < ENOUGH[-1])
        enough = self.enough(given) if len(few) else ENOUGH[-1]
        few = few[mass[few] < enough]
        block = max(1, BLOCK_CELLS // min(len(self.rows), CANDIDATES))
        for low in range(0, len(few), block):
            some = few[low : low + block]
            asked = [g.take(some) for g in given]
            near = _nearest(self.rows, asked, len(some))
            weights = near.weights(enough - mass[some])
            probabilities = self._with_evidence(asked, near.rows, weights)
            sums[some] += np.einsum("ek,ekc->ec", weights, probabilities)
            mass[some] += weights.sum(axis=1)
            squares[some] += (weights**2 / near.copies).sum(axis=1)
        looser = np.zeros(n, dtype=np.bool_)
        looser[few] = True
        fitting = fit.mass * self.rows.unit
        return Averages(sums / mass[:, None], fitting, mass**2 / squares, looser)

    def enough(self, given: Sequence[Given]) -> float:
        """How many rows an average over columns that are not given needs, by leaving rows out.

        Of the numbers in `ENOUGH` it is the one with the least mean cross-entropy between
        P(class | row) of some kept rows and the average for the same evidence without that row.
        """
        columns = frozenset(g.column for g in given)
        if columns not in self._enough:
            self._enough[columns] = ENOUGH[int(np.argmin(self._losses(columns)))]
        return self._enough[columns]

    def _losses(self, columns: Iterable[int]) -> list[float]:
        """The cross-entropy of some kept rows without themselves, for each number in `ENOUGH`."""
        places = {int(c): a for a, c in enumerate(self.rows.numeric)}
        size = min(LEFT_OUT, len(self.rows))
        codes, numbers = self.rows.codes[:, :size], self.rows.numbers[:, :size]
        given = [
            Given(c, codes[c], None, places.get(c), numbers[places[c]] if c in places else None)
            for c in sorted(columns)
        ]
        truth = np.exp(self.log_proba(codes, numbers))
        copies = self.rows.weights[:size] / self.rows.unit
        fit = self._fit(given, size)
        out = np.minimum(copies, 1.0)  # one copy of each row is left out
        sums, mass = fit.sums - out[:, None] * truth, np.maximum(fit.mass - out, 0.0)
        near = _nearest(self.rows, given, size)
        weights = [near.weights(np.maximum(m - mass, 0.0)) for m in ENOUGH]
        probabilities = self._with_evidence(given, near.rows, np.max(weights, axis=0))
        losses = []
        for own in weights:
            total = sums + np.einsum("ek,ekc->ec", own, probabilities)
            p = np.maximum(total / (mass + own.sum(axis=1))[:, None], TINY)
            losses.append(float(-(truth * np.log(p)).sum(axis=1) @ copies))
        return losses

    def _fit(self, given: Sequence[Given], n: int) -> _Fit:
        """Sums over the rows that fit each piece of evidence."""
        if all(one.is_point for one in given):
            return self._fit_points(given, n)
        block, copies = max(1, BLOCK_CELLS // len(self.rows)), self.rows.weights / self.rows.unit
        parts = []
        for low in range(0, n, block):
            some = slice(low, min(low + block, n))
            shares: Floats = np.ones((some.stop - low, len(self.rows)))
            for one in given:
                shares *= one.take(some).factor(self.rows)
            needed = np.flatnonzero(shares.any(axis=0))
            shares = shares[:, needed]
            sums = (shares * copies[needed]) @ self._of_rows(needed)
            parts.append((sums, shares @ copies[needed], shares**2 @ copies[needed]))
        return _Fit(*(np.concatenate(own) for own in zip(*parts, strict=True)))

    def _fit_points(self, given: Sequence[Given], n: int) -> _Fit:
        """As `_fit` where all evidence is one state or number: groups of equal rows."""
        kinds = _joint_kinds(self.rows, given, n)
        size, own, asked = int(kinds.max()) + 1, kinds[: len(self.rows)], kinds[len(self.rows) :]
        needed = np.flatnonzero(np.isin(own, asked))
        copies = self.rows.weights[needed] / self.rows.unit
        weighed = self._of_rows(needed).T * copies
        each = [np.bincount(own[needed], w, size) for w in (copies, *weighed)]
        mass, *classes = np.array(each, dtype=np.float64)
        return _Fit(np.stack(classes, axis=1)[asked], mass[asked], mass[asked])

    def _kinds(self, columns: Iterable[int]) -> Ints:
        """Numbers of the candidates, equal where these columns are."""
        some, nobody = self.rows.first(CANDIDATES), np.empty(0)
        places = {int(c): a for a, c in enumerate(some.numeric)}
        given = [Given(c, nobody, None, places.get(c), nobody) for c in columns]
        return _joint_kinds(some, given, 0)

    def _of_rows(self, which: Ints) -> Floats:
        """P(class | row) of some kept rows."""
        return np.exp(self.log_proba(self.rows.codes[:, which], self.rows.numbers[:, which]))

    def _with_evidence(self, given: Sequence[Given], chosen: Ints, weights: Floats) -> Floats:
        """P(class | row with the evidence put in), (evidence, rows, classes); 0 without a weight.

        Rows that do not differ in what the evidence leaves open are looked up once.
        """
        rows = self.rows
        settled = {g.column for g in given if g.is_point}
        kind = self._kinds(frozenset(range(len(rows.codes))) - settled)
        which, place = np.nonzero(weights)
        chosen = chosen[which, place]
        pairs = which * (int(kind.max(initial=0)) + 1) + kind[chosen]
        _, first, back = np.unique(pairs, return_index=True, return_inverse=True)
        codes, numbers = rows.codes[:, chosen[first]].copy(), rows.numbers[:, chosen[first]].copy()
        for one in given:
            one.put_in(rows, which[first], codes, numbers)
        found = np.exp(self.log_proba(codes, numbers))
        out: Floats = np.zeros((*weights.shape, found.shape[1]))
        out[which, place] = found[back]
        return out


class _Fit(NamedTuple):
    """Of each piece of evidence, sums over the rows that fit it."""

    sums: Floats  # of weight × probabilities, (evidence, classes)
    mass: Floats  # of weights
    squares: Floats  # of squares of the weights of single rows


class _Near(NamedTuple):
    """Of each piece of evidence the nearest rows that do not fit; distance 0 marks one that does."""

    rows: Ints  # (evidence, rows)
    distance: Floats
    copies: Floats

    def weights(self, lacking: Floats) -> Floats:
        """copies × exp(−distance / h), with h such that they sum to what is lacking, at most all.

        Weights below a ten-thousandth of the largest are 0.
        """
        copies = np.where(self.distance == 0, 0.0, self.copies)
        low, high = np.full(len(lacking), -30.0), np.full(len(lacking), 30.0)  # of ln h
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            sums = (copies * np.exp(-self.distance / np.exp(middle)[:, None])).sum(axis=1)
            low, high = np.where(sums < lacking, middle, low), np.where(sums < lacking, high, middle)
        weights: Floats = copies * np.exp(-self.distance / np.exp(high)[:, None])
        weights[(weights < 1e-4 * weights.max(axis=1, keepdims=True)) | (lacking <= 0)[:, None]] = 0.0
        return weights


def _nearest(rows: KeptRows, given: Sequence[Given], n: int) -> _Near:
    """The nearest of the first `CANDIDATES` rows; of those at one distance the first.

    The order of the rows is random, so that the first of them represent all.
    """
    some = rows.first(CANDIDATES)
    distance: Floats = np.zeros((n, len(some)), dtype=np.float32)
    for one in given:
        distance += one.distance(some)
    size = min(NEAREST, len(some))
    # whole keys: distance first, then place, so that ties are settled alike everywhere
    keys = np.where(distance == 0, 2.0**40, np.floor(distance.astype(np.float64) * 2.0**20))
    keys = keys.astype(np.int64) * CANDIDATES + np.arange(len(some))
    nearest = np.sort(np.partition(keys, size - 1, axis=1)[:, :size], axis=1) % CANDIDATES
    d = np.take_along_axis(distance, nearest, axis=1).astype(np.float64)
    return _Near(nearest, d, rows.weights[nearest] / rows.unit)


def _joint_kinds(rows: KeptRows, given: Sequence[Given], n: int) -> Ints:
    """Numbers of rows, then of evidence, equal where the columns of the evidence are."""
    kinds, size = np.zeros(len(rows) + n, dtype=np.int64), 1
    for one in given:
        if one.place is None or one.values is None:
            own: Ints = np.append(rows.codes[one.column], one.codes).astype(np.int64)
        else:
            _, own = np.unique(np.append(rows.numbers[one.place], one.values), return_inverse=True)
        base = int(own.max()) + 1
        if size * base > 2**62:
            _, kinds = np.unique(kinds, return_inverse=True)
            size = int(kinds.max()) + 1
        kinds, size = kinds * base + own, size * base
    _, found = np.unique(kinds, return_inverse=True)
    return found
