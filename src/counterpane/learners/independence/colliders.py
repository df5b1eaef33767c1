"""Which unshielded triples a – b – c are colliders, by the majority of the tests of a and c.

The majority rule of D. Colombo and M. Maathuis, Order-independent constraint-based causal structure
learning, JMLR 15, 2014, in shares: most sets of neighbors do not contain b, so that a plain count
of the separating sets speaks for colliders. b is a collider if the tests that are given b separate
a and c less often than the tests that are not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

from counterpane.graphs import UndirectedGraph
from counterpane.graphs.orientation import Collider, unshielded_triples
from counterpane.learners.independence.executed_tests import ExecutedTests
from counterpane.learners.independence.skeleton import (
    MOST_SETS,
    SkeletonSearch,
    SkeletonState,
    TestBatches,
    new_tests,
    skeleton_of,
)
from counterpane.progress import Control
from counterpane.typing import Ints

Ends = tuple[int, int]
END: Literal["end"] = "end"


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
        return state.stage == END

    def step(self, state: SkeletonState, ctl: Control) -> tuple[SkeletonState, dict[str, Any]]:
        if state.stage in ("skeleton", "possible") and not super().done(state):
            return super().step(state, ctl)
        state, record = self._test_colliders(state, ctl)
        return self._after_colliders(state), record

    def _after_colliders(self, state: SkeletonState) -> SkeletonState:
        return state._replace(stage=END)

    def _test_colliders(
        self, state: SkeletonState, ctl: Control
    ) -> tuple[SkeletonState, dict[str, Any]]:
        """Execute the tests for the votes."""
        batches = TestBatches(self.test, self.source, ctl)
        executed = state.tests
        strength = self.strengths(state)
        sizes = separating_sizes(state, skeleton_of(state))
        all_ends: Ints = np.array(list(sizes), dtype=np.int64).reshape(-1, 2)
        most = np.minimum(np.array(list(sizes.values()), dtype=np.int64) + 1, self.most_given)
        for size in range(1, int(most.max(initial=0)) + 1):
            pairs, conditions, _ = self.conditions(
                state.graph, strength, all_ends[size <= most], size, 0, MOST_SETS
            )
            new = new_tests(executed, self.n, pairs, conditions)
            executed = executed.followed_by(batches.execute(pairs[new], conditions[new]))
        n_tests = executed.size - state.tests.size
        record = {"stage": "colliders", "n_tests": n_tests, "batches": batches.n_batches,
                  "edges": skeleton_of(state).n_edges}  # fmt: skip
        return state._replace(tests=executed), record


def separating_sizes(state: SkeletonState, skeleton: UndirectedGraph) -> dict[Ends, int]:
    """The smallest size of a separating set of the ends of each unshielded triple."""
    executed = state.tests
    shares, sizes = _Shares(executed, skeleton.n), {}
    for a, c in sorted({(a, c) for a, _, c in unshielded_triples(skeleton)}):
        rows = shares.tests(a, c)
        apart = rows[shares.apart[rows]]
        if len(apart):
            sets = executed.given[apart]
            sizes[a, c] = int(np.bitwise_count(sets).sum(axis=1).min())
    return sizes


def vote(executed: ExecutedTests, skeleton: UndirectedGraph) -> list[Vote]:
    """The vote on each unshielded triple whose ends were tested, the clearest ones first."""
    triples = unshielded_triples(skeleton)
    shares = _Shares(executed, skeleton.n)
    votes = [v for triple in triples if (v := shares.of(*triple)) is not None]
    return sorted(votes, key=lambda v: (v.share_with - v.share_without, -v.n_tests, v.triple))


def separating_share(executed: ExecutedTests, n: int) -> Callable[[int, int, int], bool]:
    """(a, c, b): whether b is in the sets that separate a and c, by the majority of the tests."""
    shares = _Shares(executed, n)

    def in_sets(a: int, c: int, b: int) -> bool:
        share = shares.of(min(a, c), b, max(a, c))
        return share is None or not share.is_collider

    return in_sets


class _Shares:
    """The tests by their pair, and the shares of them that separate it.

    Tests in which an end is a function of what is given count only if there are no others.
    """

    def __init__(self, executed: ExecutedTests, n: int) -> None:
        self.given, self.n = executed.given, n
        self.apart, self.functions = executed.separating, executed.determined
        self.keys = executed.pairs[:, 0] * n + executed.pairs[:, 1]
        self.order = np.argsort(self.keys, kind="stable")
        self.keys = self.keys[self.order]

    def tests(self, a: int, c: int) -> Ints:
        """The places of the tests of a pair, a < c."""
        first, last = np.searchsorted(self.keys, [a * self.n + c, a * self.n + c + 1])
        return self.order[first:last]

    def of(self, a: int, b: int, c: int) -> Vote | None:
        """The vote on a – b – c; None if nothing separates a and c."""
        rows = self.tests(a, c)
        voters = rows[~self.functions[rows]]
        yes = self.apart[voters]
        if not yes.any():
            voters = rows[self.functions[rows]]
            yes = np.ones(len(voters), dtype=bool)
        if not len(voters):
            return None
        word = self.given[voters, b >> 6]
        with_b = (word >> np.uint64(b & 63)) & np.uint64(1) == 1
        shares = [float(yes[side].mean()) if side.any() else 0.0 for side in (with_b, ~with_b)]
        return Vote((a, b, c), shares[0], shares[1], len(voters))
