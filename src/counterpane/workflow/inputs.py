"""The rows to learn from, or to predict: read from files and frames, and prepared."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, fields, replace
from glob import has_magic
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np

from counterpane.counts.open import is_large, read
from counterpane.counts.source import CountSource
from counterpane.data.columns import Column, Labels, Numbers, columns_of, find_column, n_rows
from counterpane.data.datasets import load_dataset
from counterpane.data.encoding import as_states
from counterpane.data.intervals import find_cut_points, find_step
from counterpane.data.prepare import ColumnsLeftOut, Prepared, prepare
from counterpane.data.reading import read_columns
from counterpane.data.remote import is_url, without_secrets
from counterpane.data.schema_inference import cut_variable
from counterpane.data.table import Table
from counterpane.disk import as_path
from counterpane.errors import Advice, DataError, Note, Option, ParameterError, unknown_name
from counterpane.progress import TextBar
from counterpane.typing import Bools
from counterpane.workflow.row_counts import count_column, repeated

CUTS = ("auto", "mdl", "quantile", "none")
TEXT_OPTIONS = ("encoding", "delimiter", "decimal", "sheet", "header")
MANY_CLASSES = 100  # of a target, above which there must be rows enough for each
ROWS_OF_CLASS = 5  # on average, where there are many classes
FEW_NUMBERS = 20  # distinct integers that are states as they are
INTERVALS = 4  # of numbers, unless --bins says otherwise


@dataclass(frozen=True)
class ColumnChoices:
    """Which columns to learn from, how numbers are discretized, and what missing cells become.

    `cuts` are cut points by column, `use` columns to keep though they look like identifiers, and
    `weights` names a column of row counts.
    """

    discretize: str = "auto"
    missing: str = "auto"
    bins: int | None = None
    cuts: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    use: Sequence[str] = ()
    drop: Sequence[str] = ()
    categorical: Sequence[str] = ()
    weights: str | None = None

    @property
    def by_class(self) -> bool:
        """Whether classifiers discretize the numbers themselves, by the class."""
        return self.discretize in ("auto", "mdl", "trees")

    @classmethod
    def split(cls, options: Mapping[str, Any]) -> tuple[ColumnChoices, dict[str, Any]]:
        """The choices among options by name, and the options of text files."""
        own = {f.name for f in fields(cls)}
        for name in options:
            if name not in own and name not in TEXT_OPTIONS:
                raise unknown_name("parameter", name, [*own, *TEXT_OPTIONS])
        return (
            cls(**{name: value for name, value in options.items() if name in own}),
            {name: value for name, value in options.items() if name in TEXT_OPTIONS},
        )

    def intervals(self) -> str | None:
        """How numbers are cut for learners that do not cut them by the class."""
        how = "quantile" if self.discretize == "auto" else self.discretize
        if self.bins is not None and how != "quantile":
            raise ParameterError(
                Option("bins"), " and ", Option("discretize", how),
                " exclude each other; leave one out.",
            )  # fmt: skip
        return None if how == "none" else how

    def to_record(self, text: Mapping[str, Any]) -> dict[str, Any]:
        """What a model's record says of the options."""
        values = {"dropped": list(self.drop), "categorical": list(self.categorical),
                  "bins": self.bins, "row_counts": self.weights}  # fmt: skip
        return {k: v for k, v in (values | {"decimal": text.get("decimal")}).items() if v}


@dataclass(frozen=True, eq=False)
class InputTable:
    """The contents of DATA: an encoded `source`, or the columns that `prepared` holds."""

    prepared: Prepared
    source: Any = None
    notes: list[str] = field(default_factory=list)
    options: Mapping[str, Any] = field(default_factory=dict)  # of the user, for the model's file

    @property
    def names(self) -> list[str]:
        """The names of the columns to learn from."""
        if self.source is not None:
            return list(self.source.schema.names)
        return [column.name for column in self.prepared.columns]

    def to_table(self, target: str | None, discretize: str, bins: int | None = None) -> Any:
        """The rows with all columns as states; numbers in `bins` intervals of equal counts."""
        if discretize not in CUTS:
            raise unknown_name("--discretize", discretize, CUTS)
        if self.source is not None:
            return self.source
        how = discretize
        if how == "auto":
            classes = target is not None and bins is None and self._has_classes(target)
            how = "mdl" if classes else "quantile"
        return Table.from_frame(
            self.prepared.columns,
            target=target,
            discretize=None if how == "none" else how,
            n_bins=bins or INTERVALS,
        )

    def raw(self) -> Any:
        """The rows as they are: the table of an embedded set, or columns."""
        return self.prepared.columns if self.source is None else self.source

    def _has_classes(self, target: str) -> bool:
        column = find_column({c.name: c for c in self.prepared.columns}, target)
        return isinstance(column, Labels) or _is_few(column)

    def to_record(self) -> dict[str, Any]:
        """What a model's file records of the table, for `predict` and the report."""
        facts = {
            "left_out": self.prepared.left_out,
            "read_as": self.prepared.read_as,
            "gap_words": self.prepared.gap_words,
            **self.options,
        }
        return {name: value for name, value in facts.items() if value}


