"""The moves of network searches over a row cache, and the constraints that they obey."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any

import numpy as np

from counterpane._core import bayesian as kernels
from counterpane._core.bayesian import MISS, DagState, Limits, Pattern, RowRequests
from counterpane.checks import LISTS, PAIRS
from counterpane.data.schema import Schema
from counterpane.errors import GraphError, ParameterError
from counterpane.graphs import Dag
from counterpane.graphs.bits import members, pack, unpack
from counterpane.memory import FEWER_COLUMNS, need_memory
from counterpane.progress import Control
from counterpane.scores.base import LEAST_GAIN
from counterpane.scores.row_cache import RowCache
from counterpane.typing import Bools, Ints, Words

EdgePairs = Annotated[Iterable[tuple[str, str]], PAIRS]
"""(parent, child) pairs, by name."""

Tiers = Annotated[Sequence[Sequence[str]], LISTS]
"""Names of columns, earlier ones before later ones."""


def make_limits(
    schema: Schema, required: EdgePairs, forbidden: EdgePairs, tiers: Tiers | None
) -> Limits:
    """The limits of a search, checked for contradictions.

    A variable of a later tier is never a parent of one of an earlier tier; variables in no tier
    are free.
    """
    n = len(schema)
    need_memory(4 * n * n, f"a search over {n:,} columns", f"{FEWER_COLUMNS}, or use ChowLiu")
    allowed = ~np.eye(n, dtype=bool)  # allowed[x, p]: p may be a parent of x
    level: dict[int, int] = {}
    for k, tier in enumerate(tiers or ()):
        for name in tier:
            v = schema.index(name)
            if v in level:
                raise GraphError(f"{name!r} is in two tiers; each variable has one place.")
            level[v] = k
    for x, tier_of_x in level.items():
        for p, tier_of_p in level.items():
            allowed[x, p] &= tier_of_p <= tier_of_x
    for p, x in _indices(schema, forbidden, "forbidden"):
        allowed[x, p] = False
    needed = np.zeros((n, n), dtype=bool)
    for p, x in _indices(schema, required, "required"):
        if not allowed[x, p]:
            raise GraphError(
                f"the edge {schema.names[p]!r} → {schema.names[x]!r} is required and forbidden; "
                "drop one of the two, or move a tier."
            )
        needed[x, p] = True
    try:
        Dag(n, [(int(p), int(x)) for x, p in np.argwhere(needed)])
    except GraphError:
        names = ", ".join(f"{schema.names[p]} → {schema.names[x]}" for x, p in np.argwhere(needed))
        raise GraphError(f"the required edges {names} form a cycle; drop one of them.") from None
    return Limits(pack(allowed), pack(needed), LEAST_GAIN)


def known_directions(limits: Limits, edges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The edges (p, x) whose direction the limits say: required, or forbidden the other way."""
    n = len(limits.allowed)
    allowed, required = unpack(limits.allowed, n), unpack(limits.required, n)
    return [(p, x) for p, x in edges if required[x, p] or not allowed[p, x]]


def is_symmetric(limits: Limits) -> bool:
    """Whether the limits say nothing about directions, so that classes of DAGs can obey them."""
    allowed: Bools = unpack(limits.allowed, len(limits.allowed))
    return bool((allowed == allowed.T).all()) and not limits.required.any()


def _indices(schema: Schema, edges: EdgePairs, kind: str) -> list[tuple[int, int]]:
    pairs = []
    for p, x in edges:
        pair = schema.index(p), schema.index(x)
        if pair[0] == pair[1]:
            raise GraphError(f"the {kind} edge {p!r} → {x!r} joins a variable with itself.")
        pairs.append(pair)
    return pairs


CALLS = 64  # kernel calls of a pass over many nodes; Ctrl-C is checked between two
FEW = 16  # nodes of one call, at least


