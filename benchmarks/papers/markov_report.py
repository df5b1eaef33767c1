"""Table 1 beside the paper's, Figures 3 and 4, and what was asked for, in Markdown and JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import markov_domains as domains
import numpy as np
import pandas as pd

from harness import RESULTS, publish

TESTS = ("χ²", "Bayes")
EQUAL = 0.02  # accuracies that differ less count as the same
CHEAP = ("haberman", "hayes-roth-with-name", "balance-scale", "nursery", "monk1", "car", "baloons",
         "crx", "hepatitis", "bridges")  # fmt: skip
"""The sets on which the printed cost of GSIMN is n(n − 1)."""


def publish_report(name: str, records: list[dict[str, Any]]) -> None:
    """Write NAME.md, NAME.json and the figures; print the tables and what was asked."""
    frame = pd.DataFrame(records)
    parts = dict(iter(frame.groupby("part"))) if len(frame) else {}
    rows: list[dict[str, Any]] = []
    texts = ["# Bromberg & Margaritis, again\n"]
    for part, tell in (
        ("real", table_1), ("oracle", figure_3), ("sampled", figure_4_left),
        ("database", database), ("speed", speed),
    ):  # fmt: skip
        if part in parts:
            text, facts = tell(parts[part])
            texts.append(text)
            rows += facts
    draw(name, parts)
    publish(name, rows, records=records)
    path = RESULTS / f"{name}.md"
    document = "\n".join([*texts, "## What was asked\n", path.read_text()])
    path.write_text(document)
    print(document)


def table_1(own: pd.DataFrame) -> tuple[str, list[dict[str, Any]]]:
    """The real tables: once with each test, which is also the judge."""
    texts, facts = ["## Table 1: weighted cost and accuracy on unseen tests\n"], []
    for test in TESTS:
        text, found = table_with(own, test)
        texts.append(text)
        facts += found
    return "\n".join(texts), facts


def table_with(own: pd.DataFrame, test: str) -> tuple[str, list[dict[str, Any]]]:
    """GSIMN and PFMN with one test; in brackets, their accuracy by χ²."""
    means = own.groupby(["name", "method"]).mean(numeric_only=True)
    head = ["set", "n", "rows", "GSIMN", "printed", "PFMN", "printed", "PFMN/GSIMN", "printed",
            "acc. GSIMN", "printed", "acc. PFMN", "printed", "difference", "printed", "edges G, P",
            "acc. of the empty, complete graph"]  # fmt: skip
    rows, ratios, apart, cheap, telling = [], [], [], [], []
    for p in domains.TABLE_1:
        if p.name not in own.name.to_numpy():
            continue
        g, f = (means.loc[p.name, f"{m} {test}"] for m in ("GSIMN", "PFMN"))
        right = [m[f"accuracy by {test}"] for m in (g, f)]
        besides = [m["accuracy by χ²"] for m in (g, f)]
        blind = [means.loc[p.name, m][f"accuracy by {test}"] for m in ("empty", "complete")]
        telling.append(right[1] > max(blind))
        ratios.append(f.cost / g.cost)
        apart.append(right[1] - right[0])
        if p.name in CHEAP:
            cheap.append(g.cost / (g.n * (g.n - 1)))
        rows.append([
            p.name, f"{g.n:.0f}", f"{g.rows:.0f}", f"{g.cost:.0f}", p.gsimn_cost,
            f"{f.cost:.0f}", p.pfmn_cost, f"{ratios[-1]:.2f}", f"{p.pfmn_cost / p.gsimn_cost:.2f}",
            f"{right[0]:.3f} ({besides[0]:.3f})", f"{p.gsimn_accuracy:.3f}",
            f"{right[1]:.3f} ({besides[1]:.3f})", f"{p.pfmn_accuracy:.3f}",
            f"{apart[-1]:+.3f}", f"{p.pfmn_accuracy - p.gsimn_accuracy:+.3f}",
            f"{g.edges:.0f}, {f.edges:.0f}", f"{blind[0]:.3f}, {blind[1]:.3f}",
        ])  # fmt: skip
    whole = len(rows) == len(domains.TABLE_1)
    facts = [
        _row(f"real, {test}: sets where PFMN costs less than GSIMN", sum(r < 1 for r in ratios),
             15 if whole else None, "≥", f"of {len(rows)}"),
        _row(f"real, {test}: sets where its accuracy is not lower by more than .02",
             sum(a >= -EQUAL for a in apart), 11 if whole else None, "≥", f"of {len(rows)}"),
        _row(f"real, {test}: sets where PFMN beats both the empty and the complete graph",
             sum(telling), None, "≥", f"of {len(rows)}"),
        _row(f"real, {test}: sets where GSIMN's cost is within 5 % of n(n−1), as printed",
             sum(c <= 1.05 for c in cheap), 10 if whole else None, "≥", f"of {len(cheap)}"),
    ]  # fmt: skip
    return f"### Both ask, and are judged by, {test}\n\n" + markdown(head, rows), facts


def figure_3(own: pd.DataFrame) -> tuple[str, list[dict[str, Any]]]:
    """Random graphs with a perfect test."""
    means = own.groupby(["n", "tau", "method"]).mean(numeric_only=True)
    sizes = sorted({m for m in own.method if m.startswith("PFMN")}, key=lambda m: int(m[5:]))
    head = ["n", "τ", "GSMN cost", "GSIMN cost", "tests", "C(n,2)",
            *(f"{m}: cost ratio, accuracy, tests" for m in sizes)]  # fmt: skip
    rows, facts = [], []
    for n, tau in sorted(set(zip(own.n, own.tau, strict=True))):
        at = means.loc[n, tau]
        cells = []
        for m in sizes:
            ratio = at.cost[m] / at.cost["GSIMN"]
            cells.append(f"{ratio:.2f}, {at.accuracy[m]:.4f}, {at.n_tests[m]:.0f}")
        last = sizes[-1]
        ratio = at.cost[last] / at.cost["GSIMN"]
        limit = 0.45 if (n, tau) == (20, 0.1) else 1.0
        facts += [
            _row(f"oracle: n={n}, τ={tau}: cost of {last} by GSIMN's", ratio, limit),
            _row(f"oracle: n={n}, τ={tau}: accuracy of {last}", at.accuracy[last], 1.0, "≥"),
        ]
        rows.append([n, tau, f"{at.cost['GSMN']:.0f}", f"{at.cost['GSIMN']:.0f}",
                     f"{at.n_tests['GSIMN']:.0f}", math.comb(n, 2), *cells])  # fmt: skip
    exact = own[own.method.isin(["GSMN", "GSIMN"])]
    wide = own.pivot_table(index=["n", "tau", "repetition"], columns="method", values="cost")
    facts += [
        _row("oracle: least accuracy of GSMN and GSIMN", exact.accuracy.min(), 1.0, "≥"),
        _row("oracle: largest cost of GSIMN by GSMN's", (wide.GSIMN / wide.GSMN).max(), 1.0),
    ]
    return "## Figure 3: random graphs, a perfect test\n\n" + markdown(head, rows), facts


def figure_4_left(own: pd.DataFrame) -> tuple[str, list[dict[str, Any]]]:
    """Samples of growing size."""
    methods = sorted(own.method.unique())
    means = own.groupby(["n", "rows", "method"]).mean(numeric_only=True)
    rows, facts = [], []
    for n, m in sorted(set(zip(own.n, own.rows, strict=True))):
        at = means.loc[n, m]
        cells = (f"{at.accuracy[k]:.3f} ({at.cost[k]:.0f}, {at.edges[k]:.0f})" for k in methods)
        rows.append([n, m, *cells])
        for test in TESTS:
            gap = at.accuracy[f"PFMN {test}"] - at.accuracy[f"GSIMN {test}"]
            what = f"sampled, {test}: n={n}, τ=.5, {m} rows: accuracy of PFMN less GSIMN's"
            facts.append(_row(what, gap, 0.0 if n == 20 else None, "≥"))
    head = ["n", "rows", *(f"{k}: accuracy (cost, edges)" for k in methods)]
    return "## Figure 4, left: samples of growing size, τ = .5\n\n" + markdown(head, rows), facts


def database(own: pd.DataFrame) -> tuple[str, list[dict[str, Any]]]:
    """Statements sent and rows scanned."""
    columns = [
        "method",
        "n",
        "rows",
        "queries",
        "rows_scanned",
        "cost",
        "seconds",
        "same_as_memory",
    ]
    sent = own.set_index("method").queries
    facts = [_row("DuckDB on parquet: statements of PFMN by GSIMN's", sent["PFMN"] / sent["GSIMN"],
                  1.0)]  # fmt: skip
    text = markdown(columns, own[columns].to_numpy().tolist())
    return "## DuckDB on a parquet file of ALARM\n\n" + text, facts


def speed(own: pd.DataFrame) -> tuple[str, list[dict[str, Any]]]:
    """Seconds by variables and particles."""
    rows, facts = [], []
    for r in (
        own.assign(particles=own.particles.str[0]).sort_values(["n", "particles"]).itertuples()
    ):
        shares = [f"{100 * getattr(r, f'share_{p}'):.0f} %" for p in ("test", "score", "move")]
        rows.append([r.n, r.rows, r.particles, f"{r.seconds:.1f}", *shares, f"{r.n_tests:.0f}",
                     f"{r.potentials:.2f}"])  # fmt: skip
        asked = 60.0 if (r.n, r.particles, r.rows) == (37, 250, 20_000) else None
        what = f"speed: PFMN, {r.n} variables, {r.particles} particles, {r.rows} rows"
        facts.append(_row(what, r.seconds, asked, unit="s"))
    head = ["n", "rows", "particles", "seconds", "tests", "scoring", "moves", "n tests",
            "potentials, s"]  # fmt: skip
    return "## Time\n\n" + markdown(head, rows), facts


def draw(name: str, parts: dict[Any, pd.DataFrame]) -> None:
    """Figures 3 and 4, where matplotlib is installed."""
    try:
        from matplotlib import pyplot
    except ImportError:
        return
    if "oracle" in parts:
        figure, axes = pyplot.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
        own = parts["oracle"]
        means = own.groupby(["n", "tau", "method"]).mean(numeric_only=True).reset_index()
        for (n, tau), at in means.groupby(["n", "tau"]):
            found = at[at.method.str.startswith("PFMN")].assign(
                size=lambda f: f.method.str[5:].astype(int)
            ).sort_values("size")  # fmt: skip
            base = at[at.method == "GSIMN"].iloc[0]
            style = {"marker": "o" if n == 16 else "s", "label": f"n={n}, τ={tau}"}
            axes[0].plot(found["size"], found.cost / base.cost, **style)
            axes[1].plot(found["size"], found.accuracy, **style)
            axes[2].plot([math.comb(n, 2)] * 2, [found.n_tests.iloc[-1], base.n_tests], "o:")
        axes[0].axhline(1.0, color="gray", lw=0.5)
        axes[0].set(xlabel="particles", ylabel="weighted cost, PFMN by GSIMN")
        axes[1].set(xlabel="particles", ylabel="accuracy of PFMN")
        axes[2].axline((0, 0), slope=1, color="gray", lw=0.5)
        axes[2].set(xlabel="C(n, 2)", ylabel="tests: PFMN (below), GSIMN")
        axes[0].legend(fontsize=6, frameon=False)
        figure.savefig(RESULTS / f"{name}_figure_3.png", dpi=120)
        pyplot.close(figure)
    if {"sampled", "real"} & set(parts):
        figure, axes = pyplot.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
        for key, at in _groups(parts.get("sampled"), ["n", "method"]):
            line = at.groupby("rows").accuracy.mean()
            axes[0].semilogx(line.index, line, "o-", label=f"n={key[0]}, {key[1]}")
        axes[0].set(xlabel="rows", ylabel="accuracy")
        if "sampled" in parts:
            axes[0].legend(fontsize=6, frameon=False)
        for _, at in _groups(parts.get("real"), ["part"]):
            means = at.groupby(["name", "method"]).mean(numeric_only=True).unstack()
            order = [p.name for p in domains.TABLE_1 if p.name in means.index]
            means = means.loc[order]
            for k, test in enumerate(TESTS):
                ours, theirs = f"PFMN {test}", f"GSIMN {test}"
                x = np.arange(1, len(order) + 1) + 0.25 * k
                ratio, right = means.cost[ours] / means.cost[theirs], means[f"accuracy by {test}"]
                axes[1].plot(x, ratio, "o-", label=f"cost, PFMN by GSIMN, {test}")
                gap = right[ours] - right[theirs]
                axes[1].bar(x, gap, 0.25, alpha=0.5, label=f"accuracy, PFMN less GSIMN, {test}")
            axes[1].set(xlabel="set, in the order of Table 1")
            axes[1].axhline(1.0, color="gray", lw=0.5)
            axes[1].legend(fontsize=6, frameon=False)
        figure.savefig(RESULTS / f"{name}_figure_4.png", dpi=120)
        pyplot.close(figure)


def _groups(frame: pd.DataFrame | None, by: list[str]) -> Iterable[tuple[Any, pd.DataFrame]]:
    return () if frame is None else frame.groupby(by)


def _row(
    what: str, value: float, limit: float | None = None, sign: str = "≤", unit: str = ""
) -> dict[str, Any]:
    return {"what": what, "value": float(value), "unit": unit, "limit": limit, "sign": sign}


def markdown(head: list[str], rows: list[list[Any]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines) + "\n"
