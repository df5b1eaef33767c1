"""Spark DataFrames: the types of their columns, their parquet files, and rows packed into words."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlparse

import numpy as np

from counterpane.counts.engines.arrow_cells import (
    Block,
    ColumnTypes,
    RowEncoder,
    family,
    pyarrow_module,
)
from counterpane.counts.engines.file_readers import FileReader, open_files
from counterpane.data.schema import Variable
from counterpane.errors import CounterpaneError, DataError, StateError
from counterpane.typing import Codes

PARQUET = "org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat"
_WHOLE = ("tinyint", "smallint", "int", "bigint")


def column_types(frame: Any) -> ColumnTypes:
    """The Arrow types of the columns of a DataFrame."""
    if frame.isStreaming:
        raise DataError("a streaming DataFrame never ends; write its rows down first.")
    twice = [name for name in frame.columns if frame.columns.count(name) > 1]
    if twice:
        raise DataError(f"the column name {twice[0]!r} occurs twice; rename or drop one.")
    as_arrow = importlib.import_module("pyspark.sql.pandas.types").to_arrow_type
    types = {}
    for field in frame.schema.fields:
        try:
            types[field.name] = as_arrow(field.dataType)
        except Exception:  # without an Arrow type: an error only if the column is used
            types[field.name] = pyarrow_module("lib").binary()
    return ColumnTypes(types, what="the DataFrame")


def files_of(frame: Any) -> FileReader | None:
    """The parquet files that hold exactly the rows of a DataFrame; None if that is not certain.

    It is if the plan is one read, below nothing but a choice of columns, if all files are of this
    file system and hold its columns with the same values, and if they have as many rows. What is
    cached already is better taken from there. The files of a Connect server are not those here.
    """
    if not hasattr(frame, "_jdf") or frame.isStreaming:
        return None
    if not _is_plain_read(frame._jdf.queryExecution().analyzed()):
        return None
    paths = frame.inputFiles()
    places = [Path(unquote(urlparse(path).path)) for path in paths]
    if not paths or not all(path.startswith("file:/") for path in paths):
        return None
    try:
        reader = open_files(sorted(places))
    except CounterpaneError:  # Spark fills columns that some files do not have
        return None
    for field in frame.schema.fields:
        kind = reader.types.get(field.name)
        if kind is None or not _same_values(field.dataType.simpleString(), kind):
            return None
    rows = sum(sum(reader.groups(path) or []) for path in reader.paths)
    if rows != frame.count():  # a file may be named twice
        return None
    reader.types = {name: reader.types[name] for name in frame.columns}
    return reader


def _is_plain_read(plan: Any) -> bool:
    """Whether a plan, as Spark's JVM holds it, takes some columns of parquet files."""
    kind = plan.getClass().getSimpleName()
    if kind == "SubqueryAlias":
        return _is_plain_read(plan.child())
    if kind == "Project":
        chosen = plan.projectList()
        plain = all(chosen.apply(i).getClass().getSimpleName() == "AttributeReference"
                    for i in range(chosen.size()))  # fmt: skip
        return plain and _is_plain_read(plan.child())
    if kind != "LogicalRelation":
        return False
    relation = plan.relation()
    return bool(
        relation.getClass().getSimpleName() == "HadoopFsRelation"
        and relation.fileFormat().getClass().getName() == PARQUET
        and relation.partitionSchema().length() == 0
    )


def _same_values(kind: str, stored: Any) -> bool:
    """Whether Spark reads a stored Arrow type as we do."""
    types = pyarrow_module("types")
    value = stored.value_type if types.is_dictionary(stored) else stored
    if kind == "string":
        return family(value) == "text"
    if kind in _WHOLE:
        return bool(types.is_integer(value))
    floats = {"float": types.is_float32, "double": types.is_float64, "boolean": types.is_boolean}
    return kind in floats and bool(floats[kind](value))


LISTED = 32  # states up to which SQL finds the code; other columns are sent as they are
WORD_BITS = 63


class Place(NamedTuple):
    """Where a column is among the arrays of a block: as it is, or some bits of a word."""

    array: int
    shift: int = 0
    bits: int = 0


