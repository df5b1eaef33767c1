"""Rows that a model finds improbable, and the cells that make them so."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, SupportsIndex, overload

import numpy as np

from counterpane.data.columns import Numbers
from counterpane.data.dates import date_texts
from counterpane.data.schema import Schema, Variable, state_text
from counterpane.data.table import Table
from counterpane.errors import ParameterError, Setting
from counterpane.models.dependency_network import DependencyNetwork
from counterpane.models.joint import JointModel
from counterpane.present.table import Printed, TextTable, right
from counterpane.tools.imputing import gaps_of, missing_marginals
from counterpane.typing import Bools, Codes, Floats, Ints, State

ODD = 1.0  # nats by which the surprise of an odd cell is above what is expected
ROUNDING = 1e-9
THOUSANDS = 10_000  # from which numbers are printed with commas
TAIL = 4.0  # the exponent of the tail beyond the kept quantiles
SAMPLE = 1000  # rows from which the usual surprise of a column is measured


class OddCell(NamedTuple):
    """A cell that its row makes improbable: P(value | other cells), and the most probable state.

    The value is the number if that is far from those of training; its probability is then that of
    its interval times the chance of a number so far out.
    """

    column: str
    value: State
    probability: float
    expected: State
    expected_probability: float


class OddRow(NamedTuple):
    """A row: its ln P in nats, how many nats that is below the mean row, and its oddest cells.

    `log_prob` is that of intervals of numbers; `excess` has the numbers as well; see `far_out`.
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
    far: dict[int, Floats]  # by variable, the nats by which each row's number is far out
    numbers: dict[int, Floats]


class OddRows(Printed, list[OddRow]):
    """Rows that a model finds improbable, the oddest first; they print as a table."""

    @overload
    def __getitem__(self, key: SupportsIndex) -> OddRow: ...
    @overload
    def __getitem__(self, key: slice) -> OddRows: ...
    def __getitem__(self, key: SupportsIndex | slice) -> OddRow | OddRows:
        found = super().__getitem__(key)
        return OddRows(found) if isinstance(found, list) else found

    def table(self, *, first: int = 0) -> TextTable:
        """Return a table with one line per odd cell; rows are counted from `first`."""
        heads = ("row", "ln P (nats)", "below mean")
        lines: list[tuple[str, ...]] = []
        for row in self:
            start = (str(row.row + first), f"{row.log_prob:.2f}", f"{row.excess:.2f}")
            cells = [_cell_texts(cell) for cell in row.cells] or [("", "", "", "")]
            lines.append((*start, *cells[0]))
            lines += [("", "", "", *cell) for cell in cells[1:]]
        odd = ("odd cell", right("P"), "expected", right("P"))
        return TextTable.of((*map(right, heads), *odd), lines, most=None)


def _cell_texts(cell: OddCell) -> tuple[str, str, str, str]:
    number = isinstance(cell.value, int | float) and abs(cell.value) >= THOUSANDS
    shown = f"{cell.value:,}" if number else state_text(cell.value)
    chances = f"{cell.probability:.4f}", f"{cell.expected_probability:.4f}"
    return f"{cell.column} = {shown}", chances[0], state_text(cell.expected), chances[1]


def odd_rows(model: JointModel, frame: Any, n: int, n_cells: int) -> OddRows:
    """The `n` rows of least probability, compared with what is usual, the oddest first."""
    for name, value in (("n", n), ("cells", n_cells)):
        if not isinstance(value, int | np.integer) or value < 1:
            raise ParameterError(Setting(name, value), "; a whole number from 1 is needed.")
    rows = _read(model.schema, frame)
    log_probs = _log_probs(model, rows.codes)
    missing = (rows.codes == model.schema.cards[:, None]) & ~rows.strange
    surprise = -log_probs
    for nats in rows.far.values():
        surprise = surprise + nats
    if missing.any():
        surprise = surprise + _usual(model, rows.codes, missing) @ missing
    log_probs = np.where(rows.strange.any(axis=0), -np.inf, log_probs)
    finite = np.isfinite(log_probs)
    mean = float(surprise[finite].mean()) if finite.any() else 0.0
    excess = np.where(finite, surprise - mean, np.inf)
    order = np.lexsort((-surprise, -excess))[:n]  # the impossible rows by what is left of them
    cells = _odd_cells(model, rows, order, n_cells)
    return OddRows(
        OddRow(int(r), float(log_probs[r]), float(excess[r]), cells[k]) for k, r in enumerate(order)
    )


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
    numbers: dict[int, Floats] = {}
    for v, column in columns.items():
        if isinstance(frame, Table) and column.name in frame.numbers:
            numbers[v] = frame.numbers[column.name]
        elif isinstance(column, Numbers) and schema[v].cuts is not None:
            numbers[v] = np.where(column.missing, np.nan, column.values.astype(np.float64))
    far = {v: far_out(schema[v], codes[v], values) for v, values in numbers.items()}
    return _CodedRows(codes, strange, values, far, numbers)


