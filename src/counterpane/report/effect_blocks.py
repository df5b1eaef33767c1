"""Pictures of a classifier's effects for a report: curves, bars, maps and slices as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from counterpane.additive.classifier import AdditiveClassifier
from counterpane.additive.effect_tables import (
    EffectAxis,
    EffectTable,
    cell_rows,
    cell_text,
    effect_table,
    shown_cells,
)
from counterpane.errors import ParameterError
from counterpane.typing import Floats

POINTS = {1: 121, 2: 24, 3: 16}  # of a number, by the number of columns
FEWER_POINTS = {1: 81, 2: 16, 3: 12}  # of more than two classes
MOST_CLASSES = 6
MOST_BARS = 30
MOST_MARKS = 120  # training rows that are marked
SLICES = 3

Block = dict[str, Any]


def effect_block(model: AdditiveClassifier, scope: Sequence[int]) -> Block | None:
    """What the page needs to draw an interaction; None for states only, which have tables.

    Numbers are rounded to three digits, those of axes to five. `cls` are the classes that are
    shown, `v` what is added to their log-odds, class by class, `s` two deviations over the fits.
    """
    names = [model.schema.names[c] for c in scope]
    numeric = set(model.numeric.tolist())
    if len(scope) > 1 and not numeric & set(scope):
        return None
    # A column of states is the last of three: maps are at its states.
    names.sort(key=lambda name: model.schema.index(name) not in numeric)
    try:
        points = POINTS if model.n_classes <= 2 else FEWER_POINTS
        table = effect_table(model, names, most=points[min(len(scope), 3)])
    except ParameterError:  # too many cells
        return None
    classes = _classes(model, table.values)
    block: Block = {
        "k": "effect",
        "c": [*(model.schema.index(name) for name in names), len(model.schema) - 1],
        "cls": classes,
        "axes": [_axis_record(axis) for axis in table.axes[:2]],
    }
    if len(scope) == 1:
        return _single(block, table, classes)
    block["maps"] = _maps(model, table, classes)
    return block


def _classes(model: AdditiveClassifier, values: Floats) -> list[int]:
    """The second of two classes, or those that the interaction moves most."""
    if model.n_classes <= 2:
        return [model.n_classes - 1]
    sizes = values.reshape(-1, model.n_classes).std(axis=0)
    return sorted(np.argsort(-sizes, kind="stable")[:MOST_CLASSES].tolist())


def _single(block: Block, table: EffectTable, classes: list[int]) -> Block:
    values, spread, axis = table.values, 2 * table.spread, table.axes[0]
    if axis.values is None and len(values) > MOST_BARS:
        order = np.argsort(-np.abs(values[:, classes]).max(axis=1), kind="stable")
        order = np.sort(order[:MOST_BARS])
        record = block["axes"][0]
        record["more"] = len(values) - MOST_BARS
        record["l"] = [record["l"][k] for k in order]
        record["r"] = [record["r"][k] for k in order] if record["r"] else []
        values, spread = values[order], spread[order]
    block["v"] = [_digits(values[:, c]) for c in classes]
    block["s"] = [_digits(spread[:, c]) for c in classes]
    return block


def _maps(model: AdditiveClassifier, table: EffectTable, classes: list[int]) -> list[Block]:
    """Maps of the first two columns: one, or some at cells of the third; others at their peak."""
    values, axes = table.values, table.axes
    cells: dict[int, int] = {}
    while values.ndim > 4:
        k = values.ndim - 2
        cells[k] = int(np.abs(values).max(axis=(*range(k), k + 1)).argmax())
        values = values[..., cells[k], :]
    slices = [dict(cells)]
    if values.ndim == 4:
        slices = [{2: k} | cells for k in shown_cells(axes[2], SLICES)]
    maps = []
    for own in slices:
        flat = values[:, :, own[2]] if 2 in own else values
        points = cell_rows(model, axes, own)[:, :MOST_MARKS]
        words = ", ".join(f"{axes[j].name} {cell_text(axes[j], k)}" for j, k in own.items())
        maps.append({
            "w": words,
            "v": [_digits(flat[..., c].T.reshape(-1)) for c in classes],
            "p": [_digits(row, 4) for row in points],
        })  # fmt: skip
    return maps


def _axis_record(axis: EffectAxis) -> Block:
    record: Block = {"n": axis.name}
    if axis.values is None:
        return record | {"l": list(axis.labels), "r": _digits(axis.rows)}
    record["x"] = _digits(axis.values, 6)
    if axis.edges is not None:
        record["e"] = _digits(axis.edges, 6)
    if axis.labels:
        record["gap"] = axis.labels[0]
    if axis.dated:
        record["date"] = 1
    if len(axis.seen):
        places = np.linspace(0, len(axis.seen) - 1, min(MOST_MARKS, len(axis.seen)))
        record["seen"] = _digits(axis.seen[places.astype(np.int64)], 5)
    return record


def _digits(values: Floats, digits: int = 3) -> list[float]:
    return [float(f"{x:.{digits}g}") for x in np.asarray(values, dtype=np.float64).tolist()]
