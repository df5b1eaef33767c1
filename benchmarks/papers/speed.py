"""How long training takes, once on each set and as rows and candidates grow; one core, warm."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import uci

import counterpane as cp
from harness import RESULTS, seconds

ROWS = (10_000, 20_000, 40_000, 80_000, 160_000)  # of 12 columns
COLUMNS = (10, 20, 40, 80)  # of 10,000 rows: 45 to 3,160 pairs


def measure_speed(sets: Sequence[uci.UciSet], *, quick: bool = False) -> list[dict[str, Any]]:
    """Rows for a report, and a picture of the growth where matplotlib is installed.

    Networks are timed on tables of states, by processor time; the interaction classifier, which
    cuts numbers itself, on frames and by the clock, with two threads.
    """
    repeat = 1 if quick else 3
    tables = {s.name: states_of(s) for s in sets}
    times = {n: train_time(markov, (t, "class"), repeat) for n, t in tables.items()}
    own = {s.name: interaction_time(s) for s in sets}
    whole = 4.0 if len(sets) == 39 else None
    found = [
        _row(f"MarkovClassifier(max_order=4), {len(sets)} sets in all", sum(times.values()), whole),
        _row("InteractionClassifier, median set", float(np.median([*own.values()])), 0.5),
    ]
    if "adult" in tables:
        found.append(_row("MarkovClassifier(max_order=4), adult", times["adult"], 10.0))
        found.append(_row("InteractionClassifier, adult", own["adult"], 30.0))
    if "tic-tac-toe" in tables:
        searched = train_time(best_alone, (tables["tic-tac-toe"], "class"), 5)
        found.append(_row("MarkovClassifier(average=False), tic-tac-toe", searched, 0.01))
    return found if quick else found + growth()


def markov() -> Any:
    return cp.MarkovClassifier(max_order=4, floor=False)


def best_alone() -> Any:
    return cp.MarkovClassifier(max_order=4, average=False, floor=False)


def pairs_only() -> Any:
    return cp.MarkovClassifier(max_order=3, max_candidates=10_000, floor=False)


def states_of(data: uci.UciSet) -> cp.Table:
    """The set discretized first, as a table; the class is the last column."""
    return cp.read(uci.discretized(data).X.assign(**{"class": data.y}))


def train_time(
    make: Callable[[], Any],
    given: tuple[Any, Any],
    repeat: int,
    clock: Callable[[], float] = time.process_time,
) -> float:
    """Seconds of one fit, the least of several; the first is not counted."""
    make().fit(*given)
    return seconds(lambda: make().fit(*given), repeat=repeat, clock=clock)


def interaction_time(data: uci.UciSet) -> float:
    def make() -> Any:
        return cp.InteractionClassifier(categorical=data.categorical, n_jobs=2)

    return train_time(make, (data.X, data.y), 1, time.perf_counter)


def growth() -> list[dict[str, Any]]:
    """The exponent of the time in rows and in candidates, which are pairs here; 1 is linear."""
    by_rows = [train_time(markov, (made_up(n, 12), "x12"), 2) for n in ROWS]
    by_pairs = [train_time(pairs_only, (made_up(10_000, n), f"x{n}"), 2) for n in COLUMNS]
    pairs = [n * (n - 1) // 2 for n in COLUMNS]
    draw(by_rows, pairs, by_pairs)
    return [
        {"what": "growth in rows (1 is linear)", "value": slope(ROWS, by_rows), "unit": ""},
        {"what": "growth in candidates (1 is linear)", "value": slope(pairs, by_pairs), "unit": ""},
    ]


def made_up(rows: int, columns: int) -> cp.Table:
    """Independent columns of four states, and a class that two of them decide nine times in ten."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 4, (columns + 1, rows))
    decided = (codes[0] + codes[1] > 3).astype(np.int64)
    codes[-1] = np.where(rng.random(rows) < 0.9, decided, rng.integers(0, 2, rows))
    return cp.Table(cp.Schema.from_cards([4] * columns + [2]), codes)


def slope(sizes: Sequence[float], times: Sequence[float]) -> float:
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def draw(by_rows: list[float], pairs: list[int], by_pairs: list[float]) -> None:
    try:
        from matplotlib import pyplot
    except ImportError:
        return
    figure, axes = pyplot.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
    for ax, x, y, label in (
        (axes[0], ROWS, by_rows, "rows (12 columns, up to three in a hyperedge)"),
        (axes[1], pairs, by_pairs, "candidate pairs (10,000 rows)"),
    ):
        ax.loglog(x, y, "o-", label="measured")
        ax.loglog(x, np.array(x) * (y[-1] / x[-1]), "--", label="linear")
        ax.set(xlabel=label, ylabel="seconds")
        ax.legend(frameon=False)
    figure.savefig(RESULTS / "jakulin_rish_growth.png", dpi=120)
    pyplot.close(figure)


def _row(what: str, value: float, limit: float | None) -> dict[str, Any]:
    return {"what": what, "value": value, "unit": "s", "limit": limit}
