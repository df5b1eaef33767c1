"""What one interaction of a classifier adds to the log-odds, cell by cell, and its spread."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from counterpane.data.schema import state_text
from counterpane.errors import ParameterError
from counterpane.models.additive import AdditiveClassifier
from counterpane.models.additive_member import Face
from counterpane.models.effects import log_odds
from counterpane.typing import Codes, Floats

POINTS = {1: 241, 2: 61, 3: 31}  # of a column of numbers, by the number of columns
MOST_CELLS = 2**17


class EffectAxis(NamedTuple):
    """The cells of one column: values of a number, or the states."""

    name: str
    values: Floats | None  # None for states
    labels: tuple[str, ...]  # of states; empty for numbers
    seen: Floats  # the numbers of kept training rows, for a rug; empty for states


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


def effect_table(model: AdditiveClassifier, columns: Sequence[str]) -> EffectTable:
    """The purified effect of an interaction at states and at values over the range of numbers.

    Parameters
    ----------
    model
        An additive classifier.
    columns
        The names of the interaction's columns; the axes are in this order.

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
    axes = [_axis(model, c, len(face)) for c in face]
    sizes = [len(axis.labels) if axis.values is None else len(axis.values) for axis in axes]
    if math.prod(sizes) > MOST_CELLS:
        raise ParameterError(
            f"{', '.join(columns)} have {math.prod(sizes):,} cells; at most {MOST_CELLS:,} can be "
            "shown."
        )
    codes, numbers = _grid(model, face, axes, sizes)
    each = [log_odds(member.pure_part(face, codes, numbers)) for member in model.members]
    values = np.tensordot(model.shares, np.stack(each), 1)
    shape = (*sizes, model.n_classes)
    spread = _spread(model, np.stack(each))
    order = [face.index(model.schema.index(name)) for name in columns]
    turn = [*order, len(face)]
    return EffectTable(
        tuple(axes[k] for k in order),
        values.reshape(shape).transpose(turn),
        spread.reshape(shape).transpose(turn),
    )


def _spread(model: AdditiveClassifier, each: Floats) -> Floats:
    """The deviation over members of one kind, weighed as these enter the model."""
    kinds = [type(member) for member in model.members]
    variance = np.zeros(each.shape[1:])
    for kind in dict.fromkeys(kinds):
        places = [k for k, other in enumerate(kinds) if other is kind]
        variance += (model.shares[places].sum() * each[places].std(axis=0)) ** 2
    return np.asarray(np.sqrt(variance))


def _axis(model: AdditiveClassifier, c: int, order: int) -> EffectAxis:
    variable, numeric = model.schema[c], model.numeric.tolist()
    if c not in numeric:
        labels = tuple(state_text(state) for state in variable.states)
        return EffectAxis(variable.name, None, labels, np.zeros(0))
    row = numeric.index(c)
    seen = model.rows.numbers[row] if model.rows is not None else np.zeros(0)
    seen = np.sort(seen[np.isfinite(seen)])
    values = seen if len(seen) else model.members[0].values_of(row)
    values = values[np.isfinite(values)]
    if not len(values):
        values = np.zeros(1)
    points = POINTS[min(order, 3)]
    distinct = np.unique(values)
    if len(distinct) > points:
        low, high = np.quantile(values, [0.005, 0.995]) if order > 1 else distinct[[0, -1]]
        distinct = np.linspace(low, high, points)
    return EffectAxis(variable.name, distinct, (), seen)


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
            numbers[numeric.index(c)] = axis.values[place]
    return codes, numbers
