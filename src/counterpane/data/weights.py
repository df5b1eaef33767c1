"""Weights of rows, checked."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from counterpane.data.clean import numbers_of_texts
from counterpane.data.columns import Column, Labels
from counterpane.data.number_formats import CellFormat, plain_array
from counterpane.errors import WeightError
from counterpane.typing import Floats, Ints

MAX_TOTAL = 1e100  # of weights; squares of sums are numbers, and so are their inverses


def check_weights(weights: npt.ArrayLike, n_rows: int) -> Ints | Floats:
    """`weights` as int64 where all are whole numbers, else float64; checked and read-only."""
    array = plain_array(weights)
    if array.shape != (n_rows,):
        raise WeightError(f"weights have shape {array.shape}; {n_rows} rows need ({n_rows},).")
    if array.dtype.kind not in "biuf":
        raise WeightError(f"weights have type {array.dtype}; whole or real numbers are allowed.")
    values = array.astype(np.float64)
    bad = ~np.isfinite(values) | (values < 0)
    if bad.any():
        row = int(np.argmax(bad))
        raise WeightError(
            f"the weight of row {row} is {array[row]}; weights must be finite and not negative."
        )
    with np.errstate(over="ignore"):
        total = float(values.sum())
    if n_rows:
        check_total_weight(total)
    integral = bool((values == np.floor(values)).all()) and total < 2**53
    checked: Ints | Floats = values.astype(np.int64) if integral else values
    checked.flags.writeable = False
    return checked


def weight_numbers(column: Column) -> Floats:
    """The numbers of a weight column, NaN where a cell is missing."""
    if isinstance(column, Labels):
        numbers = numbers_of_texts(column, CellFormat())
        others = numbers.missing & (column.codes >= 0)
        if others.any() or column.states == (False, True):
            cell = column.states[column.codes[int(np.argmax(others))]]
            raise WeightError(
                f"the weight column {column.name!r} holds no numbers, but {cell!r}; it must."
            )
        column = numbers
    return np.where(column.missing, np.nan, column.values.astype(np.float64))


def column_weights(column: Column) -> Floats:
    """The weights of the rows of a block that a column holds, checked."""
    weights = weight_numbers(column)
    bad = ~np.isfinite(weights) | (weights < 0)
    if bad.any():
        raise WeightError(
            f"the weight column {column.name!r} holds {weights[np.argmax(bad)]}; weights must be "
            "finite and not negative."
        )
    return weights


def check_total_weight(total: float) -> None:
    """Refuse weights whose sum is zero, or so far from 1 that products of sums are no numbers."""
    if total == 0:
        raise WeightError("all weights are zero; at least one row needs a positive weight.")
    if not 1 / MAX_TOTAL <= total <= MAX_TOTAL:
        raise WeightError(
            f"the weights sum to {total:g}; a sum from {1 / MAX_TOTAL:g} to {MAX_TOTAL:g} is "
            "needed: multiply all weights by one number."
        )
