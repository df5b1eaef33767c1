"""For each variable, the scores of its likely parent sets and their sums over subsets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterpane._core.bayesian import Tables, log_sum_subsets
from counterpane.counts.source import CountSource
from counterpane.errors import ParameterError, TableSizeError
from counterpane.graphs import Dag
from counterpane.learn.bayesian.family_tables import FamilyTables, members
from counterpane.progress import Control
from counterpane.scores import LocalScore
from counterpane.scores.pairs import score_pairs
from counterpane.typing import Floats, Ints

MAX_CELLS = 2**27  # of all tables: 1 GB each for the scores and the sums


@dataclass(frozen=True)
class ParentTables:
    """What chains walk on, and the log-scores taken off each variable's tables."""

    arrays: Tables
    offsets: Floats

    def spread(self, values: Floats, fill: float) -> Floats:
        """(parent, child) from (child, candidate) values; `fill` where there is no candidate."""
        n = len(values)
        out: Floats = np.full((n, n), fill)
        out[self.arrays.candidates, np.arange(n)[:, None]] = values
        return out

    def dag(self, chosen: Ints) -> Dag:
        """The network of a parent set, a mask of candidates, for each node."""
        pairs = zip(chosen.tolist(), self.arrays.candidates, strict=True)
        return Dag.from_parents(members(mask, candidates) for mask, candidates in pairs)


def parent_tables(
    source: CountSource,
    score: LocalScore,
    *,
    max_parents: int,
    max_candidates: int,
    ctl: Control | None = None,
) -> ParentTables:
    """The tables of all variables; candidates are those of largest score as the only parent."""
    n = len(source.schema)
    k = min(n - 1, max_candidates)
    if k < 0 or (n > 1 and k < 1):
        raise ParameterError(f"max_candidates={max_candidates}; a number from 1 is needed.")
    if n * 2**k > MAX_CELLS:
        raise TableSizeError(
            f"{n:,} variables with {k} candidate parents need tables of {n * 2**k:,} cells; the "
            f"limit is {MAX_CELLS:,}: lower max_candidates."
        )
    alone = score_pairs(score, source, range(n), range(n), ctl=ctl)
    np.fill_diagonal(alone, -np.inf)
    candidates = np.sort(np.argsort(-alone, axis=1, kind="stable")[:, :k], axis=1)
    bits = np.zeros((n, n), dtype=np.int64)
    np.put_along_axis(bits, candidates, np.left_shift(1, np.arange(k))[None, :], axis=1)
    scores: Floats = np.empty((n, 2**k))
    for child in range(n):
        tables = FamilyTables(source, score, [*candidates[child].tolist(), child], max_parents)
        for step in range(tables.steps):
            if ctl is not None:
                ctl.check()
            tables.count(step)
        scores[child] = tables.child(k, ctl=ctl)
    offsets = scores.max(axis=1)
    scores -= offsets[:, None]
    sums = scores.copy()
    for row in sums:
        log_sum_subsets(row)
    masks = np.arange(2**k)
    sets = masks[np.bitwise_count(masks) <= max_parents]
    return ParentTables(Tables(candidates, bits, sets, scores, sums), offsets)
