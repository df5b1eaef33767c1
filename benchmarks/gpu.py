"""Counting and learning on a graphics card beside the processor of the same machine, in one run.

Each part is one line of JSON of `--out`; where `--rivals` is given, the same work is done by
`MemoryCounts` with all cores. Tables are sampled on the card from random or known networks.

    python benchmarks/gpu.py --out results/gpu.jsonl [--parts check products …] [--networks FOLDER]
    python benchmarks/gpu.py --summary LINES… --commit COMMIT --machine WORDS

The second writes `docs/_figures/gpu.json` and the plot `docs/images/gpu-products.svg` from such
lines, on any machine; of a part that was measured twice, the last file counts.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

import counterpane as cp
from counterpane.counts.gpu.cuda import CudaBits, card_text
from counterpane.counts.gpu.source import GpuCounts
from counterpane.evaluate.structure import structural_hamming_distance
from gpu_figures import LIMIT, write_figures

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from reference.gpu_reference import HostBits

try:
    import cupy
except ImportError:  # a summary needs no card
    cupy = None

CORES = os.cpu_count() or 1


def timed(work: Callable[[], Any], repeat: int = 1) -> tuple[Any, float]:
    """The result, and the least wall seconds of `repeat` runs, the card's work included."""
    best = float("inf")
    for _ in range(repeat):
        began = time.perf_counter()
        result = work()
        cupy.cuda.Device().synchronize()
        best = min(best, time.perf_counter() - began)
    return result, best


def random_network(n: int, seed: int, most: int = 3) -> list[tuple[list[int], Any]]:
    """Parents and P(1 | parents) of each of n binary columns, in topological order."""
    rng = np.random.default_rng(seed)
    network = []
    for v in range(n):
        k = min(v, int(rng.choice([0, 1, 1, 2, 2, most])))
        parents = sorted(rng.choice(np.arange(max(0, v - 50), v), k, replace=False).tolist())
        network.append((parents, rng.beta(0.6, 0.6, 2 ** len(parents)).clip(0.02, 0.98)))
    return network


def sample_binary(network: list[tuple[list[int], Any]], rows: int, seed: int) -> cp.Table:
    """Rows of a binary network, drawn on the card."""
    cupy.random.seed(seed)
    codes = np.empty((len(network), rows), dtype=np.uint8)
    window: dict[int, Any] = {}
    for v, (parents, shares) in enumerate(network):
        place = cupy.zeros(rows, dtype=np.int32)
        for p in parents:
            place = 2 * place + window[p]
        drawn = cupy.random.random(rows, dtype=np.float32)
        window[v] = (drawn < cupy.asarray(shares, dtype=np.float32)[place]).astype(np.uint8)
        codes[v] = cupy.asnumpy(window[v])
        window.pop(v - 60, None)
    return cp.Table(cp.Schema.from_cards([2] * len(network)), codes)


def random_binary(n: int, rows: int, seed: int = 0) -> cp.Table:
    """Independent columns."""
    cupy.random.seed(seed)
    codes = np.empty((n, rows), dtype=np.uint8)
    for v in range(n):
        codes[v] = cupy.asnumpy((cupy.random.random(rows, dtype=np.float32) < 0.3).astype(np.uint8))
    return cp.Table(cp.Schema.from_cards([2] * n), codes)


def some_columns(rng: np.random.Generator, n: int, most: int) -> Any:
    """Fewer than `most` columns, in order."""
    return np.sort(rng.choice(n, rng.integers(1, min(n, most)), replace=False))


