"""The tables of Jakulin & Rish for the site, ours beside the printed, from the recorded folds.

    python benchmarks/papers/jakulin_rish_tables.py [folder of results]

Reads `jakulin_rish.jsonl`, a line for each fold, and the circumstances in `jakulin_rish.json`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import uci

sys.path.insert(0, str(Path(__file__).parents[1]))
from harness import RESULTS, commits_of, publish_tables

PROTOCOLS = {"first": "cut before the folds", "inside": "cut within the folds"}
GROUPS = {
    "directed models": ("NB", "TN", "BC"),
    "best structure": ("M2", "M3", "M4"),
    "averages": ("B2", "BT", "B3", "B4"),
}
NEAR = 0.05  # nats: values that differ by less count as the same
TABLE_2 = {  # in print: (rank by log-loss, rank by error), among seven methods on 46 sets
    "Bayesian multinomial regression": ("LR", 2.7, 3.7),
    "LIBSVM, dot product kernel": ("SVM-linear", 3.5, 4.2),
    "LIBSVM, RBF kernel": ("SVM", 3.2, 4.0),
    "Markov nets, k = 4, averaged": ("B4", 4.0, 5.0),
    "C4.5": ("C4.5", 4.9, 5.7),
    "naive Bayes": ("NB", 6.3, 5.7),
    "TAN": ("TN", 6.6, 6.2),
}


def paper_names(folds: pd.DataFrame) -> dict[str, str]:
    """The paper's name of each set; they have the order of the manifest."""
    sets = {data.name: data.printed_name for data in uci.load_all()}
    return {name: sets[name] for name in folds.name.unique()}


def table_1(folds: pd.DataFrame, names: dict[str, str]) -> list[dict[str, Any]]:
    """Log-loss of each set, three or four methods a table, for each protocol."""
    printed, tables = uci.printed(), []
    for protocol, words in PROTOCOLS.items():
        means = folds[folds.protocol == protocol].groupby(["name", "method"]).log_loss.mean()
        for group, methods in GROUPS.items():
            columns = ["set", *(f"{m}{end}" for m in methods for end in ("", ", printed"))]
            rows = []
            for theirs in printed:
                ours = next(name for name, other in names.items() if other == theirs)
                pairs = [(round(float(means[ours, m]), 3), printed[theirs][m]) for m in methods]
                rows.append([theirs, *(value for pair in pairs for value in pair)])
            title = f"Table 1, {words}: {group}"
            tables.append({"title": title, "columns": columns, "rows": rows, "digits": 2})
    return tables


def agreement(folds: pd.DataFrame, names: dict[str, str]) -> dict[str, Any]:
    """On how many sets each method is within 0.05 nats of print, lower, or higher."""
    printed = uci.printed()
    rows = []
    for protocol, words in PROTOCOLS.items():
        means = folds[folds.protocol == protocol].groupby(["name", "method"]).log_loss.mean()
        for m in uci.METHODS:
            gaps = [float(means[o, m]) - printed[p][m] for o, p in names.items()]
            low = sum(gap < -NEAR for gap in gaps)
            high = sum(gap > NEAR for gap in gaps)
            share = f"{len(gaps) - low - high} of {len(gaps)}"
            rows.append([words, m, share, low, high, round(max(gaps), 2), round(min(gaps), 2)])
    columns = ["numbers", "method", "within 0.05", "lower by more", "higher by more",
               "largest difference", "smallest difference"]  # fmt: skip
    return {"title": "Table 1, agreement", "columns": columns, "rows": rows,
            "digits": {"largest difference": 2, "smallest difference": 2},
            "note": f"Sets whose mean log-loss is within {NEAR} nats of print."}  # fmt: skip


def ranks(means: pd.Series, methods: list[str]) -> dict[str, float]:
    """The mean rank of each method over the sets; equal values share their ranks."""
    table = means.round(9).unstack("method")[methods]
    found: dict[str, float] = table.rank(axis=1).mean().to_dict()
    return found


def rank_rows(folds: pd.DataFrame) -> dict[str, Any]:
    """The last rows of Table 1."""
    rows = []
    for protocol, words in PROTOCOLS.items():
        own = folds[folds.protocol == protocol].groupby(["name", "method"])
        for measure, printed in uci.PRINTED_RANKS.items():
            found = ranks(own[measure].mean(), list(uci.METHODS))
            for m, value in zip(uci.METHODS, printed, strict=True):
                rows.append([words, measure.replace("_", "-"), m, round(found[m], 2), value])
    columns = ["numbers", "measure", "method", "rank", "rank, printed"]
    return {"title": "Table 1, mean ranks", "columns": columns, "rows": rows, "digits": 2}


def table_2(folds: pd.DataFrame) -> dict[str, Any]:
    """Mean ranks beside methods that are no graphical models, on the same five folds of a set."""
    own = folds[(folds.protocol == "inside") & (folds.repetition == 0)]
    methods = [m for m, _, _ in TABLE_2.values()]
    groups = own[own.method.isin(methods)].groupby(["name", "method"])
    by_loss, by_error = (ranks(groups[x].mean(), methods) for x in ("log_loss", "error"))
    rows: list[list[Any]] = []
    for name, (method, loss, error) in TABLE_2.items():
        ours = (round(by[method], 2) for by in (by_loss, by_error))
        rows.append([name, method, next(ours), loss, next(ours), error])
    columns = ["method in print", "ours", "log-loss", "log-loss, printed", "error",
               "error, printed"]  # fmt: skip
    note = ("The mean rank among these seven methods. Ours: 39 sets, five folds of each; in print: "
            "46 sets. The support vector machines learn from at most 6,000 rows.")  # fmt: skip
    return {"title": "Table 2", "columns": columns, "rows": rows, "digits": 2, "note": note}


def main(folder: Path) -> None:
    """Write the tables of the folds that were recorded."""
    lines = (folder / "jakulin_rish.jsonl").read_text(encoding="utf-8").splitlines()
    folds = pd.DataFrame([json.loads(line) for line in lines])
    where = json.loads((folder / "jakulin_rish.json").read_text("utf-8"))["circumstances"]
    where["commit"] = commits_of([{"commit": where["commit"], **json.loads(x)} for x in lines])
    names = paper_names(folds)
    tables = [*table_1(folds, names), agreement(folds, names), rank_rows(folds), table_2(folds)]
    publish_tables("jakulin_rish", "benchmarks/papers/jakulin_rish.py", tables, where)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else RESULTS)
