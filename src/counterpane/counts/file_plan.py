"""The cost of a fit to files that are not read yet: their first rows stand for them."""

from __future__ import annotations

import importlib
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

from counterpane.counts.engines.arrow import DEFAULT_MEMORY, FileSource
from counterpane.counts.engines.arrow_cells import pyarrow_module
from counterpane.counts.engines.file_readers import FileReader, Paths, bytes_of, open_files
from counterpane.counts.engines.packed_rows import packed_bytes
from counterpane.counts.rehearsal import SAMPLE_ROWS, ScanPlan, rehearse
from counterpane.data.table import Table

UNPACKED = 5  # bytes of text for a byte of its gzipped file, about


def plan_files(
    paths: Paths, learner: Any, target: str | None = None, *, delimiter: str | None = None,
    classes: bool = False, **options: Any,
) -> ScanPlan:  # fmt: skip
    """What `FileSource(paths)` and a fit of `learner` to it will cost; one block of rows is read.

    `target` is that of the cuts; with `classes` it is also the class of the learner.
    """
    files = open_files(paths, delimiter=delimiter)
    with closing(files.blocks(list(files.types))) as blocks:
        first = importlib.import_module("pyarrow").table(next(blocks), names=list(files.types))
    with tempfile.TemporaryDirectory(prefix="counterpane-") as folder:
        if files.texts:
            path = Path(folder, "rows.csv")
            pyarrow_module("csv").write_csv(first, path)
            each = path.stat().st_size / first.num_rows
        else:
            path = Path(folder, "rows.parquet")
            pyarrow_module("parquet").write_table(first, path)
            each = max(first.nbytes / first.num_rows, 1)
        known: Any = {} if target is None else {"target": target}
        sample = FileSource(path, engine="pyarrow", **known, **options)
        return rehearse(PlannedFiles(files, sample, each), learner, target if classes else None)


class PlannedFiles:
    """Files that nobody has read yet, as `rehearse` takes them."""

    def __init__(self, files: FileReader, sample: FileSource, row_bytes: float) -> None:
        self._sample = sample
        self.schema, self.has_missing = sample.schema, sample.has_missing
        self.scan_bytes = bytes_of(files)
        groups = [files.groups(path) for path in files.paths]
        if None not in groups:
            self.n_rows = sum(sum(group or ()) for group in groups)
        else:
            sizes = [path.stat().st_size * (UNPACKED if path.suffix.lower() == ".gz" else 1)
                     for path in files.paths]  # fmt: skip
            self.n_rows = max(round(sum(sizes) / row_bytes), sample.n_rows)
        self.scan_seconds = sample.scan_seconds * self.n_rows / sample.n_rows

    def head(self, rows: int) -> Table:
        """The first rows."""
        return self._sample.head(min(rows, SAMPLE_ROWS))

    def scans_of(self, passes: int, before: int | None) -> int:
        """The scans that find states and cuts, and those of the passes."""
        size = packed_bytes(self._sample.counted_cards, self.n_rows, weighted=False)
        packs = size <= DEFAULT_MEMORY // 2
        return self._sample.n_scans + (min(passes, 1) if packs else passes)
