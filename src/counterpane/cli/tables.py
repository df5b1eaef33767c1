"""Tables on the command line: read from files, prepared to learn from, and written as CSV."""

from __future__ import annotations

import csv
import io
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from glob import has_magic
from itertools import chain, islice
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np

import counterpane as cp
from counterpane.cli.app import progress_bar
from counterpane.cli.options import ColumnOptions, TextFormat
from counterpane.cli.row_counts import count_column, repeated
from counterpane.counts.open import is_large
from counterpane.data.columns import Column, Labels, Numbers, columns_of, find_column, n_rows
from counterpane.data.dates import date_texts
from counterpane.data.encoder import Unseen, as_states, as_written
from counterpane.data.export import column_list
from counterpane.data.files import read_columns
from counterpane.data.intervals import find_cut_points, find_step
from counterpane.data.number_formats import NO_NUMBER, PLAIN
from counterpane.data.prepare import Prepared, prepare, words_among
from counterpane.data.remote import is_url, without_secrets
from counterpane.data.schema import formats_of
from counterpane.data.schema_inference import cut_variable
from counterpane.disk import as_path, write_atomically
from counterpane.errors import DataError, ParameterError, unknown_name, visible
from counterpane.typing import Array, Bools

CUTS = ("auto", "mdl", "quantile", "none")
MANY_CLASSES = 100  # of a target, above which there must be rows enough for each
ROWS_OF_CLASS = 5  # on average, where there are many classes
FEW_NUMBERS = 20  # distinct integers that are states as they are
INTERVALS = 4  # of numbers, unless --bins says otherwise
CHUNK = 2**14  # rows written at a time


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
        if discretize == "trees":
            raise ParameterError(
                "--discretize trees is for the classifiers naive-bayes, tan, bnc and markov; "
                "use quantile, or mdl with --target."
            )
        if discretize not in CUTS:
            raise unknown_name("--discretize", discretize, CUTS)
        if self.source is not None:
            return self.source
        how = discretize
        if how == "auto":
            classes = target is not None and bins is None and self._has_classes(target)
            how = "mdl" if classes else "quantile"
        return cp.Table.from_frame(
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

    def to_provenance(self) -> dict[str, Any]:
        """What a model's file records of the table, for `predict` and the report."""
        facts = {
            "left_out": self.prepared.left_out,
            "read_as": self.prepared.read_as,
            "gap_words": self.prepared.gap_words,
            **self.options,
        }
        return {name: value for name, value in facts.items() if value}


def read_input(
    data: str,
    target: str | None,
    columns: ColumnOptions,
    text: TextFormat,
    *,
    classes: bool,
    in_memory: bool = False,
    many_states: bool = False,
) -> InputTable:
    """The rows of DATA: an embedded set, one file, or, unless `in_memory`, larger ones.

    With `classes` the target is to be predicted: rows without it are left out, and numbers of many
    values are cut. `many_states` is that of `prepare`.
    """
    drop, categorical, cuts = columns.drop or (), columns.categorical or (), columns.cut_points()
    if target is not None and target in drop:
        raise ParameterError(f"--drop {target!r} is the target; drop another column.")
    if columns.weights is not None and (is_embedded(data) or (is_large(data) and not in_memory)):
        raise ParameterError("--weights is for one file of rows in memory; leave it out.")
    if cuts and is_embedded(data):
        raise ParameterError("--cuts is for files; embedded data sets have their own intervals.")
    if is_embedded(data):
        source = cp.read(cp.load_dataset(data), drop=drop, categorical=categorical)
        return InputTable(Prepared([]), source, options=columns.to_provenance(text))
    if is_large(data) and not in_memory:
        return _read_large(data, target, columns, text)
    if Path(data).is_dir() or (has_magic(data) and not Path(data).exists()):
        raise DataError(
            f"{without_secrets(data)!r} is several files, which only `learn` reads; name one file."
        )
    contents = _read_file(data, text.to_dict())
    if columns.weights is not None:
        contents = repeated(columns_of(contents, unusable={}), columns.weights)
    prepared = prepare(
        contents,
        keep=[*(columns.use or ()), *cuts, *([target] if target else [])],
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
            f"{counts} may be a number of rows, as no row of the other columns repeats: "
            f"--weights {quote(counts)} counts each row that often."
        )
    if target is None and _may_be_links(columns_of(contents, unusable={})):
        user, item = (quote(column.name) for column in columns_of(contents, unusable={}))
        table.notes.append(
            "The two columns may be links, such as users and the items that they chose: "
            f"--user {user} --item {item} learns to rank items."
        )
    return replace(table, options=columns.to_provenance(text))


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
    data: str, target: str | None, columns: ColumnOptions, text: TextFormat
) -> InputTable:
    """The counts of a folder, a pattern or a large file, which is read block by block."""
    if columns.drop or columns.categorical or text.decimal:
        raise ParameterError(
            f"{without_secrets(data)!r} is read block by block, where --drop, --categorical and "
            "--decimal are not known; name one smaller file, or prepare the files first."
        )
    how: Any = columns.discretize
    cuts = columns.cut_points()
    if cuts and how != "auto":
        raise ParameterError(
            f"--cuts must be used without --discretize for a file that is read block by block, got "
            f"--discretize {how}."
        )
    if how == "auto":
        how = cuts or ("quantile" if target is None else "mdl")
    bins: Any = {} if columns.bins is None or how in ("mdl", "none") else {"n_bins": columns.bins}
    source = cp.read(
        data,
        target=target,
        discretize=None if how == "none" else how,
        delimiter=text.delimiter,
        **bins,
    )
    note = "DATA is counted block by block, so ids and constants are not left out."
    return InputTable(Prepared([]), source, [note])


