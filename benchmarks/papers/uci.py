"""The UCI sets of Jakulin & Rish: their rows, their types, their folds, and what the paper printed.

A. Jakulin and I. Rish, Bayesian learning of Markov network structure, ECML 2006.
"""

from __future__ import annotations

import csv
import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold

from counterpane.data.intervals import cut_labels, mdl_cuts

# Table 1, log-loss in nats: NB TN BC M2 M3 M4 B2 BT B3 B4 (its second "M2" is B2).
METHODS = ("NB", "TN", "BC", "M2", "M3", "M4", "B2", "BT", "B3", "B4")
PRINTED = """
adult .42 .33 .39 .31 .30 .30 .31 .30 .30 .30
glass 1.25 1.76 1.21 1.12 1.12 1.12 1.12 .99 .99 .99
horse-colic 1.67 5.97 3.36 .83 .83 .83 .82 .82 .82 .82
iris .27 .32 .20 .27 .27 .27 .18 .18 .18 .18
lymph 1.10 1.25 1.23 .98 .98 .98 .79 .79 .79 .79
monk2 .65 .63 .61 .65 .54 .45 .65 .60 .53 .45
primary-tumor 3.17 4.76 2.84 2.65 2.65 2.65 2.55 2.55 2.55 2.55
tic-tac-toe .55 .49 .52 .53 .42 .08 .53 .52 .42 .07
titanic .52 .48 .48 .52 .48 .48 .52 .48 .48 .48
vehicle 1.78 1.14 1.29 .82 .69 .69 .80 .66 .66 .66
voting .60 .53 .48 .16 .21 .21 .14 .14 .14 .14
zoo .38 .46 .51 .40 .40 .40 .38 .38 .38 .38
breast-wisc .21 .23 .25 .17 .21 .21 .16 .16 .16 .16
cmc 1.00 1.03 1.00 .93 .93 .93 .93 .92 .92 .92
hepatitis .78 1.31 1.11 .48 .48 .48 .40 .39 .39 .39
ionosphere .64 .74 1.70 .38 .39 .39 .31 .30 .30 .30
wdbc .26 .29 .39 .14 .15 .15 .13 .13 .13 .13
australian .46 .94 .78 .37 .39 .41 .35 .37 .38 .37
balance .51 1.13 .74 .51 .51 .51 .51 .51 .51 .51
breast-LJ .62 .89 .80 .57 .67 .67 .56 .58 .58 .58
crx .49 .93 .91 .36 .37 .37 .35 .35 .35 .35
german .54 1.04 1.00 .53 .64 .65 .52 .58 .59 .59
heart 1.25 1.53 1.38 1.10 1.11 1.11 1.09 1.09 1.09 1.09
lung 5.41 6.92 3.05 2.37 2.37 2.37 1.18 1.18 1.18 1.18
pima .50 .49 .50 .48 .49 .51 .48 .48 .48 .48
post-op .93 1.78 1.25 .79 .79 .79 .67 .67 .67 .67
segment .38 1.06 1.29 .17 .17 .17 .17 .17 .17 .17
hayes-roth .46 1.18 .76 .45 .45 .45 .45 .45 .45 .45
lenses 2.44 2.99 1.15 .34 .34 .34 .40 .40 .40 .40
monk1 .50 .09 .09 .49 .08 .01 .49 .08 .08 .02
ecoli .89 .94 .67 .85 .85 .85 .81 .81 .81 .81
monk3 .20 .11 .08 .20 .11 .11 .20 .11 .11 .11
o-ring .83 .76 .59 1.41 1.41 1.41 .67 .67 .67 .67
bupa .62 .60 .61 .62 .62 .62 .63 .61 .61 .61
car .32 .18 .18 .32 .19 .19 .32 .19 .19 .19
mushroom .01 .00 .00 .01 .00 .00 .00 .00 .00 .00
shuttle .16 .06 .06 .17 .07 .07 .17 .07 .07 .07
soy-small .00 .00 .39 .00 .00 .00 .00 .00 .00 .00
wine .06 .29 .46 .19 .19 .19 .11 .11 .11 .11
"""
PRINTED_RANKS = {
    "log_loss": (7.8, 7.8, 7.4, 6.0, 5.8, 5.7, 4.7, 3.4, 3.4, 3.1),
    "error": (5.8, 7.0, 5.8, 6.5, 5.6, 5.5, 6.1, 4.7, 4.5, 4.5),
}
FOLDS = 5


