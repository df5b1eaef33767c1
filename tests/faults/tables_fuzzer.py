"""Random frames of odd cells: encoded alike by every way in, and learned from without a fault."""

from __future__ import annotations

import datetime
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

import counterpane as cp
from counterpane.counts.blocks import FileSource
from counterpane.errors import CounterpaneError
from counterpane.learners.registry import find_learner
from faults.outcomes import judge

CLOSE = 1e-8  # of sums of probabilities to 1
TEXTS = ["", " ", "a", "A", "ä", "a\u0301", "NA", "null", "(missing)", "0", "-1", "1e5",
         "\x1b[31m", "true", "=1+1", "😀", "x" * 300, "a,b", 'q"', "line\nbreak", "\u202eabc",
         "2020-01-01"]  # fmt: skip
NUMBERS = [0, -0.0, 1, -1, 0.1, 1e-320, 1e300, -1e300, np.inf, -np.inf, np.nan, 2.0**53, 1e17, 3.5]
NAMES = ["a", "A", " a", "class", "x y", "ü", "0", "-", "count", "weight", "\t", "x" * 200]
METHODS = ("chow-liu", "structure-search", "hill-climb", "naive-bayes", "interaction", "tan",
           "dn-tree", "hybrid", "gsimn", "boosted-tables", "markov", "pairwise")  # fmt: skip


def make_column(rng: np.random.Generator, rows: int) -> Any:
    """A column of one of many kinds, with missing cells."""
    kind = int(rng.integers(9))
    if kind == 0:
        values = rng.choice(np.array(TEXTS, dtype=object), rows)
    elif kind == 1:
        values = rng.choice(np.array(NUMBERS), rows)
    elif kind == 2:
        values = rng.normal(0, 10.0 ** rng.integers(-5, 6), rows).astype(np.float32)
    elif kind == 3:
        values = rng.integers(-(2**62), 2**62, rows)
    elif kind == 4:
        values = rng.integers(0, 3, rows).astype(rng.choice(["u1", "i2", "i8"]))
    elif kind == 5:
        values = rng.random(rows) < 0.5
    elif kind == 6:
        days = rng.integers(-(10**5), 10**5, rows)
        values = np.array([datetime.date(1970, 1, 1) + datetime.timedelta(int(d)) for d in days])
        values = values.astype("M8[us]")
    elif kind == 7:
        values = pd.Categorical(rng.choice(["lo", "mid", "hi"], rows), ["lo", "mid", "hi", "top"])
    else:
        values = np.full(rows, rng.choice(["one", 1.5], 1)[0])
    column = pd.Series(values)
    if rng.random() < 0.4:
        column = column.mask(rng.random(rows) < rng.choice([0.05, 0.5, 1.0]))
    return column


def make_frame(rng: np.random.Generator) -> pd.DataFrame:
    """A frame of a few odd columns and a plain one, y."""
    rows = int(rng.choice([1, 2, 3, 20, 60]))
    names = rng.permutation(NAMES)[: rng.integers(1, 4)]
    columns = {str(name): make_column(rng, rows) for name in names}
    return pd.DataFrame(columns | {"y": rng.choice(["no", "yes"], rows)})


def fault_of(rng: np.random.Generator) -> str | None:
    """What is wrong with the ways in, with what is learned, or with its predictions."""
    frame = make_frame(rng)
    rule = str(rng.choice(["quantile", "mdl"]))
    table = cp.Table.from_frame(frame, discretize=rule, target="y")
    same = cp.Table.from_frame(frame, schema=table.schema)
    if (same.codes != table.codes).any():
        return f"the schema of {frame.dtypes.to_dict()} encodes its own rows in another way"
    fault = _other_ways(frame, table, rule)
    if fault is not None:
        return fault
    entry = find_learner(str(rng.choice(METHODS)))
    learner = entry.make(**({"time_limit": 2.0} if entry.takes("time_limit") else {}))
    if entry.task == "classifier":
        learner.fit(frame, "y")
        shares = learner.predict_proba(frame)
    else:
        shares = learner.fit(table).model_.query_many("y", table).probabilities
    if not (np.isfinite(shares).all() and (np.abs(shares.sum(axis=1) - 1.0) <= CLOSE).all()):
        return f"{entry.name}: probabilities {shares[:3].tolist()} do not sum to 1"
    return None


def _other_ways(frame: pd.DataFrame, table: cp.Table, rule: str) -> str | None:
    """What another library's frame or a file makes of the same cells, if that is something else."""
    try:
        arrow = pa.Table.from_pandas(frame, preserve_index=False)
    except pa.ArrowException:
        return None  # texts beside numbers
    ways = {
        "Arrow": lambda: cp.Table.from_frame(arrow, discretize=rule, target="y"),
        "polars": lambda: cp.Table.from_frame(pl.from_arrow(arrow), schema=table.schema),
    }
    for name, make in ways.items():
        try:
            other = make()
        except CounterpaneError as error:
            return f"{name} refuses what pandas takes: {error}"
        if _cells(other) != _cells(table):
            return f"{name} makes other cells: {_cells(other)[:3]} and not {_cells(table)[:3]}"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        pq.write_table(arrow, path)
        try:
            source = FileSource(path, discretize=rule, target="y")
        except CounterpaneError:
            return None  # dates must be converted first, for one
        counted = source.distinct(range(len(source.schema)))
        expected = table.distinct()
        if sorted(_weighed(counted), key=repr) != sorted(_weighed(expected), key=repr):
            return f"a file counts {_weighed(counted)[:3]} and not {_weighed(expected)[:3]}"
    return None


def _cells(table: cp.Table) -> list[tuple[Any, ...]]:
    return list(zip(*(table.column(name) for name in table.schema.names), strict=True))


def _weighed(table: cp.Table) -> list[tuple[Any, ...]]:
    assert table.weights is not None
    return list(zip(_cells(table), table.weights.tolist(), strict=True))


def try_once(seed: int) -> str | None:
    """What is wrong with a random frame; None if nothing is."""
    return judge(f"table {seed}", lambda: fault_of(np.random.default_rng([seed, 25])))
