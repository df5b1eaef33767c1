"""The structure learners that are compared, ours and the peers', behind one call.

A tool takes a table and the name of a score ("bic", or "bdeu" with an equivalent sample size of 1)
and gives the edges it found and the processor seconds it took: "search" is the structure alone,
from data already in the tool's own form; "fit", ours only, is everything that `fit` does. All run
on one thread. Every network is scored by one scorer, ours, which the tests hold against bnlearn's
published scores.
"""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

import counterpane as cp
from counterpane.graphs import Dag
from counterpane.learners.bayesian.network import NetworkLearner
from counterpane.scores import BIC, BDeu, LocalScore, as_score, score_dag
from counterpane.scores.row_cache import RowCache

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import pandas as pd
    import pyagrum

    try:
        import pybnesian
    except ImportError:
        pybnesian = None

FOLDER = Path(os.environ["COUNTERPANE_DATA"])
SCORES: dict[str, LocalScore] = {"bic": BIC(), "bdeu": BDeu(1.0)}
ENOUGH = 2.0  # seconds of repeats

Edges = list[tuple[str, str]]


class Learned(NamedTuple):
    """The edges found, and processor seconds by what they were spent on."""

    edges: Edges
    seconds: dict[str, float]


Tool = Callable[[cp.Table, str], Learned]


def quickest(prepare: Callable[[], Callable[[], Any]], repeat: int = 3) -> tuple[Any, float]:
    """The result and the least processor time of some runs; each is prepared anew, untimed."""
    best, spent = float("inf"), 0.0
    for _ in range(repeat):
        work = prepare()
        began = time.process_time()
        result = work()
        used = time.process_time() - began
        best, spent = min(best, used), spent + used
        if spent > ENOUGH:
            break
    return result, best


def ours(learner: type[NetworkLearner], repeat: int = 3, **options: Any) -> Tool:
    """A learner of counterpane."""

    def run(table: cp.Table, score: str) -> Learned:
        made = learner(SCORES[score], **options)
        steps = []

        def work() -> None:
            with patch("time.monotonic", time.process_time):  # the clock that learners read
                made.fit(table)
            steps.append(search_seconds(made))

        fit = quickest(lambda: work, repeat)[1]
        search = min(steps) if "seconds_" in vars(made) else min(steps) + fill_seconds(made, table)
        return Learned(list(made.graph_.edges), {"search": min(search, fit), "fit": fit})

    return run


def search_seconds(fitted: NetworkLearner) -> float:
    """What the last search took: by the learner's own account, else the steps of its trace."""
    known = vars(fitted).get("seconds_")
    return float(fitted.trace_[-1]["seconds"] if known is None else known["search"])


def fill_seconds(fitted: NetworkLearner, table: cp.Table) -> float:
    """The first fill of the row cache, from packed data; a trace does not hold it."""

    def prepare() -> Callable[[], Any]:
        source = cp.MemoryCounts(table)
        source.bits.pack(range(table.n_columns))
        return lambda: RowCache(source, as_score(fitted.criterion), max_parents=10).first_fill()

    return quickest(prepare)[1]


def by_pyagrum(*, tabu: bool = False) -> Tool:
    """pyAgrum's greedy hill climb, or its local search with a tabu list; without a prior."""

    def run(table: cp.Table, score: str) -> Learned:
        data = frame(table)

        def prepare() -> Callable[[], Any]:
            learner = pyagrum.BNLearner(data)
            learner.setNumberOfThreads(1)
            learner.useNoPrior()
            {"bic": learner.useScoreBIC, "bdeu": learner.useScoreBDeu}[score]()
            if tabu:
                learner.useLocalSearchWithTabuList()
            else:
                learner.useGreedyHillClimbing()
            return learner.learnDAG

        dag, spent = quickest(prepare)
        names = list(data.columns)
        return Learned([(names[a], names[b]) for a, b in dag.arcs()], {"search": spent})

    return run


def by_pybnesian(table: cp.Table, score: str) -> Learned:
    """PyBNesian's greedy hill climb."""
    data = frame(table)

    def prepare() -> Callable[[], Any]:
        start = pybnesian.DiscreteBN(list(data.columns))
        judge = pybnesian.BIC(data) if score == "bic" else pybnesian.BDe(data, 1.0)
        climb, operators = pybnesian.GreedyHillClimbing(), pybnesian.ArcOperatorSet()
        return lambda: climb.estimate(operators, judge, start, max_indegree=10)

    network, spent = quickest(prepare)
    return Learned(list(network.arcs()), {"search": spent})


