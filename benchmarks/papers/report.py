"""Tables of losses and ranks, in Markdown and JSON, with the paper's own numbers beside ours."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import uci
from scipy.stats import rankdata, wilcoxon

from harness import RESULTS, circumstances

FAR = 0.05  # a log-loss that differs more from the printed one is named
MEASURES = ("log_loss", "error")
SECOND = ("B4", "LR", "LR-L1", "LR-raw", "SVM", "RF", "LGBM", "HGB", "Tree", "EBM", "IC")


def publish_tables(
    name: str, records: list[dict[str, Any]], sets: list[uci.UciSet], speed: list[dict[str, Any]]
) -> None:
    """Write NAME.md and NAME.json, and print the Markdown."""
    frame = pd.DataFrame(records)
    frame = frame.assign(log_loss=frame.log_loss.astype(float), error=frame.error.astype(float))
    means = mean_losses(frame)
    order = [s.name for s in sets]
    parts = ["# Jakulin & Rish, Table 1 and Table 2, again\n"]
    facts: dict[str, Any] = {}
    for protocol, title in (
        ("first", "Table 1: discretized first, as in the paper"),
        ("inside", "Table 1, discretized inside each training fold"),
    ):
        table = means["log_loss"].get(protocol)
        if table is not None:
            text, facts[protocol] = first_table(means, protocol, title, sets)
            parts.append(text)
    text, facts["rivals"] = second_table(means, order)
    parts += [text, failures(frame), speed_table(speed)]
    document = "\n".join(part for part in parts if part)
    facts |= {
        "circumstances": circumstances(),
        "speed": speed,
        "repetitions": frame.groupby("method").repetition.nunique().to_dict(),
        "means": {m: {p: t.to_dict() for p, t in by.items()} for m, by in means.items()},
    }
    (RESULTS / f"{name}.md").write_text(document)
    (RESULTS / f"{name}.json").write_text(json.dumps(facts, indent=1))
    print(document)
    print(f"→ {RESULTS / name}.md, .json")


def mean_losses(frame: pd.DataFrame) -> dict[str, dict[str, pd.DataFrame]]:
    """measure → protocol → means by set and method, over the folds that every method has done."""
    found: dict[str, dict[str, pd.DataFrame]] = {m: {} for m in MEASURES}
    key = ["name", "repetition", "fold"]
    for protocol, part in frame.groupby("protocol"):
        for measure in MEASURES:
            wide = part.pivot(index=key, columns="method", values=measure)
            attempted = part.pivot(index=key, columns="method", values="method").notna()
            kept = wide[attempted.all(axis=1)]
            found[measure][str(protocol)] = kept.groupby(level=0).mean(numeric_only=True)
    return found


def ranks(table: pd.DataFrame, methods: list[str]) -> pd.Series:
    """Average ranks over the sets, 1 the best; what failed on a set is last there."""
    filled = table[methods].fillna(np.inf)
    return pd.Series(rankdata(filled, axis=1).mean(axis=0), index=methods)


def first_table(
    means: dict[str, dict[str, pd.DataFrame]], protocol: str, title: str, sets: list[uci.UciSet]
) -> tuple[str, dict[str, Any]]:
    """The paper's methods; under its own protocol the printed B4 stands beside ours."""
    losses, errors = means["log_loss"][protocol], means["error"][protocol]
    methods = [m for m in uci.METHODS if m in losses]
    printed = uci.printed()
    beside = protocol == "first" and "B4" in methods
    head = ["set", *methods, *(["B4 printed", "difference"] if beside else [])]
    rows, far = [], []
    for data in sets:
        if data.name not in losses.index:
            continue
        cells = [f"{losses.loc[data.name, m]:.3f}" for m in methods]
        if beside:
            theirs = printed[data.printed_name]["B4"]
            apart = losses.loc[data.name, "B4"] - theirs
            far += [(data.name, apart)] if abs(apart) > FAR else []
            cells += [f"{theirs:.2f}", f"{apart:+.3f}"]
        rows.append([data.name, *cells])
    facts: dict[str, Any] = {}
    for measure, table in (("log_loss", losses), ("error", errors)):
        own = ranks(table, methods)
        facts[f"ranks_{measure}"] = own.to_dict()
        rows.append([f"**rank, {measure}**", *(f"**{own[m]:.2f}**" for m in methods)])
        theirs = dict(zip(uci.METHODS, uci.PRINTED_RANKS[measure], strict=True))
        rows.append(["printed", *(f"{theirs[m]:.1f}" for m in methods)])
    note = ""
    if beside:
        worse = [f"{n} ({d:+.3f})" for n, d in far if d > 0]
        better = [f"{n} ({d:+.3f})" for n, d in far if d < 0]
        facts["worse"], facts["better"] = worse, better
        note = (
            f"\nB4 beside the printed one: higher by more than {FAR} on {len(worse)} sets "
            f"({', '.join(worse) or 'none'}), lower by more on {len(better)} "
            f"({', '.join(better) or 'none'}).\n"
        )
    return f"## {title}\n\n{markdown(head, rows)}{note}", facts


