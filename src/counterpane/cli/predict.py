"""`counterpane predict`: the class of each row of a table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

import counterpane as cp
from counterpane.cli.app import (
    check_output,
    console,
    emit,
    many,
    note,
    progress_bar,
    say,
    say_saved,
    show_table,
)
from counterpane.cli.options import CsvFile, Data, ModelFile, ModelTarget, Printing, TextFormat
from counterpane.errors import DataError
from counterpane.lazy import lazy
from counterpane.present.table import LISTED, TextTable, right

encoder = lazy("counterpane.data.encoding")
measures = lazy("counterpane.evaluate.measures")
np = lazy("numpy")
schemas = lazy("counterpane.data.schema")
remote = lazy("counterpane.data.remote")
splits = lazy("counterpane.evaluate.splits")
tables = lazy("counterpane.cli.tables")

BLOCK = 2**16  # rows predicted at a time


def run_predict(
    *,
    model: ModelFile,
    data: Data,
    output: CsvFile = None,
    target: ModelTarget = None,
    keep: Annotated[bool, typer.Option("--keep", help="Also write the columns of DATA.")] = False,
    text: TextFormat,
    printing: Printing,
) -> None:
    """Predict the class of each row of DATA: the most probable one, and all probabilities.

    The predictions are written to OUTPUT, or as CSV to a pipe; a terminal shows the first rows.
    Columns that MODEL does not know are ignored. Columns that DATA lacks are summed out, and a
    note names them.
    """
    check_output(output)
    loaded: Any = cp.load(model)
    if target is not None:
        loaded.schema.index(target)
    predictions = _predictions(loaded, data, target, text)
    for line in predictions.notes:
        note(line)
    if output is not None:
        predictions.write(output, keep=keep)
    if printing.as_json:
        emit({"model": str(model), "rows": len(predictions.probabilities),
              "target": predictions.target.name, "predicted": predictions.counts(),
              **predictions.losses(), "training_rows": predictions.training,
              "notes": predictions.notes, "output": output and str(output)})  # fmt: skip
    elif output is None and not console.is_terminal:
        predictions.write(keep=keep)
    else:
        _show(predictions, output)


def _show(predictions: Predictions, output: Path | None) -> None:
    """Print the first rows, or where they were saved, and how good the predictions are."""
    if output is None:
        show_table(predictions.table())
    shares = ", ".join(f"{n:,} {escape(str(c))}" for c, n in predictions.counts().items())
    say(f"{many(len(predictions.probabilities), 'row')}, predicted: {shares}")
    losses = ", ".join(f"{k.replace('_', '-')} {v:.4f}" for k, v in predictions.losses().items())
    if losses:
        caution = " (the training rows: new rows will be predicted less well)"
        say(f"On these rows{caution if predictions.training else ''}: {losses}")
    say_saved(output)


@dataclass(frozen=True, eq=False)
class Predictions:
    """The probabilities of each row's classes, (rows, classes), and the columns of the rows."""

    columns: Sequence[Any]
    target: Any
    probabilities: Any
    true_class: Any = None  # a column in the model's states; None if DATA does not have it
    notes: tuple[str, ...] = ()
    training: bool = False  # the model was learned from these very rows

    @property
    def best(self) -> Any:
        """The code of the most probable class of each row."""
        return self.probabilities.argmax(axis=1)

    def counts(self) -> dict[str, int]:
        """How many rows have each class as the most probable."""
        counts = np.bincount(self.best, minlength=self.target.card).tolist()
        return dict(zip(map(schemas.state_text, self.target.states), counts, strict=True))

    def losses(self) -> dict[str, float]:
        """Log-loss in nats and accuracy, if the true classes of some rows are there."""
        if self.true_class is None:
            return {}
        codes = encoder.encode_column(self.true_class, self.target, "unknown")
        rows = np.flatnonzero(codes < self.target.card)
        if not rows.size:
            return {}
        with np.errstate(divide="ignore"):
            logs = np.log(self.probabilities[rows])
        measured = measures.ClassMeasures(logs, codes[rows].astype(np.int64), np.ones(rows.size))
        return {"log_loss": measured.log_loss.value, "accuracy": measured.accuracy.value}

    def header(self, *, keep: bool) -> list[str]:
        """The names of the columns that are written."""
        names = [c.name for c in self.columns] if keep else []
        return [*names, "predicted", *(f"P({schemas.state_text(s)})" for s in self.target.states)]

    def lines(self, *, keep: bool) -> Iterator[tuple[Any, ...]]:
        """The rows as they are written: the columns to keep, the best class, the probabilities."""
        names = np.array([schemas.state_text(s) for s in self.target.states], dtype=object)
        for low in range(0, len(self.probabilities), tables.CHUNK):
            high = low + tables.CHUNK
            cells = [tables.cell_texts(c, low, high) for c in self.columns] if keep else []
            shares = [[f"{p:.6g}" for p in column] for column in self.probabilities[low:high].T]
            yield from zip(*cells, names[self.best[low:high]], *shares, strict=True)

    def write(self, path: Path | None = None, *, keep: bool) -> None:
        """Write all rows as CSV to a file, or to standard output."""
        tables.write_lines(self.header(keep=keep), self.lines(keep=keep), path)

    def table(self) -> TextTable:
        """Return a table of the first rows."""
        first, *names = self.header(keep=False)
        rows = [
            (row[0], *(f"{float(p):.4f}" for p in row[1:]))
            for row in islice(self.lines(keep=False), LISTED)
        ]
        return TextTable.of([first, *map(right, names)], rows, total=len(self.probabilities))


def _predictions(model: Any, data: str, target: str | None, text: TextFormat) -> Predictions:
    """The predicted classes of the rows of DATA."""
    raw = tables.read_raw(data, text, model)
    columns = tables.as_learned(model, raw)
    name = target or model.record.data.target
    n = tables.n_rows(columns[0]) if columns else 0
    if not n:
        raise DataError(f"{remote.without_secrets(data)!r} has no rows; at least one is needed.")
    if len(tables.lacking_columns(model, columns, name)) == len(model.schema) - 1:
        names = [repr(c) for c in model.schema.names if c != name]
        known = ", ".join(names[:6]) + (", …" if len(names) > 6 else "")
        raise DataError(
            f"{remote.without_secrets(data)!r} has no column that the model predicts from; needed "
            f"are some of {known}."
        )
    notes = tables.data_notes(model, raw, name)
    parts = [
        model.predict_proba([c.take(rows) for c in columns], target)
        for rows in blocks_with_progress("predicting rows", n)
    ]
    true_class = next((c for c in columns if c.name == name), None)
    training = true_class is not None and _is_training_data(model, columns)
    probabilities = np.concatenate(parts)
    return Predictions(raw, model.schema[name], probabilities, true_class, tuple(notes), training)


def _is_training_data(model: Any, columns: Sequence[Any]) -> bool:
    """Whether a model was learned from just these rows, by the fingerprint in its file."""
    names = {column.name for column in columns}
    enough = tables.n_rows(columns[0]) >= (model.record.data.rows or math.inf)
    if not enough or not names >= set(model.schema.names):
        return False
    table = cp.Table.from_frame(columns, schema=model.schema, unseen="unknown")
    return bool(splits.learned_from(model, table))


def blocks_with_progress(what: str, n: int) -> Iterator[slice]:
    """Blocks of `n` rows, with a progress bar if there are many."""
    with progress_bar() as report:
        for low in range(0, max(n, 1), BLOCK):
            if report is not None:
                report(what, low, n)
            yield slice(low, min(low + BLOCK, n))
