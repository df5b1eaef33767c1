"""`Predictions`: the classes of rows, their probabilities, and how good these are."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from counterpane.data.columns import Column, Labels, Numbers
from counterpane.data.encoding import encode_column
from counterpane.data.export import Exportable
from counterpane.data.schema import Variable, state_text
from counterpane.evaluate.measures import ClassMeasures
from counterpane.present.table import LISTED, Printed, TextTable, right
from counterpane.typing import Floats, Ints
from counterpane.workflow.csv_text import CHUNK, Lines, cell_texts, write_csv


@dataclass(frozen=True, eq=False, repr=False)
class Predictions(Printed, Exportable):
    """The probabilities of each row's classes, (rows, classes), and the columns of the rows.

    `true_class` is the column of the target as the model reads it; None if the data lack it.
    `training` says that the model was learned from these very rows.
    """

    columns: Sequence[Column]
    target: Variable
    probabilities: Floats
    true_class: Column | None = None
    notes: tuple[str, ...] = ()
    training: bool = False

    def __len__(self) -> int:
        return len(self.probabilities)

    @property
    def best(self) -> Ints:
        """The code of the most probable class of each row."""
        best: Ints = self.probabilities.argmax(axis=1)
        return best

    def counts(self) -> dict[str, int]:
        """How many rows have each class as the most probable."""
        counts = np.bincount(self.best, minlength=self.target.card).tolist()
        return dict(zip(map(state_text, self.target.states), counts, strict=True))

    def losses(self) -> dict[str, float]:
        """Log-loss in nats and accuracy, if the true classes of some rows are there."""
        if self.true_class is None:
            return {}
        codes = encode_column(self.true_class, self.target, "unknown")
        rows = np.flatnonzero(codes < self.target.card)
        if not rows.size:
            return {}
        with np.errstate(divide="ignore"):
            logs = np.log(self.probabilities[rows])
        measured = ClassMeasures(logs, codes[rows].astype(np.int64), np.ones(rows.size))
        return {"log_loss": measured.log_loss.value, "accuracy": measured.accuracy.value}

    def to_columns(self) -> list[Column]:
        """The most probable class of each row, and the probability of each class."""
        none = np.zeros(len(self), dtype=bool)
        best: list[Column] = [Labels("predicted", self.target.states, self.best, declared=True)]
        names = self._titles()[1:]
        return best + [
            Numbers(name, share, none)
            for name, share in zip(names, self.probabilities.T, strict=True)
        ]

    def lines(self, *, keep: bool = False, block: int = CHUNK) -> Lines:
        """The rows as they are written, if wanted after the columns of the data."""
        kept = [c.name for c in self.columns] if keep else []
        return [*kept, *self._titles()], self._cells(keep=keep, block=block)

    def write(self, path: str | os.PathLike[str], *, keep: bool = False) -> None:
        """Write all rows as CSV to a file, if wanted after the columns of the data."""
        write_csv(path, self.lines(keep=keep))

    def table(self) -> TextTable:
        """Return a table of the first rows."""
        first, *names = self._titles()
        rows = [
            (row[0], *(f"{float(p):.4f}" for p in row[1:])) for row in islice(self._cells(), LISTED)
        ]
        return TextTable.of([first, *map(right, names)], rows, total=len(self))

    def _titles(self) -> list[str]:
        return ["predicted", *(f"P({state_text(s)})" for s in self.target.states)]

    def _cells(self, *, keep: bool = False, block: int = CHUNK) -> Iterator[tuple[Any, ...]]:
        names = np.array([state_text(s) for s in self.target.states], dtype=object)
        for low in range(0, len(self), block):
            high = low + block
            kept = [cell_texts(c, low, high) for c in self.columns] if keep else []
            shares = [[f"{p:.6g}" for p in column] for column in self.probabilities[low:high].T]
            yield from zip(*kept, names[self.best[low:high]], *shares, strict=True)