def read_input(
    data: Any,
    target: str | None,
    columns: ColumnChoices,
    text: Mapping[str, Any],
    *,
    classes: bool,
    in_memory: bool = False,
    many_states: bool = False,
    progress: bool = False,
) -> InputTable:
    """The rows of `data`: an embedded set, a file, unless `in_memory` larger ones, or a frame.

    With `classes` the target is to be predicted: rows without it are left out, and numbers of many
    values are cut. `many_states` is that of `prepare`.
    """
    drop, categorical, cuts = columns.drop, columns.categorical, columns.cuts
    if target is not None and target in drop:
        raise ParameterError(
            Advice(f"drop={list(drop)!r} has", f"--drop {target!r} is"),
            " the target; drop another column.",
        )
    if isinstance(data, Table | CountSource):
        return InputTable(Prepared([]), data, options=columns.to_record(text))
    if not isinstance(data, str):
        contents = data
    elif (large := _read_large_or_embedded(data, target, columns, text, in_memory)) is not None:
        return large
    else:
        contents = read_file(data, text, progress=progress)
    if columns.weights is not None:
        contents = repeated(columns_of(contents, unusable={}), columns.weights)
    prepared = prepare(
        contents,
        keep=[*(columns.use), *cuts, *([target] if target else [])],
        drop=drop,
        categorical=categorical,
        many_states=many_states,
    )
    listed = [_cut_at(c, cuts[c.name]) if c.name in cuts else c for c in prepared.columns]
    prepared = replace(prepared, columns=listed)
    if len(prepared.columns) == (target is not None):
        reason = prepared.sentence or "add columns."
        raise DataError(f"no column is left to learn from beside {target!r}; {reason}")
    table = InputTable(prepared)
    if classes and target is not None:
        table = _with_classes(prepared, target, columns.bins or INTERVALS)
    counts = None if columns.weights else count_column(prepared.columns)
    if counts is not None:
        table.notes.append(
            Note(
                f"{counts} may be a number of rows, as no row of the other columns repeats: ",
                Advice(f"weights={counts!r}", f"--weights {quote(counts)}"),
                " counts each row that often.",
            )
        )
    if target is None and _may_be_links(columns_of(contents, unusable={})):
        user, item = (column.name for column in columns_of(contents, unusable={}))
        links = Advice(
            f"user={user!r}, item={item!r}", f"--user {quote(user)} --item {quote(item)}"
        )
        words = "The two columns may be links, such as users and the items that they chose: "
        table.notes.append(Note(words, links, " learns to rank items."))
    return replace(table, options=columns.to_record(text))


def _read_large_or_embedded(
    data: str,
    target: str | None,
    columns: ColumnChoices,
    text: Mapping[str, Any],
    in_memory: bool,
) -> InputTable | None:
    """The rows of an embedded set, or of what is read block by block; None for one small file."""
    if columns.weights is not None and (is_embedded(data) or (is_large(data) and not in_memory)):
        raise ParameterError(Option("weights"), " is for one file of rows in memory; leave it out.")
    if columns.cuts and is_embedded(data):
        raise ParameterError(
            Option("cuts"), " is for files; embedded data sets have their own intervals."
        )
    if is_embedded(data):
        source = read(load_dataset(data), drop=columns.drop, categorical=columns.categorical)
        return InputTable(Prepared([]), source, options=columns.to_record(text))
    if is_large(data) and not in_memory:
        return _read_large(data, target, columns, text)
    if Path(data).is_dir() or (has_magic(data) and not Path(data).exists()):
        raise DataError(
            f"{without_secrets(data)!r} is several files, which only `learn` reads; name one file."
        )
    return None


def _may_be_links(columns: Sequence[Column]) -> bool:
    """Whether two columns of many values, each in several rows, are all; no pair occurs twice."""
    labels = [c for c in columns if isinstance(c, Labels)]
    if len(columns) != 2 or len(labels) != 2:
        return False
    rows = n_rows(labels[0])
    sizes = [len(c.states) for c in labels]
    pairs = np.unique(np.stack([c.codes for c in labels]), axis=1)
    return min(sizes) > FEW_NUMBERS and rows >= 2 * max(sizes) and pairs.shape[1] == rows


