"""Tables from files and frames."""

from __future__ import annotations

import importlib
import json
import os
import warnings
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy.typing as npt

from counterpane.data.arff import read_arff
from counterpane.data.clean import typed_columns
from counterpane.data.columns import Column, columns_of
from counterpane.data.csv import EVERY, MEGABYTE, open_text, read_delimited, read_libra_data
from counterpane.data.datasets import dataset_names
from counterpane.data.encoder import Discretize, Unseen
from counterpane.data.excel import read_excel
from counterpane.data.export import frame_kind_of
from counterpane.data.number_formats import NumberFormat, check_decimal
from counterpane.data.prepare import ColumnsLeftOut, Prepared, choose_columns, prepare
from counterpane.data.schema import Schema
from counterpane.data.table import Table
from counterpane.errors import (
    DataError,
    FileFormatError,
    NoFileError,
    ParameterError,
    Setting,
    no_file,
)
from counterpane.progress import Report
from counterpane.typing import State

_SUFFIXES = ".csv, .tsv, .txt, .jsonl, .arff, .data (each also with .gz), .xlsx, .parquet, .pq"
_OTHERS = {
    ".json": " (write one JSON object a line, and call it .jsonl)",
    ".xls": " (save it as .xlsx)",
    ".ods": " (save it as .xlsx or .csv)",
}


def read_table(
    source: Any,
    *,
    discretize: Discretize = "auto",
    target: str | None = None,
    states: Mapping[str, Sequence[State]] | None = None,
    schema: Schema | None = None,
    weights: str | npt.ArrayLike | None = None,
    unseen: Unseen = "error",
    max_states: int = 20,
    n_bins: int = 4,
    on_unusable: Literal["error", "drop"] | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    sheet: str | int | None = None,
    drop: Collection[str] = (),
    categorical: Collection[str] = (),
) -> Table:
    """The table of a file, a frame, an array, or a mapping of columns; a table comes back as it is.

    The options are those of `counterpane.read`, which also reads what does not fit into memory.
    With discretize="auto" the columns are prepared as `counterpane.data.prepare.prepare` says;
    the target, the weights and columns with `states` stay in any case.

    >>> table = read_table({"age": [31.5, 18.25, 44.0, 27.75], "wet": [False, True, True, False]})
    >>> table.schema["age"].states
    ('<23', '[23, 29.62)', '[29.62, 37.75)', '≥37.75')
    >>> table.notes
    ['Cut into intervals: age.']
    """
    if on_unusable not in ("error", "drop", None):
        raise ParameterError(f"on_unusable={on_unusable!r}; 'error' or 'drop' is allowed.")
    options: dict[str, Any] = {"schema": schema, "states": states, "weights": weights,
                               "unseen": unseen, "discretize": discretize, "target": target,
                               "max_states": max_states, "n_bins": n_bins}  # fmt: skip
    auto = isinstance(discretize, str) and discretize == "auto" and schema is None
    lenient = on_unusable == "drop" or (auto and on_unusable is None)
    columns = source
    if isinstance(source, str | os.PathLike):
        columns = read_file(source, delimiter=delimiter, encoding=encoding, decimal=decimal,
                            sheet=sheet, lenient=lenient)  # fmt: skip
    if isinstance(columns, Table):
        kept = choose_columns(columns.labels(), drop=drop, categorical=categorical)
        columns = columns.select([c.name for c in kept]) if drop else columns
        return Table.from_frame(columns, **options)
    if not lenient:
        if drop or categorical:
            columns = choose_columns(columns_of(columns), drop=drop, categorical=categorical)
        return Table.from_frame(columns, **options)
    keep = [name for name in (target, weights, *(states or ())) if isinstance(name, str)]
    found = prepare(columns, keep=keep, drop=drop, categorical=categorical, leave_some=auto)
    if found.left_out and not auto:
        warnings.warn(found.told, ColumnsLeftOut, stacklevel=2)
    table = Table.from_frame(found.columns, **options)
    table.preparation, table.frame_kind = found.facts(), frame_kind_of(source)
    return table


def read_prepared(
    source: Any,
    *,
    keep: Collection[str] = (),
    drop: Collection[str] = (),
    categorical: Collection[str] = (),
    **text: Any,
) -> Prepared:
    """The columns of a file or frame made fit to learn from; see `prepare` for what that means.

    Columns of a text file that have no name are called after their place. `text` are the options
    of `read_any`.
    """
    if isinstance(source, str | os.PathLike):
        source = read_any(source, **text)
    return prepare(source, keep=keep, drop=drop, categorical=categorical)


def read_any(source: str | os.PathLike[str], **options: Any) -> Any:
    """What a file holds, as `columns_of` takes it; `options` are those of `read_file`."""
    found = read_file(source, **options)
    return found.labels() if isinstance(found, Table) else found


def read_file(
    source: str | os.PathLike[str],
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    sheet: str | int | None = None,
    formats: Mapping[str, NumberFormat] | None = None,
    report: Report | None = None,
    lenient: bool = True,
) -> Any:
    """The columns or frame in a file; a table where it says codes and weights itself.

    Unnamed columns are called after their place. Without `encoding` text is UTF-8, UTF-16 where it
    begins as such, else Windows-1252. Not `lenient`, an unnamed column and text that is not UTF-8
    are refused. `formats` are those in which numbers of some columns were written before.
    """
    path = Path(source)
    options: Any = {"delimiter": delimiter, "decimal": decimal, "sheet": sheet, "formats": formats}
    if not lenient:
        return _read_file(path, encoding=encoding or "utf-8-sig", **options)
    options |= {"name_blanks": True, "report": report}
    first = encoding or ("utf-16" if _is_wide(path) else "utf-8-sig")
    try:
        return _read_file(path, encoding=first, **options)
    except FileFormatError as error:
        if first != "utf-8-sig" or encoding or not isinstance(error.__context__, UnicodeError):
            raise
        try:
            return _read_file(path, encoding="cp1252", **options)
        except FileFormatError:
            raise error from None


