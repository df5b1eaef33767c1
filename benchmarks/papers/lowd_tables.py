"""The tables of Lowd's paper for the site."""

from __future__ import annotations

from typing import Any

import pandas as pd
from tree_prices import LIBRA, PRIORS

from harness import circumstances, publish_tables

LOCALS = {"tree": "trees", "logistic": "logistic", "boosted": "boosted"}
SCRIPT = "benchmarks/papers/lowd.py"


def publish_site(records: list[dict[str, Any]], prices: list[dict[str, Any]]) -> None:
    """Write `docs/_figures/papers/lowd.json`."""
    frame = pd.DataFrame(records)
    tables = [conditionals(frame), bases(frame), wins(frame)]
    if prices:
        tables.append(tree_weights(prices))
    publish_tables("lowd", SCRIPT, tables, circumstances([*records, *prices]))


def conditionals(frame: pd.DataFrame) -> dict[str, Any]:
    """Each set: PLL of the three kinds of dependency network and of their conversions."""
    columns = ["set", "columns", "rows"]
    for word in LOCALS.values():
        columns += [f"{word}, DN", f"{word}, MN"]
    rows = []
    for name in frame.name.unique():
        own = frame[frame.name == name]
        row: list[Any] = [name, int(own.n.iloc[0]), int(own.rows.iloc[0])]
        for local in LOCALS:
            row += [value(own, local, "dn"), value(own, local, "linear")]
        rows.append(row)
    note = (
        "Mean log pseudo-likelihood of a test row, in nats. DN: the dependency network, tuned on "
        "the validation rows; MN: its conversion over rotations with the base of marginals. The "
        "paper's values are not in the text that we have."
    )
    return table("Conditionals", columns, rows, note, 3)


def bases(frame: pd.DataFrame) -> dict[str, Any]:
    """Each set and kind: one order from one row, rotations from marginals and from all rows."""
    methods = {"1 order, row": "one row", "linear": "marginals", "linear, rows": "training rows"}
    rows: list[list[Any]] = []
    for name in frame.name.unique():
        own = frame[frame.name == name]
        rows += [
            [name, word, *(value(own, local, method) for method in methods),
             seconds(own, local, "linear"), seconds(own, local, "linear, rows")]
            for local, word in LOCALS.items() if (own.local == local).any()
        ]  # fmt: skip
    columns = ["set", "conditionals", *methods.values(), "marginals, s", "training rows, s"]
    note = (
        "Test PLL of the Markov network. One row: one order, base the most frequent states; the "
        "others: the mean over rotations. Processor seconds of the conversion."
    )
    return table("Base instances", columns, rows, note, 3)


def wins(frame: pd.DataFrame) -> dict[str, Any]:
    """On how many sets one way is better than another."""
    pairs = [(local, "linear", local, "1 order, row") for local in LOCALS]
    pairs += [(local, "linear", local, "linear, rows") for local in LOCALS]
    pairs += [(local, "linear", local, "dn") for local in LOCALS]
    pairs += [("boosted", m, other, m) for m in ("dn", "linear") for other in ("tree", "logistic")]
    words = {"linear": "MN, marginals", "1 order, row": "MN, one row",
             "linear, rows": "MN, training rows", "dn": "DN"}  # fmt: skip
    scores = frame.pivot(index="name", columns=["local", "method"], values="pll")
    rows = []
    for local, method, other, rival in pairs:
        if {(local, method), (other, rival)} <= set(scores):
            difference = (scores[local, method] - scores[other, rival]).dropna()
            rows.append(
                [f"{LOCALS[local]}, {words[method]}", f"{LOCALS[other]}, {words[rival]}",
                 int((difference > 0).sum()), len(difference)]
            )  # fmt: skip
    return table("Comparisons", ["first", "second", "first is better", "sets"], rows)


def tree_weights(prices: list[dict[str, Any]]) -> dict[str, Any]:
    """Weights on the leaves of trees of each price of a split."""
    columns = ["price", "features", "DN, folds", "DN, test"]
    for name in PRIORS:
        columns += [f"{name}, folds", f"{name}, test"]
    rows = []
    for record in prices:
        row = [record["price"], record["features"], record["folds dn"], record["test dn"]]
        for name in PRIORS:
            row += [record[f"folds {name}"], record[f"test {name}"]]
        rows.append(row)
    best = max(((r, n) for r in prices for n in PRIORS), key=lambda p: p[0][f"folds {p[1]}"])
    note = (
        f"NLTCS; Libra's value is {LIBRA}. PLL of held-out fifths of the training rows, by which a "
        f"price and a prior would be chosen, and of the test rows. The folds choose price "
        f"{best[0]['price']} with {best[1]}, whose test PLL is {best[0][f'test {best[1]}']:.4f}."
    )
    return table("Weights of trees", columns, rows, note, 4)


def value(own: pd.DataFrame, local: str, method: str) -> float | None:
    return _cell(own, local, method, "pll")


def seconds(own: pd.DataFrame, local: str, method: str) -> float | None:
    return _cell(own, local, method, "seconds")


def _cell(own: pd.DataFrame, local: str, method: str, column: str) -> float | None:
    cells = own[(own.local == local) & (own.method == method)][column]
    return float(f"{cells.iloc[0]:.6g}") if len(cells) else None


def table(
    title: str, columns: list[str], rows: list[list[Any]], note: str = "", digits: int | None = None
) -> dict[str, Any]:
    """One table; numbers to six digits."""
    rows = [[float(f"{c:.6g}") if isinstance(c, float) else c for c in row] for row in rows]
    made: dict[str, Any] = {"title": title, "columns": columns, "rows": rows}
    if note:
        made["note"] = note
    if digits is not None:
        made["digits"] = digits
    return made
