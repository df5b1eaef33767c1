"""Scores of all children given one parent, from the counts of all pairs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from counterpane._core import scores as kernels
from counterpane.counts.source import CountSource
from counterpane.parallel import map_in_threads
from counterpane.progress import Control
from counterpane.scores.base import LocalScore, clogc_table, score_families
from counterpane.typing import Floats


def score_pairs(
    score: LocalScore,
    source: CountSource,
    children: Sequence[int],
    parents: Sequence[int],
    *,
    ctl: Control | None = None,
) -> Floats:
    """score(child | {parent}), structure prior included, shape (children, parents).

    The entry of a variable with itself is its score without parents.
    """
    alone = score_families(score, source, [(c, ()) for c in children], ctl=ctl)
    total = float(source.total_weight or 0.0)  # known after the first scan
    form = score.form(total)
    out = np.empty((len(children), len(parents)))
    n = len(source.schema)
    if form is None:
        asked = [(c, (p,)) for c in children for p in parents if c != p]
        scores = iter(score_families(score, source, asked, ctl=ctl))
        for i, c in enumerate(children):
            out[i] = [alone[i] if c == p else next(scores) for p in parents]
        return out
    same = list(children) == list(parents)  # then half of the pairs are enough
    pairs = source.pair_counts(children, against=None if same else parents, ctl=ctl)
    counts, logs = np.ascontiguousarray(pairs.counts), clogc_table(total)

    def fill(part: range) -> None:
        left = pairs.left_from[part.start : part.stop + 1]
        rows = out[part.start : part.stop]
        kernels.score_pairs(counts, left, pairs.right_from, *form, logs, rows)

    n_jobs = source.n_jobs
    cuts = [len(children) * k // n_jobs for k in range(n_jobs + 1)]
    list(map_in_threads(fill, [range(a, b) for a, b in pairwise(cuts)], n_jobs))
    prior = score.structure_prior
    by_edge, one = prior.by_edge(n), prior.by_count(n)[1]
    out += one + by_edge[np.ix_(parents, children)].T if by_edge.size else one
    itself = np.equal.outer(np.array(children), np.array(parents))
    out[itself] = np.broadcast_to(alone[:, None], out.shape)[itself]
    return out
