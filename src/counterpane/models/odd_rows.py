"""Rows that a model finds improbable, and the cells that make them so."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from counterpane.data.columns import Numbers
from counterpane.data.schema import Schema
from counterpane.data.table import Table
from counterpane.errors import ParameterError
from counterpane.models.dependency_network import DependencyNetwork
from counterpane.models.imputing import gaps_of, missing_marginals
from counterpane.models.query import JointModel
from counterpane.typing import Bools, Codes, Floats, Ints, State

ODD = 1.0  # nats by which the surprise of an odd cell is above what is expected
ROUNDING = 1e-9
SAMPLE = 1000  # rows from which the usual surprise of a column is measured


class OddCell(NamedTuple):
    """A cell that its row makes improbable: P(value | other cells), and the most probable state."""

    column: str
    value: State
    probability: float
    expected: State
    expected_probability: float


class OddRow(NamedTuple):
    """A row: its ln P in nats, how many nats that is below the mean row, and its oddest cells.

    Gaps are summed out in `log_prob`; in `excess` each counts as much as the mean cell of its
    column, so that rows with gaps and without compare.
    """

    row: int
    log_prob: float
    excess: float
    cells: tuple[OddCell, ...]


class _CodedRows(NamedTuple):
    """Codes (variables, rows), not observed at the card, and cells in states the model lacks."""

    codes: Codes
    strange: Bools
    values: dict[tuple[int, int], State]  # of the strange cells, by (variable, row)


def odd_rows(model: JointModel, frame: Any, n: int, n_cells: int) -> list[OddRow]:
    """The `n` rows of least probability, compared with what is usual, the oddest first."""
    for name, value in (("n", n), ("cells", n_cells)):
        if not isinstance(value, int | np.integer) or value < 1:
            raise ParameterError(f"{name}={value!r}; a whole number from 1 is needed.")
    rows = _read(model.schema, frame)
    log_probs = _log_probs(model, rows.codes)
    missing = (rows.codes == model.schema.cards[:, None]) & ~rows.strange
    surprise = -log_probs
    if missing.any():
        surprise = surprise + _usual(model, rows.codes, missing) @ missing
    log_probs = np.where(rows.strange.any(axis=0), -np.inf, log_probs)
    finite = np.isfinite(log_probs)
    mean = float(surprise[finite].mean()) if finite.any() else 0.0
    excess = np.where(finite, surprise - mean, np.inf)
    order = np.lexsort((-surprise, -excess))[:n]  # the impossible rows by what is left of them
    cells = _odd_cells(model, rows, order, n_cells)
    return [
        OddRow(int(r), float(log_probs[r]), float(excess[r]), cells[k]) for k, r in enumerate(order)
    ]


def _read(schema: Schema, frame: Any) -> _CodedRows:
    """A frame in codes; columns that it does not have are not observed."""
    columns, codes, gaps = gaps_of(schema, frame, keep_states=True)
    strange: Bools = (codes == schema.cards[:, None]) & ~gaps
    strange[[v for v in range(len(schema)) if v not in columns]] = False
    values: dict[tuple[int, int], State] = {}
    for v in np.flatnonzero(strange.any(axis=1)).tolist():
        column = columns[v]
        labels = column.labels() if isinstance(column, Numbers) else column
        for row in np.flatnonzero(strange[v]).tolist():
            values[v, row] = labels.states[labels.codes[row]]
    return _CodedRows(codes, strange, values)


def _log_probs(model: JointModel, codes: Codes) -> Floats:
    """ln P(observed cells), gaps summed out.

    A dependency network has no joint distribution: there it is Σ ln P(cell | rest of the row).
    """
    cards = model.schema.cards
    if isinstance(model, DependencyNetwork):
        observed = codes < cards[:, None]
        tables = missing_marginals(model, codes, observed)
        total: Floats = np.zeros(codes.shape[1])
        for v, table in tables.items():
            rows = np.flatnonzero(observed[v])
            with np.errstate(divide="ignore"):
                total[rows] += np.log(table[np.arange(rows.size), codes[v, rows]])
        return total
    full = (codes < cards[:, None]).all(axis=0)
    out: Floats = np.empty(codes.shape[1])
    if full.any():
        out[full] = model.score_samples(Table(model.schema, codes[:, full]))
    if not full.all():
        every, part = list(range(len(cards))), codes[:, ~full]
        log_weights = model._ask_rows((), every, part)[1]
        out[~full] = model._log_evidence_rows(log_weights, (), every, part)
    return out


def _usual(model: JointModel, codes: Codes, missing: Bools) -> Floats:
    """The mean of −ln P(cell | rest of the row) for each column with gaps, else 0."""
    usual: Floats = np.zeros(len(codes))
    for v in np.flatnonzero(missing.any(axis=1)).tolist():
        rows = np.flatnonzero(codes[v] < model.schema.cards[v])
        rows = rows[:: max(1, rows.size // SAMPLE)]
        if not rows.size:
            continue
        table = _cell_table(model, codes[:, rows], v)
        p = table[np.arange(rows.size), codes[v, rows]]
        usual[v] = -np.log(p[p > 0]).mean() if (p > 0).any() else 0.0
    return usual


def _cell_table(model: JointModel, codes: Codes, v: int) -> Floats:
    """P(v | the other cells) for each row, whatever is in v's own cell."""
    asked: Bools = np.zeros(codes.shape, dtype=bool)
    asked[v] = True
    hidden = codes.copy()
    hidden[v] = model.schema[v].card
    return missing_marginals(model, hidden, asked)[v]


def _odd_cells(
    model: JointModel, rows: _CodedRows, order: Ints, n_cells: int
) -> list[tuple[OddCell, ...]]:
    """For each of some rows the cells whose surprise is furthest above what is to be expected.

    That is −ln P(cell | rest) less its mean under P(. | rest), the entropy: a cell of many equal
    states is not odd in any of them. Cells by more than `ODD` nats are told, else the first.
    """
    schema, codes = model.schema, rows.codes[:, order]
    cells_of_rows: list[list[tuple[float, OddCell]]] = [[] for _ in order]
    for v, variable in enumerate(schema):
        table = _cell_table(model, codes, v)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(table)
            entropy = -np.where(table > 0, table * logs, 0.0).sum(axis=1)
        best = table.argmax(axis=1)
        for k, row in enumerate(order.tolist()):
            code = int(codes[v, k])
            known = code < variable.card
            if not known and (v, row) not in rows.values:
                continue
            p = float(table[k, code]) if known else 0.0
            state = variable.states[code] if known else rows.values[v, row]
            cell = OddCell(
                variable.name, state, p, variable.states[best[k]], float(table[k, best[k]])
            )
            excess = (-float(logs[k, code]) if known else np.inf) - float(entropy[k])
            cells_of_rows[k].append((excess, cell))
    ranked = [sorted(cells, key=lambda pair: -pair[0]) for cells in cells_of_rows]
    shown = []
    for cells in ranked:
        odd = [cell for excess, cell in cells[:n_cells] if excess > ODD]
        first = [cell for excess, cell in cells[:1] if excess > ROUNDING]
        shown.append(tuple(odd or first))
    return shown
