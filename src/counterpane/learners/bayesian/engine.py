"""Searches over networks that read a row cache."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from counterpane._core import search as kernels
from counterpane._core.search import Limits, ParentLists, RowRequests
from counterpane.errors import ParameterError
from counterpane.graphs import Dag
from counterpane.learners.bayesian.constraints import required_edges
from counterpane.progress import Control, Stopped
from counterpane.scores.row_cache import RowCache
from counterpane.typing import Floats, Ints


def rows_needed(n: int) -> int:
    """The number of cached rows that a search over n variables needs at the same time."""
    return 2 * n + 64


class Reached(NamedTuple):
    """What a search reached: a whole network also if it was stopped."""

    dag: ParentLists
    gains: int  # improvements; 0 if it was stopped
    stopped: bool = False


def lists_of(dag: Dag) -> ParentLists:
    """The parent lists of a DAG."""
    begins, nodes = dag.lists
    return ParentLists(begins, nodes.astype(np.int32))


def dag_of(lists: ParentLists) -> Dag:
    """The DAG with these parent lists."""
    return Dag.from_lists(*lists)


def stored(lists: ParentLists) -> Ints:
    """Parent lists as one array, for a state."""
    return np.concatenate(lists)


def restored(values: Ints, n: int) -> ParentLists:
    """The parent lists that `stored` wrote."""
    return ParentLists(values[: n + 1].copy(), values[n + 1 :].astype(np.int32))


def check_stored(n: int, *networks: Ints | None) -> None:
    """Raise an error unless the arrays are networks of n nodes as `stored` writes them."""
    for values in networks:
        if values is None:
            continue
        begins, nodes = values[: n + 1], values[n + 1 :]
        if len(begins) <= n or begins[0] or (np.diff(begins) < 0).any() or begins[n] != len(nodes):
            raise ValueError("its lists of parents do not fit")
        if not np.array_equal(stored(lists_of(Dag.from_lists(begins, nodes))), values):
            raise ValueError("its lists of parents are not in order")


class SearchEngine:
    """Searches from a DAG over one row cache; `limits` says which edges are allowed and required.

    A search ends early when `ctl` or the watcher of its thread says so.
    """

    def __init__(self, cache: RowCache, limits: Limits) -> None:
        self.n = len(cache.names)
        if len(cache.store.keys) < rows_needed(self.n):
            raise ParameterError(
                f"the row cache holds {len(cache.store.keys)} rows; a search over {self.n} columns "
                f"needs {rows_needed(self.n)} at a time: give it more memory."
            )
        self.cache = cache
        tolerance = cache.score.least_gain(cache.total_weight)
        self.limits = limits._replace(tolerance=tolerance, max_parents=cache.max_parents)
        room = min(4 * self.n + 64, len(cache.store.keys) // 2)
        self._rows = RowRequests(
            cache.store,
            np.zeros(1, dtype=np.int64),
            np.zeros(room, dtype=np.int64),
            np.zeros((room, cache.store.parents.shape[1]), dtype=np.uint64),
            self._fill,
        )
        self._ctl: Control | None = None

    def score(self, dag: ParentLists) -> float:
        """The total score of a DAG."""
        return float(self._scores(dag)[0].sum())

    def edge_gains(self, dag: ParentLists) -> list[tuple[int, int, float]]:
        """(parent, child, the score that would be lost without the edge) for each edge."""
        children = np.repeat(np.arange(self.n), np.diff(dag.begins))
        gains = self._scores(dag)[1]
        return list(zip(dag.nodes.tolist(), children.tolist(), gains.tolist(), strict=True))

    def climb(self, dag: ParentLists, ctl: Control | None = None) -> Reached:
        """Hill-climb by add, drop and turn."""
        return self._run(kernels.climb, dag, ctl)

    def tabu_walk(self, dag: ParentLists, length: int, ctl: Control | None = None) -> Reached:
        """Walk on past local optima, never back to one of the last `length` graphs."""
        return self._run(kernels.tabu_walk, dag, ctl, np.zeros(length, dtype=np.uint64))

    def reinsert(self, dag: ParentLists, passes: int, ctl: Control | None = None) -> Reached:
        """Passes of node reinsertion (Moore & Wong 2003, in DAG space), while one gains."""
        return self._run(kernels.reinsert, dag, ctl, passes)

    def knock_out(self, dag: ParentLists, ctl: Control | None = None) -> Reached:
        """One pass of edge knock-outs in DAG space."""
        return self._run(kernels.knock_out, dag, ctl)

    def ges(self, dag: ParentLists, ctl: Control | None = None) -> Reached:
        """Greedy equivalence search."""
        return self._run(kernels.ges, dag, ctl)

    def knock_out_classes(self, dag: ParentLists, ctl: Control | None = None) -> Reached:
        """Greedy equivalence search, and a pass of edge knock-outs in the space of classes."""
        return self._run(kernels.knock_out_classes, dag, ctl)

    def place_nodes(self, dag: ParentLists, ctl: Control | None = None) -> Reached:
        """Move each node to its best place in the order of `dag`; the better of the two DAGs."""
        order = np.array(dag_of(dag).topological_order(), dtype=np.int64)
        self._ctl = ctl
        try:
            moved, stopped = kernels.place_nodes(self._rows, self.limits, order), False
        except Stopped:
            moved, stopped = 0, True
        placed, score = self.parents_in_order(order, shrink=True)
        better = score > self.score(dag) + self.limits.tolerance
        return Reached(placed, moved, stopped) if better else Reached(dag, 0, stopped)

    def parents_in_order(self, order: Ints, *, shrink: bool) -> tuple[ParentLists, float]:
        """The best parents of each node among those before it, greedily, and their score."""
        lists = self._with_room(lists_of(Dag(self.n, [])))
        self._ctl = None
        score = kernels.parents_in_order(self._rows, self.limits, order, shrink, lists)
        return _without_room(lists), score

    def _run(
        self, kernel: Callable[..., int], dag: ParentLists, ctl: Control | None, *more: Any
    ) -> Reached:
        lists = self._with_room(dag)
        self._ctl = ctl
        try:
            gains = kernel(self._rows, self.limits, lists, *more)
        except Stopped:  # the lists hold what was reached
            return Reached(_without_room(lists), 0, stopped=True)
        return Reached(_without_room(lists), gains)

    def _fill(self) -> None:
        """Fill the rows that a kernel noted."""
        if self._ctl is not None:
            self._ctl.check()
        rows = self._rows
        count = int(rows.n_wanted[0])
        self.cache.fill(rows.children[:count], rows.families[:count])

    def _scores(self, dag: ParentLists) -> tuple[Floats, Floats]:
        """The score of each family, and what is lost without each edge."""
        scores, gains = np.empty(self.n), np.empty(len(dag.nodes))
        self._ctl = None
        kernels.score_dag(self._rows, *dag, scores, gains)
        return scores, gains

    def _with_room(self, dag: ParentLists) -> ParentLists:
        """A copy with room for the edges that a search may add."""
        most = self.n * self.limits.max_parents + len(dag.nodes) + self._n_required
        nodes = np.empty(min(self.n * (self.n - 1) // 2, most), dtype=np.int32)
        nodes[: len(dag.nodes)] = dag.nodes
        return ParentLists(dag.begins.copy(), nodes)

    @cached_property
    def _n_required(self) -> int:
        return len(required_edges(self.limits))


def _without_room(lists: ParentLists) -> ParentLists:
    return ParentLists(lists.begins, lists.nodes[: lists.begins[-1]])