def check(_: Any) -> Iterator[dict[str, Any]]:
    """All operations against the twin on the host."""
    rng = np.random.default_rng(0)
    card, twin = CudaBits(), HostBits()
    for n, rows in ((3, 1), (5, 700), (40, 3000), (150, 5000), (300, 1025)):
        cards = rng.integers(1, 6, n)
        codes = np.array([rng.integers(0, c + (rng.random() < 0.2), rows) for c in cards], np.uint8)
        table = cp.Table(cp.Schema.from_cards(cards.tolist()), codes)
        weights = rng.integers(0, 9, rows) if rows % 2 else None
        if weights is not None:
            table = cp.Table(table.schema, codes, weights)
        sources = [GpuCounts(table, device=d) for d in (card, twin)]
        hosts = cp.MemoryCounts(table)
        subsets = [
            rng.choice(n, rng.integers(1, min(n, 5)), replace=False).tolist() for _ in range(60)
        ]
        batches = [s.counts(subsets) for s in (*sources, hosts)]
        pairs = [s.pair_counts().counts for s in (*sources, hosts)]
        equal = all((b.values == batches[2].values).all() for b in batches[:2])
        equal &= all((p == pairs[2]).all() for p in pairs[:2])
        if not table.has_missing.any():
            scopes = [
                np.sort(rng.choice(n, rng.integers(1, min(n, 4)), replace=False)) for _ in range(30)
            ]
            both = [list(s.state_counts(scopes)) for s in sources]
            equal &= all((a[1].counts == b[1].counts).all() for a, b in zip(*both, strict=True))
        yield {"n": n, "rows": rows, "weights": weights is not None, "equal": bool(equal)}
    for m, n, width in (
        (1, 1, 16),
        (7, 300, 48),
        (33, 129, 160),
        (200, 131, 4096),
        (16, 2000, 16384),
    ):
        a, b = (rng.integers(0, 2**32, (k, width), dtype=np.uint32) for k in (m, n))
        on = cupy.asarray(a), cupy.asarray(b)
        equal = (cupy.asnumpy(card.product(*on)) == twin.product(a, b)).all()
        same = (cupy.asnumpy(card.product(on[0], on[0])) == twin.product(a, a)).all()
        old, card.capability = card.capability, 70
        popcount = (cupy.asnumpy(card.product(*on)) == twin.product(a, b)).all()
        card.capability = old
        yield {
            "m": m,
            "n": n,
            "width": width,
            "equal": bool(equal and same),
            "popcount": bool(popcount),
        }


def screens(_: Any) -> Iterator[dict[str, Any]]:
    """What the screens list, beside the twin on the host, and their seconds on wide tables."""
    rng = np.random.default_rng(3)
    for n, rows, most in ((150, 400, 2), (300, 1000, 2), (260, 3000, 2), (100, 900, 4)):
        table, children, families = _screen_tasks(rng, n, rows, most)
        d = np.arange((most - 1) ** 2 + 1, dtype=float)
        least = 4.0 + 2.0 * d
        limit = rows * np.expm1(least / rows)  # the bound on the ratio
        bars = np.tile(6.0 + np.arange(most), (len(children), 1))
        both = [GpuCounts(table, device=device) for device in (CudaBits(), HostBits())]
        pairs = [s.pairs_above_threshold(0, n, limit, least) for s in both]
        given = [s.parents_above_threshold(children, families, bars) for s in both]
        found = [[set(map(tuple, x.tolist())) for x in listed] for listed in (pairs, given)]
        yield {"n": n, "rows": rows, "states": most, "pairs": len(pairs[0]),
               "given": len(given[0]), "equal": all(a == b for a, b in found),
               "missed": sum(len(b - a) for a, b in found),
               "not_judged": sum(len(a - b) for a, b in found)}  # fmt: skip
    for n in (30_000, 130_000):
        _, children, families = _screen_tasks(rng, n, 8, 2, tasks=16_384)
        table = cp.Table(cp.Schema.from_cards([2] * n), rng.integers(0, 2, (n, 1000), np.uint8))
        source = _prepared(table)
        high = np.array([0.0, 40.0]), np.array([0.0, 20.0])
        source.pairs_above_threshold(0, n, *high)
        _, pairs_s = timed(lambda s=source, n=n, h=high: s.pairs_above_threshold(0, n, *h), 2)
        bars = np.full((len(children), 2), 20.0)
        _, given_s = timed(lambda s=source, c=children, f=families, b=bars:
                           s.parents_above_threshold(c, f, b), 2)  # fmt: skip
        masks = np.where(families[:, 1] >= 0, 8, 4).sum()
        yield {"n": n, "rows": 1000, "pairs_s": pairs_s, "given_s": given_s,
               "pairs_share": 1024 * n * n / 2 / pairs_s / LIMIT,
               "given_share": 1024 * n * float(masks) / given_s / LIMIT}  # fmt: skip


