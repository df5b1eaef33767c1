"""Tables of Bromberg & Margaritis for the site: Table 1, Figures 3 and 4, ours beside the print."""

from __future__ import annotations

import math
from typing import Any

import markov_domains as domains
import pandas as pd

from harness import publish_tables

SCRIPT = "benchmarks/papers/bromberg_margaritis.py"
EQUAL = 0.02  # accuracies that differ less count as the same
AS_PUBLISHED = {"Bayes": "Bayesian test", "χ²": "χ² test"}
ACCURACIES = ("accuracy of GSIMN", "accuracy of PFMN", "accuracy of the empty graph",
              "accuracy of the complete graph")  # fmt: skip
LEAST_RATIO = {(20, 0.1): 0.22}  # the text: savings of up to 78 % for n = 20 and τ = 0.1


def publish_paper(
    name: str, records: list[dict[str, Any]], where: dict[str, Any] | None = None
) -> None:
    """Write the tables of the parts that were run; `where` as for `publish_tables`."""
    frame = pd.DataFrame(records)
    parts = dict(iter(frame.groupby("part"))) if len(frame) else {}
    tables: list[dict[str, Any]] = []
    if "real" in parts:
        tables += [table_1(parts["real"], test) for test in AS_PUBLISHED]
        tables += [table_1_default(parts["real"]), table_1_summary(parts["real"])]
    if "oracle" in parts:
        tables.append(figure_3(parts["oracle"]))
    if "sampled" in parts:
        tables.append(figure_4_left(parts["sampled"]))
    if "real" in parts:
        tables.append(figure_4_right(parts["real"]))
    publish_tables(name, SCRIPT, tables, where)


def real_rows(own: pd.DataFrame) -> list[tuple[int, domains.Printed, pd.DataFrame]]:
    """The number, the printed row and our means by method of each real table."""
    means = own.groupby(["name", "method"]).mean(numeric_only=True)
    methods = sorted(set(own.method))
    names = set(own.name)
    return [(i, p, means.loc[p.name].reindex(methods))
            for i, p in enumerate(domains.TABLE_1, 1) if p.name in names]  # fmt: skip


def table_1(own: pd.DataFrame, test: str) -> dict[str, Any]:
    """Costs and accuracies of the learners as published with one test."""
    rows = []
    for i, p, at in real_rows(own):
        g, f = (at.loc[f"{m} {test}"] for m in ("GSIMN", "PFMN"))
        accuracy = f"accuracy by {test}"
        blind = (at.loc[m, accuracy] for m in ("empty", "complete"))
        rows.append([
            i, p.name, int(at.n.max()), int(at.rows.max()), whole(g.cost), p.gsimn_cost,
            whole(f.cost), p.pfmn_cost, short(g[accuracy]), p.gsimn_accuracy, short(f[accuracy]),
            p.pfmn_accuracy, *map(short, blind),
        ])  # fmt: skip
    return {
        "title": f"Table 1, as published, {AS_PUBLISHED[test]}",
        "columns": [
            "#", "set", "n", "rows", "cost of GSIMN", "cost of GSIMN, printed", "cost of PFMN",
            "cost of PFMN, printed", "accuracy of GSIMN", "accuracy of GSIMN, printed",
            "accuracy of PFMN", "accuracy of PFMN, printed", "accuracy of the empty graph",
            "accuracy of the complete graph",
        ],
        "rows": rows,
        "digits": dict.fromkeys(ACCURACIES, 3),
        "note": f"`GSIMN(variant=\"paper\")` and `ParticleFilterMN`. {seeds(own)}",
    }  # fmt: skip


def table_1_default(own: pd.DataFrame) -> dict[str, Any]:
    """The same with our defaults, judged by three tests."""
    judges = {"Bayes": "Bayesian test", "χ²": "χ²", "default": "stratified test"}
    rows = []
    for i, p, at in real_rows(own):
        g, f = (at.loc[f"{m} default"] for m in ("GSIMN", "PFMN"))
        cells = [short(m[f"accuracy by {judge}"]) for judge in judges for m in (g, f)]
        rows.append([i, p.name, whole(g.cost), p.gsimn_cost, whole(f.cost), p.pfmn_cost, *cells])
    columns = [f"accuracy of {m} by the {judge}" for judge in judges.values()
               for m in ("GSIMN", "PFMN")]  # fmt: skip
    return {
        "title": "Table 1, our default",
        "columns": [
            "#", "set", "cost of GSIMN", "cost of GSIMN, printed", "cost of PFMN",
            "cost of PFMN, printed", *columns,
        ],
        "rows": rows,
        "digits": dict.fromkeys(columns, 3),
        "note": f"The learners' defaults, with the stratified test. {seeds(own)}",
    }  # fmt: skip


def table_1_summary(own: pd.DataFrame) -> dict[str, Any]:
    """On how many tables PFMN costs less, and keeps GSIMN's accuracy."""
    rows = []
    for test in (*AS_PUBLISHED, "default"):
        cheaper = kept = better = 0
        run = [at for _, _, at in real_rows(own) if not math.isnan(at.cost[f"PFMN {test}"])]
        for at in run:
            g, f = (at.loc[f"{m} {test}"] for m in ("GSIMN", "PFMN"))
            accuracy = f"accuracy by {test}"
            cheaper += bool(f.cost < g.cost)
            kept += bool(f[accuracy] >= g[accuracy] - EQUAL)
            blind = max(at.loc["empty", accuracy], at.loc["complete", accuracy])
            better += bool(f[accuracy] > blind)
        label = f"as published, {AS_PUBLISHED[test]}" if test in AS_PUBLISHED else "our default"
        count = len(run)
        complete = test in AS_PUBLISHED and count == len(domains.TABLE_1)
        printed = (15, 11) if complete else (None, None)
        rows.append([label, count, cheaper, printed[0], kept, printed[1], better])
    columns = ["PFMN costs less than GSIMN", "accuracy not lower by more than .02"]
    return {
        "title": "Table 1, summary",
        "columns": ["variant", "sets", *(c for k in columns for c in (k, f"{k}, printed")),
                    "PFMN is better than the empty and the complete graph"],
        "rows": rows,
        "note": "The counts of the paper's text are 15 of 17 and 11 of 17.",
    }  # fmt: skip


