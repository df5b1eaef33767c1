"""The domains of Bromberg & Margaritis: random graphs, samples of them, and their real tables.

F. Bromberg and D. Margaritis, Efficient and robust independence-based Markov network structure
discovery, IJCAI 2007.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

import counterpane as cp
from counterpane.data import Schema, Table

TAUS = (0.1, 0.3, 0.5, 0.7, 0.9)
ALARM_ROWS = 20_001
LOG_ODDS = 1.0  # of each edge's two states, given all else; its sign is drawn


class Printed(NamedTuple):
    """A row of Table 1; `name` is that of the file."""

    name: str
    n: int
    rows: int
    gsimn_cost: int
    pfmn_cost: int
    gsimn_accuracy: float
    pfmn_accuracy: float


# The paper's n = 6 for hayes-roth counts its column of names, and its n = 10 for adult leaves out
# what has hundreds of values. Haberman has 4 columns and 306 rows; the paper prints 5 and 305.
TABLE_1 = tuple(
    Printed(*row)
    for row in (
        ("haberman", 5, 305, 20, 22, 0.971, 0.971),
        ("adult", 10, 32561, 138, 144, 0.785, 0.679),
        ("hayes-roth-with-name", 6, 132, 30, 26, 0.831, 0.831),
        ("balance-scale", 5, 625, 20, 17, 0.871, 0.743),
        ("nursery", 9, 12960, 72, 60, 0.878, 0.858),
        ("monk1", 7, 556, 42, 35, 0.912, 0.912),
        ("car", 7, 1728, 42, 35, 0.826, 0.845),
        ("baloons", 5, 20, 20, 14, 0.857, 0.857),
        ("crx", 16, 653, 240, 161, 0.898, 0.914),
        ("hepatitis", 20, 80, 380, 235, 0.876, 0.889),
        ("cmc", 10, 1473, 126, 75, 0.893, 0.750),
        ("tic-tac-toe", 10, 958, 102, 54, 0.836, 0.758),
        ("bridges", 12, 70, 132, 68, 0.844, 0.827),
        ("alarm", 37, 20001, 1335, 614, 0.797, 0.926),
        ("imports-85", 25, 193, 633, 259, 0.688, 0.688),
        ("flag", 29, 194, 839, 320, 0.878, 0.878),
        ("dermatology", 35, 358, 1211, 408, 0.813, 0.754),
    )
)
DROPPED = {
    "adult": ["age", "fnlwgt", "capital-gain", "capital-loss", "hours-per-week"],
    "imports-85": ["normalized-losses"],
}
GAPS_KEPT = ("adult",)  # by the printed number of rows; elsewhere complete rows were used


def data_folder() -> Path:
    return Path(os.environ["COUNTERPANE_DATA"])


def random_graph(n: int, tau: float, seed: int) -> cp.UndirectedGraph:
    """The first τ · C(n, 2) pairs of a random permutation of all."""
    rng = np.random.default_rng([seed, n, round(100 * tau)])
    pairs = np.transpose(np.triu_indices(n, 1))
    chosen = rng.permutation(len(pairs))[: round(tau * len(pairs))]
    return cp.UndirectedGraph(n, [tuple(pairs[i].tolist()) for i in sorted(chosen)])


def sample(graph: cp.UndirectedGraph, rows: int, seed: int) -> Table:
    """Rows of a Markov network of two states a variable, drawn from its whole joint table.

    Each edge has the log-odds ratio ±1 given all else, so that no dependence is faint and none is
    certain. Up to 24 variables the joint table is a few hundred megabytes at most.
    """
    rng = np.random.default_rng([seed, graph.n])
    spins = np.array([-1.0, 1.0])
    logs = np.zeros((2,) * graph.n)
    for i, j in graph.edges:
        shape = [1] * graph.n
        shape[i] = shape[j] = 2
        sign = rng.choice([-1.0, 1.0])
        logs += (sign * LOG_ODDS / 4 * np.outer(spins, spins)).reshape(shape)
    heights = np.cumsum(np.exp(logs - logs.max()).ravel())
    cells = np.searchsorted(heights, rng.random(rows) * heights[-1], side="right")
    return Table(Schema.from_cards([2] * graph.n), np.array(np.unravel_index(cells, logs.shape)))


def real_table(name: str, seed: int = 0) -> Table:
    """A real set, its class among the columns, its numbers in three parts of equal size."""
    if name == "alarm":
        return alarm(ALARM_ROWS, seed)
    folder = data_folder() / "uci"
    types = pd.read_csv(folder / "COLUMNS.csv")
    own = types[(types.dataset == name) & (types.type == "categorical")].column
    own = own[own != "name"]  # of hayes-roth: a running number
    frame = pd.read_csv(
        folder / f"{name}.csv.gz",
        dtype={**dict.fromkeys(own, str), "class": str}, keep_default_na=False, na_values=[""],
    )  # fmt: skip
    frame = frame.drop(columns=DROPPED.get(name, []))
    frame = frame if name in GAPS_KEPT else frame.dropna()
    table = Table.from_frame(frame, discretize="quantile", n_bins=3, max_states=8)
    return table.resolve_missing("state")


def alarm(rows: int, seed: int = 0, n: int = 37) -> Table:
    """Rows sampled from ALARM; beyond 37 columns, further independent copies beside it."""
    network = cp.load(data_folder() / "networks" / "alarm.bif.gz")
    copies = [
        Table.from_frame(network.sample(rows, random_state=seed + k), schema=network.schema)
        for k in range(-(-n // 37))
    ]
    variables = [
        cp.Variable(v.name + "′" * k, v.states) for k, c in enumerate(copies) for v in c.schema
    ]
    codes = np.concatenate([c.codes for c in copies])
    return Table(Schema(variables[:n]), codes[:n])


def nothing(n: int) -> Table:
    """A table of n columns for learners that ask an oracle."""
    return Table(Schema.from_cards([2] * n), np.zeros((n, 1), dtype=np.uint8))
