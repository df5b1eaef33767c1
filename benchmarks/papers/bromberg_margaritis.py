"""Bromberg & Margaritis again: what PFMN, GSIMN and GSMN ask, and how well their graphs answer.

Random graphs with a perfect test (Figure 3), samples of growing size (Figure 4, left), and the 17
real tables (Table 1; Figure 4, right), then the same learners on a parquet file through DuckDB and
their times. Each domain is one line of `results/bromberg_margaritis.jsonl`, so that a run that was
stopped goes on where it was.

    python benchmarks/papers/bromberg_margaritis.py [--quick] [--jobs 2] [--parts oracle …]
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

os.environ["OMP_NUM_THREADS"] = "1"  # domains run side by side
os.environ["OPENBLAS_NUM_THREADS"] = "1"
sys.path.insert(0, str(Path(__file__).parents[1]))

import markov_domains as domains
from costly_tests import by_database, growth
from markov_report import publish_report
from markov_tables import publish_paper
from resumable import run_lines

import counterpane as cp
from counterpane.evaluate import independence_accuracy, independence_questions
from harness import RESULTS, circumstances

PARTICLES = (40, 80, 160, 250)
ROWS = (500, 1000, 2000, 4000, 8000, 16_000)
REAL_PARTICLES = 200
TESTS = {
    "χ²": cp.ChiSquare(degrees_of_freedom="full"),
    "Bayes": cp.BayesianTest(),
}
"""PFMN of the paper uses the Bayesian test; the judge of real tables is not named, so both are."""
DEFAULT = "default"  # learners with our defaults and the stratified test, and that test as a judge
PARTS = ("oracle", "sampled", "real", "database", "speed")


class Domain(NamedTuple):
    """One line of the results; `name` is that of a real table."""

    part: str
    name: str = ""
    n: int = 0
    tau: float = 0.0
    rows: int = 0
    repetition: int = 0
    particles: tuple[int, ...] = (REAL_PARTICLES,)


def measured(learner: Any, X: Any, **facts: Any) -> dict[str, Any]:
    """What one fit cost; its graph stays in `learner`."""
    began = time.perf_counter()
    learner.set_params(potentials=False).fit(X)
    return {
        **facts,
        "cost": int(learner.cost_),
        "n_tests": int(learner.n_tests_),
        "edges": len(learner.undirected_.edges),
        "seconds": round(time.perf_counter() - began, 3),
    }


def with_oracle(domain: Domain) -> list[dict[str, Any]]:
    """All learners on a random graph, asking the graph itself."""
    graph = domains.random_graph(domain.n, domain.tau, domain.repetition)
    questions = independence_questions(domain.n, random_state=domain.repetition)
    test, X = cp.Oracle(graph), domains.nothing(domain.n)
    learners: dict[str, Any] = {"GSMN": cp.GSMN(test), "GSIMN": cp.GSIMN(test)}
    for size in domain.particles:
        learners[f"PFMN {size}"] = cp.ParticleFilterMN(
            test, n_particles=size, random_state=domain.repetition
        )
    return judged(domain, learners, X, {"accuracy": graph}, questions)


def on_sample(domain: Domain) -> list[dict[str, Any]]:
    """GSIMN and PFMN on rows of a random network, judged by its graph."""
    graph = domains.random_graph(domain.n, domain.tau, domain.repetition)
    table = domains.sample(graph, domain.rows, domain.repetition)
    questions = independence_questions(domain.n, random_state=domain.repetition)
    return judged(domain, on_data(domain), table, {"accuracy": graph}, questions)


def on_real(domain: Domain) -> list[dict[str, Any]]:
    """GSIMN and PFMN on a real table, judged by each test's answers from all its rows."""
    table = domains.real_table(domain.name)
    questions = independence_questions(table.n_columns)
    source = cp.MemoryCounts(table)
    answers = {
        f"accuracy by {name}": answers_of(test.bind(source), questions)
        for name, test in {**TESTS, DEFAULT: cp.StratifiedTest()}.items()
    }
    return judged(domain, on_data(domain), table, answers, questions)


