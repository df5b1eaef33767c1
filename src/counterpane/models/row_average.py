"""P(class | evidence) where evidence leaves columns out: an average over rows that fit it.

    P(class | e) = Σ_i w_i P(class | e, rest of row i) / Σ_i w_i

Rows that fit the evidence have their own weight. Where they weigh less than m rows, the nearest
rows that do not fit make up for the difference, with the evidence put in: w_i is then the row's
weight times exp(−d_i / h), d_i being its distance from the evidence, and h such that all weights
sum to m. Distances sum over the columns of the evidence: 1 for another state, and for a number the
share of rows between the two. m is one of `ENOUGH`, chosen for each set of columns by leaving out
rows: few where the evidence tells much of the columns left out, many where it tells little.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from counterpane.models.training_rows import ColumnEvidence, TrainingRows
from counterpane.typing import Bools, Codes, Floats, Ints

ENOUGH = (2.5, 5.0, 10.0, 20.0, 40.0, 80.0)  # rows
LEFT_OUT = 128  # rows at most, to choose one of them
TINY = 1e-12
ROUNDING = 1e-9  # losses that differ by less are equal, and the fewest rows are taken
NEAREST = 128  # rows that do not fit are at most so many, the nearest
CANDIDATES = 2**12  # they are looked for among so many rows
BLOCK_CELLS = 2**22  # evidence × rows at a time
HALVINGS = 40
MOST_LISTED = 2**10  # rows of one average that are told
NAMED = 6  # columns at most

LogProba = Callable[[Codes, Floats], Floats]


class Basis(NamedTuple):
    """What an answer to partial evidence is averaged over.

    `columns` were not given; `rows_that_fit` is the weight of the training rows
    that fit the evidence. `effective_rows` is the effective number of the rows that were used,
    (Σ w)² / Σ w²; rows that do not fit are among them where `looser`. Where the model keeps only a
    sample of the training rows, the number that fit is an estimate.
    """

    columns: tuple[str, ...]
    rows_that_fit: float
    effective_rows: float
    looser: bool
    estimated: bool = False

    def __str__(self) -> str:
        size = f"{self.rows_that_fit:,.0f}"
        fit = {"0": "no training row fits", "1": "one training row fits"}.get(size)
        if not self.looser:
            rows = "one training row that fits" if fit else f"{size} training rows that fit"
            how = f"averaged over {'about' if self.estimated else 'the'} {rows} the evidence"
        else:
            number = f"effective number {self.effective_rows:,.0f}"
            others = {"0": "similar rows", "1": "this and similar rows"}.get(
                size, "these and similar rows"
            )
            fit = fit or f"{size} training rows fit"
            how = f"{fit} the evidence, so averaged over {others} ({number})"
        left = f"Not given: {self._names()}; {how}" if self.columns else how
        return f"{left[0].upper()}{left[1:]}."

    def _names(self) -> str:
        """The columns, and from the seventh on how many more they are."""
        more = len(self.columns) - NAMED
        names = ", ".join(self.columns[:NAMED])
        if more <= 0:
            return names
        return f"{names} and {more} more {'column' if more == 1 else 'columns'}"


class Averages(NamedTuple):
    """Class probabilities of each piece of evidence, and what they rest on."""

    probabilities: Floats  # (evidence, classes)
    fitting: Floats  # the weight of the rows that fit
    effective: Floats  # the effective number of rows, (Σ w)² / Σ w²
    looser: Bools  # whether rows that do not fit were used
    estimated: bool  # whether a sample of the rows was kept

    def basis(self, columns: Sequence[str]) -> Basis:
        """What the first answer rests on; `columns` were not given."""
        weight, effective = float(self.fitting[0]), float(self.effective[0])
        return Basis(tuple(columns), weight, effective, bool(self.looser[0]), self.estimated)


class RowAverage:
    """Averages of P(class | row) over kept rows; see the module."""

    def __init__(self, rows: TrainingRows, log_proba: LogProba) -> None:
        self.rows = rows
        self.log_proba = log_proba
        self._enough: dict[frozenset[int], float] = {}

    def __call__(self, evidence: Sequence[ColumnEvidence], n: int) -> Averages:
        """P(class | evidence) of `n` pieces of evidence on the same columns."""
        fit = self._fit(evidence, n)
        sums, mass, squares = fit.sums, fit.mass.copy(), fit.squares.copy()
        few = np.flatnonzero(mass < ENOUGH[-1])
        enough = self.enough(evidence) if len(few) else ENOUGH[-1]
        few = few[mass[few] < enough]
        block = max(1, BLOCK_CELLS // min(len(self.rows), CANDIDATES))
        for low in range(0, len(few), block):
            block_rows = few[low : low + block]
            part = [item.take(block_rows) for item in evidence]
            near = _nearest(self.rows, part, len(block_rows))
            weights = near.weights(enough - mass[block_rows])
            probabilities = self._with_evidence(part, near.rows, weights)
            sums[block_rows] += np.einsum("ek,ekc->ec", weights, probabilities)
            mass[block_rows] += weights.sum(axis=1)
            squares[block_rows] += (weights**2 / near.copies).sum(axis=1)
        looser = np.zeros(n, dtype=np.bool_)
        looser[few] = True
        fitting = fit.mass * self.rows.unit
        sample = len(self.rows) < self.rows.seen
        return Averages(sums / mass[:, None], fitting, mass**2 / squares, looser, sample)

    def of_rows(
        self, known: Bools, codes: Codes, numbers: Floats, missing: Sequence[int | None] = ()
    ) -> Floats:
        """P(class | known cells) of rows, (rows, classes); `codes` are (features, rows).

        `missing` is the state of missing cells of each column of numbers, if it has one.
        """
        out: Floats | None = None
        for columns, which in _patterns(known):
            first, back = _distinct(codes[np.ix_(columns, which)], numbers[:, which])
            distinct = which[first]
            evidence = self.evidence(columns, codes[:, distinct], numbers[:, distinct], missing)
            averages = self(evidence, len(distinct)).probabilities
            if out is None:
                out = np.empty((codes.shape[1], averages.shape[1]))
            out[which] = averages[back]
        return np.empty((0, 1)) if out is None else out

    def evidence(
        self, columns: Ints, codes: Codes, numbers: Floats, missing: Sequence[int | None] = ()
    ) -> list[ColumnEvidence]:
        """The cells of some columns of rows as evidence."""
        evidence = []
        for c in columns.tolist():
            places = np.flatnonzero(self.rows.numeric == c).tolist()
            values, intervals = None, False
            if places:
                values = numbers[places[0]]
                intervals = bool((np.isnan(values) & (codes[c] != missing[places[0]])).any())
            place = places[0] if places else None
            evidence.append(ColumnEvidence(c, codes[c], None, place, values, intervals))
        return evidence

    def averaged_rows(self, evidence: Sequence[ColumnEvidence]) -> tuple[Codes, Floats, Floats]:
        """(codes, numbers, weights) of the rows over which one piece of evidence is averaged.

        Of many rows some, evenly spaced.
        """
        rows, shares = self.rows, np.ones(len(self.rows))
        for item in evidence:
            shares *= item.factor(rows)[0]
        fitting = np.flatnonzero(shares)
        weights = shares[fitting] * rows.weights[fitting] / rows.unit
        mass = float(weights.sum())
        enough = self.enough(evidence) if mass < ENOUGH[-1] else 0.0
        chosen = fitting
        if mass < enough:
            near = _nearest(rows, evidence, 1)
            chosen = np.append(fitting, near.rows[0])
            weights = np.append(weights, near.weights(np.array([enough - mass]))[0])
        some = np.linspace(0, len(chosen) - 1, min(len(chosen), MOST_LISTED)).astype(np.int64)
        chosen, weights = chosen[some], weights[some]
        codes, numbers = rows.codes[:, chosen].copy(), rows.numbers[:, chosen].copy()
        for item in evidence:
            item.put_in(rows, np.zeros(len(chosen), dtype=np.int64), codes, numbers)
        return codes, numbers, weights

    def enough(self, evidence: Sequence[ColumnEvidence]) -> float:
        """How many rows an average over columns that are not given needs, by leaving rows out.

        Of the numbers in `ENOUGH` it is the one with the least mean cross-entropy between
        P(class | row) of some kept rows and the average for the same evidence without that row.
        """
        columns = frozenset(item.column for item in evidence)
        if columns not in self._enough:
            losses = np.array(self._losses(columns))
            best = losses <= losses.min() + ROUNDING * abs(losses.min())
            self._enough[columns] = ENOUGH[int(np.argmax(best))]
        return self._enough[columns]

    def _losses(self, columns: Iterable[int]) -> list[float]:
        """The cross-entropy of some kept rows without themselves, for each number in `ENOUGH`."""
        places = {int(c): a for a, c in enumerate(self.rows.numeric)}
        size = min(LEFT_OUT, len(self.rows))
        codes, numbers = self.rows.codes[:, :size], self.rows.numbers[:, :size]
        evidence = [
            ColumnEvidence(
                c, codes[c], None, places.get(c), numbers[places[c]] if c in places else None
            )
            for c in sorted(columns)
        ]
        truth = np.exp(self.log_proba(codes, numbers))
        copies = self.rows.weights[:size] / self.rows.unit
        fit = self._fit(evidence, size)
        left_out = np.minimum(copies, 1.0)  # one copy of each row is left out
        sums, mass = fit.sums - left_out[:, None] * truth, np.maximum(fit.mass - left_out, 0.0)
        near = _nearest(self.rows, evidence, size)
        weights = [near.weights(np.maximum(m - mass, 0.0)) for m in ENOUGH]
        probabilities = self._with_evidence(evidence, near.rows, np.max(weights, axis=0))
        losses = []
        for row_weights in weights:
            total = sums + np.einsum("ek,ekc->ec", row_weights, probabilities)
            total_mass = np.maximum(
                mass + row_weights.sum(axis=1), TINY
            )  # a single row leaves nothing
            p = np.maximum(total / total_mass[:, None], TINY)
            losses.append(float(-(truth * np.log(p)).sum(axis=1) @ copies))
        return losses

    def _fit(self, evidence: Sequence[ColumnEvidence], n: int) -> _Fit:
        """Sums over the rows that fit each piece of evidence."""
        if all(item.is_point for item in evidence):
            return self._fit_points(evidence, n)
        block, copies = max(1, BLOCK_CELLS // len(self.rows)), self.rows.weights / self.rows.unit
        parts = []
        for low in range(0, n, block):
            pieces = slice(low, min(low + block, n))
            shares: Floats = np.ones((pieces.stop - low, len(self.rows)))
            for item in evidence:
                shares *= item.take(pieces).factor(self.rows)
            needed = np.flatnonzero(shares.any(axis=0))
            shares = shares[:, needed]
            sums = (shares * copies[needed]) @ self._of_rows(needed)
            parts.append((sums, shares @ copies[needed], shares**2 @ copies[needed]))
        return _Fit(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))

    def _fit_points(self, evidence: Sequence[ColumnEvidence], n: int) -> _Fit:
        """As `_fit` where all evidence is one state or number: groups of equal rows."""
        kinds = _joint_kinds(self.rows, evidence, n)
        size, row_kinds, evidence_kinds = (
            int(kinds.max()) + 1,
            kinds[: len(self.rows)],
            kinds[len(self.rows) :],
        )
        needed = np.flatnonzero(np.isin(row_kinds, evidence_kinds))
        copies = self.rows.weights[needed] / self.rows.unit
        weighed = self._of_rows(needed).T * copies
        each = [np.bincount(row_kinds[needed], w, size) for w in (copies, *weighed)]
        mass, *classes = np.array(each, dtype=np.float64)
        return _Fit(
            np.stack(classes, axis=1)[evidence_kinds], mass[evidence_kinds], mass[evidence_kinds]
        )

    def _kinds(self, columns: Iterable[int]) -> Ints:
        """Numbers of the candidates, equal where these columns are."""
        candidates = self.rows.first(CANDIDATES)
        places = {int(c): a for a, c in enumerate(candidates.numeric)}
        no_codes, no_numbers = candidates.codes[0, :0], np.empty(0)
        evidence = [ColumnEvidence(c, no_codes, None, places.get(c), no_numbers) for c in columns]
        return _joint_kinds(candidates, evidence, 0)

    def _of_rows(self, which: Ints) -> Floats:
        """P(class | row) of some kept rows."""
        return np.exp(self.log_proba(self.rows.codes[:, which], self.rows.numbers[:, which]))

    def _with_evidence(
        self, evidence: Sequence[ColumnEvidence], chosen: Ints, weights: Floats
    ) -> Floats:
        """P(class | row with the evidence put in), (evidence, rows, classes); 0 without a weight.

        Rows that do not differ in what the evidence leaves open are looked up once.
        """
        rows = self.rows
        settled = {item.column for item in evidence if item.is_point}
        kind = self._kinds(frozenset(range(len(rows.codes))) - settled)
        which, place = np.nonzero(weights)
        chosen = chosen[which, place]
        pairs = which * (int(kind.max(initial=0)) + 1) + kind[chosen]
        _, first, back = np.unique(pairs, return_index=True, return_inverse=True)
        codes, numbers = rows.codes[:, chosen[first]].copy(), rows.numbers[:, chosen[first]].copy()
        for item in evidence:
            item.put_in(rows, which[first], codes, numbers)
        by_pair = np.exp(self.log_proba(codes, numbers))
        out: Floats = np.zeros((*weights.shape, by_pair.shape[1]))
        out[which, place] = by_pair[back]
        return out


class _Fit(NamedTuple):
    """Of each piece of evidence, sums over the rows that fit it."""

    sums: Floats  # of weight × probabilities, (evidence, classes)
    mass: Floats  # of weights
    squares: Floats  # of squares of the weights of single rows


class _Near(NamedTuple):
    """Of each piece of evidence the nearest rows; distance 0 marks one that fits."""

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
            short = sums < lacking
            low, high = np.where(short, middle, low), np.where(short, high, middle)
        weights: Floats = copies * np.exp(-self.distance / np.exp(high)[:, None])
        small = weights < 1e-4 * weights.max(axis=1, keepdims=True)
        weights[small | (lacking <= 0)[:, None]] = 0.0
        return weights


def _nearest(rows: TrainingRows, evidence: Sequence[ColumnEvidence], n: int) -> _Near:
    """The nearest of the first `CANDIDATES` rows; of those at one distance the first.

    The order of the rows is random, so that the first of them represent all.
    """
    candidates = rows.first(CANDIDATES)
    distance: Floats = np.zeros((n, len(candidates)), dtype=np.float32)
    for item in evidence:
        distance += item.distance(candidates)
    size = min(NEAREST, len(candidates))
    # Whole keys: distance first, then place, so that ties are settled alike everywhere.
    steps = 2**31 // CANDIDATES - 2
    keys = (distance * np.float32(steps / max(len(evidence), 1))).astype(np.int32)
    keys[distance == 0] = steps + 1
    keys *= np.int32(CANDIDATES)
    keys += np.arange(len(candidates), dtype=np.int32)
    keys.partition(size - 1, axis=1)
    nearest = np.sort(keys[:, :size], axis=1).astype(np.int64) % CANDIDATES
    d = np.take_along_axis(distance, nearest, axis=1).astype(np.float64)
    return _Near(nearest, d, rows.weights[nearest] / rows.unit)


def _joint_kinds(rows: TrainingRows, evidence: Sequence[ColumnEvidence], n: int) -> Ints:
    """Numbers of rows, then of evidence, equal where the columns of the evidence are."""
    kinds, size = np.zeros(len(rows) + n, dtype=np.int64), 1
    for item in evidence:
        if item.place is None or item.values is None:
            column_kinds: Ints = np.append(rows.codes[item.column], item.codes).astype(np.int64)
        else:
            _, column_kinds = np.unique(
                np.append(rows.numbers[item.place], item.values), return_inverse=True
            )
        base = int(column_kinds.max()) + 1
        if size * base > 2**62:
            _, kinds = np.unique(kinds, return_inverse=True)
            size = int(kinds.max()) + 1
        kinds, size = kinds * base + column_kinds, size * base
    _, numbered = np.unique(kinds, return_inverse=True)
    return numbered


def _patterns(known: Bools) -> Iterator[tuple[Ints, Ints]]:
    """For each set of columns that some rows know: the columns, and these rows."""
    _, group = np.unique(np.packbits(known, axis=0).T, axis=0, return_inverse=True)
    order = np.argsort(group.reshape(-1), kind="stable")
    for part in np.split(order, np.cumsum(np.bincount(group.reshape(-1)))[:-1]):
        yield np.flatnonzero(known[:, part[0]]), part


def _distinct(codes: Codes, numbers: Floats) -> tuple[Ints, Ints]:
    """The first of each distinct row, and for each row the place of its equal among them."""
    cells = np.concatenate([codes.astype(np.float64), np.nan_to_num(numbers, nan=np.inf)])
    _, first, back = np.unique(cells, axis=1, return_index=True, return_inverse=True)
    return first, back.reshape(-1)