def is_embedded(data: str) -> bool:
    """Whether DATA names an embedded set; a word that names no file may be a wrong name of one."""
    if is_url(data):
        return False
    path = as_path(data)
    return not (path.exists() or path.suffix or os.sep in data or has_magic(data))


def _read_file(data: str, options: Mapping[str, Any]) -> Any:
    """The contents of a file, with a progress bar; options as in `read_columns`."""
    with progress_bar() as report:
        return read_columns(data, report=report, **options)


def read_raw(data: str, text: TextFormat, model: Any, *, by_count: bool = False) -> list[Column]:
    """The columns of DATA as they are; those of a kind that has no states are left out.

    Numbers in texts are read in the formats of the model's training data. With `by_count`, rows are
    repeated by the column of counts that the model was learned with, if DATA has it.
    """
    if is_embedded(data):
        return list(cp.load_dataset(data).labels())
    provenance = model.provenance or {}
    decimal = text.decimal or provenance.get("decimal")
    options = {**text.to_dict(), "decimal": decimal, "formats": formats_of(model.schema)}
    columns = columns_of(_read_file(data, options), unusable={})
    counts = provenance.get("row_counts") if by_count else None
    return repeated(columns, counts) if counts in [c.name for c in columns] else columns


def as_learned(model: Any, columns: Sequence[Column]) -> list[Column]:
    """Columns as a model takes them: texts are the numbers and dates that they were for it."""
    known = {variable.name: variable for variable in model.schema}
    return [as_written(c, known[c.name]) if c.name in known else c for c in columns]


def table_for(model: Any, data: str, text: TextFormat, *, unseen: Unseen = "error") -> Any:
    """The rows of DATA in the model's states; all columns of the model are needed."""
    columns = as_learned(model, read_raw(data, text, model, by_count=True))
    lacking = lacking_columns(model, columns)
    if lacking:
        raise DataError(
            f"{without_secrets(data)!r} lacks columns of the model: {', '.join(lacking)}; add "
            "them, or learn a model without them."
        )
    return cp.Table.from_frame(columns, schema=model.schema, unseen=unseen)


def lacking_columns(model: Any, columns: Sequence[Column], target: str | None = None) -> list[str]:
    """The columns of a model, but for the target, that are not there; quoted names."""
    names = {column.name for column in columns} | {target}
    return [repr(name) for name in model.schema.names if name not in names]


def data_notes(model: Any, raw: Sequence[Column], target: str | None) -> list[str]:
    """Sentences on the columns of a model that DATA lacks, and on the cells it does not know."""
    before, after = ({c.name: c for c in columns} for columns in (raw, as_learned(model, raw)))
    absent = lacking_columns(model, raw, target)
    lines = [f"Not in DATA, so summed out: {', '.join(absent)}."] if absent else []
    formats = formats_of(model.schema)
    for variable in model.schema:
        if variable.name in before and variable.name != target:
            name = variable.name
            lines += _cell_notes(variable, before[name], after[name], formats.get(name))
    return lines


