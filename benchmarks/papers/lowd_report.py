"""Lowd's tables, his figure of averagings, and what was asked for, in Markdown and JSON."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import wilcoxon

from harness import RESULTS, as_markdown, publish

CONVERSIONS = (
    "1 order, row", "2 orders, row", "1 order", "2 orders", "linear", "linear, rows", "all",
)  # fmt: skip
COLUMNS = ("name", "local", "method", "n", "rows", "learned", "seconds", "features", "pll",
           "pll_se", "cmll", "cmll_se")  # fmt: skip
LEVEL = 0.05
FASTER = {"tree": 7.0, "logistic": 100.0}  # that conversion must be than weight learning


def publish_report(name: str, records: list[dict[str, Any]]) -> None:
    """Write NAME.json, NAME.md and the figure; print the tables and what was asked."""
    if not records:
        return
    frame = pd.DataFrame(records)
    texts, facts = ["# Lowd, again\n"], []
    for local, own in frame.groupby("local", sort=False):
        texts += [f"## Local models: {local}\n", as_markdown(table(own).to_dict("records"))]
        facts += claims(str(local), own)
    details = [{k: r[k] for k in COLUMNS if r.get(k) is not None} for r in records]
    publish(name, facts + boosted_claims(frame), details, records)
    path = RESULTS / f"{name}.md"
    document = "\n".join([*texts, "## Claims\n", path.read_text()])
    path.write_text(document)
    print(document)
    draw(name, frame)


def wide(own: pd.DataFrame, column: str) -> pd.DataFrame:
    """A row a set, a column a method; only sets for which all is there."""
    return own.pivot(index="name", columns="method", values=column)


def table(own: pd.DataFrame) -> pd.DataFrame:
    """PLL and CMLL of each method, features, and times."""
    own = own.assign(cmll=own.get("cmll", np.nan))
    scores, answers = wide(own, "pll"), wide(own, "cmll")
    found = pd.DataFrame({"set": scores.index, "columns": own.groupby("name").n.first()})
    found["learning s"] = own.groupby("name").learned.first()
    for method in own.method.unique():
        found[f"PLL {method}"] = scores[method]
    for method in answers.columns[answers.notna().any()]:
        found[f"CMLL {method}"] = answers[method]
    seconds, features = wide(own, "seconds"), wide(own, "features")
    for method in ("linear", "weights"):
        if method in seconds:
            found[f"{method} s"] = seconds[method]
            found[f"{method} features"] = features[method]
    return found.loc[own.name.unique()]


def claims(local: str, own: pd.DataFrame) -> list[dict[str, Any]]:
    """What the paper says of its methods, as measured here."""
    scores, seconds = wide(own, "pll"), wide(own, "seconds")
    rows = []
    if {"linear", "1 order, row"} <= set(scores):
        both = scores[["linear", "1 order, row"]].dropna()
        better = int((both["linear"] > both["1 order, row"]).sum())
        rows.append(
            {"what": f"{local}: sets where rotations from marginals beat one order from a row",
             "value": better, "unit": f"of {len(both)}"}
        )  # fmt: skip
        rows.append(p_value(f"{local}: PLL, rotations above one order from a row", both))
    if {"linear", "linear, rows"} <= set(scores):
        both = scores[["linear", "linear, rows"]].dropna()
        better = int((both["linear"] > both["linear, rows"]).sum())
        rows.append(
            {"what": f"{local}: sets where the base of marginals beats that of the training rows",
             "value": better, "unit": f"of {len(both)}"}
        )  # fmt: skip
        rows.append(p_value(f"{local}: PLL, base of marginals above that of rows", both))
    if "weights" in scores:
        for column, values in (("PLL", scores), ("CMLL", wide(own, "cmll"))):
            both = values[["linear", "weights"]].dropna()
            wins = int((both["linear"] > both["weights"]).sum())
            rows.append(
                {"what": f"{local}: sets where conversion has the higher {column} than weights",
                 "value": wins, "unit": f"of {len(both)}"}
            )  # fmt: skip
            rows.append(p_value(f"{local}: {column}, conversion above weights", both))
        ratio = (seconds["weights"] / seconds["linear"]).dropna()
        if len(ratio):
            rows.append(
                {"what": f"{local}: weight learning with its tuning / conversion, geometric mean",
                 "value": float(np.exp(np.log(ratio).mean())), "unit": "×",
                 "limit": FASTER[local], "sign": "≥"}
            )  # fmt: skip
            rows.append(
                {"what": f"{local}: the same, least of the sets", "value": float(ratio.min()),
                 "unit": "×"}
            )  # fmt: skip
    return rows


def boosted_claims(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Boosted conditionals beside trees and regressions, before and after conversion."""
    rows = []
    for method in ("dn", "linear"):
        scores = frame[frame.method == method].pivot(index="name", columns="local", values="pll")
        for other in ("tree", "logistic"):
            if {"boosted", other} <= set(scores):
                both = scores[["boosted", other]].dropna()
                wins = int((both["boosted"] > both[other]).sum())
                rows.append(
                    {"what": f"boosted: sets where {method} has the higher PLL than {other}",
                     "value": wins, "unit": f"of {len(both)}"}
                )  # fmt: skip
                rows.append(p_value(f"boosted: PLL of {method} above {other}", both))
    return rows


def p_value(what: str, both: pd.DataFrame) -> dict[str, Any]:
    """Wilcoxon's signed-rank test of two columns, two-sided; the mean difference in words."""
    difference = both.iloc[:, 0] - both.iloc[:, 1]
    chance = 1.0
    if len(both) > 1 and (difference != 0).any():
        chance = float(wilcoxon(difference).pvalue)
    side = "higher" if difference.median() > 0 else "lower"
    verdict = "significant" if chance < LEVEL else "not significant"
    return {"what": f"{what}: Wilcoxon p ({side}, {verdict})", "value": chance, "unit": ""}


def draw(name: str, frame: pd.DataFrame) -> None:
    """How much normalized PLL each averaging loses from the dependency network."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    locals_ = frame.local.unique()
    figure, axes = pyplot.subplots(len(locals_), 1, figsize=(12, 4 * len(locals_)), squeeze=False)
    for axis, local in zip(axes[:, 0], locals_, strict=True):
        own = frame[frame.local == local]
        scores = wide(own, "pll").loc[own.name.unique()]
        n = own.groupby("name").n.first().loc[scores.index]
        losses = {c: (scores["dn"] - scores[c]) / n for c in CONVERSIONS if c in scores}
        tallest = pd.DataFrame(losses).abs().max(axis=1)
        width = 0.8 / max(len(losses), 1)
        for k, (method, loss) in enumerate(losses.items()):
            axis.bar(np.arange(len(n)) + k * width, loss / tallest, width, label=method)
        labels = [f"{s}\n{t:.3g}" for s, t in tallest.items()]
        axis.set_xticks(np.arange(len(n)) + 0.4 - width / 2, labels)
        axis.set_ylabel("lost PLL a column / largest")
        axis.set_title(f"{local}: dependency network − converted; below zero is better than it")
        axis.axhline(0.0, color="black", linewidth=0.8)
        axis.legend(ncols=6, fontsize=8)
    figure.tight_layout()
    figure.savefig(RESULTS / f"{name}_averaging.png", dpi=120)
    pyplot.close(figure)