def printed() -> dict[str, dict[str, float]]:
    """Table 1 by the paper's name of the set and the method."""
    rows = (line.split() for line in PRINTED.strip().splitlines())
    return {r[0]: dict(zip(METHODS, map(float, r[1:]), strict=True)) for r in rows}


@dataclass(frozen=True, eq=False)
class UciSet:
    """A set: its name here and in the paper, its features, its class with every label declared."""

    name: str
    printed_name: str
    X: pd.DataFrame
    y: pd.Series

    @property
    def categorical(self) -> list[str]:
        """The columns that are states; all others hold numbers."""
        return [c for c in self.X if isinstance(self.X[c].dtype, pd.CategoricalDtype)]

    def folds(self, repetition: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """(training rows, test rows) of five stratified folds, by the repetition's number."""
        splitter = StratifiedKFold(FOLDS, shuffle=True, random_state=repetition)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # classes of fewer than five rows
            yield from splitter.split(self.X, self.y)


def load_all(folder: Path | None = None) -> list[UciSet]:
    """The 39 sets, smallest first."""
    folder = folder or Path(os.environ["COUNTERPANE_DATA"]) / "uci"
    with (folder / "MANIFEST.csv").open() as file:
        manifest = [row for row in csv.DictReader(file) if row["role"] == "main"]
    types = pd.read_csv(folder / "COLUMNS.csv")
    found = []
    for row in manifest:
        names = dict(part.split(": ", 1) for part in row["name_in_paper"].split("; ") if part)
        if "A" in names and names["A"].rstrip("*") in printed():
            found.append(load(folder, row["name"], names["A"].rstrip("*"), types))
    return sorted(found, key=lambda s: s.X.size)


def load(folder: Path, name: str, printed_name: str, types: pd.DataFrame) -> UciSet:
    """One set; every state and class of the file is declared, whatever a fold holds."""
    own = types[types.dataset == name]
    texts: dict[Any, Any] = dict.fromkeys(own[own.type == "categorical"].column, str)
    frame = pd.read_csv(
        folder / f"{name}.csv.gz",
        dtype={**texts, "class": str}, keep_default_na=False, na_values=[""],
    )  # fmt: skip
    frame = frame[frame["class"].notna()].reset_index(drop=True)
    for column in (*(c for c in texts if c != "class"), "class"):
        frame[column] = pd.Categorical(
            frame[column], categories=sorted(frame[column].dropna().unique())
        )
    return UciSet(name, printed_name, frame.drop(columns="class"), frame["class"])


def discretized(data: UciSet) -> UciSet:
    """The set with its numbers cut on all rows, and missing as one more value: the paper's way."""
    X = data.X.copy()
    classes = data.y.cat.codes.to_numpy().astype(np.int64)
    for column in X:
        if column not in data.categorical:
            values = X[column].to_numpy(np.float64)
            known = ~np.isnan(values)
            cuts = mdl_cuts(values[known], classes[known], np.ones(known.sum()))
            codes = np.where(known, np.searchsorted(cuts, values, side="right"), -1)
            X[column] = pd.Categorical.from_codes(codes, list(cut_labels(cuts.tolist())))
        if X[column].isna().any():
            X[column] = X[column].cat.add_categories("?").fillna("?")
    return UciSet(data.name, data.printed_name, X, data.y)