def figure_3(own: pd.DataFrame) -> dict[str, Any]:
    """Random graphs with a perfect test, by the number of particles."""
    means = own.groupby(["n", "tau", "method"]).mean(numeric_only=True)
    sizes = sorted({int(m[5:]) for m in own.method if m.startswith("PFMN")})
    rows = []
    for n, tau in sorted(set(zip(own.n, own.tau, strict=True))):
        at = means.loc[n, tau]
        ratios = [short(at.cost[f"PFMN {k}"] / at.cost["GSIMN"]) for k in sizes]
        right = [short(at.accuracy[f"PFMN {k}"], 4) for k in sizes]
        most = f"PFMN {sizes[-1]}"
        rows.append([int(n), float(tau), whole(at.cost["GSIMN"]), *ratios, min(ratios),
                     LEAST_RATIO.get((n, tau)), *right, whole(at.n_tests["GSIMN"]),
                     whole(at.n_tests[most]), int(n * (n - 1) // 2)])  # fmt: skip
    ratios = [f"cost ratio, {k} particles" for k in sizes]
    right = [f"accuracy, {k} particles" for k in sizes]
    return {
        "title": "Figure 3",
        "columns": [
            "n", "τ", "cost of GSIMN", *ratios, "least ratio", "least ratio, printed", *right,
            "tests of GSIMN", f"tests of PFMN, {sizes[-1]} particles", "C(n, 2)",
        ],
        "rows": rows,
        "digits": {"τ": 1, "least ratio": 2, **dict.fromkeys(ratios, 2),
                   **dict.fromkeys(right, 4)},
        "note": "The cost ratio is the cost of PFMN divided by that of GSIMN. The accuracy of "
                f"GSIMN is 1. {seeds(own, 'graph')}",
    }  # fmt: skip


def figure_4_left(own: pd.DataFrame) -> dict[str, Any]:
    """Accuracy on samples of growing size."""
    means = own.groupby(["n", "rows", "method"]).mean(numeric_only=True)
    labels = {**AS_PUBLISHED, "default": "our default"}
    methods = [(f"{m} {test}", f"{m}, {labels[test]}") for test in labels
               for m in ("GSIMN", "PFMN")]  # fmt: skip
    rows = []
    for n, m in sorted(set(zip(own.n, own.rows, strict=True))):
        at = means.loc[n, m].accuracy
        cells = (short(at[k]) for k in (*(key for key, _ in methods), "empty", "complete"))
        rows.append([int(n), int(m), *cells])
    columns = [*(label for _, label in methods), "empty graph", "complete graph"]
    return {
        "title": "Figure 4, left",
        "columns": ["n", "rows", *columns],
        "rows": rows,
        "digits": dict.fromkeys(columns, 3),
        "note": f"Accuracy against the true graph; τ = 0.5. {seeds(own, 'graph')}",
    }


def figure_4_right(own: pd.DataFrame) -> dict[str, Any]:
    """Ratio of costs and difference of accuracies on the real tables."""
    rows = []
    for i, p, at in real_rows(own):
        row: list[Any] = [i, p.name]
        for test in (*AS_PUBLISHED, "default"):
            g, f = (at.loc[f"{m} {test}"] for m in ("GSIMN", "PFMN"))
            accuracy = f"accuracy by {test}"
            ours = [short(f.cost / g.cost), short(f[accuracy] - g[accuracy])]
            printed = [short(p.pfmn_cost / p.gsimn_cost),
                       short(p.pfmn_accuracy - p.gsimn_accuracy)]  # fmt: skip
            row += ours if test == "default" else [c for pair in zip(ours, printed, strict=True)
                                                   for c in pair]  # fmt: skip
        rows.append(row)
    columns = []
    for label in AS_PUBLISHED.values():
        for what in ("cost ratio", "accuracy of PFMN less GSIMN"):
            columns += [f"{what}, {label}", f"{what}, {label}, printed"]
    columns += ["cost ratio, our default", "accuracy of PFMN less GSIMN, our default"]
    return {
        "title": "Figure 4, right",
        "columns": ["#", "set", *columns],
        "rows": rows,
        "digits": {c: 2 if c.startswith("cost") else 3 for c in columns},
        "note": "The printed values are computed from the paper's Table 1.",
    }


def seeds(own: pd.DataFrame, what: str = "seed") -> str:
    """The number of repetitions, in words."""
    count = own.repetition.nunique()
    return f"One {what} a row." if count == 1 else f"Means of {count} {what}s."


def whole(value: float) -> int | float | None:
    """A count as an integer, a mean of counts as it is, None for what was not run."""
    if math.isnan(value):
        return None
    return int(value) if value == int(value) else round(float(value), 1)


def short(value: float, digits: int = 4) -> float | None:
    return None if math.isnan(value) else round(float(value), digits)