def _read_large(
    data: str, target: str | None, columns: ColumnChoices, text: Mapping[str, Any]
) -> InputTable:
    """The counts of a folder, a pattern or a large file, which is read block by block."""
    how, cuts = columns.discretize, columns.cuts
    if cuts and how != "auto":
        raise ParameterError(
            Option("cuts"),
            " must be used without ",
            Option("discretize"),
            " for a file that is read block by block, got ",
            Option("discretize", how),
            ".",
        )
    bins: Any = {} if columns.bins is None or how in ("mdl", "none") else {"n_bins": columns.bins}
    if bins and not cuts:
        how = "quantile"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ColumnsLeftOut)  # notes say it
        source: Any = read(
            data,
            target=target,
            discretize=cuts or (None if how == "none" else how),
            on_unusable="drop",
            drop=columns.drop,
            categorical=columns.categorical,
            **text,
            **bins,
        )
    prepared = Prepared([], **source.preparation)
    return InputTable(prepared, source, options=columns.to_record(text))


def is_embedded(data: str) -> bool:
    """Whether DATA names an embedded set; a word that names no file may be a wrong name of one."""
    if is_url(data):
        return False
    path = as_path(data)
    return not (path.exists() or path.suffix or os.sep in data or has_magic(data))


def read_file(data: str, options: Mapping[str, Any], *, progress: bool) -> Any:
    """The contents of a file, with a progress bar; options as in `read_columns`."""
    with TextBar(after=1.0) if progress else nullcontext() as report:
        return read_columns(data, report=report, **options)


def _with_classes(prepared: Prepared, target: str, bins: int) -> InputTable:
    """Columns whose target can be predicted: each row has a class, of which there are few."""
    column = find_column({c.name: c for c in prepared.columns}, target)
    gaps: Bools = column.codes < 0 if isinstance(column, Labels) else column.missing
    notes = []
    if gaps.all():
        raise DataError(f"the target {target!r} has no value in any row; choose another column.")
    columns = prepared.columns
    if gaps.any():
        notes.append(f"Left out {int(gaps.sum()):,} of {len(gaps):,} rows without {target!r}.")
        columns = [c.take(~gaps) for c in columns]
        column = column.take(~gaps)
    if len(column.distinct if isinstance(column, Numbers) else np.unique(column.codes)) == 1:
        raise DataError(
            f"the target {target!r} has the same value in all rows; choose another column."
        )
    if isinstance(column, Numbers) and not _is_few(column):
        labels = _cut(column, bins)
        kind = "a date" if column.dated else "numeric"
        notes.append(f"The target {target!r} is {kind}: cut into {', '.join(labels.states)}.")  # type: ignore[arg-type]
        columns = [labels if c.name == target else c for c in columns]
    elif isinstance(column, Labels):
        _check_classes(column)
    return InputTable(replace(prepared, columns=columns), None, notes)


def _check_classes(target: Labels) -> None:
    """Refuse a target that rather names rows than classes."""
    classes, rows = len(target.states), n_rows(target)
    if classes > MANY_CLASSES and rows < ROWS_OF_CLASS * classes:
        raise ParameterError(
            f"the target {target.name!r} has {classes:,} different values in {rows:,} rows; above "
            f"{MANY_CLASSES} classes there must be {ROWS_OF_CLASS} rows of each on average: choose "
            "another column, or group its values."
        )


def _is_few(column: Numbers) -> bool:
    return column.distinct.dtype.kind in "iu" and len(column.distinct) <= FEW_NUMBERS


def _cut_at(column: Column, cuts: Sequence[Any]) -> Labels:
    """A column in the intervals between cut points that the user gave."""
    variable = Table.from_frame([column], discretize={column.name: cuts}).schema[0]
    return as_states(column, variable)


def _cut(column: Numbers, bins: int) -> Labels:
    """A numeric target in intervals of equal weight, with one for each frequent value."""
    values = column.values.astype(np.float64)
    step = find_step(column.values, dated=column.dated)
    variable = cut_variable(column, find_cut_points(values, np.ones(len(values)), bins, step))
    return as_states(column, variable)


def title_of_data(data: str | None) -> str | None:
    """Return the name of DATA as the title of a page, None without data."""
    if data is None:
        return None
    name = Path(without_secrets(data)).name
    return Path(name.removesuffix(".gz")).stem
