"""Where each look at the data costs: statements sent to a database, and seconds by part."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import markov_domains as domains
import pandas as pd

import counterpane as cp


def by_database(domain: Any) -> list[dict[str, Any]]:
    """GSIMN and PFMN on each database that is there: what they send, and what is read for it."""
    table = domains.alarm(domain.rows, n=domain.n)
    frame = pd.DataFrame({v.name: table.column(v.name) for v in table.schema})
    records: list[dict[str, Any]] = []
    for engine, suffix in ((parquet_in_duckdb, ""), (postgres, " on PostgreSQL")):
        with engine(frame) as connection:
            if connection is not None:
                records += asked(domain, table, connection, suffix)
    return records


@contextmanager
def parquet_in_duckdb(frame: pd.DataFrame) -> Iterator[Any]:
    """A connection that sees the rows as `looks`; None without DuckDB."""
    try:
        import duckdb
    except ImportError:
        yield None
        return
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as connection:
        path = Path(folder) / "rows.parquet"
        frame.to_parquet(path)
        connection.execute(f"CREATE VIEW looks AS SELECT * FROM '{path}'")
        yield connection


@contextmanager
def postgres(frame: pd.DataFrame) -> Iterator[Any]:
    """The same in the server that COUNTERPANE_POSTGRES says how to reach; None without it."""
    if "COUNTERPANE_POSTGRES" not in os.environ:
        yield None
        return
    import psycopg

    with psycopg.connect(os.environ["COUNTERPANE_POSTGRES"], autocommit=True) as connection:
        columns = ", ".join(f'"{name}" text' for name in frame)
        connection.execute(f"CREATE TEMPORARY TABLE looks ({columns})")
        with connection.cursor() as cursor, cursor.copy("COPY looks FROM STDIN") as copy:
            for row in frame.itertuples(index=False):
                copy.write_row(row)
        yield connection


def asked(domain: Any, table: cp.Table, connection: Any, suffix: str) -> Iterator[dict[str, Any]]:
    """Both learners on the table `looks`, each look a statement."""
    (size,) = domain.particles
    learners = {
        "GSIMN": cp.GSIMN("bayesian", variant="paper"),
        "PFMN": cp.ParticleFilterMN(n_particles=size, random_state=domain.repetition),
    }
    for method, learner in learners.items():
        source = cp.SqlSource(connection, "looks", schema=table.schema, keep_distinct=0)
        sent, scanned, began = source.n_queries, source.rows_scanned, time.perf_counter()
        learner.set_params(potentials=False).fit(source)
        seconds = time.perf_counter() - began
        found = learner.undirected_.edges
        same = found == learner.fit(table).undirected_.edges
        yield {**domain._asdict(), "method": method + suffix, "queries": source.n_queries - sent,
               "rows_scanned": source.rows_scanned - scanned, "cost": int(learner.cost_),
               "seconds": round(seconds, 2), "same_as_memory": same}  # fmt: skip


def growth(domain: Any) -> list[dict[str, Any]]:
    """Seconds of one fit of PFMN, warm, and the shares of tests, scoring and moves."""
    table = domains.alarm(domain.rows, n=domain.n)
    (size,) = domain.particles
    options: dict[str, Any] = {"random_state": 0, "n_jobs": 2, "potentials": False}
    cp.ParticleFilterMN(n_particles=size, max_tests=3, **options).fit(table)  # warm
    learner = cp.ParticleFilterMN(n_particles=size, **options)
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
