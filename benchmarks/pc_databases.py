"""PC on a table in DuckDB and PostgreSQL: statements a level, and the same graph as in memory.

    python benchmarks/pc_databases.py

The server is Debian's package, started for this run. With `keep_distinct=0` every count goes to
the database; by default a source keeps distinct rows if they are few.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import counterpane as cp
from counterpane.learners.independence.colliders import PatternSearch
from harness import publish

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from contract.postgres_server import binaries, server

NETWORKS = Path(os.environ["COUNTERPANE_DATA"]) / "networks"
TABLES = (("child", 20_000), ("alarm", 20_000), ("alarm", 100_000))


class NotedSearch(PatternSearch):
    """Notes, after each batch, how many statements a source has sent."""

    source_of_rows: Any
    sent: list[int]

    def start(self) -> Any:
        self.sent.append(self.source_of_rows.n_queries)
        return super().start()

    def step(self, state: Any, ctl: Any) -> Any:
        done = super().step(state, ctl)
        self.sent.append(self.source_of_rows.n_queries)
        return done


class NotedPC(cp.PC):
    _search_class = NotedSearch


@contextmanager
def duckdb_table(table: Any) -> Iterator[Any]:
    import duckdb

    connection = duckdb.connect()
    connection.register("rows", table.to_pandas())
    connection.execute("CREATE TABLE visits AS SELECT * FROM rows")
    yield connection
    connection.close()


@contextmanager
def postgres_table(table: Any) -> Iterator[Any]:
    import psycopg

    programs = binaries()
    assert programs is not None, "PostgreSQL is not installed"
    with server(programs) as words, psycopg.connect(words, autocommit=True) as connection:
        names = ", ".join(f'"{name}" TEXT' for name in table.schema.names)
        cursor = connection.cursor()
        cursor.execute(f"CREATE TABLE visits ({names})")
        with cursor.copy("COPY visits FROM STDIN") as copy:
            for row in table.to_pandas().itertuples(index=False):
                copy.write_row(tuple(map(str, row)))
        cursor.execute("ANALYZE visits")
        yield connection


def measured(name: str, rows: int) -> list[dict[str, Any]]:
    """A line for each database: statements of each level, and whether the graph is the same."""
    true: Any = cp.load(NETWORKS / f"{name}.bif.gz")
    table = true.sample(rows, random_state=1)
    expected = cp.PC().fit(table)
    lines = []
    for database, opened in (("DuckDB", duckdb_table), ("PostgreSQL", postgres_table)):
        with opened(table) as connection:
            states = {v.name: list(v.states) for v in table.schema}
            for keep in (0, 65_536):
                source = cp.SqlSource(connection, "visits", states=states, keep_distinct=keep)
                began = time.perf_counter()
                NotedSearch.source_of_rows, NotedSearch.sent = source, [source.n_queries]
                learner = NotedPC().fit(source)
                sent = NotedSearch.sent
                levels: dict[Any, int] = {}
                for k, step in enumerate(learner.trace_):
                    at = step.get("level", "colliders")
                    levels[at] = levels.get(at, 0) + sent[k + 2] - sent[k + 1]
                lines.append({
                    "table": f"{name}, {rows:,} rows, {database}, keep_distinct={keep:,}",
                    "tests": learner.n_tests_,
                    "batches": sum(step["batches"] for step in learner.trace_),
                    "statements": source.n_queries,
                    "for states": sent[0],
                    "for the order of columns": sent[1] - sent[0],
                    "for tables of the model": source.n_queries - sent[-1],
                    "most of a level": max(levels.values()),
                    "colliders": levels.get("colliders", 0),
                    "s (elapsed)": float(f"{time.perf_counter() - began:.3g}"),
                    "same graph": int(
                        learner.dag_ == expected.dag_
                        and learner.n_tests_ == expected.n_tests_
                    ),
                })  # fmt: skip
                print(lines[-1], levels, flush=True)
    return lines


def main() -> None:
    lines = [line for name, rows in TABLES for line in measured(name, rows)]
    same = sum(line["same graph"] for line in lines)
    rows = [
        {"what": f"PC in databases: graphs equal to those of memory, of {len(lines)}",
         "value": same, "unit": "", "limit": len(lines), "sign": "≥"},
        {"what": "PC in databases: most statements of a level",
         "value": max(line["most of a level"] for line in lines), "unit": ""},
    ]  # fmt: skip
    publish("pc_databases", rows, lines)


if __name__ == "__main__":
    main()
