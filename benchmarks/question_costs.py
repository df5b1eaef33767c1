"""What questions cost beside graphs: the level of the test, statements to a database, seconds."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import costly_tests
import numpy as np
import pandas as pd
from markov_domains import alarm

import counterpane as cp
from counterpane.data import Schema, Table
from harness import seconds
from question_domains import Domain, drawn, moral_network, ordered

SIZES = (1, 3, 5, 8, 12)
ALARM_ROWS = 20_000


def false_dependence(rows: int, triples: int = 400, trees: int = 20) -> list[dict[str, Any]]:
    """The share of separated pairs of trees that each test calls dependent, at level .05."""
    tests = {
        "stratified, α = .05": cp.StratifiedTest(0.05),
        "stratified (the default)": cp.StratifiedTest(),
        "Bayesian": cp.BayesianTest(),
        "G²": cp.GTest(0.05),
    }
    wrong: dict[tuple[str, int], list[bool]] = {}
    for seed in range(trees):
        rng = np.random.default_rng(seed)
        table, edges = drawn(Domain("tree", 50, 2, rows), seed)
        near = {v: {b for e in edges for b in e if v in e and b != v} for v in range(50)}
        source = cp.MemoryCounts(table)
        for size in SIZES:
            questions = []
            while len(questions) < triples // trees:
                x, y, *rest = rng.permutation(50).tolist()
                if y in near[x] or len(near[x]) > size:
                    continue
                others = [v for v in rest if v not in near[x]][: size - len(near[x])]
                questions.append((x, y, (*near[x], *others)))
            for name, test in tests.items():
                verdicts = test.bind(source).verdicts(questions)
                wrong.setdefault((name, size), []).extend(not v.independent for v in verdicts)
    return [
        {"test": name, "given": size, "rows": rows, "share": float(np.mean(errors))}
        for (name, size), errors in wrong.items()
    ]


def by_database() -> list[dict[str, Any]]:
    """Statements and rows scanned on ALARM in each database that is there."""
    table = alarm(ALARM_ROWS)
    frame = pd.DataFrame({v.name: table.column(v.name) for v in table.schema})
    _, true = moral_network("alarm")
    learners = {
        "Chow–Liu": cp.ChowLiu(),
        "GSMN": cp.GSMN(potentials=False),
        "GSIMN": cp.GSIMN(potentials=False),
        "PFMN": cp.PFMN(random_state=0, potentials=False),
        "PFMN, tables of 256 cells": cp.PFMN(random_state=0, potentials=False, table_cells=256),
        "GSIMN, paper": cp.GSIMN("bayesian", variant="paper", potentials=False),
    }
    records = []
    engines = {"DuckDB": costly_tests.parquet_in_duckdb, "PostgreSQL": costly_tests.postgres}
    for engine, connect in engines.items():
        with connect(frame) as connection:
            if connection is None:
                continue
            for name, learner in learners.items():
                source = cp.SqlSource(connection, "looks", schema=table.schema, keep_distinct=0)
                sent, scanned = source.n_queries, source.rows_scanned
                learner.fit(source)
                names = list(table.schema.names)
                pairs = {ordered(names.index(a), names.index(b)) for a, b in learner.graph_.edges}
                right = len(pairs & set(true))
                records.append({
                    "engine": engine, "learner": name, "statements": source.n_queries - sent,
                    "rows_scanned": source.rows_scanned - scanned,
                    "precision": right / max(len(pairs), 1), "recall": right / len(true),
                })  # fmt: skip
    return records


def nltcs_seconds() -> float:
    """CPU seconds of GSIMN's graph on NLTCS: 16 columns, 16,181 rows."""
    path = Path(os.environ["COUNTERPANE_DATA"]) / "density" / "nltcs.npz"
    bits = np.unpackbits(np.load(path)["train"], axis=1)[:, :16]
    table = Table(Schema.from_cards([2] * 16), np.ascontiguousarray(bits.T))
    learner = cp.GSIMN(potentials=False)
    learner.fit(table)
    return seconds(lambda: learner.fit(table))
