"""Classifiers on the command line: what was learned, and what is predicted, as text and rows."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

import counterpane as cp
from counterpane.cli.app import is_set
from counterpane.cli.pictures import what_was_done
from counterpane.data.columns import Column, Labels, columns_of
from counterpane.data.frames import encode_column
from counterpane.data.readers import read_columns
from counterpane.data.schema import Variable
from counterpane.models.formats.atomic import write_atomically
from counterpane.typing import Array, Floats, Ints

SHOWN = 12  # parts of a model, or rows of a prediction, on a terminal
CHUNK = 2**14  # rows written at a time


def read_raw(data: str) -> cp.Table | list[Column]:
    """The columns of a file as they are, or the table of an embedded set if no such file exists."""
    if is_set(data):
        return cp.load_dataset(data)
    return columns_of(read_columns(data))


def learn_and_save(
    learner: Any, source: cp.Table | list[Column], target: str, path: Path, console: Console | None
) -> dict[str, Any]:
    """Fit a classifier, save its model, and show it where there is a console; facts for JSON."""
    began = time.monotonic()
    learner.fit(source, target)
    seconds = time.monotonic() - began
    learner.model_.save(path)
    schema, parts = learner.schema_, parts_of(learner)
    facts = {
        "model": str(path),
        "rows": learner.model_.provenance["rows"],
        "columns": len(schema) + 1,
        "target": target,
        "classes": [str(c) for c in learner.classes_],
        "parts": parts,
        "seconds": round(seconds, 3),
    }
    if console is not None:
        gaps = [v.states[-1] is None for v in schema]
        console.print(what_was_done(schema, gaps, learner.missing), end="")
        console.print(parts_picture(parts))
        size = f"{facts['rows']:,} rows × {facts['columns']} columns → {len(parts)} parts"
        console.print(f"{size}, {len(facts['classes'])} classes, {seconds:.2f} s")
        console.print(f"Saved to [bold]{path}[/bold]; next: counterpane predict {path} NEW.csv")
    return facts


def parts_of(learner: Any) -> list[dict[str, Any]]:
    """What a classifier is made of: faces with their shares, hyperedges, or edges."""
    if hasattr(learner, "faces_"):
        return [
            {"columns": list(f["face"]), "share": f["share"], "strength": f["strength"]}
            for f in learner.faces_
        ]
    if hasattr(learner, "hyperedges_"):
        return [{"columns": list(names)} for names in learner.hyperedges_]
    return [{"parent": p, "child": c} for p, c in learner.graph_.edges]


def parts_picture(parts: Sequence[dict[str, Any]]) -> Grid:
    """The first parts of a classifier, one a line."""
    grid = Grid(box=None, show_header=False)
    for part in parts[:SHOWN]:
        if "parent" in part:
            names = f"[bold]{escape(part['parent'])}[/bold] → [bold]{escape(part['child'])}[/bold]"
        else:
            names = " × ".join(f"[bold]{escape(name)}[/bold]" for name in part["columns"])
        note = ""
        if "share" in part:
            note = f"[dim]moves the log-odds by {part['strength']:.2f}, "
            note += f"in {part['share']:.0%} of the fits[/dim]"
        grid.add_row(names, note)
    if len(parts) > SHOWN:
        grid.add_row(f"[dim]… and {len(parts) - SHOWN} more[/dim]")
    return grid


@dataclass(frozen=True, eq=False)
class Predictions:
    """The probabilities of each row's classes, (rows, classes), and the columns they came from."""

    columns: Sequence[Column]
    target: Variable
    probabilities: Floats

    @property
    def best(self) -> Ints:
        """The code of the most probable class of each row."""
        found: Ints = self.probabilities.argmax(axis=1)
        return found

    def counts(self) -> dict[str, int]:
        """How many rows have each class as the most probable."""
        found = np.bincount(self.best, minlength=self.target.card).tolist()
        return dict(zip(map(_text, self.target.states), found, strict=True))

    def losses(self) -> dict[str, float]:
        """Log-loss in nats and accuracy, if the rows tell their class."""
        told = next((c for c in self.columns if c.name == self.target.name), None)
        codes = None if told is None else encode_column(told, self.target, "unknown")
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
        return [*kept, "predicted", *(f"P({_text(s)})" for s in self.target.states)]

    def rows(self, low: int, high: int, *, keep: bool) -> Iterator[tuple[Any, ...]]:
        """Some rows as they are written: the columns if kept, the best class, the probabilities."""
        names = np.array([_text(s) for s in self.target.states], dtype=object)
        cells = [_cells(c, low, high) for c in self.columns] if keep else []
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


def predictions(model: Any, data: str, target: str | None) -> Predictions:
    """What a model says of the class of each row of DATA."""
    source = read_raw(data)
    columns = source.labels() if isinstance(source, cp.Table) else source
    probabilities = model.class_probabilities(columns, target)
    name = target or model.provenance["target"]
    return Predictions(columns, model.schema[name], probabilities)


def rows_for(model: Any, data: str) -> cp.Table:
    """The rows of DATA in terms of a model's schema."""
    source = read_raw(data)
    return cp.Table.from_frame(source, schema=model.schema)


def csv_lines(table: cp.Table) -> Iterator[bytes]:
    """A table as CSV, in chunks."""
    columns = table.labels()
    for low in range(0, max(table.n_rows, 1), CHUNK):
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        if low == 0:
            writer.writerow(table.schema.names)
        writer.writerows(zip(*(_cells(c, low, low + CHUNK) for c in columns), strict=True))
        yield text.getvalue().encode()


def _cells(column: Column, low: int, high: int) -> list[Any]:
    """Some cells as they are written; a missing one is empty."""
    if isinstance(column, Labels):
        states: Array = np.array([*map(_text, column.states), ""], dtype=object)
        return list(states[column.codes[low:high]])
    values = column.values[low:high].tolist()
    gaps = column.missing[low:high].tolist()
    return ["" if gap else value for gap, value in zip(gaps, values, strict=True)]


def _text(state: Any) -> str:
    return "" if state is None else str(state)
