"""`read`: a table of data that fits into memory, a source of counts of data that may not."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping, Sequence
from glob import has_magic
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from counterpane.checks import (
    BOOLEAN,
    CHOICE,
    INTEGER,
    ITERABLE,
    MAPPING,
    NONE,
    STRING,
    accepts,
    instance_of,
)
from counterpane.counts.source import CountSource
from counterpane.data.encoding import Unseen
from counterpane.data.reading import read_table
from counterpane.data.remote import is_url
from counterpane.data.schema import Schema
from counterpane.data.schema_inference import Discretize
from counterpane.data.table import Table
from counterpane.disk import as_path
from counterpane.errors import ParameterError, Setting, unknown_name
from counterpane.lazy import lazy
from counterpane.typing import State

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw

    from counterpane.counts import baskets as basket_counts
    from counterpane.counts import blocks
    from counterpane.counts.engines import dask, database, spark, sql
    from counterpane.counts.gpu import source as gpu
    from counterpane.data import baskets, reading, remote
    from counterpane.data.readers import files, streams
else:
    nw = lazy("narwhals.stable.v2")
    blocks = lazy("counterpane.counts.blocks")
    dask = lazy("counterpane.counts.engines.dask")
    database = lazy("counterpane.counts.engines.database")
    sql = lazy("counterpane.counts.engines.sql")
    gpu = lazy("counterpane.counts.gpu.source")
    spark = lazy("counterpane.counts.engines.spark")
    basket_counts = lazy("counterpane.counts.baskets")
    baskets = lazy("counterpane.data.baskets")
    remote = lazy("counterpane.data.remote")
    files = lazy("counterpane.data.readers.files")
    reading = lazy("counterpane.data.reading")
    streams = lazy("counterpane.data.readers.streams")


@accepts(
    schema=instance_of(Schema) | NONE,
    target=STRING | NONE,
    states=MAPPING | NONE,
    unseen=CHOICE,
    max_states=INTEGER,
    n_bins=INTEGER,
    on_unusable=CHOICE | NONE,
    delimiter=STRING | NONE,
    encoding=STRING | NONE,
    decimal=STRING | NONE,
    sheet=STRING | INTEGER | NONE,
    header=BOOLEAN | NONE,
    drop=ITERABLE,
    categorical=ITERABLE,
    device=STRING | INTEGER,
)
def read(
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
    header: bool | None = None,
    drop: Collection[str] = (),
    categorical: Collection[str] = (),
    device: str | int = "cpu",
    **source_options: Any,
) -> Table | CountSource:
    """The table of a file, a frame, an array, or a mapping of columns.

    A path is read by its suffix: .csv, .tsv, .tab, .txt, .json, .jsonl, .arff, .data (Libra's),
    each also with .gz; .xlsx, .parquet or .pq. It may be a URL: s3://, gs://, abfs://, https:// and
    others, with keys from the environment. Data that may not fit into memory is returned as a
    source of counts, which every learner that works from counts takes in place of a table.

    Parameters
    ----------
    source : path, frame, array, mapping, sparse matrix, database connection, or CountSource
        A source is returned as it is. A scipy matrix or a list of sets has baskets; see
        `read_baskets`. A connection needs `table`, the name of a table or view.
    discretize : "auto", "mdl", "quantile", {column: cuts}, an object with `fit`, or None
        How numbers and dates become states. "auto" reads a table as the command does: columns of
        ids, constants and columns of too many states are left out, texts that are numbers or dates
        are read as such, and numbers are cut into intervals: against `target` if it is discrete
        (minimum description length), otherwise into `n_bins` intervals of equal weight, and one for
        each value that many rows share. `Table.notes` lists what was done. Columns that a mapping
        does not name are read as by "auto". The others discretize the columns as they are; None
        refuses numbers that are not states.
    target : str
        The column to cut against.
    states : {column: states}
        The states of columns, in order.
    schema : Schema
        Encodes the rows like an older table.
    weights : str or array
        Row weights, or the name of their column.
    unseen : "error", "missing" or "unknown"
        What a cell is that has none of the states.
    max_states, n_bins : int
        Whole numbers of at most `max_states` values are states as they are.
    on_unusable : "error" or "drop"
        "drop" leaves out, with a warning, columns from which nothing can be learned, also if
        `discretize` is not "auto".
    delimiter, encoding, decimal : str
        Of text files; detected by default.
    sheet : str or int
        The name or the number of a sheet of an Excel file.
    header : bool
        Whether the first row of a text or Excel file has the names of the columns; detected by
        default, with a warning if it seems to hold values.
    drop, categorical : list of str
        Columns to leave out, and columns whose numbers are states.
    device : "cpu", "gpu" or int
        "gpu", or the number of a card, counts the rows on an NVIDIA card: see `GpuCounts`.
    **source_options
        The options of the source of counts, if one is returned.

    Returns
    -------
    Table or CountSource
        A `FileSource` for a folder, a pattern such as `"visits/*.parquet"`, a list of files, an
        Arrow file, any file of half a gigabyte or more, and a parquet file of long runs whose table
        would be as large; a `FrameSource` for a lazy frame of
        polars, DuckDB or Ibis, a pyarrow dataset, a function that opens a stream of Arrow batches,
        a Delta or Iceberg table, also for the folder of a Delta table, and a table of a DuckDB
        connection; a `SqlSource` for a table of another database; a `DaskSource` or
        `SparkSource` for a frame of Dask or Spark, whose numbers need explicit cuts; a
        `BasketCounts` for baskets; otherwise a table.

    Examples
    --------
    >>> table = read({"age": [31.5, 18.25, 44.0, 27.75], "wet": [False, True, True, False]})
    >>> table.schema["age"].states
    ('<27.75', '[27.75, 31.5)', '[31.5, 44)', '≥44')
    >>> table.notes
    ['Cut into intervals: age.']
    """
    options: Any = {"discretize": discretize, "target": target, "states": states, "schema": schema,
               "weights": weights, "unseen": unseen, "max_states": max_states, "n_bins": n_bins,
               "on_unusable": on_unusable, "delimiter": delimiter, "encoding": encoding,
               "decimal": decimal, "sheet": sheet, "header": header, "drop": drop,
               "categorical": categorical}  # fmt: skip
    changed = source_options | {
        name: value for name, value in options.items() if not _is_default(name, value)
    }
    if device != "cpu":
        return on_card(read(source, **options, **source_options), device)
    if isinstance(source, CountSource) and not changed:
        return source
    if baskets.is_baskets(source):
        return basket_counts.BasketCounts(baskets.read_baskets(source, schema=schema))
    if hasattr(type(source), "cursor"):
        return _count_table(source, {"discretize": discretize} | changed)
    found = _source_of(source)
    if found is None:
        for name in source_options:
            raise unknown_name("option", name, options)
        return read_table(source, **options)
    source_type, rows = found
    counts: CountSource = source_type(
        rows, **_allowed(source_type, {"discretize": discretize} | changed)
    )
    return counts


def on_card(rows: Table | CountSource, device: str | int) -> gpu.GpuCounts:
    """The rows counted on a card, "gpu" or its number; those of a source are read into memory."""
    if device != "gpu" and (isinstance(device, bool) or not isinstance(device, int)):
        raise ParameterError(
            Setting("device", device), "; 'cpu', 'gpu' or the number of a card is allowed."
        )
    table = rows if isinstance(rows, Table) else rows.rows()
    return gpu.GpuCounts(table, device=0 if device == "gpu" else int(device))


READ_DEFAULTS = {
    name: parameter.default
    for name, parameter in inspect.signature(read).parameters.items()
    if parameter.kind is parameter.KEYWORD_ONLY
}


def _is_default(name: str, value: Any) -> bool:
    default = READ_DEFAULTS[name]
    plain = isinstance(value, str | int | list | tuple | set | frozenset) and value is not False
    return value is default or (plain and (value == default or not (value or default)))


def read_blocks(source: Any, target: Any) -> CountSource | None:
    """A source of counts of data that is not read into memory, with cuts for the class `target`.

    None for all that is.
    """
    if _source_of(source) is None:
        return None
    counts = read(source, target=target if isinstance(target, str) else None)
    assert isinstance(counts, CountSource)
    return counts


def _count_table(connection: Any, options: dict[str, Any]) -> CountSource:
    """A source of a table of a database; DuckDB is in this process, and hands over its rows."""
    table = options.pop("table", None)
    if table is None:
        raise ParameterError(
            "table= is needed with a database connection: the name of a table or view, or "
            "(schema, name)."
        )
    relation = database.relation_of(connection, table)
    if relation is not None:
        return blocks.FrameSource(relation, **_allowed(blocks.FrameSource, options))
    return sql.SqlSource(connection, table, **_allowed(sql.SqlSource, options))


def _source_of(source: Any) -> tuple[Any, Any] | None:
    """The class that counts data which is not read into memory, and what it takes; else None."""
    if is_large(source):
        delta = _is_delta(source)
        return (
            (blocks.FrameSource, streams.open_delta(source))
            if delta
            else (blocks.FileSource, source)
        )
    if isinstance(source, Table | CountSource | Mapping | list | np.ndarray | str | PathLike):
        return None  # no frame; narwhals is not loaded for it
    if streams.streams_arrow(source):
        return blocks.FrameSource, source
    try:
        frame = nw.from_native(source, pass_through=True)
    except nw.exceptions.DuplicateError:  # read_table has a clearer message
        return None
    return (source_class(frame), frame.to_native()) if isinstance(frame, nw.LazyFrame) else None


def source_class(frame: nw.LazyFrame[Any]) -> Any:
    """The class of sources that counts a lazy frame."""
    engine = frame.implementation
    if engine.is_dask():
        return dask.DaskSource
    if engine.is_pyspark() or engine.is_pyspark_connect():
        return spark.SparkSource
    return blocks.FrameSource


def _allowed(source_type: Any, options: dict[str, Any]) -> dict[str, Any]:
    """The options without those that are None; one that the source does not have is an error."""
    parameters = inspect.signature(source_type).parameters.items()
    names = source_type.option_names | {n for n, p in parameters if p.kind is p.KEYWORD_ONLY}
    used = {n: value for n, value in options.items() if value is not None or n == "discretize"}
    for name in sorted(used.keys() - names):
        raise ParameterError(
            f"the option {name!r} is not known for rows that are read block by block; allowed: "
            f"{', '.join(sorted(names))}."
        )
    return used


def is_large(source: Any) -> bool:
    """Whether `source` names files that are read block by block."""
    if not isinstance(source, str | PathLike):
        several = isinstance(source, Sequence) and len(source) > 0
        return several and all(isinstance(s, str | PathLike) for s in source)
    if is_url(source):
        paths, _ = remote.list_remote(str(source))
        alone = [path for path in paths if path.url == remote.without_secrets(str(source))]
        return not alone or reading.is_large_file(alone[0])
    path = as_path(source)
    if not path.is_file():
        return path.is_dir() or has_magic(str(path))
    return reading.is_large_file(path)


def _is_delta(source: Any) -> bool:
    """Whether `source` names the folder of a Delta table."""
    if is_url(source):
        root, pattern = remote.open_store(str(source))
        with remote.remote_errors(root.url):
            log = root.files.get_file_info([f"{root.key}/{files.DELTA_LOG}"])[0]
        return not pattern and log.type.name == "Directory"
    return isinstance(source, str | PathLike) and (as_path(source) / files.DELTA_LOG).is_dir()