def empty_dag(n: int) -> DagState:
    """A DAG state without edges."""
    words = -(-n // 64)
    reach = np.zeros((n, words), dtype=np.uint64)
    nodes = np.arange(n)
    reach[nodes, nodes // 64] = np.uint64(1) << (nodes % 64).astype(np.uint64)
    return DagState(
        np.zeros((n, words), dtype=np.uint64),
        np.zeros((n, words), dtype=np.uint64),
        reach,
        np.full(n, -1, dtype=np.int64),
        *np.zeros((3, n)),
    )


def dag_of(parents: Words) -> DagState:
    """The state of the DAG with these parent rows."""
    state = empty_dag(len(parents))
    kernels.add_edges(state, parents)
    return state


def pattern_of(parents: Words) -> Pattern:
    """The equivalence class of the DAG with these parent rows, without any cached gains."""
    n = len(parents)
    pattern = Pattern(
        parents=np.zeros_like(parents),
        children=np.zeros_like(parents),
        neighbors=np.zeros_like(parents),
        member=parents.copy(),
        reach=np.zeros_like(parents),
        bound=np.full(n, -np.inf),
        drop_gain=np.full(n, -np.inf),
        drop_node=np.full(n, -1, dtype=np.int64),
        drop_clique=np.zeros_like(parents),
        dirty=np.ones(n, dtype=bool),
    )
    kernels.relabel(pattern)
    pattern.dirty[:] = True
    return pattern


def rows_needed(n: int) -> int:
    """The number of cached rows that a search over n variables needs at the same time."""
    return 2 * n + 64


class Moves:
    """Search moves over one row cache; `limits` says which edges are allowed and required.

    Each method changes its first argument and returns the number of improvements. A pass calls
    `ctl.check()` between nodes; if that raises, the state is still consistent.
    """

    def __init__(self, cache: RowCache, limits: Limits) -> None:
        self.n = len(cache.names)
        if len(cache.store.keys) < rows_needed(self.n):
            raise ParameterError(
                f"the row cache holds {len(cache.store.keys)} rows; a search over {self.n} columns "
                f"needs {rows_needed(self.n)} at a time: give it more memory."
            )
        self.cache = cache
        self.limits = limits._replace(tolerance=cache.score.least_gain(cache.total_weight))
        self.max_parents = cache.max_parents
        words = self.limits.allowed.shape[1]
        room = min(4 * self.n + 64, len(cache.store.keys) // 2)
        self.rows = RowRequests(
            cache.store,
            np.zeros(1, dtype=np.int64),
            np.zeros(room, dtype=np.int64),
            np.zeros((room, words), dtype=np.uint64),
            np.zeros(1, dtype=np.int64),
        )
        self._kept = empty_dag(self.n)
        self._kept_class = pattern_of(self._kept.parents)

    def score(self, dag: DagState) -> float:
        """The total score of a DAG."""
        self._run(kernels.load_families, dag)
        return float(dag.score.sum())

    def edge_gains(self, parents: Words) -> list[tuple[int, int, float]]:
        """(parent, child, the score that would be lost without the edge) for each edge of a DAG."""
        dag = dag_of(parents)
        self._run(kernels.load_families, dag)
        gains = dag.score[:, None] - self.cache.store.scores[dag.slot]
        return [(p, x, float(gains[x, p])) for x in range(self.n) for p in members(parents[x])]

    def climb(self, dag: DagState, ctl: Control) -> int:
        """Hill-climb by add, drop and turn."""
        return self._search(ctl, kernels.climb, dag, self.limits)

    def tabu_walk(self, dag: DagState, length: int) -> int:
        """Walk on past local optima, never back to one of the last `length` graphs."""
        cursor, tabu = np.zeros(2, dtype=np.int64), np.zeros(length, dtype=np.uint64)
        parents = dag.parents.copy()
        try:
            self._run(kernels.tabu_walk, dag, self._kept, self.limits, tabu, cursor)
        except BaseException:  # the walk may be anywhere
            for now, saved in zip(dag, dag_of(parents), strict=True):
                now[:] = saved
            raise
        return int(cursor[0])

    def reinsert(self, dag: DagState, ctl: Control) -> int:
        """One pass of node reinsertion (Moore & Wong 2003, in DAG space)."""
        return self._pass(kernels.reinsert, ctl, dag, self._kept, self.limits)

    def knock_out(self, dag: DagState, ctl: Control) -> int:
        """One pass of edge knock-outs in DAG space."""
        return self._pass(kernels.knock_out, ctl, dag, self._kept, self.limits)

    def ges(self, pattern: Pattern, ctl: Control) -> int:
        """Greedy equivalence search from `pattern`."""
        return self._search(ctl, kernels.ges, pattern, self.limits, self.max_parents)

    def knock_out_classes(self, pattern: Pattern, ctl: Control) -> int:
        """One pass of edge knock-outs in the space of classes."""
        kernel = kernels.knock_out_classes
        return self._pass(kernel, ctl, pattern, self._kept_class, self.limits, self.max_parents)

    def place_nodes(self, order: Ints, ctl: Control) -> int:
        """Move each node to its best place in `order`."""
        return self._pass(kernels.place_nodes, ctl, order, self.limits)

    def parents_in_order(self, order: Ints, *, shrink: bool) -> tuple[Words, float]:
        """The best parents of each node among those before it, greedily, and their score."""
        parents = np.zeros_like(self.limits.allowed)
        total = np.zeros(1)
        self._run(kernels.parents_in_order, self.limits, order, shrink, parents, total)
        return parents, float(total[0])

    def _search(self, ctl: Control, kernel: Callable[..., int], *state: Any) -> int:
        """The number of moves of a search run to its end; between moves the state is consistent."""
        before = int(self.rows.n_moves[0])
        while self._run(kernel, *state, CALLS, ctl=ctl) == CALLS:
            ctl.check()
        return int(self.rows.n_moves[0]) - before

    def _pass(self, kernel: Callable[..., int], ctl: Control, *state: Any) -> int:
        """The number of improvements of a pass over all nodes.

        `cursor[2]` is not zero while a node is being tried: a pass that is stopped then restores
        state[0] from its backup, state[1].
        """
        cursor = np.zeros(4, dtype=np.int64)
        step = max(FEW, self.n // CALLS)
        allowed = self.limits.allowed.copy()
        try:
            for last in [*range(step, self.n, step), self.n]:
                ctl.check()
                self._run(kernel, *state, cursor, last)
        except BaseException:
            self.limits.allowed[:] = allowed
            if cursor[2]:
                for now, saved in zip(state[0], state[1], strict=True):
                    now[:] = saved
            raise
        return int(cursor[3])

    def _run(self, kernel: Callable[..., int], *arguments: Any, ctl: Control | None = None) -> int:
        """The result of a kernel, called again whenever rows that it missed have been filled."""
        rows = self.rows
        while (result := kernel(rows, *arguments)) == MISS:
            count = int(rows.n_wanted[0])
            rows.n_wanted[0] = 0
            if ctl is not None:
                ctl.check()
            self.cache.fill(rows.children[:count], rows.families[:count])
        return int(result)
