"""Seconds and memory to read a CSV file of a million rows of 20 columns, compared with pandas.

"counterpane" is `cp.read`, "columns" what it does before it discretizes, and "blocks" a pass over
the file whose blocks are forgotten; "pandas" is `read_csv` and `factorize` of each column, and
"pandas-table" `cp.read` of the frame. Each runs in a process of its own.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
import pandas as pd

import counterpane as cp

ROWS = 1_000_000
PART = 100_000  # rows made at one time
WORDS = np.array([f"word {i}" for i in range(40)])


def write_csv(path: Path, rows: int) -> None:
    """A file of 20 columns: integers, reals, words and dates."""
    rng = np.random.default_rng(0)
    for start in range(0, rows, PART):
        n = min(PART, rows - start)
        days = np.datetime64("2020-01-01") + rng.integers(0, 1500, (3, n))
        columns = {f"whole{i}": rng.integers(0, 10 ** (i + 1), n) for i in range(6)}
        columns |= {f"real{i}": rng.normal(50, 10, n).round(4) for i in range(4)}
        columns |= {"price": rng.gamma(2, 300, n).round(2), "share": rng.random(n)}
        columns |= {f"word{i}": rng.choice(WORDS[: 2 + 9 * i], n) for i in range(5)}
        columns |= {f"day{i}": day for i, day in enumerate(days)}
        frame = pd.DataFrame(columns)
        frame.to_csv(path, mode="w" if start == 0 else "a", header=start == 0, index=False)


def read_counterpane(path: Path) -> None:
    cp.read(path)


def read_columns(path: Path) -> None:
    from counterpane.data.reading import read_columns as columns

    columns(path)


def read_blocks(path: Path) -> None:
    from counterpane.data.readers.text import DelimitedText
    from counterpane.data.readers.text_files import FileOptions

    for _ in DelimitedText(path, FileOptions()).blocks():
        pass


def read_pandas(path: Path) -> None:
    frame = pd.read_csv(path)
    for name in frame:
        pd.factorize(frame[name])


def read_pandas_table(path: Path) -> None:
    cp.read(pd.read_csv(path))


READERS = {
    "counterpane": read_counterpane,
    "columns": read_columns,
    "blocks": read_blocks,
    "pandas": read_pandas,
    "pandas-table": read_pandas_table,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--readers", nargs="*", default=list(READERS))
    parser.add_argument("--file", type=Path, help="is made if it is not there")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        start, cpu = perf_counter(), process_time()
        READERS[args.one](args.file)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        wall, cpu = perf_counter() - start, process_time() - cpu
        print(f"{args.one:12s} {wall:7.2f} s {cpu:7.2f} CPU s   peak {peak:5.2f} GB")
        return
    with tempfile.TemporaryDirectory() as folder:
        path = args.file or Path(folder, "table.csv")
        if not path.exists():
            write_csv(path, args.rows)
        print(f"{path.stat().st_size / 1e6:,.0f} MB", flush=True)
        for reader in args.readers:
            subprocess.run([sys.executable, __file__, "--file", path, "--one", reader], check=True)


if __name__ == "__main__":
    main()