def second_table(
    means: dict[str, dict[str, pd.DataFrame]], order: list[str]
) -> tuple[str, dict[str, Any]]:
    """Against other libraries: losses, ranks, and paired tests of IC against each."""
    losses = means["log_loss"].get("inside", pd.DataFrame())
    errors = means["error"].get("inside", pd.DataFrame())
    methods = [m for m in SECOND if m in losses]
    if "IC" not in methods or len(methods) < 3:
        return "", {}
    names = [n for n in order if n in losses.index]
    rows = [[n, *(_loss(losses.loc[n], m, methods) for m in methods)] for n in names]
    facts: dict[str, Any] = {}
    for measure, table in (("log_loss", losses), ("error", errors)):
        own = ranks(table.loc[names], methods)
        rows.append([f"**rank, {measure}**", *(f"**{own[m]:.2f}**" for m in methods)])
        tests = {m: paired(table.loc[names, "IC"], table.loc[names, m]) for m in methods[:-1]}
        rows.append([f"IC wins–losses, {measure}", *(t["score"] for t in tests.values()), ""])
        rows.append(["Wilcoxon p", *(f"{t['p']:.1g}" for t in tests.values()), ""])
        facts[measure] = {"ranks": own.to_dict(), "tests": tests}
    title = "## Table 2: beside other libraries\n\nLog-loss; all but B4 and IC smoothed alike.\n\n"
    return title + markdown(["set", *methods], rows), facts


def _loss(row: pd.Series, method: str, methods: list[str]) -> str:
    text = f"{row[method]:.3f}"
    return f"**{text}**" if row[method] == row[methods].min() else text


def paired(ours: pd.Series, theirs: pd.Series) -> dict[str, Any]:
    """Sets won and lost, and the two-sided Wilcoxon test over sets; a failure counts as lost."""
    apart = (theirs.fillna(np.inf) - ours).to_numpy()
    finite = np.where(np.isinf(apart), 1e3, apart)
    decided = finite[finite != 0]
    p = float(wilcoxon(decided).pvalue) if len(decided) else 1.0
    return {"score": f"{(apart > 0).sum()}–{(apart < 0).sum()}", "p": p}


def failures(frame: pd.DataFrame) -> str:
    if "failure" not in frame or frame.failure.isna().all():
        return ""
    lost = frame[frame.failure.notna()].groupby(["method", "name"]).failure.agg(["size", "first"])
    rows = [[m, n, str(r["size"]), r["first"]] for (m, n), r in lost.iterrows()]
    return "## Folds without a result\n\n" + markdown(["method", "set", "folds", "why"], rows)


def speed_table(speed: list[dict[str, Any]]) -> str:
    rows = [[s["what"], f"{s['value']:.4g} {s['unit']}", _verdict(s)] for s in speed]
    return "## Speed\n\n" + markdown(["what", "measured", "asked"], rows) if rows else ""


def _verdict(row: dict[str, Any]) -> str:
    if row.get("limit") is None:
        return ""
    met = row["value"] <= row["limit"]
    return f"≤ {row['limit']:g}: {'met' if met else 'MISSED'}"


def markdown(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *([*row, *[""] * (len(head) - len(row))] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
