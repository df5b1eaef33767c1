"""How many training rows match the evidence of a question, and what they say."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from counterpane.data.ranges import Range
from counterpane.data.schema import Schema, Variable, state_text
from counterpane.data.table import Table, distinct_rows
from counterpane.errors import ParameterError
from counterpane.models.evidence import evidence_weights
from counterpane.models.training_rows import TrainingRows, Within, keep_rows
from counterpane.typing import Array, Bools, Floats

MOST_SORTED = 2**20  # rows of which the distinct ones are found
FEWEST = 30  # rows that are compared with an answer
KEPT = "kept."  # before the names of the arrays of kept rows
LEVEL = 0.0027  # of the comparison: three standard errors


class Support(NamedTuple):
    """The training rows that match the evidence, and have a value in the columns asked about.

    `rows` is their weight, and `shares` that of each combination of states among them, in the shape
    of the answer; NaN without rows. `effective` is the number of rows that are known to match: if
    the model keeps a sample of its training rows, `rows` is `estimated`.
    """

    rows: float
    shares: Floats
    effective: float
    estimated: bool

    def __str__(self) -> str:
        about = "about " if self.estimated else ""
        matching = "row matches" if f"{self.rows:,.0f}" == "1" else "rows match"
        return f"{about}{self.rows:,.0f} training {matching} the evidence"

    def doubt(self, variables: Sequence[Variable], probabilities: Floats) -> str:
        """A caution if the rows and the answer differ beyond sampling error; else empty.

        The state with the largest difference is compared, at the level of three standard errors
        divided by the number of states.
        """
        if self.effective < FEWEST:
            return ""
        z = NormalDist().inv_cdf(1 - LEVEL / 2 / self.shares.size)
        n = self.effective + z**2  # Agresti & Coull 1998: an interval that is not empty at 0 and 1
        center = (self.shares * self.effective + z**2 / 2) / n
        errors = np.abs(probabilities - center) / np.sqrt(center * (1 - center) / n)
        worst = np.unravel_index(int(errors.argmax()), errors.shape)
        if errors[worst] <= z:
            return ""
        states = [
            f"{v.name}={state_text(v.states[k])}" for v, k in zip(variables, worst, strict=True)
        ]
        cell = ", ".join(states)
        return (
            f"{str(self)[0].upper()}{str(self)[1:]}, and the share of {cell} among them is "
            f"{self.shares[worst]:.3f}. The answer {probabilities[worst]:.3f} differs by more than "
            "sampling error, because the model simplifies the dependence between the columns."
        )


def rows_to_keep(table: Table, schema: Schema) -> TrainingRows | None:
    """The rows of a table that a model of `schema` keeps; None if they have other states."""
    if set(schema.names) - set(table.schema.names):
        return None
    table = table.select(list(schema.names))
    more = schema.cards - table.schema.cards  # a state for missing cells is the last
    if not table.n_rows or not ((more == 0) | (more == 1)).all():
        return None
    numeric = [v for v, name in enumerate(schema.names) if name in table.numbers]
    codes, cards = table.codes, table.schema.cards
    weights = np.ones(table.n_rows) if table.weights is None else table.weights.astype(np.float64)
    if not numeric and table.n_rows <= MOST_SORTED:
        codes, sums = distinct_rows(codes, weights, cards)
        weights = sums.astype(np.float64)
    numbers = [table.numbers[schema.names[v]] for v in numeric]
    return keep_rows(codes, schema.cards, np.array(numeric, dtype=np.int64), numbers, weights)


def support(
    rows: TrainingRows, schema: Schema, queried: Sequence[int], evidence: Mapping[str, Any]
) -> Support | None:
    """The rows that match evidence on states, sets of states and ranges of numbers.

    A number is matched by the rows in its interval, which is all that a model of states knows. None
    if a range ends within an interval of a column whose numbers are not kept.
    """
    matching: Bools = np.ones(len(rows), dtype=np.bool_)
    numeric = rows.numeric.tolist()
    for name, value in evidence.items():
        column = schema.index(name)
        variable = schema[column]
        if isinstance(value, Range) and variable.cuts is not None and column in numeric:
            ends = (*value.ends(variable), value.include_low, value.include_high)
            within = Within(*ends, np.array(variable.cuts))
            matching &= within.holds(rows.numbers[numeric.index(column)])
        else:  # a missing cell, one code after the states, matches nothing
            weights = evidence_weights(variable, value)
            if not np.isin(weights, (0.0, 1.0)).all():
                return None
            matching &= np.append(weights > 0, False)[rows.codes[column]]
    shape = tuple(schema[v].card for v in queried)
    asked = rows.codes[list(queried)][:, matching].astype(np.int64)
    known = (asked < np.array(shape)[:, None]).all(axis=0)
    heights = rows.weights[matching][known]
    cells = np.ravel_multi_index(tuple(asked[:, known]), shape)
    sums = np.bincount(cells, heights, math.prod(shape)).reshape(shape)
    total = float(heights.sum())
    with np.errstate(invalid="ignore"):
        shares = sums / total
    estimated = len(rows) < rows.seen
    whole = bool((heights == np.rint(heights)).all())
    squares = float((heights**2).sum())
    effective = total if whole and not estimated else total**2 / max(squares, 1e-300)
    return Support(total, shares, effective, estimated)


def support_of(model: Any, queried: Sequence[int], evidence: Mapping[str, Any]) -> Support | None:
    """The rows that a model kept and that match evidence; None if it keeps none."""
    rows = model.training_rows
    return None if rows is None else support(rows, model.schema, queried, evidence)


def kept_arrays(rows: TrainingRows | None) -> dict[str, Array]:
    """Kept rows as arrays for a file."""
    if rows is None:
        return {}
    arrays = {**rows.to_arrays(), "numeric": rows.numeric}
    return {f"{KEPT}{name}": array for name, array in arrays.items()}


def kept_rows(schema: Schema, arrays: Mapping[str, Array]) -> TrainingRows | None:
    """The rows that `kept_arrays` described, if there are any."""
    own = {name.removeprefix(KEPT): array for name, array in arrays.items()}
    if not own:
        return None
    numeric = own.pop("numeric")
    if any(schema[v].cuts is None for v in numeric.tolist()):
        raise ParameterError("the kept rows have numbers of columns that are not numeric.")
    return TrainingRows.from_arrays(schema, numeric, own, missing=True)
