"""Tables on the command line: read as they are, made fit to learn from, and told what was done."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from glob import has_magic
from pathlib import Path
from typing import Any

import numpy as np

import counterpane as cp
from counterpane.counts.open import is_large
from counterpane.data.clean import NO_NUMBER
from counterpane.data.columns import Column, Labels, Numbers, columns_of, find_column, n_rows
from counterpane.data.encoder import cut_variable, encode_column
from counterpane.data.files import read_any
from counterpane.data.intervals import quantile_cuts
from counterpane.data.prepare import Prepared, formats_of, prepare, prepare_like
from counterpane.errors import DataError, ParameterError, unknown_name
from counterpane.progress import TextBar
from counterpane.typing import Bools

CUTS = ("auto", "mdl", "quantile", "none")
MAX_CLASSES = 100  # of a target
FEW_NUMBERS = 20  # different whole numbers that are states as they are
INTERVALS = 4  # of numbers, unless --bins says otherwise


@dataclass(frozen=True)
class ColumnOptions:
    """What the user says of columns: which to use, to drop, to take as states, and how to cut."""

    use: Sequence[str] = ()
    drop: Sequence[str] = ()
    categorical: Sequence[str] = ()
    bins: int | None = None

    def remembered(self, text: Mapping[str, str | None]) -> dict[str, Any]:
        """What a model's file keeps of it."""
        found: dict[str, Any] = {"dropped": list(self.drop), "categorical": list(self.categorical)}
        found |= {"bins": self.bins, "decimal": text.get("decimal")}
        return {name: value for name, value in found.items() if value}


@dataclass(frozen=True, eq=False)
class Rows:
    """What DATA holds: an encoded `source`, or the columns that `prepared` has made fit."""

    prepared: Prepared
    source: Any = None
    notes: list[str] = field(default_factory=list)
    target_cuts: tuple[float, ...] | None = None
    choices: Mapping[str, Any] = field(default_factory=dict)  # of the user, for the model's file

    @property
    def n_columns(self) -> int:
        """The number of columns to learn from."""
        return len(self.prepared.columns if self.source is None else self.source.schema)

    def table(self, target: str | None, discretize: str, bins: int | None = None) -> Any:
        """The rows with all columns as states; numbers in `bins` intervals of equal counts."""
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

    def remembered(self) -> dict[str, Any]:
        """What a model's file says of the table, for `predict` and the report."""
        done = self.prepared
        found = {
            "left_out": done.left_out,
            "read_as": done.read_as,
            "day_first": done.day_first,
            "number_formats": done.number_formats,
            "target_cuts": self.target_cuts,
            **self.choices,
        }
        return {name: value for name, value in found.items() if value}


def read_rows(
    data: str,
    target: str | None,
    columns: ColumnOptions,
    *,
    classes: bool,
    progress: bool,
    text: Mapping[str, str | None],
    discretize: str = "auto",
    in_memory: bool = False,
) -> Rows:
    """The rows of DATA: of an embedded set, of one file, or unless `in_memory` of larger ones.

    `text` says how text files are written, `discretize` how larger ones are cut. With `classes` the
    target is one to be predicted: rows without it are left out, and numbers of many values are cut.
    """
    if target is not None and target in columns.drop:
        raise ParameterError(f"--drop {target!r} is the target; drop another column.")
    if is_embedded(data):
        table = cp.read(cp.load_dataset(data), drop=columns.drop, categorical=columns.categorical)
        return Rows(Prepared([]), table, choices=columns.remembered(text))
    if is_large(data) and not in_memory:
        return _large(data, target, columns, text, discretize)
    if Path(data).is_dir() or (has_magic(data) and not Path(data).exists()):
        raise DataError(f"{data!r} is several files, which only `learn` reads; name one file.")
    found = prepare(
        read_file(data, text, progress=progress),
        keep=[*columns.use, *([target] if target else [])],
        drop=columns.drop,
        categorical=columns.categorical,
    )
    if len(found.columns) == (target is not None):
        told = found.told or "add columns."
        raise DataError(f"no column is left to learn from beside {target!r}; {told}")
    rows = Rows(found)
    if classes and target is not None:
        rows = _with_classes(found, target, columns.bins or INTERVALS)
    return replace(rows, choices=columns.remembered(text))


def _large(
    data: str,
    target: str | None,
    columns: ColumnOptions,
    text: Mapping[str, str | None],
    discretize: str,
) -> Rows:
    """The counts of a folder, a pattern or a large file, which is read block by block."""
    if columns.drop or columns.categorical or text.get("decimal"):
        raise ParameterError(
            f"{data!r} is read block by block, where --drop, --categorical and --decimal are not "
            "known; name one smaller file, or prepare the files first."
        )
    how = ("quantile" if target is None else "mdl") if discretize == "auto" else discretize
    bins: Any = {} if columns.bins is None or how != "quantile" else {"n_bins": columns.bins}
    source = cp.read(
        data,
        target=target,
        discretize=None if how == "none" else how,
        delimiter=text.get("delimiter"),
        **bins,
    )
    return Rows(Prepared([]), source, ["A folder, pattern or large file: no column is left out."])


def is_embedded(data: str) -> bool:
    """Whether DATA names an embedded set; a word that names no file may be a wrong name of one."""
    return not (Path(data).exists() or Path(data).suffix or os.sep in data or has_magic(data))


def read_file(data: str, text: Mapping[str, Any], *, progress: bool) -> Any:
    """What a file holds, with a bar where that takes long; `text` are options of `read_any`."""
    bar: Any = TextBar(after=1.0) if progress else nullcontext()
    with bar as report:
        return read_any(data, report=report, **text)


