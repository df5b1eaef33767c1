"""`read`: a table of data that fits into memory, a source of counts of data that may not."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping, Sequence
from glob import has_magic
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from counterpane.boundary import public
from counterpane.counts.baskets import BasketCounts
from counterpane.counts.engines.arrow import ArrowSource, FileSource, FrameSource
from counterpane.counts.engines.dask import DaskSource
from counterpane.counts.engines.file_readers import DELTA_LOG, is_large_file
from counterpane.counts.engines.gpu import GpuCounts
from counterpane.counts.engines.partitioned import PartitionedSource
from counterpane.counts.engines.spark import SparkSource
from counterpane.counts.engines.table_readers import open_delta, streams_arrow
from counterpane.counts.source import CountSource
from counterpane.data.baskets import is_baskets, read_baskets
from counterpane.data.encoder import Unseen
from counterpane.data.files import read_table
from counterpane.data.remote import (
    is_url,
    list_remote,
    open_store,
    remote_errors,
    without_secrets,
)
from counterpane.data.schema import Schema
from counterpane.data.schema_inference import Discretize
from counterpane.data.table import Table
from counterpane.disk import as_path
from counterpane.errors import ParameterError, Setting, unknown_name
from counterpane.lazy import lazy
from counterpane.typing import State

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw
else:
    nw = lazy("narwhals.stable.v2")


@public
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
    source : path, frame, array, mapping, sparse matrix, or CountSource
        A source is returned as it is. A scipy matrix or a list of sets has baskets; see
        `read_baskets`.
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
        and a Delta or Iceberg table, also for the folder of a Delta table; a `DaskSource` or
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
    if is_baskets(source):
        return BasketCounts(read_baskets(source, schema=schema))
    if is_large(source):
        if is_delta(source):
            return FrameSource(open_delta(source), **_allowed(FrameSource, _cut(changed)))
        return FileSource(source, **_allowed(FileSource, _cut(changed)))
    if streams_arrow(source):
        return FrameSource(source, **_allowed(FrameSource, _cut(changed)))
    frame = _lazy(source)
    if frame is None:
        for name in source_options:
            raise unknown_name("option", name, options)
        return read_table(source, **options)
    source_type = source_class(frame)
    if source_type is FrameSource:
        changed = _cut(changed)
    counts: CountSource = source_type(frame.to_native(), **_allowed(source_type, changed))
    return counts


def on_card(rows: Table | CountSource, device: str | int) -> GpuCounts:
    """The rows counted on a card, "gpu" or its number; those of a source are read into memory."""
    if device != "gpu" and (isinstance(device, bool) or not isinstance(device, int)):
        raise ParameterError(
            Setting("device", device), "; 'cpu', 'gpu' or the number of a card is allowed."
        )
    table = rows if isinstance(rows, Table) else rows.rows()
    return GpuCounts(table, device=0 if device == "gpu" else int(device))


READ_DEFAULTS = {
    name: parameter.default
    for name, parameter in inspect.signature(read).parameters.items()
    if parameter.kind is parameter.KEYWORD_ONLY
}


def _is_default(name: str, value: Any) -> bool:
    default = READ_DEFAULTS[name]
    plain = isinstance(value, str | int | list | tuple | set | frozenset) and value is not False
    return value is default or (plain and (value == default or not (value or default)))


def _cut(options: dict[str, Any]) -> dict[str, Any]:
    """Options in which "auto" is replaced by the rule for data that is read block by block."""
    if "discretize" in options or options.get("schema") is not None:
        return options
    return options | {"discretize": "quantile" if options.get("target") is None else "mdl"}


def read_blocks(source: Any, target: Any) -> CountSource | None:
    """A source of counts of data that is not read into memory, with cuts for the class `target`.

    None for all that is. A cluster's frames are cut by their owner.
    """
    by_blocks = is_large(source) or streams_arrow(source)
    frame = None if by_blocks else _lazy(source)
    if frame is None and not by_blocks:
        return None
    cut = frame is None or source_class(frame) is FrameSource
    options: Any = (
        {"target": target, "discretize": "mdl"} if cut and isinstance(target, str) else {}
    )
    counts = read(source, **options)
    assert isinstance(counts, CountSource)
    return counts


def source_class(frame: nw.LazyFrame[Any]) -> Any:
    """The class of sources that counts a lazy frame."""
    engine = frame.implementation
    if engine.is_dask():
        return DaskSource
    if engine.is_pyspark() or engine.is_pyspark_connect():
        return SparkSource
    return FrameSource


def _lazy(source: Any) -> nw.LazyFrame[Any] | None:
    if isinstance(source, Table | CountSource | Mapping | list | np.ndarray | str | PathLike):
        return None  # no frame; narwhals is not loaded for it
    try:
        frame = nw.from_native(source, pass_through=True)
    except nw.exceptions.DuplicateError:  # read_table has a clearer message
        return None
    return frame if isinstance(frame, nw.LazyFrame) else None


def _allowed(
    source_type: type[ArrowSource | PartitionedSource], options: dict[str, Any]
) -> dict[str, Any]:
    """The options without those that are None; one that the source does not have is an error."""
    parameters = inspect.signature(source_type).parameters.items()
    names = source_type.option_names | {n for n, p in parameters if p.kind is p.KEYWORD_ONLY}
    used = {name: value for name, value in options.items() if value is not None}
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
        paths, _ = list_remote(str(source))
        alone = [path for path in paths if path.url == without_secrets(str(source))]
        return not alone or is_large_file(alone[0])
    path = as_path(source)
    if not path.is_file():
        return path.is_dir() or has_magic(str(path))
    return is_large_file(path)


def is_delta(source: Any) -> bool:
    """Whether `source` names the folder of a Delta table."""
    if is_url(source):
        root, pattern = open_store(str(source))
        with remote_errors(root.url):
            log = root.files.get_file_info([f"{root.key}/{DELTA_LOG}"])[0]
        return not pattern and log.type.name == "Directory"
    return isinstance(source, str | PathLike) and (as_path(source) / DELTA_LOG).is_dir()
