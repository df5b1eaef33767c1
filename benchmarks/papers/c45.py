"""A decision tree as C4.5 grows and prunes it (Quinlan 1993), with probabilities at its leaves.

Nominal columns are split into all of their states, numbers at a threshold. Among the splits with at
least the mean gain in information the largest gain ratio wins; a gain from a threshold pays log2 of
the number of thresholds. Subtrees are replaced by leaves if the upper limit of the error rate (at
25 %) does not rise. What differs from C4.5: a gap is a state of its own, or the median of a number,
subtrees are not raised, and a leaf has (count + 1) / (rows + classes).
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from scipy.stats import beta

LEAST_ROWS = 2  # in at least two branches
CONFIDENCE = 0.25


class Node(NamedTuple):
    """Class counts, and the split: a column, its threshold (NaN: by state), and the branches."""

    counts: np.ndarray
    column: int = -1
    threshold: float = np.nan
    branches: tuple[Node | None, ...] = ()  # None: no training row went there


class Split(NamedTuple):
    gain: float
    ratio: float
    column: int
    threshold: float


class C45:
    """The tree as a classifier of frames with nominal and numeric columns."""

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> Self:
        self.classes_, labels = np.unique(y, return_inverse=True)
        self.medians = {c: X[c].median() for c in X if not nominal(X[c])}
        self.cards = [len(X[c].cat.categories) + 1 if nominal(X[c]) else 0 for c in X]
        self.root = self._pruned(self._grown(self._values(X), labels))
        return self

    def predict_proba(self, X: pd.DataFrame) -> np.ndarray:
        out = np.empty((len(X), len(self.classes_)))
        self._fill(self.root, self._values(X), np.arange(len(X)), out)
        return out

    def _values(self, X: pd.DataFrame) -> list[np.ndarray]:
        """Codes of states, with 0 for a gap; numbers, with the median for a gap."""
        return [X[c].cat.codes.to_numpy().astype(np.int64) + 1 if card
                else X[c].fillna(self.medians[c]).to_numpy(np.float64)
                for c, card in zip(X, self.cards, strict=True)]  # fmt: skip

    def _grown(self, values: list[np.ndarray], labels: np.ndarray) -> Node:
        counts = np.bincount(labels, minlength=len(self.classes_))
        leaf = Node(counts)
        if len(labels) < 2 * LEAST_ROWS or counts.max() == len(labels):
            return leaf
        splits = [s for j in range(len(values)) if (s := self._split(j, values[j], labels))]
        if not splits:
            return leaf
        mean = np.mean([s.gain for s in splits])
        best = max((s for s in splits if s.gain >= mean - 1e-9), key=lambda s: s.ratio)
        where = branch_of(values[best.column], best.threshold)
        n = self.cards[best.column] or 2
        branches = []
        for b in range(n):
            rows = where == b
            part = [v[rows] for v in values]
            branches.append(self._grown(part, labels[rows]) if rows.any() else None)
        return Node(counts, best.column, best.threshold, tuple(branches))

    def _split(self, column: int, values: np.ndarray, labels: np.ndarray) -> Split | None:
        classes, n = len(self.classes_), len(labels)
        whole = entropy(np.bincount(labels, minlength=classes)[None])[0]
        if self.cards[column]:
            cells = values * classes + labels
            table = np.bincount(cells, minlength=self.cards[column] * classes)
            table = table.reshape(-1, classes)
            sizes = table.sum(axis=1)
            if (sizes >= LEAST_ROWS).sum() < 2:
                return None
            gain = whole - entropy(table) @ sizes / n
            return judged(gain, sizes[None], column, np.nan)
        order = np.argsort(values, kind="stable")
        ordered = values[order]
        steps = np.flatnonzero(np.diff(ordered) > 0)
        if not len(steps):
            return None
        sums = np.cumsum(labels[order][:, None] == np.arange(classes), axis=0)
        low, total = sums[steps], sums[-1]
        sizes = np.column_stack([steps + 1, n - steps - 1])
        parts = entropy(low) * sizes[:, 0] + entropy(total - low) * sizes[:, 1]
        gains = np.where(sizes.min(axis=1) >= LEAST_ROWS, whole - parts / n, -np.inf)
        at = int(gains.argmax())
        threshold = float(ordered[steps[at]] + ordered[steps[at] + 1]) / 2
        return judged(gains[at] - np.log2(len(steps)) / n, sizes[at][None], column, threshold)

    def _pruned(self, node: Node) -> Node:
        if node.column < 0:
            return node
        branches = tuple(None if b is None else self._pruned(b) for b in node.branches)
        node = node._replace(branches=branches)
        return Node(node.counts) if leaf_errors(node.counts) <= errors_of(node) + 0.1 else node

    def _fill(self, node: Node, values: list[np.ndarray], rows: np.ndarray, out: Any) -> None:
        out[rows] = (node.counts + 1) / (node.counts.sum() + len(node.counts))
        if node.column < 0 or not len(rows):
            return
        where = branch_of(values[node.column][rows], node.threshold)
        for b, branch in enumerate(node.branches):
            if branch is not None:  # rows of a state that training did not see stay as they are
                self._fill(branch, values, rows[where == b], out)


def nominal(column: pd.Series) -> bool:
    return isinstance(column.dtype, pd.CategoricalDtype)


def branch_of(values: np.ndarray, threshold: float) -> np.ndarray:
    return values if np.isnan(threshold) else (values > threshold).astype(np.int64)


def entropy(table: np.ndarray) -> np.ndarray:
    """The entropy of each row of counts, in bits."""
    sizes = np.maximum(table.sum(axis=1, keepdims=True), 1)
    p = table / sizes
    return -(p * np.log2(np.where(p > 0, p, 1.0))).sum(axis=1)


def judged(gain: float, sizes: np.ndarray, column: int, threshold: float) -> Split | None:
    """The split with its gain ratio; None if it gains nothing."""
    information = entropy(sizes)[0]
    if gain <= 1e-9 or information <= 0:
        return None
    return Split(float(gain), float(gain / information), column, threshold)


def leaf_errors(counts: np.ndarray) -> float:
    """Rows times the upper limit of the error rate of a leaf."""
    n, errors = int(counts.sum()), int(counts.sum() - counts.max())
    return n * float(beta.ppf(1 - CONFIDENCE, errors + 1, n - errors)) if errors < n else n


def errors_of(node: Node) -> float:
    """The same of a subtree: the sum over its leaves."""
    if node.column < 0:
        return leaf_errors(node.counts)
    return sum(errors_of(b) for b in node.branches if b is not None)