def _is_wide(path: Path) -> bool:
    """Whether a file begins as UTF-16 text does."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(2) in (b"\xff\xfe", b"\xfe\xff")


def read_columns(
    source: str | os.PathLike[str],
    *,
    delimiter: str | None = None,
    encoding: str = "utf-8-sig",
    formats: Mapping[str, NumberFormat] | None = None,
) -> Any:
    """What a file holds before it is encoded, as `columns_of` takes it; see `read`."""
    found = _read_file(source, delimiter=delimiter, encoding=encoding, formats=formats)
    return found.labels() if isinstance(found, Table) else found


def _read_file(
    source: str | os.PathLike[str],
    *,
    delimiter: str | None,
    encoding: str,
    sheet: str | int | None = None,
    **delimited: Any,
) -> Any:
    """The columns or frame in a file; a table where it says codes and weights itself."""
    check_decimal(delimited.get("decimal"))
    if delimiter is not None and len(delimiter) != 1:
        raise ParameterError(Setting("delimiter", delimiter), "; one character is needed.")
    path = Path(source)
    if not path.is_file() and str(path) in dataset_names():
        raise NoFileError(f"there is no file {str(path)!r}; use load_dataset({str(path)!r}).")
    if not path.is_file():
        raise no_file(path)
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packed = suffixes[-1:] == [".gz"]
    kind = (suffixes[:-1] if packed else suffixes)[-1:]
    if sheet is not None and kind not in ([".xlsx"], [".xlsm"]):
        raise ParameterError(Setting("sheet", sheet), f"; {str(path)!r} is no Excel file.")
    if kind == [".arff"]:
        return read_arff(path, encoding=encoding)
    if kind == [".data"]:
        return read_libra_data(path, encoding=encoding)
    if kind in ([".csv"], [".tsv"], [".txt"]):
        return read_delimited(path, delimiter=delimiter, encoding=encoding, **delimited)
    if kind in ([".jsonl"], [".ndjson"]):
        return read_json_lines(path, encoding=encoding, report=delimited.get("report"))
    if kind in ([".xlsx"], [".xlsm"]) and not packed:
        return read_excel(path, sheet=sheet, name_blanks=delimited.get("name_blanks", False))
    if kind in ([".parquet"], [".pq"]) and not packed:
        return _read_parquet(path)
    hint = _OTHERS.get("".join(kind), "")
    raise FileFormatError(
        f"file {str(path)!r} is of no known kind{hint}; these suffixes are known: {_SUFFIXES}."
    )


def _read_parquet(path: Path) -> Any:
    """The frame in a parquet file, by the first library there is."""
    for library, name in (("pyarrow.parquet", "read_table"), ("polars", "read_parquet")):
        try:
            reader = getattr(importlib.import_module(library), name)
        except ImportError:
            continue
        try:
            return reader(path)
        except Exception as error:  # each library has its own, and none of them is ours
            words = " ".join(str(error).split())[:200]
            raise FileFormatError(
                f"file {str(path)!r} cannot be read as parquet: {words}"
            ) from None
    raise DataError(
        f"file {str(path)!r} needs pyarrow or polars to be read; install counterpane[duckdb]."
    )


MAX_CELLS = 2**28  # columns × rows: what is larger has keys that are no columns


def read_json_lines(
    path: Path, *, encoding: str, report: Report | None = None
) -> dict[str, Column | list[Any]]:
    """The columns of a file; a key that a line lacks is a missing cell.

    Values are texts, numbers, truth values or null. A column with lists or objects among its cells
    is for `columns_of` to refuse or to leave out.
    """
    cells: dict[str, list[Any]] = {}
    rows = 0
    with open_text(path, encoding) as opened:
        file: Any = opened
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            record = _record(line, number, path)
            for key, value in record.items():
                column = cells.get(key)
                if column is None:
                    column = cells[key] = []
                column.extend([None] * (rows - len(column)))
                column.append(value)
            rows += 1
            if len(cells) * rows > MAX_CELLS:
                raise FileFormatError(
                    f"file {str(path)!r}, line {number}: {len(cells):,} keys in {rows:,} lines "
                    f"make more than {MAX_CELLS:,} cells; keys that name things are no columns."
                )
            if report is not None and rows % EVERY == 0:
                report("reading, megabytes", file.buffer.tell() / MEGABYTE, None)
    if not rows:
        raise FileFormatError(f"file {str(path)!r} is empty; one JSON object a line is needed.")
    for column in cells.values():
        column.extend([None] * (rows - len(column)))
    return typed_columns(cells)


def _record(line: str, number: int, path: Path) -> dict[str, Any]:
    where = f"file {str(path)!r}, line {number}"
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        words = getattr(error, "msg", None) or type(error).__name__
        raise FileFormatError(
            f"{where} is no JSON ({words}); one object a line is needed, such as "
            '{"age": 41, "sex": "male"}.'
        ) from None
    if not isinstance(record, dict):
        raise FileFormatError(
            f"{where} is a JSON {type(record).__name__}; one object a line is needed, such as "
            '{"age": 41, "sex": "male"}.'
        )
    if "" in record:
        raise FileFormatError(f"{where} has an empty key; each column needs a name.")
    return record
