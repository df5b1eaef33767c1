"""`Learned`: a model with what is known about its learning, and the pages that show it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from shlex import quote
from typing import Any

from counterpane.data import prepare
from counterpane.errors import Advice, Note
from counterpane.models.edges import Edge, Edges
from counterpane.models.record import ClassFigures, LearningRecord
from counterpane.plotting import open_explorer, write_page
from counterpane.present.html import framed, line
from counterpane.present.table import TextTable
from counterpane.workflow.choose import CLASSIFIERS
from counterpane.workflow.inputs import InputTable, title_of_data
from counterpane.workflow.leaks import leaking_column
from counterpane.workflow.model_rows import rows_for
from counterpane.workflow.results import has_parts
from counterpane.workflow.tables import measure_table, model_size, part_tables


@dataclass(frozen=True, eq=False, repr=False)
class Learned:
    """What `learn` returns: a model, its record, edges, measures and notes.

    Parameters
    ----------
    learner : learner
        The fitted learner.
    source : Table or CountSource
        The rows as the learner took them.
    table : InputTable
        The rows as they were read and prepared.
    facts : dict
        All results as plain values, as `counterpane learn --json` prints them.
    data : path or table
        The data as they were given.
    text : mapping
        Options of a text file.
    stopped, interrupted : bool
        Whether a time limit or Ctrl-C ended the search, and whether it was Ctrl-C.

    Examples
    --------
    >>> import counterpane as cp
    >>> learned = cp.learn("titanic", method="chow-liu")
    >>> learned.model, learned.edges[0].text
    (BayesianNetwork(4 variables, 3 edges, 13 parameters), 'sex — survived')
    """

    learner: Any
    source: Any = field(repr=False)
    table: InputTable = field(repr=False)
    facts: dict[str, Any] = field(repr=False)
    data: Any = field(repr=False)
    text: Mapping[str, Any] = field(repr=False, default_factory=dict)
    stopped: bool = False
    interrupted: bool = False

    @property
    def model(self) -> Any:
        """The model."""
        return self.learner.model_

    @property
    def record(self) -> LearningRecord:
        """How the model was learned; it is saved with the model."""
        record: LearningRecord = self.model.record
        return record

    @property
    def method(self) -> str:
        """The method that was used."""
        return str(self.facts["method"])

    @property
    def measures(self) -> ClassFigures | None:
        """The measures of a classifier on held-out rows; None for other models."""
        return self.record.measures

    @cached_property
    def edges(self) -> Edges:
        """The edges with their strengths, and shares of bootstrap samples if known."""
        return Edges(Edge(**record) for record in self.facts.get("edges", ()))

    @property
    def schema(self) -> Any:
        """The columns that the model was learned from, without the class of a classifier."""
        return self.learner.schema_ if self.method in CLASSIFIERS else self.source.schema

    @property
    def leak(self) -> str:
        """A column that nearly tells the class alone, and may not be known at prediction."""
        return leaking_column(self.facts.get("interactions", ()), self.measures)

    @property
    def has_parts(self) -> bool:
        """Whether the model has an edge or an interaction."""
        return has_parts(self.facts)

    @property
    def notes(self) -> list[str]:
        """What was done to the columns, the reason for the method, and cautions."""
        notes = learning_notes(self.schema, self.table, getattr(self.learner, "missing_note_", ""))
        why = self.facts.get("why")
        notes += [f"Method {self.method}: {why}."] if why else []
        return [*notes, *([self.caution] if self.caution else [])]

    @property
    def caution(self) -> str:
        """What to check if one column nearly tells the class; else empty."""
        if not self.leak:
            return ""
        drop = Advice(f"drop=[{self.leak!r}]", f"--drop {quote(self.leak)}")
        words = f"{self.leak} alone nearly tells {self.facts['target']}. Is it known when you "
        return Note(words, "predict? ", drop, " learns without it.")

    def tables(self) -> list[TextTable]:
        """Return what `counterpane learn` prints: the parts of the model, and its measures."""
        parts = part_tables(self)
        if self.measures is not None:
            parts.append(measure_table(self.measures, self.learner.classes_.tolist()))
        return parts

    @property
    def size(self) -> str:
        """The size of the model in words."""
        return model_size(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file; `counterpane.load` reads it back."""
        self.model.save(path)

    def report(self, path: str | os.PathLike[str] = "report.html", **options: Any) -> Path:
        """Write the report of the model and the data; `options` are those of `write_report`."""
        written: Path = write_page(self.model, self._rows(), path, **self._titled(options))
        return written

    def explore(self, path: str | os.PathLike[str] | None = None, **options: Any) -> Any:
        """The explorer of the model, for a notebook or written to an HTML file."""
        return open_explorer(self.model, path, data=self._rows(), **self._titled(options))

    def to_dict(self) -> dict[str, Any]:
        """All results as plain values, as `counterpane learn --json` prints them."""
        return dict(self.facts)

    def _rows(self) -> Any:
        """The data as a page reads them."""
        if isinstance(self.data, str):
            return rows_for(self.model, self.data, **self.text).counted()
        return self.data

    def _titled(self, options: dict[str, Any]) -> dict[str, Any]:
        title = title_of_data(self.data) if isinstance(self.data, str) else None
        return {"title": title} | options

    def __repr__(self) -> str:
        first = f"{self.model!r}, learned by {self.method}"
        return "\n".join([first, *(table.to_text() for table in self.tables())])

    def _repr_html_(self) -> str:
        parts = [self.model._repr_html_()]
        if self.measures is not None:
            parts.append(self.tables()[-1].to_html())
        return framed(f"Learned by {self.method}", *parts, *map(line, self.notes))


def learning_notes(schema: Any, table: InputTable, missing_note: str) -> list[str]:
    """What was left out, converted and discretized, and how missing values were treated."""
    prepared = table.prepared
    lines = [f"Left out {name}: {why}." for name, why in prepared.left_out.items()]
    lines += table.notes
    lines += [f"Read {name} as {words}." for name, words in prepared.read_as.items()]
    lines += prepare.taken_notes(prepared.gap_words)
    lines += prepare.cut_notes(schema)
    lines += prepare.kept_notes(schema)
    return lines + ([missing_note] if missing_note else [])
