"""Counting and row filling, beside numpy's bincount and a Gram matrix. One thread unless said."""

from __future__ import annotations

import os
import sys
import time
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).parents[1]))
from counterpane.counts import MemoryCounts
from counterpane.counts.layout import lay_out_counts
from counterpane.data import Schema, Table
from counterpane.graphs.bits import mask
from counterpane.scores import BIC, score_families
from counterpane.scores.row_cache import RowCache
from counterpane.storage import load
from harness import publish, seconds

rng = np.random.default_rng(0)


def random_table(cards: list[int], rows: int) -> Table:
    codes = [rng.integers(0, r, rows, dtype=np.uint8) for r in cards]
    return Table(Schema.from_cards(cards), np.array(codes))


def forget(source: MemoryCounts) -> None:
    """Drop what the planner remembers, so that every run counts; packed bits stay."""
    source._cached.clear()
    source._cached_cells = 0
    source._compressed, source._compressed_columns = None, ()


def batch_of_triples() -> list[dict[str, Any]]:
    """200 three-variable tables over 10M rows × 20 columns of 2–5 states."""
    rows, n_tables = 10_000_000, 200
    table = random_table([2, 3, 4, 5] * 5, rows)
    triples = list(combinations(range(20), 3))
    chosen = [triples[i] for i in rng.choice(len(triples), n_tables, replace=False)]
    one, two = MemoryCounts(table), MemoryCounts(table, n_jobs=2)
    began = time.process_time()
    one.counts(chosen)
    cold = time.process_time() - began
    two.counts(chosen)
    warm = seconds(lambda: one.counts(chosen), before=lambda: forget(one))
    cards = table.schema.cards

    def bincount(scope: tuple[int, ...]) -> float:
        cells = np.zeros(rows, dtype=np.int64)
        for column in scope:
            cells = cells * cards[column] + table.codes[column]
        size = int(np.prod(cards[list(scope)]))
        return seconds(lambda: np.bincount(cells, minlength=size), repeat=2)

    peer = float(np.mean([bincount(scope) for scope in chosen[:10]]))
    wall = [
        seconds(lambda s=s: s.counts(chosen), clock=time.perf_counter, before=lambda s=s: forget(s))
        for s in (one, two)
    ]
    per = 1e9 / rows / n_tables
    return [
        {"what": "1  200 tables, 10M rows", "value": warm * per, "unit": "ns/row/table",
         "limit": 0.6},
        {"what": "1  the same, with packing the bit sets", "value": cold * per,
         "unit": "ns/row/table"},
        {"what": "1  faster than numpy.bincount on ready codes", "value": peer / (warm / n_tables),
         "unit": "×", "limit": 4, "sign": "≥"},
        {"what": "5  two threads against one, wall time", "value": wall[0] / wall[1], "unit": "×",
         "limit": 1.6, "sign": "≥"},
    ]  # fmt: skip


def all_pairs() -> list[dict[str, Any]]:
    """All pairs of 1M × 500 binary columns, against a one-thread float32 Gram matrix."""
    ones = rng.random((500, 1_000_000), dtype=np.float32) < 0.35
    source = MemoryCounts(Table(Schema.from_cards([2] * 500), ones.astype(np.uint8)))
    packing = seconds(lambda: source.bits.pack(range(500)), repeat=1)
    counted = source.pair_counts()
    ours = seconds(source.pair_counts, repeat=3)
    matrix = ones.astype(np.float32)
    with threadpool_limits(1):
        gram = matrix @ matrix.T
        peer = seconds(lambda: matrix @ matrix.T, repeat=2)
    upper = np.triu_indices(500, 1)
    assert (counted.counts[1::2, 1::2][upper] == gram[upper]).all()
    return [
        {"what": "2  all pairs, 1M × 500 binary, bit sets packed", "value": ours, "unit": "s"},
        {"what": "2  packing them, once", "value": packing, "unit": "s"},
        {"what": "2  float32 Gram matrix, one thread", "value": peer, "unit": "s"},
        {"what": "2  faster than the Gram matrix", "value": peer / ours, "unit": "×",
         "limit": 8, "sign": "≥"},
        {"what": "2  the same with packing", "value": peer / (ours + packing), "unit": "×"},
    ]  # fmt: skip


def rows_and_families() -> list[dict[str, Any]]:
    """Rows of the cache on ALARM, a batch of scored families, and the price of one call."""
    alarm, name = alarm_table()
    cache = RowCache(MemoryCounts(alarm), BIC())
    draws = [rng.permutation(alarm.n_columns) for _ in range(400)]
    asked = [(int(d[0]), mask(alarm.n_columns, d[1:3].tolist())) for d in draws]
    cache.fetch(*asked[0])
    times = []
    for child, parents in asked[1:]:
        began = time.perf_counter()
        cache.fetch(child, parents)
        times.append(time.perf_counter() - began)
    small = MemoryCounts(alarm.take(np.arange(1000)))
    families = [(int(d[0]), d[1:3].tolist()) for d in (rng.permutation(37) for _ in range(1000))]
    score_families(BIC(), small, families)
    batch = seconds(lambda: score_families(BIC(), small, families), repeat=20)
    scope = np.argsort(alarm.schema.cards, kind="stable")[:3].tolist()
    call = seconds(lambda: [small.counts([scope]) for _ in range(1000)]) / 1000
    layout, first = lay_out_counts([scope], small.schema, small.counted_cards), np.array([0])
    out = np.zeros(layout.n_cells, dtype=np.int64)
    kernel = small.bits.count
    bare = seconds(lambda: [kernel(layout, first, 0, 1000, out) for _ in range(1000)]) / 1000
    return [
        {"what": f"3  one row: 36 toggles of a two-parent family, {name}, mean",
         "value": float(np.mean(times)) * 1e6, "unit": "µs", "limit": 150},
        {"what": "3  the same, slowest of 399", "value": max(times) * 1e6, "unit": "µs"},
        {"what": "3  1,000 three-variable families at 1,000 rows, counts + BIC",
         "value": batch * 1e3, "unit": "ms", "limit": 5},
        {"what": "4  one counts call for one table, beyond its kernel",
         "value": (call - bare) * 1e6, "unit": "µs", "limit": 30},
    ]  # fmt: skip


def alarm_table() -> tuple[Table, str]:
    """20,000 rows of ALARM where the benchmark data is, else random ones of like states."""
    if folder := os.environ.get("COUNTERPANE_DATA"):
        network = load(Path(folder) / "networks" / "alarm.bif.gz")
        return network.sample(20_000, random_state=0), "ALARM 20,000"
    return random_table([2] * 13 + [3] * 17 + [4] * 7, 20_000), "37 × 20,000 random"


if __name__ == "__main__":
    publish("counts", batch_of_triples() + all_pairs() + rows_and_families())