def read_raw(
    data: str, text: Mapping[str, str | None], model: Any, *, progress: bool = False
) -> list[Column]:
    """The columns of DATA as they are; those of a kind that has no states are passed over.

    Numbers in texts are read in the formats that they had where `model` was learned.
    """
    if is_embedded(data):
        return list(cp.load_dataset(data).labels())
    told = model.provenance or {}
    decimal = text.get("decimal") or told.get("decimal")
    options: dict[str, Any] = {**text, "decimal": decimal, "formats": formats_of(told)}
    return columns_of(read_file(data, options, progress=progress), unusable={})


def as_learned(model: Any, columns: Sequence[Column]) -> list[Column]:
    """Columns as a model takes them: texts are the numbers and dates that they were for it."""
    return prepare_like(columns, model.schema, model.provenance or {})


def rows_for(
    model: Any, data: str, text: Mapping[str, str | None], *, progress: bool = False
) -> Any:
    """The rows of DATA in terms of a model's schema; all of its columns are needed."""
    columns = as_learned(model, read_raw(data, text, model, progress=progress))
    named = {c.name for c in columns}
    lacking = [repr(name) for name in model.schema.names if name not in named]
    if lacking:
        raise DataError(
            f"{data!r} lacks columns of the model: {', '.join(lacking)}; add them, or learn a "
            "model without them."
        )
    return cp.Table.from_frame(columns, schema=model.schema)


def what_a_model_lacks(model: Any, raw: Sequence[Column], target: str | None) -> list[str]:
    """What of a model's columns DATA does not hold, and which cells it does not know; sentences."""
    by_name = {c.name: c for c in as_learned(model, raw)}
    given = {c.name: c for c in raw}
    asked = [v for v in model.schema if v.name != target]
    absent = [repr(v.name) for v in asked if v.name not in by_name]
    words = [f"Not in DATA, so summed out: {', '.join(absent)}."] if absent else []
    formats = formats_of(model.provenance or {})
    for variable in asked:
        column, before = by_name.get(variable.name), given.get(variable.name)
        written = before.written if isinstance(before, Numbers) else None
        if written is not None and written != formats.get(variable.name):
            words.append(f"Read {variable.name} as {written.words()}.")
        if isinstance(column, Numbers) and isinstance(before, Labels):
            gaps = [i for i, s in enumerate(before.states) if s is None or s in NO_NUMBER]
            lost = before.codes[column.missing & (before.codes >= 0)]
            lost = lost[~np.isin(lost, gaps)]
            if lost.size:
                words.append(
                    f"Column {variable.name!r}: {lost.size:,} cells that are no "
                    f"{'date' if column.dated else 'number'}, such as "
                    f"{before.states[lost[0]]!r}, are taken as missing."
                )
        if isinstance(column, Numbers) and variable.cuts is None:
            column = column.labels()
        if not isinstance(column, Labels):
            continue
        strange = [variable.find(s) is None for s in column.states]
        cells = int(np.append(strange, False)[column.codes].sum())
        if cells:
            first = column.states[strange.index(True)]
            words.append(
                f"Column {variable.name!r}: {cells:,} cells with states that the model does not "
                f"know, such as {first!r}, are taken as unknown."
            )
    return words


def _with_classes(found: Prepared, target: str, bins: int) -> Rows:
    """Columns whose target can be predicted: each row has a class, of which there are few."""
    column = find_column({c.name: c for c in found.columns}, target)
    gaps: Bools = column.codes < 0 if isinstance(column, Labels) else column.missing
    notes, cuts = [], None
    if gaps.all():
        raise DataError(f"the target {target!r} has no value in any row; choose another column.")
    columns = found.columns
    if gaps.any():
        notes.append(f"Left out {int(gaps.sum()):,} of {len(gaps):,} rows without {target!r}.")
        columns = [_take(c, ~gaps) for c in columns]
        column = _take(column, ~gaps)
    if len(column.distinct if isinstance(column, Numbers) else np.unique(column.codes)) == 1:
        raise DataError(
            f"the target {target!r} has the same value in all rows; choose another column."
        )
    if isinstance(column, Numbers) and not _is_few(column):
        labels = _cut(column, bins)
        cuts = None if labels.cut is None else labels.cut.cuts
        kind = "a date" if column.dated else "numeric"
        notes.append(f"The target {target!r} is {kind}: cut into {', '.join(labels.states)}.")  # type: ignore[arg-type]
        columns = [labels if c.name == target else c for c in columns]
    elif isinstance(column, Labels) and len(column.states) > MAX_CLASSES:
        raise ParameterError(
            f"the target {target!r} has {len(column.states):,} different values in "
            f"{n_rows(column):,} rows, and {MAX_CLASSES} classes are the most; choose another "
            "column, or group its values."
        )
    return Rows(replace(found, columns=columns), None, notes, cuts)


def _take(column: Column, rows: Bools) -> Column:
    if isinstance(column, Labels):
        return replace(column, codes=column.codes[rows])
    return replace(column, values=column.values[rows], missing=column.missing[rows])


def _is_few(column: Numbers) -> bool:
    return column.distinct.dtype.kind in "iu" and len(column.distinct) <= FEW_NUMBERS


def _cut(column: Numbers, bins: int) -> Labels:
    """A numeric target in intervals of equal weight."""
    values = column.values.astype(np.float64)
    variable = cut_variable(column, quantile_cuts(values, np.ones(len(values)), bins))
    codes = encode_column(column, variable)
    return Labels(column.name, variable.states, codes, declared=True, cut=variable)
