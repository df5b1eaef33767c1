"""Steady-state speed of two installations in one run: `steady.py OLD_PYTHON NEW_PYTHON`.

Each workload runs in turn under both interpreters, in alternating rounds, warm, on one thread; the
figure is the least processor time of a workload over all rounds. The ratio is new / old. Needs
COUNTERPANE_DATA. An interpreter may be preceded by settings: `COUNTERPANE_LEVEL=v2 python`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__)
DATA = Path(os.environ.get("COUNTERPANE_DATA", "."))
WORKLOADS: dict[str, Callable[[], Callable[[], Any]]] = {}


def workload(prepare: Callable[[], Callable[[], Any]]) -> Callable[[], Callable[[], Any]]:
    """Register a function that prepares the data and returns the work to be timed."""
    WORKLOADS[prepare.__name__] = prepare
    return prepare


def density(name: str, part: str = "train") -> Any:
    import counterpane as cp

    with np.load(DATA / "density" / f"{name}.npz") as file:
        n = int(file["n_vars"])
        rows = np.unpackbits(file[part], axis=1, count=n)
    return cp.Table(cp.Schema.from_cards([2] * n), rows.T)


def sampled(name: str, rows: int) -> Any:
    import counterpane as cp

    return cp.load(DATA / "networks" / f"{name}.bif.gz").sample(rows, random_state=0)


def random_table(cards: list[int], rows: int) -> Any:
    import counterpane as cp

    rng = np.random.default_rng(0)
    codes = np.array([rng.integers(0, r, rows, dtype=np.uint8) for r in cards])
    return cp.Table(cp.Schema.from_cards(cards), codes)


def uci(name: str) -> Any:
    import pandas as pd

    return pd.read_csv(DATA / "uci" / f"{name}.csv.gz")


def triples(n_columns: int, wanted: int) -> list[tuple[int, ...]]:
    from itertools import combinations

    every = list(combinations(range(n_columns), 3))
    chosen = np.random.default_rng(1).choice(len(every), wanted, replace=False)
    return [every[i] for i in chosen]


def counting(table: Any, scopes: list[tuple[int, ...]]) -> Callable[[], Any]:
    """Count the scopes anew each time; bit sets stay packed."""
    import counterpane as cp

    source = cp.MemoryCounts(table)

    def count() -> None:
        source._cached.clear()
        source._cached_cells = 0
        source._compressed, source._compressed_columns = None, ()
        source.counts(scopes)

    return count


@workload
def count_triples_bits() -> Callable[[], Any]:
    return counting(random_table([2, 3, 4, 5] * 5, 1_000_000), triples(20, 200))


@workload
def count_triples_radix() -> Callable[[], Any]:
    return counting(random_table([17, 23, 40, 31] * 3, 300_000), triples(12, 60))


@workload
def count_triples_weighted() -> Callable[[], Any]:
    import counterpane as cp

    plain = random_table([2, 3, 4, 5] * 5, 200_000)
    weights = np.random.default_rng(2).random(plain.n_rows)
    table = cp.Table(plain.schema, plain.codes, weights=weights)
    return counting(table, triples(20, 60))


@workload
def count_all_pairs() -> Callable[[], Any]:
    import counterpane as cp

    source = cp.MemoryCounts(random_table([2] * 300, 200_000))
    return source.pair_counts


@workload
def structure_search_alarm() -> Callable[[], Any]:
    import counterpane as cp

    table = sampled("alarm", 20_000)
    return lambda: cp.StructureSearch(random_state=0).fit(table)


@workload
def hill_climb_tabu_alarm() -> Callable[[], Any]:
    import counterpane as cp

    table = sampled("alarm", 20_000)
    return lambda: cp.HillClimb(tabu=100).fit(table)


@workload
def hill_climb_andes() -> Callable[[], Any]:
    import counterpane as cp

    table = sampled("andes", 10_000)
    return lambda: cp.HillClimb().fit(table)


@workload
def ges_hailfinder_bdeu() -> Callable[[], Any]:
    import counterpane as cp

    table = sampled("hailfinder", 5000)
    return lambda: cp.GES("bdeu").fit(table)


@workload
def structural_em_alarm() -> Callable[[], Any]:
    import counterpane as cp

    table = sampled("alarm", 2000)
    codes = np.array(table.codes)
    gaps = np.random.default_rng(3).random(codes.shape) < 0.03
    cards = np.array(table.schema.cards)[:, None]
    holed = cp.Table(table.schema, np.where(gaps, cards, codes).astype(codes.dtype))
    return lambda: cp.HillClimb(missing="em").fit(holed)


@workload
def order_mcmc_child() -> Callable[[], Any]:
    import counterpane as cp

    table = sampled("child", 1000)
    return lambda: cp.OrderMCMC(n_samples=1000, random_state=0).fit(table)


@workload
def exact_posterior_14() -> Callable[[], Any]:
    import counterpane as cp

    table = density("nltcs").select(range(14))
    return lambda: cp.ExactPosterior().fit(table)


@workload
def trees_plants() -> Callable[[], Any]:
    import counterpane as cp

    table = density("plants")
    return lambda: cp.DependencyNetworkLearner("tree", kappa=1e-4).fit(table)


@workload
def logistic_nltcs() -> Callable[[], Any]:
    import counterpane as cp

    table = density("nltcs")
    return lambda: cp.DependencyNetworkLearner("logistic", l1=2.0).fit(table)


@workload
def conversion_nltcs() -> Callable[[], Any]:
    import counterpane as cp

    table = density("nltcs")
    network = cp.DependencyNetworkLearner("tree", kappa=1e-4).fit(table).model_
    return lambda: cp.to_markov_network(network, data=table)


@workload
def weights_nltcs() -> Callable[[], Any]:
    import counterpane as cp

    table = density("nltcs")
    network = cp.DependencyNetworkLearner("tree", kappa=float(np.exp(-5))).fit(table).model_
    return lambda: cp.fit_weights(network, table, max_steps=20)


@workload
def pairwise_nltcs() -> Callable[[], Any]:
    import counterpane as cp

    table = density("nltcs")
    return lambda: cp.PairwiseMarkovLearner().fit(table)


@workload
def gibbs_nltcs() -> Callable[[], Any]:
    import counterpane as cp
    from counterpane.inference.gibbs import Gibbs, Sampler

    table = density("nltcs")
    network = cp.DependencyNetworkLearner("tree", kappa=1e-4).fit(table).model_
    sampler = Sampler(cp.to_markov_network(network, data=table).blanket)
    nothing = np.full((1, 1), 2)
    settings = Gibbs(n_chains=1, burn_in=0, n_samples=100_000)
    return lambda: sampler.rows([0], nothing, settings=settings)


@workload
def hybrid_field_nltcs() -> Callable[[], Any]:
    import counterpane as cp

    table = density("nltcs")
    return lambda: cp.HybridRandomFieldLearner().fit(table)


@workload
def gsimn_nltcs() -> Callable[[], Any]:
    import counterpane as cp

    table = density("nltcs")
    return lambda: cp.GSIMN().fit(table)


@workload
def pfmn_nltcs() -> Callable[[], Any]:
    import counterpane as cp

    table = density("nltcs")
    return lambda: cp.PFMN(random_state=0).fit(table)


@workload
def markov_classifier_german() -> Callable[[], Any]:
    import counterpane as cp

    frame = uci("german")
    return lambda: cp.MarkovClassifier().fit(frame.drop(columns="class"), frame["class"])


@workload
def interaction_classifier_german() -> Callable[[], Any]:
    import counterpane as cp

    frame = uci("german")
    return lambda: cp.InteractionClassifier(random_state=0).fit(
        frame.drop(columns="class"), frame["class"]
    )


@workload
def interaction_classifier_tictactoe() -> Callable[[], Any]:
    import counterpane as cp

    frame = uci("tic-tac-toe")
    return lambda: cp.InteractionClassifier(random_state=0).fit(
        frame.drop(columns="class"), frame["class"]
    )


@workload
def bayes_net_classifier_german() -> Callable[[], Any]:
    import counterpane as cp

    frame = uci("german")
    return lambda: cp.BayesNetClassifier().fit(frame.drop(columns="class"), frame["class"])


@workload
def query_hailfinder() -> Callable[[], Any]:
    import counterpane as cp

    network = cp.load(DATA / "networks" / "hailfinder.bif.gz")
    rows = network.sample(500, random_state=1)
    names = network.schema.names
    given = rows.select(range(0, len(names), 3))
    target = names[1]
    return lambda: network.query_many(target, given)


@workload
def query_win95pts() -> Callable[[], Any]:
    import counterpane as cp

    network = cp.load(DATA / "networks" / "win95pts.bif.gz")
    names = network.schema.names
    return lambda: [network.query(name) for name in names]


@workload
def score_rows_alarm() -> Callable[[], Any]:
    import counterpane as cp

    network = cp.load(DATA / "networks" / "alarm.bif.gz")
    rows = network.sample(100_000, random_state=1)
    return lambda: (network.score_samples(rows), network.pseudo_log_likelihood(rows))


@workload
def sample_alarm() -> Callable[[], Any]:
    import counterpane as cp

    network = cp.load(DATA / "networks" / "alarm.bif.gz")
    return lambda: network.sample(200_000, random_state=1)


def measure(names: list[str], rounds: int) -> dict[str, float]:
    """The least processor seconds of each workload; its first run is not timed."""
    import warnings

    warnings.simplefilter("ignore")
    times = {}
    for name in names:
        work = WORKLOADS[name]()
        work()
        best = float("inf")
        for _ in range(rounds):
            began = time.process_time()
            work()
            best = min(best, time.process_time() - began)
        times[name] = best
    return times


def run(python: str, name: str, rounds: int) -> float:
    """One workload in a process of its own."""
    *settings, interpreter = python.split()
    environment = {**os.environ, **dict(s.split("=", 1) for s in settings)}
    environment |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [interpreter, str(HERE), "--measure", name, "--rounds", str(rounds)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{name} under {python}:\n{done.stderr[-2000:]}")
    return float(json.loads(done.stdout)[name])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pythons", nargs="*", help="two or more interpreters")
    parser.add_argument("--measure", nargs="+", choices=list(WORKLOADS), help=argparse.SUPPRESS)
    parser.add_argument("--only", nargs="+", choices=list(WORKLOADS), default=list(WORKLOADS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repeat", type=int, default=2, help="alternating processes each")
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure, options.rounds)))
        return
    rows = []
    for name in options.only:
        best = [float("inf")] * len(options.pythons)
        for _ in range(options.repeat):
            for i, python in enumerate(options.pythons):
                best[i] = min(best[i], run(python, name, options.rounds))
        ratios = " ".join(f"{b / best[0]:6.2f}" for b in best[1:])
        print(f"{name:<36} {best[0]:9.4f} s   {ratios}", flush=True)
        rows.append({"workload": name, "seconds": best, "ratios": [b / best[0] for b in best[1:]]})
    for i, python in enumerate(options.pythons[1:]):
        mean = float(np.exp(np.mean([np.log(row["ratios"][i]) for row in rows])))
        print(f"geometric mean of {python}: {mean:.3f}")
    sys.path.insert(0, str(HERE.parent))
    from harness import write

    summary = [
        {"what": row["workload"], "value": row["ratios"][-1], "unit": "new / old"} for row in rows
    ]
    print(write("steady", summary, rows))


if __name__ == "__main__":
    main()