def by_pgmpy(table: cp.Table, score: str) -> Learned:
    """pgmpy's hill climb, with its own tabu list of 100."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pgmpy.estimators import BDeu as PgmpyBDeu
        from pgmpy.estimators import HillClimbSearch

        logging.getLogger("pgmpy").setLevel(logging.ERROR)
        data = frame(table)

        def prepare() -> Callable[[], Any]:
            climb = HillClimbSearch(data)
            judge = "bic-d" if score == "bic" else PgmpyBDeu(data, equivalent_sample_size=1)
            return lambda: climb.estimate(judge, max_indegree=10, show_progress=False)

        dag, spent = quickest(prepare)
    return Learned(list(dag.edges), {"search": spent})


def by_bnlearn(table: cp.Table, score: str) -> Learned:
    """R bnlearn's hill climb, in a process of its own."""
    how = "score='bic'" if score == "bic" else "score='bde', iss=1"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        frame(table).to_csv(path, index=False)
        script = (
            f'd <- read.csv("{path}", colClasses="factor", check.names=FALSE); library(bnlearn);'
            f"t <- system.time(g <- hc(d, {how}, maxp=10));"
            "cat(sum(t[1:2]), '\\n'); write.table(arcs(g), sep='\\t', col.names=FALSE,"
            " row.names=FALSE, quote=FALSE)"
        )
        text = subprocess.run(
            ["Rscript", "-e", script], capture_output=True, text=True, check=True
        ).stdout.splitlines()
    pairs = (line.split("\t") for line in text[1:])
    return Learned([(p, c) for p, c in pairs], {"search": float(text[0])})


def has_pybnesian() -> bool:
    """Whether PyBNesian is installed."""
    return pybnesian is not None


@cache
def has_bnlearn() -> bool:
    """Whether Rscript is there and has bnlearn."""
    if shutil.which("Rscript") is None:
        return False
    asked = subprocess.run(["Rscript", "-e", "library(bnlearn)"], capture_output=True)
    return asked.returncode == 0


@cache
def has_pgmpy() -> bool:
    """Whether pgmpy can be imported; that alone takes seconds."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import pgmpy.estimators  # noqa: F401
    except ImportError:
        return False
    return True


def frame(table: cp.Table) -> Any:
    """The table as the peers read it: a frame of categories."""
    columns = {
        v.name: pd.Categorical.from_codes(codes, [f"s{s}" for s in v.states])
        for v, codes in zip(table.schema, table.codes, strict=True)
    }
    return pd.DataFrame(columns)


def observed(table: cp.Table) -> cp.Table:
    """The table with the states that occur in it: the peers know no others, and a penalty counts
    states, so that a search given more of them would look for another network."""
    variables, codes = [], []
    for variable, column in zip(table.schema, table.codes, strict=True):
        seen, places = np.unique(column, return_inverse=True)
        variables.append(cp.Variable(variable.name, tuple(variable.states[s] for s in seen)))
        codes.append(places)
    return cp.Table(cp.Schema(variables), np.array(codes))


def opened(name: str) -> cp.BayesianNetwork:
    """One of the known networks."""
    model = cp.load(FOLDER / "networks" / f"{name}.bif.gz")
    assert isinstance(model, cp.BayesianNetwork)
    return model


def sampled(network: cp.BayesianNetwork, rows: int, seed: int = 0) -> cp.Table:
    """Rows drawn from a network, with the states that occur."""
    return observed(network.sample(rows, random_state=seed))


def column_orders(n: int, how_many: int = 3) -> list[list[int]]:
    """The file's column order and some shuffles, the same for all tools."""
    rng = np.random.default_rng(7)
    return [list(range(n)), *(rng.permutation(n).tolist() for _ in range(how_many - 1))]


def dag_of(table: cp.Table, edges: Edges) -> Dag:
    """The edges as a DAG over the table's columns."""
    index = table.schema.index
    return Dag(table.n_columns, [(index(p), index(c)) for p, c in edges])


def score_of(score: str, source: cp.CountSource, dag: Dag) -> float:
    """The one scorer."""
    return score_dag(SCORES[score], source, [dag.parents(i) for i in range(dag.n)])
