"""Which unshielded triples a – b – c are colliders, by the majority of the tests of a and c.

The majority rule of D. Colombo and M. Maathuis, Order-independent constraint-based causal structure
learning, JMLR 15, 2014, in shares: most sets of neighbors do not contain b, so that a plain count
of the separating sets speaks for colliders. b is a collider if the tests that are given b separate
a and c less often than the tests that are not.
"""

from __future__ import annotations

from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from counterpane.graphs import UndirectedGraph
from counterpane.graphs.orientation import Collider, unshielded_triples
from counterpane.learn.independence.base import ExecutedTests
from counterpane.learn.independence.skeleton import (
    MOST_SETS,
    SkeletonSearch,
    SkeletonState,
    TestBatches,
    appended,
    conditioning_sets,
    determined,
    rows_of,
    separating,
    skeleton_of,
)
from counterpane.progress import Control
from counterpane.typing import Bools, Ints

Ends = tuple[int, int]
VOTED = -1  # the level of a state whose colliders have been voted on


class Vote(NamedTuple):
    """A triple, and the shares of the tests of its ends that separate them, with b given or not."""

    triple: Collider
    share_with: float
    share_without: float
    n_tests: int

    @property
    def is_collider(self) -> bool:
        """Whether a and c are separated more often without the middle node."""
        return self.share_with < self.share_without


class PatternSearch(SkeletonSearch):
    """The skeleton, and then the tests for the votes on colliders, in one step.

    These are given neighbors of a or of c, up to one column more than the smallest separating set.
    """

    def done(self, state: SkeletonState) -> bool:
        return state.level == VOTED

    def step(self, state: SkeletonState, ctl: Control) -> tuple[SkeletonState, dict[str, Any]]:
        if not super().done(state):
            return super().step(state, ctl)
        batches = TestBatches(self.test, self.source, ctl)
        executed, n_before = ExecutedTests(*state[-3:]), len(state.pairs)
        graph, strength = rows_of(state.graph, self.n), self.strengths(state)
        sizes = separating_sizes(state, skeleton_of(state))
        for size in range(1, max(sizes.values(), default=-1) + 2):
            ends, sets = [], []
            for (a, c), smallest in sizes.items():
                if size <= min(smallest + 1, self.most_given):
                    near = self.ranked_neighbors(graph, strength, a, c)
                    some = list(islice(conditioning_sets(*near, size), MOST_SETS))
                    ends += [(a, c)] * len(some)
                    sets += some
            if not sets:
                continue
            pairs: Ints = np.array(ends, dtype=np.int64)
            conditions: Ints = np.sort(np.array(sets, dtype=np.int64), axis=1)
            new = _new_tests(executed, self.n, pairs, conditions)
            executed = batches.execute(executed, pairs[new], conditions[new])
        n_tests = len(executed.pairs) - n_before
        record = {"level": "colliders", "n_tests": n_tests, "batches": batches.n_batches,
                  "edges": int(graph.sum()) // 2}  # fmt: skip
        return state._replace(level=VOTED, **executed._asdict()), record


def separating_sizes(state: SkeletonState, skeleton: UndirectedGraph) -> dict[Ends, int]:
    """The smallest size of a separating set of the ends of each unshielded triple."""
    executed = ExecutedTests(*state[-3:])
    sizes = {}
    for ends, rows in _tests_of_ends(executed, skeleton).items():
        apart = rows[separating(executed)[rows]]
        if len(apart):
            sets = executed.given[apart].view(np.uint64)
            sizes[ends] = int(np.bitwise_count(sets).sum(axis=1).min())
    return sizes


def vote(executed: ExecutedTests, skeleton: UndirectedGraph) -> list[Vote]:
    """The vote on each unshielded triple whose ends a test separated, the clearest ones first.

    Tests in which an end is a function of what is given count only if there are no others.
    """
    tests = _tests_of_ends(executed, skeleton)
    apart, functions = separating(executed), determined(executed)
    votes = []
    for triple in unshielded_triples(skeleton):
        a, b, c = triple
        rows = tests.get((a, c), np.zeros(0, dtype=np.int64))
        voters = rows[~functions[rows]]
        yes = apart[voters]
        if not yes.any():
            voters = rows[functions[rows]]
            yes = np.ones(len(voters), dtype=bool)
        if len(voters):
            word = executed.given[voters, b >> 6].view(np.uint64)
            with_b = (word >> np.uint64(b & 63)) & np.uint64(1) == 1
            shares = [float(yes[side].mean()) if side.any() else 0.0 for side in (with_b, ~with_b)]
            votes.append(Vote(triple, shares[0], shares[1], len(voters)))
    return sorted(votes, key=lambda v: (v.share_with - v.share_without, -v.n_tests, v.triple))


def _tests_of_ends(executed: ExecutedTests, skeleton: UndirectedGraph) -> dict[Ends, Ints]:
    """The places of the tests of each pair (a, c) that are the ends of an unshielded triple."""
    n = skeleton.n
    ends: Bools = np.zeros(n * n, dtype=bool)
    ends[[a * n + c for a, _, c in unshielded_triples(skeleton)]] = True
    keys = executed.pairs[:, 0] * n + executed.pairs[:, 1]
    rows = np.flatnonzero(ends[keys])
    rows = rows[np.argsort(keys[rows], kind="stable")]
    parts = np.split(rows, np.flatnonzero(np.diff(keys[rows])) + 1)
    return {divmod(int(keys[part[0]]), n): part for part in parts if len(part)}


def _new_tests(executed: ExecutedTests, n: int, pairs: Ints, conditions: Ints) -> Bools:
    """Which of some tests were not executed."""
    fresh = appended(ExecutedTests.none(n), n, pairs, conditions, np.zeros((len(pairs), 8)))
    known = np.column_stack([executed.pairs, executed.given])
    asked = np.column_stack([fresh.pairs, fresh.given])
    both = np.concatenate([known, asked])
    keys = np.ascontiguousarray(both).view(np.dtype((np.void, 8 * both.shape[1]))).ravel()
    return ~np.isin(keys[len(known) :], keys[: len(known)])