def on_data(domain: Domain) -> dict[str, Any]:
    """Each learner as published with each test, and with its defaults. None has a budget."""
    (size,) = domain.particles
    seed = domain.repetition
    learners: dict[str, Any] = {}
    for name, test in TESTS.items():
        learners[f"GSIMN {name}"] = cp.GSIMN(test, variant="paper")
        learners[f"PFMN {name}"] = cp.ParticleFilterMN(test, n_particles=size, random_state=seed)
    learners[f"GSIMN {DEFAULT}"] = cp.GSIMN()
    learners[f"PFMN {DEFAULT}"] = cp.PFMN(random_state=seed)
    return learners


def answers_of(test: Any, questions: list[Any], together: int = 32) -> list[bool]:
    """The test's answers, asked so that the tables of some of them fit into memory at one time."""
    parts = (questions[i : i + together] for i in range(0, len(questions), together))
    return [verdict.independent for part in parts for verdict in test.verdicts(part)]


def judged(
    domain: Domain, learners: dict[str, Any], X: Any, truths: dict[str, Any], questions: list[Any]
) -> list[dict[str, Any]]:
    """A record for each learner, and for the two graphs that ask nothing."""
    facts = {**domain._asdict(), "n": X.n_columns, "rows": X.n_rows}
    found = []
    for method, learner in learners.items():
        record = measured(learner, X, **facts, method=method)
        found.append((record, learner.undirected_))
    for method, edges in (("empty", []), ("complete", list(combinations(range(X.n_columns), 2)))):
        record = {**facts, "method": method, "cost": 0, "n_tests": 0, "edges": len(edges)}
        found.append((record, cp.UndirectedGraph(X.n_columns, edges)))
    for record, graph in found:
        for name, truth in truths.items():
            record[name] = independence_accuracy(graph, truth, questions)
    return [record for record, _ in found]


RUNS = {"oracle": with_oracle, "sampled": on_sample, "real": on_real,
        "database": by_database, "speed": growth}  # fmt: skip


def run(domain: Domain) -> list[dict[str, Any]]:
    """The records of one domain."""
    return RUNS[domain.part](domain)


def domains_of(quick: bool, repetitions: int) -> list[Domain]:
    """All that is run, cheap things first."""
    if quick:
        return [
            *(Domain("oracle", n=12, tau=t, particles=(60,)) for t in (0.1, 0.5, 0.9)),
            *(Domain("sampled", n=10, tau=0.5, rows=r, particles=(60,)) for r in (500, 4000)),
            *(Domain("real", p.name, particles=(100,)) for p in domains.TABLE_1 if p.n <= 10),
            Domain("database", "alarm", n=12, rows=5000, particles=(60,)),
            Domain("speed", "alarm", n=12, rows=2000, particles=(60,)),
        ]
    rounds = range(repetitions)
    return [
        *(Domain("real", p.name, repetition=r) for r in rounds
          for p in sorted(domains.TABLE_1, key=lambda p: p.n)),
        *(Domain("oracle", n=n, tau=t, repetition=r, particles=PARTICLES)
          for r in rounds for n in (16, 20) for t in domains.TAUS),
        *(Domain("sampled", n=n, tau=0.5, rows=m, repetition=r)
          for r in rounds for n in (16, 20) for m in ROWS),
        Domain("database", "alarm", n=37, rows=20_000),
        *(Domain("speed", "alarm", n=n, rows=20_000, particles=(250,)) for n in (10, 20, 37, 100)),
        *(Domain("speed", "alarm", n=37, rows=20_000, particles=(m,)) for m in (50, 100, 500)),
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small domains, under two minutes")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="domains at a time")
    parser.add_argument("--repetitions", type=int, default=3, help="random graphs, or seeds")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--name", default="bromberg_margaritis", help="of the files of results")
    options = parser.parse_args()
    path = RESULTS / f"{options.name}{'_quick' * options.quick}.jsonl"
    wanted = [d for d in domains_of(options.quick, options.repetitions) if d.part in options.parts]
    timed = [d for d in wanted if d.part == "speed"]
    records = run_lines([d for d in wanted if d not in timed], run, path, options.jobs)
    records += run_lines(timed, run, path, 1)
    publish_report(path.stem, records)
    name = f"bromberg-margaritis{'-quick' * options.quick}"
    publish_paper(name, records, circumstances(records))


if __name__ == "__main__":
    main()
