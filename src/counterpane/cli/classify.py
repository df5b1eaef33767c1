"""Classifiers on the command line: what was learned, and what is predicted, as text and rows."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.markup import escape
from rich.table import Table as Grid

import counterpane as cp
from counterpane.cli.tables import as_learned, read_raw, what_a_model_lacks
from counterpane.data.columns import Column, Labels, n_rows
from counterpane.data.dates import date_texts
from counterpane.data.encoder import encode_column
from counterpane.data.export import column_list
from counterpane.data.schema import Variable, state_text
from counterpane.errors import DataError
from counterpane.lazy import lazy
from counterpane.models.formats.atomic import write_atomically
from counterpane.progress import TextBar
from counterpane.typing import Array, Floats, Ints

base = lazy("counterpane.learn.base")

BLOCK = 2**16  # rows predicted at a time
SHOWN = 12  # rows of a prediction on a terminal
CHUNK = 2**14  # rows written at a time


def parts_of(learner: Any) -> dict[str, list[dict[str, Any]]]:
    """What a classifier is made of: `interactions` with their effects if known, or `edges`."""
    if hasattr(learner, "interactions_"):
        return {"interactions": learner.interactions_}
    if hasattr(learner, "hyperedges_"):
        found = [{"columns": list(names), "order": len(names)} for names in learner.hyperedges_]
        return {"interactions": found}
    edges = [
        {"parent": p, "child": c, "directed": directed, "strength_bits": bits}
        for p, c, bits, directed in learner.strengths_
    ]
    return {"edges": edges}


@dataclass(frozen=True, eq=False)
class Predictions:
    """The probabilities of each row's classes, (rows, classes), and the columns they came from."""

    columns: Sequence[Column]
    target: Variable
    probabilities: Floats
    told: Column | None = None  # the class, as the model was learned
    notes: tuple[str, ...] = ()
    training: bool = False  # the model was learned from these very rows

    @property
    def best(self) -> Ints:
        """The code of the most probable class of each row."""
        found: Ints = self.probabilities.argmax(axis=1)
        return found

    def counts(self) -> dict[str, int]:
        """How many rows have each class as the most probable."""
        found = np.bincount(self.best, minlength=self.target.card).tolist()
        return dict(zip(map(state_text, self.target.states), found, strict=True))

    def losses(self) -> dict[str, float]:
        """Log-loss in nats and accuracy, if the rows tell their class."""
        codes = None if self.told is None else encode_column(self.told, self.target, "unknown")
        known = np.empty(0, dtype=np.int64)
        if codes is not None:
            known = np.flatnonzero(codes < self.target.card)
        if codes is None or not known.size:
            return {}
        with np.errstate(divide="ignore"):
            logs = np.log(self.probabilities[known, codes[known]])
        return {
            "log_loss": float(-logs.mean()),
            "accuracy": float((self.best[known] == codes[known]).mean()),
        }

    def header(self, *, keep: bool) -> list[str]:
        """The names of the columns that are written."""
        kept = [c.name for c in self.columns] if keep else []
        return [*kept, "predicted", *(f"P({state_text(s)})" for s in self.target.states)]

    def rows(self, low: int, high: int, *, keep: bool) -> Iterator[tuple[Any, ...]]:
        """Some rows as they are written: the columns if kept, the best class, the probabilities."""
        names = np.array([state_text(s) for s in self.target.states], dtype=object)
        cells = [row_cells(c, low, high) for c in self.columns] if keep else []
        probabilities = [[f"{p:.6g}" for p in column] for column in self.probabilities[low:high].T]
        return zip(*cells, names[self.best[low:high]], *probabilities, strict=True)

    def to_csv(self, *, keep: bool) -> Iterator[bytes]:
        """The whole file, in chunks."""
        for low in range(0, len(self.probabilities), CHUNK):
            text = io.StringIO()
            writer = csv.writer(text, lineterminator="\n")
            if low == 0:
                writer.writerow(self.header(keep=keep))
            writer.writerows(self.rows(low, low + CHUNK, keep=keep))
            yield text.getvalue().encode()

    def save(self, path: Path, *, keep: bool) -> None:
        """Write the file, whole or not at all."""
        write_atomically(path, self.to_csv(keep=keep))

    def picture(self) -> Grid:
        """The first rows, for a terminal."""
        grid = Grid(box=None)
        for place, name in enumerate(self.header(keep=False)):
            grid.add_column(escape(name), justify="right" if place else "left")
        for row in self.rows(0, SHOWN, keep=False):
            grid.add_row(escape(row[0]), *(f"{float(p):.4f}" for p in row[1:]))
        if len(self.probabilities) > SHOWN:
            grid.add_row(f"[dim]… {len(self.probabilities) - SHOWN:,} more rows[/dim]")
        return grid