def _screen_tasks(
    rng: np.random.Generator, n: int, rows: int, most: int, tasks: int = 40
) -> tuple[cp.Table, Any, Any]:
    """A table whose columns depend on one another, and families to screen."""
    cards = rng.integers(2, most + 1, n)
    base = rng.integers(0, most, (8, rows), dtype=np.uint8)
    noise = rng.integers(0, most, (n, rows), dtype=np.uint8)
    shares = 1 - rng.random((n, 1), dtype=np.float32) ** 8  # few columns depend much
    codes = np.where(
        rng.random((n, rows), dtype=np.float32) < shares, noise, base[np.arange(n) % 8]
    )
    codes %= cards[:, None].astype(np.uint8)
    children = rng.integers(0, n, tasks)
    families = (children[:, None] + rng.integers(1, n // 2, (tasks, 2))) % n
    families[:, 1] = np.where(rng.random(tasks) < 0.4, -1, families[:, 1])
    return cp.Table(cp.Schema.from_cards(cards.tolist()), codes), children, families


def suite(_: Any) -> Iterator[dict[str, Any]]:
    """The conformance suite of count sources, and the screens, on the card."""
    tests = [
        "tests/contract/test_gpu_source.py",
        "tests/unit/learners/bayesian/test_card_screens.py",
    ]
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder) / "suite.xml"
        command = [sys.executable, "-m", "pytest", "-q", "--noconftest", "-o", "filterwarnings=",
                   f"--junitxml={record}", *tests]  # fmt: skip
        subprocess.run(command, env=os.environ | {"COUNTERPANE_CARD": "0"}, check=False)
        found = ElementTree.parse(record).getroot()[0].attrib
    yield {"tests": int(found["tests"]), "seconds": float(found["time"]),
           "failed": int(found["failures"]) + int(found["errors"])}  # fmt: skip


def products(_: Any) -> Iterator[dict[str, Any]]:
    """Bit products by size: seconds and the share of the limit."""
    card = CudaBits()
    for m, n, rows in (
        (512, 512, 2**20), (1024, 1024, 2**20), (4096, 4096, 2**20), (10240, 10240, 2**20),
        (64, 64, 2**24), (256, 256, 2**24), (8, 2000, 10**7), (32, 2000, 10**7),
        (128, 2000, 10**7), (1024, 2000, 10**7), (16384, 16384, 1024),
    ):  # fmt: skip
        width = -(-rows // 512) * 16
        a = cupy.random.randint(0, 2**32, (m, width), dtype=np.uint32)
        b = cupy.random.randint(0, 2**32, (n, width), dtype=np.uint32)
        card.product(a, b)
        _, seconds = timed(lambda a=a, b=b: card.product(a, b), 3)
        record = {"m": m, "n": n, "rows": rows, "ms": 1e3 * seconds}
        record["share"] = m * n * rows / seconds / LIMIT
        if m == n:
            card.product(a, a)
            record["symmetric_ms"] = 1e3 * timed(lambda a=a: card.product(a, a), 3)[1]
        yield record
        del a, b
        cupy.get_default_memory_pool().free_all_blocks()


def pairs(options: Any) -> Iterator[dict[str, Any]]:
    """All pairs of 500 and 5,000 columns × 1,000,000 rows, from the host and resident."""
    _prepared(random_binary(4, 1000)).pair_counts()  # kernels are compiled
    for n in (500, 5000):
        table = random_binary(n, 10**6)
        source, first = timed(lambda t=table: _prepared(t))
        card, words = source._kept.device, source._kept._words[:n]
        record = {"columns": n, "rows": 10**6, "copy_and_pack_s": first}
        record["product_ms"] = 1e3 * timed(lambda w=words, c=card: c.product(w, w), 3)[1]
        counted, record["pair_counts_s"] = timed(source.pair_counts, 3)
        record["one_thread_copy_s"] = timed(lambda t=table: GpuCounts(t).prepare())[1]
        if options.rivals:
            host = cp.MemoryCounts(table, n_jobs=CORES)
            host.prepare()
            rival, record["host_pair_counts_s"] = timed(host.pair_counts)
            record["equal"] = bool((rival.counts == counted.counts).all())
        tree, record["chow_liu_s"] = timed(lambda s=source: cp.ChowLiu().fit(s))
        if options.rivals:
            other, record["host_chow_liu_s"] = timed(lambda h=host: cp.ChowLiu().fit(h))
            record["same_tree"] = sorted(tree.graph_.edges) == sorted(other.graph_.edges)
        yield record


def _prepared(table: cp.Table) -> GpuCounts:
    source = GpuCounts(table, n_jobs=CORES)
    source.prepare()
    return source


def tables(options: Any) -> Iterator[dict[str, Any]]:
    """200 three-way tables over 10,000,000 × 20."""
    rng = np.random.default_rng(1)
    table = random_binary(20, 10**7)
    subsets = [rng.choice(20, 3, replace=False).tolist() for _ in range(200)]
    source, first = timed(lambda: _prepared(table))
    source.counts(subsets[:2])
    counted, seconds = timed(lambda: source.counts(subsets), 3)
    record = {"copy_and_pack_s": first, "ms": 1e3 * seconds}
    if options.rivals:
        host = cp.MemoryCounts(table, n_jobs=CORES)
        host.prepare()
        rival, record["host_ms"] = timed(lambda: host.counts(subsets))
        record["host_ms"] *= 1e3
        record["equal"] = bool((rival.values == counted.values).all())
    yield record


def _search(name: str, table: cp.Table, options: Any, truth: cp.Dag) -> dict[str, Any]:
    """StructureSearch on the card and on the host."""
    source, first = timed(lambda: _prepared(table))
    source.n_jobs = CORES
    found, seconds = timed(lambda: cp.StructureSearch("bic", n_jobs=CORES).fit(source))
    record = {"name": name, "columns": table.n_columns, "rows": table.n_rows,
              "copy_and_pack_s": first, "search_s": seconds,
              "edges": len(found.graph_.edges)}  # fmt: skip
    learned, true = ({frozenset(e) for e in dag.edges} for dag in (found.model_.dag, truth))
    right = len(learned & true)
    record |= {"precision": right / max(1, len(learned)), "recall": right / len(true),
               "shd": structural_hamming_distance(found.model_.dag, truth)}  # fmt: skip
    if options.rivals:
        host = cp.MemoryCounts(table, n_jobs=CORES)
        other, record["host_search_s"] = timed(
            lambda: cp.StructureSearch("bic", n_jobs=CORES, time_limit=options.limit).fit(host)
        )
        record["host_stopped"] = record["host_search_s"] > 0.98 * options.limit
        record["same_network"] = sorted(found.graph_.edges) == sorted(other.graph_.edges)
        record["ratio"] = record["host_search_s"] / seconds
    return record


def known(options: Any) -> Iterator[dict[str, Any]]:
    """ANDES with 1,000,000 rows, LINK with 100,000."""
    for name, rows in (("andes", 10**6), ("link", 10**5)):
        model = cp.load(Path(options.networks) / f"{name}.bif.gz")
        table = model.sample(rows, random_state=0)
        table = table if isinstance(table, cp.Table) else cp.read(table, schema=model.schema)
        yield _search(name, table, options, model.dag)


def large(options: Any) -> Iterator[dict[str, Any]]:
    """A network of 1,000 columns × 10,000,000 rows."""
    network = random_network(1000, 0)
    table, drawn = timed(lambda: sample_binary(network, options.rows, 0))
    truth = cp.Dag(len(network), [(p, v) for v, (ps, _) in enumerate(network) for p in ps])
    record = _search("random", table, options, truth)
    yield {**record, "drawn_s": drawn}


def streaming(_: Any) -> Iterator[dict[str, Any]]:
    """All pairs of 100,000,000 × 100 through a budget."""
    table = random_binary(100, 10**8)
    source = GpuCounts(table, memory=4 * 10**9, n_jobs=CORES)
    _, first = timed(source.prepare)
    counted, seconds = timed(source.pair_counts)
    subsets = [[i, i + 1, i + 2] for i in range(90)]
    _, three = timed(lambda: source.counts(subsets))
    some = cp.MemoryCounts(table, n_jobs=CORES).counts([[3, 77]])[0]
    yield {"resident": source.resident, "blocks": len(source._kept.ends), "pack_s": first,
           "pair_counts_s": seconds, "three_way_s": three,
           "equal": bool((counted.counts[6:8, 154:156] == some).all())}  # fmt: skip


def wide_rows(n: int, rows: int, seed: int) -> tuple[cp.Table, Any]:
    """Rows of a random sparse network, 0 to 2 parents from earlier chunks, and its edges."""
    rng = np.random.default_rng(seed)
    codes = np.zeros((n, rows), dtype=np.uint8)
    edges = []
    chunk = max(64, n // 1000)
    for begin in range(0, n, chunk):
        here = np.arange(begin, min(begin + chunk, n))
        k = rng.integers(0, 3, len(here)) if begin else np.zeros(len(here), dtype=int)
        parents = np.sort(rng.integers(0, max(begin, 1), (len(here), 2)), axis=1)
        k = np.where((k == 2) & (parents[:, 0] == parents[:, 1]), 1, k)
        config = np.where(k[:, None] > 0, codes[parents[:, 0]], 0).astype(np.int64)
        config = np.where(k[:, None] > 1, 2 * config + codes[parents[:, 1]], config)
        ones = rng.beta(0.4, 0.4, (len(here), 4)).clip(0.05, 0.95)
        shares = np.take_along_axis(ones, config, axis=1)
        codes[here] = rng.random((len(here), rows), dtype=np.float32) < shares
        edges += [np.column_stack([parents[k > i, i], here[k > i]]) for i in range(2)]
    pairs = np.concatenate(edges)
    return cp.Table(cp.Schema.from_cards([2] * n), codes), np.unique(pairs[:, 0] * n + pairs[:, 1])


def wide(options: Any) -> Iterator[dict[str, Any]]:
    """Networks over a hundred thousand and a million columns × 1,000 rows, end to end.

    Libraries are loaded and kernels compiled before, by a search of 1,500 columns.
    """
    cp.StructureSearch("bic").fit(GpuCounts(wide_rows(1500, 1000, 0)[0]))
    for n in options.columns:
        (table, truth), drawn = timed(lambda n=n: wide_rows(n, 1000, 1))
        began = time.perf_counter()

        def told(*_: Any, began: float = began) -> None:
            print(f"{time.perf_counter() - began:.1f} s", *_, flush=True)

        learner = cp.StructureSearch("bic", n_jobs=CORES, progress=told)
        learner.fit(GpuCounts(table, n_jobs=CORES))
        seconds = time.perf_counter() - began
        dag = learner.model_.dag
        edges = np.array(dag.edges, dtype=np.int64)
        found = np.unique(edges.min(axis=1) * n + edges.max(axis=1))
        right = np.intersect1d(found, truth).size
        yield {"columns": n, "rows": 1000, "drawn_s": drawn, "wall_s": seconds, "edges": len(found),
               "precision": right / len(found), "recall": right / len(truth)}  # fmt: skip


PARTS = {"suite": suite, "check": check, "screens": screens, "products": products, "pairs": pairs,
         "tables": tables, "known": known, "large": large, "streaming": streaming,
         "wide": wide}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--summary", nargs="+", type=Path)
    parser.add_argument("--commit")
    parser.add_argument("--date")
    parser.add_argument("--machine")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--networks", default=os.environ.get("COUNTERPANE_DATA", "") + "/networks")
    parser.add_argument("--rivals", action="store_true", help="also on the host, with all cores")
    parser.add_argument("--limit", type=float, default=200.0, help="seconds of a search there")
    parser.add_argument("--rows", type=int, default=10**7, help="of the large network")
    parser.add_argument("--columns", nargs="+", type=int, default=[10**5, 10**6], help="of wide")
    options = parser.parse_args()
    if options.summary:
        write_figures(options)
        return
    print(card_text(CudaBits()), f"{CORES} cores", flush=True)
    with options.out.open("a") as file:
        for part in options.parts:
            try:
                for record in PARTS[part](options):
                    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
                    line = json.dumps({"part": part, **record, "peak_gb": round(peak, 2)})
                    print(line, flush=True)
                    file.write(line + "\n")
                    file.flush()
            except Exception as error:  # the other parts go on
                print(part, type(error).__name__, error, flush=True)
            cupy.get_default_memory_pool().free_all_blocks()


if __name__ == "__main__":
    main()
