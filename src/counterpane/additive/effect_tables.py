"""What one interaction of a classifier adds to the log-odds, cell by cell, and its spread."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from counterpane.additive.classifier import AdditiveClassifier
from counterpane.additive.effects import log_odds
from counterpane.additive.member import Face
from counterpane.data.dates import date_texts
from counterpane.data.schema import state_text
from counterpane.errors import ParameterError
from counterpane.typing import Codes, Floats

POINTS = 201  # of a curve, besides both sides of each cut
MOST_EDGES = {2: 81, 3: 33}  # of a column of numbers, by the number of columns
MOST_CELLS = 2**18
TAIL = 0.005  # the share of rows beyond each end of an axis, where a few rows lie far out
FAR = 2.0  # times the range of the others that makes rows lie far out


class EffectAxis(NamedTuple):
    """The cells of one column: points or intervals of a number, or the states.

    Attributes
    ----------
    name
        The column.
    values
        Rising numbers at which the effect is told; None for states. A cell of missing numbers has
        none: it comes after those.
    edges
        The borders of the intervals around `values`; None for states, and for a curve, whose
        `values` are points.
    labels
        The states, and "(missing)" for a cell of missing numbers.
    rows
        The share of the kept training rows in each state; empty where none are kept, and for
        numbers.
    seen
        Rising numbers of kept training rows, for a rug; empty for states.
    dated
        Whether the numbers are dates, in days since 1970-01-01.
    """

    name: str
    values: Floats | None
    edges: Floats | None
    labels: tuple[str, ...]
    rows: Floats
    seen: Floats
    dated: bool = False

    @property
    def n_numbers(self) -> int:
        """The number of cells of numbers; 0 for states."""
        return 0 if self.values is None else len(self.values)

    @property
    def size(self) -> int:
        """The number of cells."""
        return self.n_numbers + len(self.labels)


class EffectTable(NamedTuple):
    """An interaction by cell and class.

    Attributes
    ----------
    axes
        The columns and their cells.
    values
        What is added to the log-odds of each class, (cells of each column …, classes), in nats.
    spread
        The standard deviation over the fits that are averaged, of the same shape.
    """

    axes: tuple[EffectAxis, ...]
    values: Floats
    spread: Floats


def effect_table(
    model: AdditiveClassifier, columns: Sequence[str], *, most: int | None = None
) -> EffectTable:
    """The purified effect of an interaction at states and over the range of numbers.

    A single number is told at points, on both sides of each cut. Of more columns a number has
    intervals: those between all cuts, on which the effect is constant, or if these are many,
    intervals of equal width, told at their centers.

    Parameters
    ----------
    model
        An additive classifier.
    columns
        The names of the interaction's columns; the axes are in this order.
    most
        The largest number of points or intervals of a number; by default it depends on the number
        of columns, and a curve has both sides of each cut besides.

    Returns
    -------
    EffectTable
        Effects on the log-odds of each class.
    """
    face = tuple(sorted(model.schema.index(name) for name in columns))
    if face not in model.faces:
        raise ParameterError(
            f"the model has no interaction of {', '.join(columns)}; `interactions()` lists them."
        )
    axes = [_axis(model, face, c, most) for c in face]
    sizes = [axis.size for axis in axes]
    if math.prod(sizes) * model.n_classes > MOST_CELLS:
        raise ParameterError(
            f"{', '.join(columns)} have {math.prod(sizes):,} cells of {model.n_classes} classes; "
            f"at most {MOST_CELLS:,} numbers can be shown."
        )
    values, spread = _mean_and_spread(model, face, *_grid(model, face, axes, sizes))
    shape = (*sizes, model.n_classes)
    order = [face.index(model.schema.index(name)) for name in columns]
    turn = [*order, len(face)]
    return EffectTable(
        tuple(axes[k] for k in order),
        values.reshape(shape).transpose(turn),
        spread.reshape(shape).transpose(turn),
    )


def _mean_and_spread(
    model: AdditiveClassifier, face: Face, codes: Codes, numbers: Floats
) -> tuple[Floats, Floats]:
    """The effect, and its deviation over fits of one kind, weighed as these enter the model."""
    kinds: dict[type, list[tuple[Floats, Floats]]] = {}
    for share, member in zip(model.shares.tolist(), model.members, strict=True):
        scales, each = member.fit_parts(face, codes, numbers)
        kinds.setdefault(type(member), []).append((share * scales, log_odds(each)))
    mean = np.zeros((codes.shape[1], model.n_classes))
    variance = np.zeros_like(mean)
    for parts in kinds.values():
        weights = np.concatenate([w for w, _ in parts])
        each = np.concatenate([values for _, values in parts])
        total = float(weights.sum())
        if total > 0:
            own = np.tensordot(weights / total, each, 1)
            mean += total * own
            variance += total**2 * np.tensordot(weights / total, (each - own) ** 2, 1)
    return mean, np.asarray(np.sqrt(variance))


def _axis(model: AdditiveClassifier, face: Face, c: int, most: int | None) -> EffectAxis:
    variable, numeric = model.schema[c], model.numeric.tolist()
    kept = model.rows
    if c not in numeric:
        labels = tuple(state_text(state) for state in variable.states)
        shares = np.zeros(0)
        if kept is not None:
            known = kept.shares(c)[: variable.card]
            shares = np.append(known, np.zeros(variable.card - len(known)))
        return EffectAxis(variable.name, None, None, labels, shares, np.zeros(0))
    row = numeric.index(c)
    seen = kept.numbers[row] if kept is not None else np.zeros(0)
    seen = np.sort(seen[np.isfinite(seen)])
    cuts = np.unique(np.concatenate([m.cuts_within(face, c) for m in model.members]))
    cuts = cuts[np.isfinite(cuts)]
    low, high = shown_range(seen if len(seen) else cuts)
    seen = seen[(seen >= low) & (seen <= high)]
    cuts = cuts[(cuts > low) & (cuts < high)]
    labels = (state_text(None),) if variable.find(None) is not None else ()
    if len(face) == 1:
        values = np.linspace(low, high, most or POINTS)
        if most is None:
            both = np.concatenate([cuts, np.nextafter(cuts, -np.inf)])
            values = np.concatenate([values, both])
        values = np.unique(values)
        edges = None
    else:
        most = most or MOST_EDGES[min(len(face), 3)] - 1
        if len(cuts) < most:
            edges = np.unique(np.concatenate([[low], cuts, [high]]))
        else:
            edges = np.linspace(low, high, most + 1)
        if len(edges) < 2:
            edges = np.array([low - 0.5, low + 0.5])
        values = (edges[1:] + edges[:-1]) / 2
    return EffectAxis(variable.name, values, edges, labels, np.zeros(0), seen, variable.dated)


def shown_range(values: Floats) -> tuple[float, float]:
    """The ends of an axis: those of rising values, without a few that lie far out.

    >>> shown_range(np.append(np.arange(1000.0), 1e6)) == (5.0, 995.0)
    True
    """
    if not len(values):
        return 0.0, 1.0
    low, high = float(values[0]), float(values[-1])
    near_low, near_high = np.quantile(values, [TAIL, 1 - TAIL], method="nearest").tolist()
    if near_high > near_low and high - low > FAR * (near_high - near_low):
        return near_low, near_high
    return low, high


def _grid(
    model: AdditiveClassifier, face: Face, axes: Sequence[EffectAxis], sizes: Sequence[int]
) -> tuple[Codes, Floats]:
    """Rows for all cells; what is no column of the face is unknown."""
    cells = np.indices(sizes).reshape(len(sizes), -1)
    numeric = model.numeric.tolist()
    cards = model.schema.cards[:-1]
    codes: Codes = np.repeat(cards[:, None], cells.shape[1], axis=1).astype(np.uint16)
    numbers = np.full((len(numeric), cells.shape[1]), np.nan)
    for c, axis, place in zip(face, axes, cells, strict=True):
        if axis.values is None:
            codes[c] = place
        else:
            codes[c] = 0
            numbers[numeric.index(c)] = np.append(axis.values, np.nan)[
                np.minimum(place, axis.n_numbers)
            ]
    return codes, numbers


def shown_cells(axis: EffectAxis, most: int) -> list[int]:
    """Some cells of a column: its most frequent states, or those of its middle and tails."""
    if axis.values is None:
        shares = axis.rows if len(axis.rows) else np.zeros(len(axis.labels))
        return sorted(np.argsort(-shares, kind="stable")[:most].tolist())
    levels = (np.arange(most) + 0.5) / most
    numbers = np.quantile(axis.seen if len(axis.seen) else axis.values, levels)
    assert axis.edges is not None
    places = np.searchsorted(axis.edges, numbers, side="right") - 1
    chosen: list[int] = np.unique(np.clip(places, 0, axis.n_numbers - 1)).tolist()
    return chosen


def cell_text(axis: EffectAxis, k: int) -> str:
    """A cell of a column in words, after its name."""
    if k >= axis.n_numbers:
        return f"= {axis.labels[k - axis.n_numbers]}"
    assert axis.edges is not None
    ends = axis.edges[k : k + 2]
    if axis.dated:
        low, high = (text[:10] for text in date_texts(np.floor(ends)))
        return f"from {low} to {high}"
    return f"from {ends[0]:.4g} to {ends[1]:.4g}"


def cell_rows(
    model: AdditiveClassifier, axes: Sequence[EffectAxis], cells: Mapping[int, int]
) -> Floats:
    """The first two columns of some kept rows that are in the cells of the other columns."""
    if model.rows is None:
        return np.zeros((2, 0))
    numeric = model.numeric.tolist()
    there = np.ones(len(model.rows), dtype=np.bool_)
    columns: list[Floats] = []
    for j, axis in enumerate(axes):
        c = model.schema.index(axis.name)
        if axis.values is None:
            numbers: Floats = model.rows.codes[c].astype(np.float64)
            if j in cells:
                there &= numbers == cells[j]
        else:
            numbers = model.rows.numbers[numeric.index(c)]
            assert axis.edges is not None
            if j in cells and cells[j] < axis.n_numbers:
                low, high = axis.edges[cells[j] : cells[j] + 2]
                there &= (numbers >= low) & (numbers <= high)
            elif j in cells:
                there &= np.isnan(numbers)
            else:
                there &= (numbers >= axis.edges[0]) & (numbers <= axis.edges[-1])
        columns.append(numbers)
    return np.stack(columns[:2])[:, there]
