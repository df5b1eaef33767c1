"""Where each look at the data costs: statements sent to a database, and seconds by part."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import markov_domains as domains
import pandas as pd

import counterpane as cp


def by_database(domain: Any) -> list[dict[str, Any]]:
    """GSIMN and PFMN on a parquet file through DuckDB: what they send, and what is read for it."""
    try:
        import duckdb
    except ImportError:
        return []
    table = domains.alarm(domain.rows, n=domain.n)
    (size,) = domain.particles
    learners = {
        "GSIMN": cp.GSIMN("bayesian"),
        "PFMN": cp.PFMN("bayesian", n_particles=size, random_state=domain.repetition),
    }
    records = []
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as connection:
        path = Path(folder) / "rows.parquet"
        pd.DataFrame({v.name: table.column(v.name) for v in table.schema}).to_parquet(path)
        connection.execute(f"CREATE VIEW looks AS SELECT * FROM '{path}'")
        for method, learner in learners.items():
            source = cp.SqlSource(connection, "looks", schema=table.schema)
            sent, scanned, began = source.n_queries, source.rows_scanned, time.perf_counter()
            learner.set_params(potentials=False).fit(source)
            seconds = time.perf_counter() - began
            found = learner.undirected_.edges
            same = found == learner.fit(table).undirected_.edges
            records.append(
                {**domain._asdict(), "method": method, "queries": source.n_queries - sent,
                 "rows_scanned": source.rows_scanned - scanned, "cost": int(learner.cost_),
                 "seconds": round(seconds, 2), "same_as_memory": same}
            )  # fmt: skip
    return records


def growth(domain: Any) -> list[dict[str, Any]]:
    """Seconds of one fit of PFMN, warm, and the shares of tests, scoring and moves."""
    table = domains.alarm(domain.rows, n=domain.n)
    (size,) = domain.particles
    options: dict[str, Any] = {"random_state": 0, "n_jobs": 2, "potentials": False}
    cp.PFMN("bayesian", n_particles=size, max_tests=3, **options).fit(table)  # compiles
    learner = cp.PFMN("bayesian", n_particles=size, **options)
    began = time.perf_counter()
    learner.fit(table)
    seconds = time.perf_counter() - began
    began = time.perf_counter()
    cp.fit_potentials(cp.MemoryCounts(table), learner.undirected_)
    fitted = time.perf_counter() - began
    shares = {f"share_{part}": s / seconds for part, s in learner.seconds_.items()}
    return [
        {**domain._asdict(), "method": "PFMN", "seconds": seconds, **shares,
         "cost": int(learner.cost_), "n_tests": int(learner.n_tests_), "potentials": fitted}
    ]  # fmt: skip
