"""Counts of a lazy frame, which its own engine runs, block by block, as often as it is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from counterpane.counts.engines.files import ArrowSource, ScanOptions
from counterpane.counts.engines.frame_readers import open_frame
from counterpane.errors import DataError
from counterpane.lazy import lazy

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw
else:
    nw = lazy("narwhals.stable.v2")


class FrameSource(ArrowSource):
    """Counts of a lazy frame: a polars LazyFrame, a DuckDB relation, an Ibis table.

    The frame is evaluated once to find the states, and again for each call unless its rows are
    packed in memory; `n_scans` counts the evaluations. The frame is never collected as a whole. The
    parameters are those of `FileSource` that describe columns: columns, states, schema, weights,
    discretize, target, max_states, n_bins, max_memory, cache, ctl. The settings of the engine limit
    its memory. The engine finds distinct rows if the rows are not packed.

    Enums of polars and DuckDB keep their order and unobserved states. An engine may return
    the rows in a different order each time: counts are the same, and only the rounding of sums of
    real weights may differ. The data of the frame must not change in the meantime.

    >>> import polars as pl
    >>> frame = pl.LazyFrame({"sex": ["f", "m", "f", "m"], "ill": ["no", "yes", None, "no"]})
    >>> source = FrameSource(frame)
    >>> source.counts([["sex", "ill"]])[0].tolist(), source.n_scans
    ([[1, 0], [1, 1]], 2)
    """

    def __init__(self, frame: Any, **options: Unpack[ScanOptions]) -> None:
        wrapped = nw.from_native(frame, pass_through=True)
        if not isinstance(wrapped, nw.LazyFrame):
            raise DataError(
                f"{type(frame).__name__} is no lazy frame; pass it to counterpane.read, which "
                "chooses how it is counted."
            )
        reader = open_frame(wrapped)
        super().__init__(reader, reader.blocks, reader, **options)
