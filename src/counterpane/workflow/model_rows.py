"""`ModelRows`: the rows of a file or frame as a model reads them, and what it says of them."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from counterpane.additive.effects import Explanation
from counterpane.counts.source import CountSource
from counterpane.data.clean import columns_of_rows, text_columns
from counterpane.data.columns import Column, Labels, Numbers, columns_of, n_rows
from counterpane.data.datasets import load_dataset
from counterpane.data.encoding import Unseen
from counterpane.data.remote import without_secrets
from counterpane.data.schema import formats_of
from counterpane.data.table import Table
from counterpane.errors import DataError, Option, ParameterError, StateError, unknown_name
from counterpane.evaluate import density
from counterpane.evaluate.splits import learned_from
from counterpane.progress import TextBar
from counterpane.tools.imputing import impute_frame
from counterpane.tools.odd_rows import OddRows
from counterpane.workflow.imputation import Imputation
from counterpane.workflow.inputs import is_embedded, read_file
from counterpane.workflow.model_columns import as_learned, data_notes, kept_texts, lacking_columns
from counterpane.workflow.predictions import Predictions
from counterpane.workflow.row_counts import repeated

BLOCK = 2**16  # rows predicted or scored at a time
MEASURES = {"pll": density.pll, "normalized_pll": density.normalized_pll,
            "log_likelihood": density.log_likelihood, "cmll": density.cmll}  # fmt: skip
EXPLAINED = {"additive", "bayesian_network", "markov_network"}  # kinds of models
NAMED = 6  # columns of a model that a message lists


def rows_for(model: Any, data: Any, *, progress: bool = False, **text: Any) -> ModelRows:
    """Return rows as a model reads them, to predict, explain, score or impute.

    Numbers and dates in texts are read in the formats of the training data. The commands `predict`,
    `explain`, `score`, `impute` and `update` read DATA so.

    Parameters
    ----------
    model : model
        A model that was learned or loaded.
    data : path, frame or Table
        A file, the name of an embedded data set, a table, or a mapping of columns.
    progress : bool
        Whether to show a bar.
    **text
        Options of a text file: encoding, delimiter, decimal, sheet, header.

    Returns
    -------
    ModelRows
        Has `predict`, `explain`, `score`, `odd_rows`, `impute` and `table`.

    Examples
    --------
    >>> import counterpane as cp
    >>> rows = cp.rows_for(cp.learn("titanic", method="chow-liu").model, "titanic")
    >>> round(rows.score().mean, 3), rows.predict("survived").counts()
    (-2.198, {'no': 1731, 'yes': 470})
    """
    if isinstance(data, Table):
        return ModelRows(model, list(data.labels()), "the table", progress)
    if isinstance(data, CountSource) or not isinstance(data, str | os.PathLike):
        return ModelRows(model, columns_of(data, unusable={}), "the table", progress)
    path = os.fspath(data)
    name = repr(without_secrets(path))
    if is_embedded(path):
        return ModelRows(model, list(load_dataset(path).labels()), name, progress)
    decimal = text.get("decimal") or model.record.preparation.decimal
    options = {**text, "decimal": decimal, "formats": formats_of(model.schema)}
    contents = read_file(path, options, progress=progress)
    return ModelRows(model, columns_of(contents, unusable={}), name, progress)


def row_of_texts(model: Any, cells: Mapping[str, str], *, decimal: str | None = None) -> ModelRows:
    """One row whose cells are written as in a file; a cell that the model cannot read raises."""
    unknown = [name for name in cells if name not in model.schema.names]
    if unknown:
        raise unknown_name("column", unknown[0], model.schema.names)
    columns = text_columns(
        columns_of_rows([tuple(cells.values())], list(cells)),
        decimal=decimal or model.record.preparation.decimal,
        formats=formats_of(model.schema),
    )
    rows = ModelRows(model, list(columns), "the row")
    for column in rows.columns:
        variable = model.schema[column.name]
        if isinstance(column, Numbers) and variable.cuts is None:
            column = column.labels()
        states = column.states if isinstance(column, Labels) else ()
        strange = [state for state in states if variable.find(state) is None]
        no_number = isinstance(column, Numbers) and column.missing[0]
        if strange or (no_number and cells[column.name]):
            raise StateError(
                f"column {column.name!r}: {variable.not_a_state(cells[column.name])}.",
                parameter=column.name,
                value=cells[column.name],
            )
    return rows


def check_joint(model: Any, task: str) -> None:
    """Refuse a model without a joint distribution of its columns."""
    if model.kind in ("link_scores", "walk_scores", "link_blend"):
        raise ParameterError(
            f"the model ranks items without probabilities, and {task} whole rows; learn another "
            "with ",
            Option("method", "hybrid"),
            ".",
        )
    if model.kind == "additive":
        raise ParameterError(
            f"the model knows only P({model.target.name} | other columns), and {task} whole rows; "
            "learn another without ",
            Option("target"),
            ", or with ",
            Option("method", "tan"),
            ".",
        )


@dataclass(frozen=True, eq=False)
class ModelRows:
    """Rows as they are (`raw`) and as a model reads them (`columns`); `name` is that of the data.

    Columns of a kind that has no states are left out. `block` rows are predicted at a time.
    """

    model: Any
    raw: list[Column]
    name: str
    progress: bool = False
    block: int = BLOCK

    @cached_property
    def columns(self) -> list[Column]:
        """The columns as the model takes them: texts are the numbers and dates of training."""
        return as_learned(self.model, self.raw)

    def __len__(self) -> int:
        return n_rows(self.raw[0]) if self.raw else 0

    def lacking(self, target: str | None = None) -> list[str]:
        """The columns of the model, but for the target, that the data lack; quoted names."""
        return lacking_columns(self.model, self.raw, target)

    def notes(self, target: str | None = None) -> list[str]:
        """Sentences on columns that the data lack, and on cells that the model does not know."""
        return data_notes(self.model, self.raw, target)

    def counted(self) -> list[Column]:
        """The columns as they are, rows repeated by the column of counts, if the model had one."""
        counts = self.model.record.preparation.row_counts
        return repeated(self.raw, counts) if counts in [c.name for c in self.raw] else self.raw

    def table(self, *, unseen: Unseen = "error") -> Table:
        """The rows in the model's states; all columns of the model are needed."""
        lacking = self.lacking()
        if lacking:
            raise DataError(
                f"{self.name} lacks columns of the model: {', '.join(lacking)}; add them, or learn "
                "a model without them."
            )
        columns = as_learned(self.model, self.counted())
        return Table.from_frame(columns, schema=self.model.schema, unseen=unseen)

    @property
    def n_counted(self) -> int:
        """The number of rows, each as often as the column of counts says."""
        return n_rows(self.counted()[0])

    def update(
        self, *, missing: Literal["error", "drop"] = "error", unseen: Unseen = "error"
    ) -> Any:
        """Return the model with the rows added to its tables; see `BayesianNetwork.update`."""
        return self.model.update(self.table(unseen=unseen), missing=missing)

    def row(self, number: int) -> ModelRows:
        """One row by its number, from 1."""
        if not 1 <= number <= len(self):
            raise ParameterError(
                Option("row", number), f" must be from 1 to {len(self):,}, the rows of {self.name}."
            )
        raw = [column.take(slice(number - 1, number)) for column in self.raw]
        return replace(self, raw=raw)

    def predict(self, target: str | None = None) -> Predictions:
        """Predict the class of each row; columns that the data lack are summed out."""
        model, schema = self.model, self.model.schema
        if target is not None:
            schema.index(target)
        name = target or model.record.data.target
        if not len(self):
            raise DataError(f"{self.name} has no rows; at least one is needed.")
        if len(self.lacking(name)) == len(schema) - 1:
            others = [repr(c) for c in schema.names if c != name]
            known = ", ".join(others[:NAMED]) + (", …" if len(others) > NAMED else "")
            raise DataError(
                f"{self.name} has no column that the model predicts from; needed are some of "
                f"{known}."
            )
        parts = [
            model.predict_proba([c.take(rows) for c in self.columns], target)
            for rows in self._blocks("predicting rows", len(self))
        ]
        true_class = next((c for c in self.columns if c.name == name), None)
        return Predictions(
            self.raw,
            schema[name],
            np.concatenate(parts),
            true_class,
            tuple(self.notes(name)),
            true_class is not None and self._is_training_data(),
        )

    def explain(self, target: str | None = None) -> Explanation:
        """Explain the class of the row: what each interaction adds to the log-odds."""
        model = self.model
        parts = getattr(model, "models", (model,))
        if not {part.kind for part in parts} <= EXPLAINED:
            raise ParameterError(
                f"a model of the kind {model.kind!r} cannot be explained; learn a classifier with ",
                Option("target"),
                ", or a network with ",
                Option("method", "structure-search"),
                ".",
            )
        found: Explanation = model.explain(self.columns, target)
        return found

    def score(
        self,
        metric: Literal["pll", "normalized_pll", "log_likelihood", "cmll"] = "pll",
        *,
        random_state: int = 0,
    ) -> density.RowScore:
        """Measure how well the model predicts the rows; see `counterpane.evaluate`."""
        if metric not in MEASURES:
            raise unknown_name("metric", metric, MEASURES)
        check_joint(self.model, "`score` measures")
        table = self.table()
        if metric == "cmll":
            return density.cmll(self.model, table, random_state=random_state)
        measure: Any = MEASURES[metric]
        parts = [
            measure(self.model, table.take(np.arange(rows.start, rows.stop))).rows
            for rows in self._blocks("scoring rows", table.n_rows)
        ]
        return density.row_score(np.concatenate(parts), table)

    def odd_rows(self, n: int = 20, *, cells: int = 3) -> OddRows:
        """The `n` rows that the model finds least probable, and their odd cells."""
        check_joint(self.model, "`score` measures")
        found: OddRows = self.model.odd_rows(self.columns, n, cells=cells)
        return found

    def impute(self, draws: int | None = None, *, random_state: int | None = None) -> Imputation:
        """Fill missing cells with the most probable values, or with so many draws.

        A text among numbers that may be a mistyped number is not missing, and stays as it is.
        """
        check_joint(self.model, "`impute` fills")
        fixed = {
            column.name: kept_texts(before, column)
            for before, column in zip(self.raw, self.columns, strict=True)
            if column.name in self.model.schema.names
            and isinstance(before, Labels)
            and isinstance(column, Numbers)
        }
        notes = self.notes()
        for name, cells in fixed.items():
            count = int(cells.sum())
            if count:
                words = "1 such cell stays" if count == 1 else f"{count:,} such cells stay"
                notes.append(f"Column {name!r}: {words} as written.")
        written = [v for v in self.model.schema if v.written is not None]
        kept = [v.name for v in written if v.written is not None and v.written.empty_is_value]
        if kept:
            notes.append(f"Not imputed: {', '.join(kept)}; an empty cell is a value there.")
        completed = impute_frame(
            self.model, list(self.raw), draws, random_state, read=self.columns, fixed=fixed
        )
        return Imputation(completed, draws is not None, tuple(notes))

    def _is_training_data(self) -> bool:
        """Whether the model was learned from just these rows, by the fingerprint in its file."""
        model = self.model
        names = {column.name for column in self.columns}
        enough = len(self) >= (model.record.data.rows or math.inf)
        if not enough or not names >= set(model.schema.names):
            return False
        table = Table.from_frame(self.columns, schema=model.schema, unseen="unknown")
        return bool(learned_from(model, table))

    def _blocks(self, what: str, n: int) -> Iterator[slice]:
        """Blocks of `n` rows, with a progress bar if there are many."""
        with TextBar(after=1.0) if self.progress else nullcontext() as report:
            for low in range(0, max(n, 1), self.block):
                if report is not None:
                    report(what, low, n)
                yield slice(low, min(low + self.block, n))