def far_out(variable: Variable, codes: Codes, numbers: Floats) -> Floats:
    """The nats by which each number is less probable than the usual ones of its interval.

    An interval is open above or below, or has a gap within, so that its probability says little of
    a number far out. That is one further from the kept quantiles (but for the least and the largest
    training value) than twice the widest stretch s between those of its interval; in an interval
    with two ends, than the second widest, as the widest may be a gap. Beyond, at the distance d,
    the chance is the tail of Pareto (1 + d / 3s)⁻⁴. Zero where no quantiles were kept.

    >>> quantiles = (0.0, 1.0, 2.0), (3.0, 4.0, 5.0, 6.0, 900.0)
    >>> age = Variable("age", ("< 3", "≥ 3"), (3.0,), quantiles)
    >>> far_out(age, np.array([0, 1, 1]), np.array([1.5, 7.0, 900.0])).round(1).tolist()
    [0.0, 0.0, 22.8]
    """
    nats: Floats = np.zeros(len(numbers))
    parts = [np.array(part) for part in variable.quantiles or ()]
    kept = np.concatenate([*parts, np.empty(0)])[1:-1]
    if not len(kept):
        return nats
    # Where all numbers of an interval are equal, a step, or the middle of the column, is the scale.
    spread = float(np.subtract(*np.quantile(kept, [0.75, 0.25]))) / len(kept)
    least = max(variable.step or 0.0, spread) or float(np.abs(kept).max()) or 1.0
    with np.errstate(invalid="ignore", over="ignore"):
        above = np.minimum(np.searchsorted(kept, numbers), len(kept) - 1)
        distance = np.abs(numbers - kept[above])
        distance = np.minimum(distance, np.abs(numbers - kept[np.maximum(above - 1, 0)]))
        for code, part in enumerate(parts):
            rows = np.flatnonzero((codes == code) & np.isfinite(numbers))
            outer = slice(int(code == 0), -1 if code == len(parts) - 1 else None)
            widths = np.sort(np.diff(part[outer]))
            free, wide = (2.0, widths[-1:]) if code in (0, len(parts) - 1) else (1.0, widths[-2:-1])
            scale = max(float(wide.sum()), least)
            beyond = np.maximum(distance[rows] - free * scale, 0.0)
            nats[rows] = TAIL * np.log1p(beyond / ((TAIL - 1) * scale))
    return nats


def _number_state(variable: Variable, number: float) -> State:
    """A number as it was written: a date where the column has dates."""
    if variable.dated:
        return date_texts(np.array([number]))[0]
    return int(number) if number.is_integer() else number


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
        log_weights = model.engine.ask_rows((), every, part)[1]
        out[~full] = model.engine.log_evidence_rows(log_weights, (), every, part)
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
            far = float(rows.far[v][row]) if v in rows.far else 0.0
            p = float(table[k, code]) * math.exp(-far) if known else 0.0
            state = variable.states[code] if known else rows.values[v, row]
            if far > ODD:
                state = _number_state(variable, float(rows.numbers[v][row]))
            cell = OddCell(
                variable.name, state, p, variable.states[best[k]], float(table[k, best[k]])
            )
            excess = (far - float(logs[k, code]) if known else np.inf) - float(entropy[k])
            cells_of_rows[k].append((excess, cell))
    ranked = [sorted(cells, key=lambda pair: -pair[0]) for cells in cells_of_rows]
    shown = []
    for cells in ranked:
        odd = [cell for excess, cell in cells[:n_cells] if excess > ODD]
        first = [cell for excess, cell in cells[:1] if excess > ROUNDING]
        shown.append(tuple(odd or first))
    return shown