def _cell_notes(variable: Any, before: Column, after: Column, number_format: Any) -> Iterator[str]:
    """Sentences on the cells of a column that were read otherwise than in training, or not."""
    written = before.written.number if isinstance(before, Numbers) and before.written else PLAIN
    if not written.is_plain and written != number_format:
        yield f"Read {variable.name} as {written.words()}."
    if isinstance(after, Numbers) and isinstance(before, Labels):
        lost = before.codes[after.missing & text_cells(before)]
        if lost.size:
            yield (
                f"Column {variable.name!r}: {lost.size:,} cells that are no "
                f"{'date' if after.dated else 'number'}, such as "
                f"{before.states[lost[0]]!r}, are taken as missing."
            )
    if isinstance(after, Numbers) and variable.cuts is None:
        after = after.labels()
    if isinstance(after, Labels):
        strange = [variable.find(s) is None for s in after.states]
        cells = int(np.append(strange, False)[after.codes].sum())
        if cells:
            first = after.states[strange.index(True)]
            several = (
                f"{cells:,} cells with states that the model does not know, such as {first!r},"
            )
            one = f"1 cell, {first!r}, has a state that the model does not know, and is"
            what = one if cells == 1 else f"{several} are"
            yield f"Column {variable.name!r}: {what} taken as unknown."


def text_cells(column: Labels) -> Bools:
    """Which cells hold a text that is no word for a missing number."""
    gaps = [code for code, s in enumerate(column.states) if s is None or s in NO_NUMBER]
    cells: Bools = (column.codes >= 0) & ~np.isin(column.codes, gaps)
    return cells


def kept_texts(before: Labels, after: Numbers) -> Bools:
    """Which cells of a column of numbers hold a text that stands for a value, not for a gap.

    A word such as "unknown" that occurs more than once stands for a gap; any other text may be a
    number that was mistyped.
    """
    codes = [before.states.index(word) for word in words_among(before, after)]
    gaps = [code for code in codes if (before.codes == code).sum() > 1]
    kept: Bools = after.missing & text_cells(before) & ~np.isin(before.codes, gaps)
    return kept


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
    variable = cp.Table.from_frame([column], discretize={column.name: cuts}).schema[0]
    return as_states(column, variable)


def _cut(column: Numbers, bins: int) -> Labels:
    """A numeric target in intervals of equal weight, with one for each frequent value."""
    values = column.values.astype(np.float64)
    step = find_step(column.values, dated=column.dated)
    variable = cut_variable(column, find_cut_points(values, np.ones(len(values)), bins, step))
    return as_states(column, variable)


def write_csv(columns: Sequence[Column], path: Path | None = None) -> None:
    """Write columns as CSV to a file, or to standard output."""
    blocks = (
        zip(*(cell_texts(c, low, low + CHUNK) for c in columns), strict=True)
        for low in range(0, n_rows(columns[0]), CHUNK)
    )
    write_lines([column.name for column in columns], chain.from_iterable(blocks), path)


def write_lines(
    header: Sequence[str], lines: Iterable[Sequence[Any]], path: Path | None = None
) -> None:
    """Write lines of cells as CSV in chunks: to a file, completely or not at all, or to stdout."""
    if path is not None:
        write_atomically(path, _chunks(header, lines))
        return
    for chunk in _chunks(header, lines):
        text = chunk.decode()
        sys.stdout.write(visible(text) if sys.stdout.isatty() else text)


def _chunks(header: Sequence[str], lines: Iterable[Sequence[Any]]) -> Iterator[bytes]:
    rest = iter(lines)
    batch = [header, *islice(rest, CHUNK)]
    while batch:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(batch)
        yield text.getvalue().encode()
        batch = list(islice(rest, CHUNK))


def json_columns(columns: Sequence[Column]) -> dict[str, list[Any]]:
    """The cells by column as JSON has them: dates are texts, missing cells null."""
    cells = {
        c.name: column_list(c) if isinstance(c, Labels) else cell_texts(c, 0, n_rows(c))
        for c in columns
    }
    return {name: [None if cell == "" else cell for cell in own] for name, own in cells.items()}


def cell_texts(column: Column, low: int, high: int) -> list[Any]:
    """The cells of some rows as they are written; a missing one is empty."""
    if isinstance(column, Labels):
        texts = ["" if state is None else str(state) for state in column.states]
        states: Array = np.array([*texts, ""], dtype=object)
        return list(states[column.codes[low:high]])
    values: Sequence[Any] = column.values[low:high].tolist()
    if column.dated and len(values):
        values = date_texts(column.values[low:high])
    gaps = column.missing[low:high].tolist()
    return ["" if gap else value for gap, value in zip(gaps, values, strict=True)]