def predictions(
    model: Any,
    data: str,
    target: str | None,
    *,
    progress: bool,
    text: Mapping[str, str | None],
) -> Predictions:
    """What a model says of the class of each row of DATA."""
    raw = read_raw(data, text, model, progress=progress)
    columns = as_learned(model, raw)
    name = target or (model.provenance or {}).get("target")
    if not columns or not n_rows(columns[0]):
        raise DataError(f"{data!r} has no rows; at least one is needed.")
    notes = what_a_model_lacks(model, raw, name)
    parts, rows = [], n_rows(columns[0])
    for low in _blocks("predicting rows", rows, progress=progress):
        block = [slice_rows(column, low, low + BLOCK) for column in columns]
        parts.append(model.class_probabilities(block, target))
    told = next((c for c in columns if c.name == name), None)
    training = told is not None and is_training_data(model, columns)
    return Predictions(raw, model.schema[name], np.concatenate(parts), told, tuple(notes), training)


def is_training_data(model: Any, columns: Sequence[Column]) -> bool:
    """Whether a model was learned from just these rows, by the fingerprint in its file."""
    told = model.provenance or {}
    names = {column.name for column in columns}
    if n_rows(columns[0]) < (told.get("rows") or math.inf) or not names >= set(model.schema.names):
        return False
    table = cp.Table.from_frame(columns, schema=model.schema, unseen="unknown")
    if told.get("target") in names:  # rows without a class were left out
        target = model.schema.index(told["target"])
        known = table.codes[target] < model.schema[target].card
        table = table.take(known) if known.any() else table
    return bool(base.digest(cp.MemoryCounts(table)) == told.get("data"))


def measured(
    metric: str, model: Any, table: cp.Table, seed: int, *, progress: bool
) -> tuple[float, float]:
    """The mean of a measure over the rows of a table, and its standard error."""
    if metric == "cmll":
        found = cp.evaluate.cmll(model, table, random_state=seed)
        return found.mean, found.standard_error
    of: Any = {
        "pll": cp.evaluate.pll,
        "normalized-pll": cp.evaluate.normalized_pll,
        "loglik": cp.evaluate.log_likelihood,
    }[metric]
    parts = []
    for low in _blocks("scoring rows", table.n_rows, progress=progress):
        rows = np.arange(low, min(low + BLOCK, table.n_rows))
        parts.append(of(model, table.take(rows)).rows)
    each = np.concatenate(parts)
    if np.isinf(each).any():  # a row is impossible
        return -math.inf, math.inf
    return float(each.mean()), float(each.std() / math.sqrt(each.size))


def _blocks(what: str, rows: int, *, progress: bool) -> Iterator[int]:
    """Where blocks of rows begin, with a bar where they are many."""
    bar: Any = TextBar(after=1.0) if progress else nullcontext()
    with bar as report:
        for low in range(0, max(rows, 1), BLOCK):
            if report is not None:
                report(what, low, rows)
            yield low


def slice_rows(column: Column, low: int, high: int) -> Column:
    if isinstance(column, Labels):
        return replace(column, codes=column.codes[low:high])
    return replace(column, values=column.values[low:high], missing=column.missing[low:high])


def csv_lines(table: cp.Table) -> Iterator[bytes]:
    """A table as CSV, in chunks."""
    return csv_columns(table.to_columns())


def csv_columns(columns: Sequence[Column]) -> Iterator[bytes]:
    """Columns as CSV, in chunks."""
    for low in range(0, max(n_rows(columns[0]), 1), CHUNK):
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        if low == 0:
            writer.writerow([column.name for column in columns])
        writer.writerows(zip(*(row_cells(c, low, low + CHUNK) for c in columns), strict=True))
        yield text.getvalue().encode()


def json_columns(table: cp.Table) -> dict[str, list[Any]]:
    """The cells of a table by column as JSON has them: dates are texts, missing cells null."""
    found = {}
    for column in table.to_columns():
        cells = row_cells(column, 0, table.n_rows)
        if isinstance(column, Labels):
            cells = column_list(column)
        found[column.name] = [None if cell == "" else cell for cell in cells]
    return found


def row_cells(column: Column, low: int, high: int) -> list[Any]:
    """Some cells as they are written; a missing one is empty."""
    if isinstance(column, Labels):
        states: Array = np.array([*map(_text, column.states), ""], dtype=object)
        return list(states[column.codes[low:high]])
    values: Sequence[Any] = column.values[low:high].tolist()
    if column.dated and len(values):
        values = date_texts(column.values[low:high])
    gaps = column.missing[low:high].tolist()
    return ["" if gap else value for gap, value in zip(gaps, values, strict=True)]


def _text(state: Any) -> str:
    return "" if state is None else str(state)
