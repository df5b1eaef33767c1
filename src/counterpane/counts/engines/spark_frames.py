"""What a Spark DataFrame holds: the Arrow types of its columns, or plain parquet files."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from counterpane.counts.engines.arrow_types import ColumnTypes, arrow, family
from counterpane.counts.engines.file_readers import FileReader, open_files
from counterpane.errors import CounterpaneError, DataError

PARQUET = "org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat"
_WHOLE = ("tinyint", "smallint", "int", "bigint")


def column_types(frame: Any) -> ColumnTypes:
    """The Arrow types that the columns of a DataFrame come as."""
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
        except Exception:  # of a kind that has no Arrow type: refused if it is asked for
            types[field.name] = arrow("lib").binary()
    return ColumnTypes(types, what="the DataFrame")


def files_of(frame: Any) -> FileReader | None:
    """The parquet files whose rows a DataFrame is exactly; None where that is not certain.

    It is if the plan is one read, below nothing but a choice of columns, if all files are of this
    file system and hold its columns with the same values, and if they have as many rows. What is
    cached already is better taken from there.
    """
    if frame.isStreaming or not _is_plain_read(frame._jdf.queryExecution().analyzed()):
        return None
    paths = frame.inputFiles()
    places = [Path(unquote(urlparse(path).path)) for path in paths]
    if not paths or not all(path.startswith("file:/") for path in paths):
        return None
    try:
        reader = open_files(sorted(places))
    except CounterpaneError:  # Spark fills what some files do not have
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
    types = arrow("types")
    value = stored.value_type if types.is_dictionary(stored) else stored
    if kind == "string":
        return family(value) == "text"
    if kind in _WHOLE:
        return bool(types.is_integer(value))
    floats = {"float": types.is_float32, "double": types.is_float64, "boolean": types.is_boolean}
    return kind in floats and bool(floats[kind](value))
