"""Cuts of number columns that are read block by block: the same as if all rows were in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace

import numpy as np

from counterpane.counts.engines.arrow_cells import (
    ArrowCodes,
    arrow_numbers,
    arrow_weights,
    pyarrow_module,
)
from counterpane.counts.engines.file_readers import BlockReader
from counterpane.counts.engines.schema_scan import SchemaScan, variables_from_options
from counterpane.data.intervals import (
    LARGEST,
    STEPS,
    bounded,
    cuts_around,
    find_cut_points,
    find_quantiles,
    find_step,
    mdl_cuts,
    n_other_bins,
    quantile_cuts,
)
from counterpane.data.schema import Variable, code_dtype
from counterpane.data.schema_inference import numeric_target
from counterpane.errors import DiscretizeError
from counterpane.progress import Control
from counterpane.typing import Array, Floats

VALUE_BYTES = 64  # memory of a value while it is merged with others
_WIDE_KEYS = 2**22  # keys up to which a sum in an array is faster than sorting
_DIGIT = 16  # bits of a number that one scan finds
_MANY_BINS = 32  # above, smaller digits keep the histograms small


class StreamCuts:
    """Finds cuts for the columns that a scan left uncut, in `n_scans` scans of these columns.

    At most about `max_memory` bytes are taken.
    """

    def __init__(
        self,
        reader: BlockReader,
        scan: SchemaScan,
        weights: str | None,
        max_memory: int,
        ctl: Control | None,
    ) -> None:
        self.n_scans = 0
        self._reader, self._scan = reader, scan
        self._weights, self._ctl = weights, ctl
        self._limit = max_memory // (VALUE_BYTES * len(scan.uncut))

    def variables(self, rule: str, target: str | None, n_bins: int) -> dict[str, Variable]:
        """The variables of the columns, cut by the rule "quantile" or "mdl"."""
        classes = self._classes(target)
        if rule == "quantile":
            classes = None
        kept = {name: _Values(self._limit) for name in self._scan.uncut}
        for name, values, codes, weights in self._cells(list(kept), classes):
            kept[name].add(values, codes, weights)
        wide = [name for name, values in kept.items() if values.full]
        if wide and rule == "mdl":
            raise DiscretizeError(
                f"column {wide[0]!r} has more than {self._limit:,} different numbers by class, too "
                "many for discretize='mdl' within max_memory; raise it, take 'quantile', or give "
                "the cuts."
            )
        tallies = {name: values.merged() for name, values in kept.items() if not values.full}
        steps = {name: find_step(v[np.abs(v) < LARGEST]) for name, (v, _, _) in tallies.items()}
        cuts = {
            name: (
                mdl_cuts(values, codes, weights)
                if rule == "mdl"
                else find_cut_points(values, weights, n_bins, steps[name])
            ).tolist()
            for name, (values, codes, weights) in tallies.items()
        }
        cuts |= {name: own.tolist() for name, own in self._wide_cuts(wide, n_bins).items()}
        variables = {v.name: v for v in variables_from_options(self._reader, list(cuts), {}, cuts)}
        for name, (values, _, weights) in tallies.items():  # not all values of others are known
            finite = np.abs(values) < LARGEST
            quantiles = find_quantiles(values[finite], weights[finite], cuts[name])
            variables[name] = replace(variables[name], quantiles=quantiles, step=steps[name])
        return variables

    def _classes(self, target: str | None) -> Variable | None:
        if target is None:
            return None
        if target in self._scan.uncut:
            raise numeric_target(target)
        return self._scan.variable(target)

    def _cells(
        self, names: Sequence[str], classes: Variable | None = None
    ) -> Iterator[tuple[str, Floats, Array, Floats]]:
        """The numbers, classes and weights of one scan, for each block and each column in turn.

        Cells that say nothing are left out; without classes all are of class 0.
        """
        columns = [*names, *([] if classes is None else [classes.name])]
        columns += [] if self._weights is None else [self._weights]
        codes_of = None if classes is None else ArrowCodes(classes, texts=self._reader.texts)
        self.n_scans += 1
        done = 0
        with closing(self._reader.blocks(columns)) as blocks:
            for block in blocks:
                rows = len(block[0])
                codes: Array = np.zeros(rows, dtype=np.uint8)
                said = np.ones(rows, dtype=bool)
                if codes_of is not None:
                    codes = np.empty(rows, code_dtype(np.array([codes_of.variable.card])))
                    codes_of.encode(block[len(names)], codes)
                    said = codes < codes_of.variable.card
                weights = np.ones(rows)
                if self._weights is not None:
                    weights = arrow_weights(block[-1], self._weights)
                for name, values in zip(names, block, strict=False):
                    numbers = bounded(arrow_numbers(values, name).astype(np.float64))
                    keep = said & ~np.isnan(numbers) & (weights > 0)
                    yield name, numbers[keep], codes[keep].astype(np.int64), weights[keep]
                done += rows
                if self._ctl is not None:
                    self._ctl.report("finding cuts", done, self._scan.n_rows)

    def _wide_cuts(self, names: Sequence[str], n_bins: int) -> dict[str, Floats]:
        """What `find_cut_points` finds, for columns whose values do not fit into memory.

        A value of 1 / (2 n_bins) of the weight is at one of as many quantiles. If there is one, the
        quantiles of the other values are found by further scans.
        """
        cuts: dict[str, Floats] = {}
        frequent: dict[str, Floats] = {}
        sizes: dict[str, int] = {}
        for name, ranks in self._ranked(dict.fromkeys(names, 2 * n_bins), {}).items():
            values, own, weights = ranks.tally()
            often = own >= weights.sum() / (2 * n_bins) * (1 - 1e-12)
            if often.any() and n_bins > 1:
                others = weights.sum() - own[often].sum()
                frequent[name], sizes[name] = values[often], n_other_bins(often, others, n_bins)
            else:
                cuts[name] = quantile_cuts(values, weights, n_bins)
        for name, ranks in self._ranked(sizes, frequent).items():
            values, _, weights = ranks.tally()
            own, above = frequent[name], ranks.above[np.isfinite(ranks.above)]
            distinct = np.unique(np.concatenate([values, own, above]))
            sums = np.zeros(len(distinct))
            sums[np.searchsorted(distinct, values)] = weights
            cuts[name] = cuts_around(distinct, sums, np.isin(distinct, own), n_bins, ranks.step)
        return cuts

    def _ranked(self, sizes: Mapping[str, int], without: Mapping[str, Floats]) -> dict[str, _Ranks]:
        """The values at the quantiles of columns, by the number of intervals between these.

        The values in `without` are not among them.
        """
        if not sizes:
            return {}
        digit = _DIGIT if max(sizes.values()) <= _MANY_BINS else _DIGIT // 2
        ranks = {name: _Ranks(n, without.get(name, np.zeros(0))) for name, n in sizes.items()}
        for shift in range(64 - digit, -1, -digit):
            for name, values, _, weights in self._cells(list(sizes)):
                ranks[name].add(values, weights, shift, digit)
            for column in ranks.values():
                column.descend(digit)
        return ranks


class _Values:
    """The weight of each value and class of one column, as long as these are at most `limit`."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._parts: list[tuple[Floats, Array, Floats]] = []
        self._n_merged = self._pending = 0
        self.full = False

    def add(self, values: Floats, classes: Array, weights: Floats) -> None:
        """Add the cells of a block."""
        if self.full or not len(values):
            return
        coded = pyarrow_module("lib").array(values).dictionary_encode()
        listed, n_classes = coded.dictionary.to_numpy(), int(classes.max()) + 1
        keys = coded.indices.to_numpy().astype(np.int64) * n_classes + classes
        if len(listed) * n_classes > _WIDE_KEYS:
            pairs, keys = np.unique(keys, return_inverse=True)
        else:
            pairs = np.arange(len(listed) * n_classes)
        sums: Floats = np.bincount(keys, weights, len(pairs)).astype(np.float64)
        positive = sums > 0
        pairs = pairs[positive]
        self._parts.append((listed[pairs // n_classes], pairs % n_classes, sums[positive]))
        self._pending += len(pairs)
        if self._pending > max(self._n_merged, self._limit // 4):
            self.merged()

    def merged(self) -> tuple[Floats, Array, Floats]:
        """All that was added: rising values, their classes and weights."""
        if not self._parts:
            return np.zeros(0), np.zeros(0, dtype=np.int64), np.zeros(0)
        values, classes, weights = map(np.concatenate, zip(*self._parts, strict=True))
        order = np.lexsort((classes, values))
        values, classes = values[order], classes[order]
        fresh = np.append(True, (values[1:] != values[:-1]) | (classes[1:] != classes[:-1]))
        cells = (
            values[fresh],
            classes[fresh],
            np.add.reduceat(weights[order], np.flatnonzero(fresh)),
        )
        self._n_merged, self._pending = len(cells[0]), 0
        self.full = self._n_merged > self._limit
        self._parts = [] if self.full else [cells]
        return cells


class _Ranks:
    """The values at the quantiles of one column, found digit by digit of their bits.

    Each level of the weighted distribution function has two values, the first that reaches it and
    the first that exceeds it; with the least and the largest value, and the weights between, these
    are all that `quantile_cuts` looks at. One scan fills a histogram of the next digit below each
    prefix that is still searched.

    The values of `without` do not count. Of these, `above` has the next value of the column; `step`
    is that of all its values.
    """

    def __init__(self, n_bins: int, without: Floats) -> None:
        self._n_bins, self._without = n_bins, without
        self.above: Floats = np.full(len(without), np.inf)
        self.step: float | None = STEPS[0] if len(without) else None
        self._levels: Floats | None = None  # of the targets: odd ones reach it, even ones exceed it
        self._prefixes: Array = np.zeros(1, dtype=np.uint64)
        self._owner: Array = np.zeros(2 * n_bins, dtype=np.int64)  # each target's prefix
        self._base: Floats = np.zeros(1)  # the weight of all values below each prefix
        self._counts: Floats = np.zeros(0)

    def add(self, values: Floats, weights: Floats, shift: int, digit: int) -> None:
        """Add the cells of a block to the histogram of the digit at `shift`."""
        size = 2**digit
        if not len(self._counts):
            self._counts = np.zeros(len(self._prefixes) * size)
        above = shift + digit
        if len(self._without):
            if above == 64:
                self._look(values)
            others = ~np.isin(values, self._without)
            values, weights = values[others], weights[others]
        keys = _keys(values)
        if above < 64:
            heads = keys >> np.uint64(above)
            owner = np.searchsorted(self._prefixes, heads)
            owner[owner == len(self._prefixes)] = 0
            searched = self._prefixes[owner] == heads
            keys, owner, weights = keys[searched], owner[searched], weights[searched]
        else:
            owner = np.zeros(len(keys), dtype=np.int64)
        cells = owner * size + ((keys >> np.uint64(shift)) & np.uint64(size - 1)).astype(np.int64)
        self._counts += np.bincount(cells, weights, len(self._counts))

    def _look(self, values: Floats) -> None:
        """Update the next values and the step by those of a block."""
        if not len(values):
            return
        nexts = [values[values > v].min(initial=np.inf) for v in self._without]
        self.above = np.minimum(self.above, nexts)
        own = find_step(values[np.abs(values) < LARGEST])
        if self.step is None or own is None:
            self.step = None
            return
        steps = (self.step, own)  # that of both parts divides those of each
        common = (s for s in STEPS if all(abs(x / s - round(x / s)) < 1e-9 for x in steps))
        self.step = next(common, None)

    def descend(self, digit: int) -> None:
        """Choose the next digit of each target."""
        counts = self._counts.reshape(len(self._prefixes), -1)
        heights = self._base[:, None] + np.cumsum(counts, axis=1)
        if self._levels is None:
            self._levels = np.repeat(heights[0, -1] * np.arange(self._n_bins + 1) / self._n_bins, 2)
            self._levels = self._levels[1:-1]
        chosen = []
        for i, (level, owner) in enumerate(zip(self._levels, self._owner, strict=True)):
            place = np.searchsorted(heights[owner], level, side="left" if i % 2 else "right")
            last = np.flatnonzero(counts[owner])[-1]  # real weights may round a level away
            chosen.append(min(int(place), int(last)))
        places: Array = np.array(chosen)
        heads = (self._prefixes[self._owner] << np.uint64(digit)) | places.astype(np.uint64)
        self._prefixes, first, owner = np.unique(heads, return_index=True, return_inverse=True)
        reached = heights[self._owner, places][first]
        self._own = counts[self._owner, places][first]
        self._base = reached - self._own
        self._reached, self._owner, self._counts = reached, owner, np.zeros(0)

    def tally(self) -> tuple[Floats, Floats, Floats]:
        """The values found, the weight of each, and the weight after the one before up to each."""
        return _numbers(self._prefixes), self._own, np.diff(self._reached, prepend=0.0)


def _keys(values: Floats) -> Array:
    """Unsigned numbers that are ordered as the values are."""
    bits = (values + 0.0).view(np.uint64)  # −0 becomes 0
    top = np.uint64(1 << 63)
    return np.where(bits & top, ~bits, bits | top)


def _numbers(keys: Array) -> Floats:
    """The values of some keys."""
    top = np.uint64(1 << 63)
    numbers: Floats = np.where(keys & top, keys ^ top, ~keys).view(np.float64)
    return numbers
