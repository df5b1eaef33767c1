"""Tables 1–3 and Figures 1–4 of Freno, Trentin & Gori for the site, beside the printed values."""

from __future__ import annotations

from typing import Any

import pandas as pd
from freno_report import PRINTED, PRINTED_FILMS

TITLES = {"citeseer": "Table 1: CiteSeer", "cora": "Table 2: Cora"}
CURVES = {  # figure: (the rival, its name in the table)
    "Figure 1": ("BN 1", "Algorithm 1"),
    "Figure 2": ("BN", "K2"),
    "Figure 3": ("DN", "DN, k = 8"),
    "Figure 4": ("MRF", "MRF, k = 6"),
}
WALK = (0.8776, 0.8706)  # ItemRank in Table 3


def paper_tables(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The tables whose parts were run."""
    frame = pd.DataFrame(records)
    tables = [
        _references(part, title, frame[frame.part == part])
        for part, title in TITLES.items()
        if (frame.part == part).any()
    ]
    if (frame.part == "movielens").any():
        tables.append(_films(frame[frame.part == "movielens"]))
    growth = frame[frame.part == "growth"]
    return tables + [
        _curve(figure, rival, label, growth)
        for figure, (rival, label) in CURVES.items()
        if (growth.method == rival).any()
    ]


def _references(part: str, title: str, runs: pd.DataFrame) -> dict[str, Any]:
    """The first reference by id removed, as printed, and the mean over all references."""
    rows = []
    for method, each in runs.groupby("method", sort=False):
        folds = each.groupby("fold").mrr.mean()
        mean, deviation = PRINTED.get((part, str(method)), (None, None))
        rows.append([method, each.mrr.mean(), mean, folds.std(ddof=1), deviation,
                     each.mrr_random.mean(), each.mrr_worst.mean(), len(each),
                     each.seconds.median()])  # fmt: skip
    return {
        "title": title,
        "columns": ["model", "MRR", "MRR, printed", "deviation", "deviation, printed",
                    "MRR, any reference", "MRR, worst ties", "fits", "seconds"],
        "rows": rows,
        "digits": {"MRR": 4, "MRR, printed": 4, "deviation": 4, "deviation, printed": 4,
                   "MRR, any reference": 4, "MRR, worst ties": 4, "seconds": 2},
        "note": _fewer_folds(runs),
    }  # fmt: skip


def _fewer_folds(runs: pd.DataFrame) -> str:
    """HRF on the same folds, for models that were not run on all of them."""
    parts = []
    hybrid = runs[runs.method == "HRF"]
    for method, each in runs.groupby("method", sort=False):
        if len(each) < len(hybrid):
            same = hybrid.merge(each[["fold", "seed"]])
            parts.append(
                f"{method}: {len(each)} fits; on the same folds HRF has "
                f"{same.mrr.mean():.4f}, and {same.mrr_random.mean():.4f} for any reference."
            )
    return " ".join(parts)


def _films(runs: pd.DataFrame) -> dict[str, Any]:
    rows = []
    for method, each in runs.groupby("method", sort=False):
        macro, micro = (PRINTED_FILMS | {"IR": WALK})[str(method)]
        rows.append([method, each.macro.mean(), macro, each.macro.std(ddof=1), each.micro.mean(),
                     micro, each.micro.std(ddof=1), len(each), each.seconds.median()])  # fmt: skip
    columns = ["model", "macro DOA", "macro DOA, printed", "deviation of macro", "micro DOA",
               "micro DOA, printed", "deviation of micro", "folds", "seconds"]  # fmt: skip
    digits = dict.fromkeys(columns[1:7], 4) | {"seconds": 2}
    return {"title": "Table 3: MovieLens", "columns": columns, "rows": rows, "digits": digits}


def _curve(figure: str, rival: str, label: str, runs: pd.DataFrame) -> dict[str, Any]:
    wide = runs.pivot_table(index="n", columns="method", values="processor").dropna(subset=[rival])
    rows = [[int(n), row[rival], row["HRF"], row[rival] / row["HRF"]] for n, row in wide.iterrows()]
    return {
        "title": f"{figure}: seconds by columns, {label}",
        "columns": ["columns", f"{label}, seconds", "HRF, seconds", "times as long as HRF"],
        "rows": rows,
        "note": "Processor time, the least of five fits; the paper's figures end at 75 columns.",
    }