class PackedEncoder(RowEncoder):
    """An encoder of blocks whose arrays are words of codes, then columns as they are, then weights.

    `places` has the place of each column in use.
    """

    def __init__(self, encoder: RowEncoder, places: dict[int, Place]) -> None:
        self.__dict__.update(encoder.__dict__)
        self.places = places

    def encode(self, block: Block, columns: Sequence[int], out: Codes | None = None) -> Codes:
        if out is None:
            out = np.empty((len(columns), len(block[0])), dtype=self._dtype)
        for codes, v in zip(out, columns, strict=True):
            place = self.places[v]
            values = block[place.array]
            if place.bits:
                self._unpack(values.to_numpy(), v, place, codes)
            else:
                super().encode([values], [v], codes[None])
        return out

    def _unpack(self, words: Any, v: int, place: Place, out: Codes) -> None:
        cells = ((words >> place.shift) & (2**place.bits - 1)).astype(out.dtype)
        np.subtract(cells, 1, out=out)
        card = self.schema.cards[v]
        if out.size and out.max() >= card + self.has_missing[v]:  # 0 - 1 is the largest code
            raise StateError(
                f"column {self.schema.names[v]!r} has missing cells or values that it had not when "
                "the source was made; make it again, from a DataFrame that gives the same rows "
                "each time, such as one that is cached."
            )


def pack_columns(
    frame: Any, encoder: RowEncoder, columns: Sequence[int]
) -> tuple[list[Any], dict[int, Place]]:
    """The expressions of words and columns that hold the codes of `columns`, and where each is."""
    F = functions_of(frame)
    kinds = {field.name: field.dataType.simpleString() for field in frame.schema.fields}
    words: list[Any] = []
    plain: list[int] = []
    places: dict[int, Place] = {}
    free = 0
    for v in dict.fromkeys(columns):
        variable = encoder.schema[v]
        cell = code_in_sql(F, variable, kinds[variable.name])
        if cell is None:
            plain.append(v)
            continue
        bits = (variable.card + 1).bit_length()
        if bits > free:
            words.append(None)
            free = WORD_BITS
        shift = WORD_BITS - free
        placed = F.shiftleft(cell, shift) if shift else cell
        words[-1] = placed if words[-1] is None else words[-1].bitwiseOR(placed)
        places[v] = Place(len(words) - 1, shift, bits)
        free -= bits
    for v in plain:
        places[v] = Place(len(words))
        words.append(column_of(F, encoder.schema.names[v]))
    return words, places


def code_in_sql(F: Any, variable: Variable, kind: str) -> Any | None:
    """code + 1 of a column as a Spark expression; None if only `Variable.find` can find it.

    That is so for cuts, for many states, and where values meet states of another type.
    """
    states, column = variable.states, column_of(F, variable.name)
    types = {type(state) for state in states}
    if variable.cuts is not None or len(states) > LISTED:
        return None
    if kind == "string" and types == {str}:
        if any(str(s).lower() in ("true", "false") for s in states):  # these match in any case
            return None
        listed = list(map(F.lit, states))
    elif kind == "boolean" and types == {bool}:
        listed = list(map(F.lit, states))
    elif kind in ("tinyint", "smallint", "int", "bigint") and types == {int}:
        if any(not -(2**63) <= int(s or 0) < 2**63 for s in states):
            return None
        column = column.cast("bigint")
        first, last = int(states[0] or 0), int(states[-1] or 0)
        if states == tuple(range(first, last + 1)):  # by arithmetic, without a search
            code = F.when(column.between(first, last), column - F.lit(first) + 1).otherwise(0)
            return F.when(column.isNull(), variable.card + 1).otherwise(code).cast("bigint")
        listed = [F.lit(s).cast("bigint") for s in states]
    elif kind in ("float", "double") and types <= {int, float}:
        column = column.cast("double")
        column = F.when(~F.isnan(column), column)
        listed = [F.lit(float(s or 0)) for s in states]
    else:
        return None
    position = F.array_position(F.array(*listed), column)
    return F.coalesce(position, F.lit(variable.card + 1).cast("bigint"))


def column_of(F: Any, name: str) -> Any:
    """A column by its name, which may contain any characters; `F` are the functions of a frame."""
    return F.col("`" + name.replace("`", "``") + "`")


def functions_of(frame: Any) -> Any:
    """The functions that make columns of a DataFrame, which Spark Connect has of its own."""
    connect = "" if hasattr(frame, "_jdf") else "connect."
    return importlib.import_module(f"pyspark.sql.{connect}functions")
