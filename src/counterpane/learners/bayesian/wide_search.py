"""Greedy equivalence search for tables of thousands of columns; nothing of size columns².

All pairs are screened by popcounts, eight columns at a time. A row of the search then holds only
what gains, of the columns of its screen; a second screen looks at all columns given the present
parents of each one, and the search goes on. Where columns are functions of others, up to
`EVERY_COLUMN` columns, each family is tried with every column instead, which is GES. Edges are
added and removed in the space of equivalence classes, whose graph is mended locally; node
reinsertion follows. See docs/design/wide.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from typing import Annotated, Any, NamedTuple

import numpy as np

from counterpane._core import wide as kernels
from counterpane._core.scores import AVERAGE, LIKELIHOOD
from counterpane._core.search import Limits, ParentLists
from counterpane._core.wide import WideData
from counterpane.counts.bitsets import BitColumns
from counterpane.counts.candidates import CandidateCounter
from counterpane.counts.memory import bit_columns
from counterpane.counts.source import CountSource, threads_of
from counterpane.data.table import Table
from counterpane.graphs import Dag
from counterpane.lazy import lazy
from counterpane.learners.bayesian.card_screens import CardScreens
from counterpane.learners.bayesian.constraints import is_symmetric, no_limits
from counterpane.learners.bayesian.engine import check_stored
from counterpane.learners.checkpoint import GROWS, check_range
from counterpane.learners.driver import Search
from counterpane.parallel import map_in_threads
from counterpane.progress import Control, Stopped
from counterpane.ragged import groups_of
from counterpane.scores import LocalScore
from counterpane.scores.base import clogc_table
from counterpane.scores.edge_price import edge_prices
from counterpane.scores.row_cache import MAX_TABLE_CELLS
from counterpane.typing import Array, Floats, Ints

special = lazy("scipy.special")

WIDE = 1_000  # above so many columns, rows of scores over all columns cost too much
EVERY_COLUMN = 30_000  # columns up to which each family may be tried with every column
FUNCTION = 0.01  # of its log-likelihood that a column keeps given those it is a function of
FUNCTIONS = 0.01  # share of such columns with which screens miss too much
MOST_PARENTS = 20  # a table of more binary columns is larger than the search allows
WEAK_PAIRS = 20  # pairs a column that chance alone keeps as candidates
STRONGEST = 128  # pairs of a column that are kept where very many gain
PAIR_ROOM = 2**18  # pairs of one kernel call, at least
SPAN_BYTES = 2**18  # of bit sets: they stay in half of a second-level cache
SECOND_BATCH = 4096  # columns of one step of the second screen, for each thread, at most
SECOND_BYTES = 2**26  # of the bit sets of their families
MOST_CELLS = 32  # of a family in the second screen
CARD_BATCH = 2**18  # columns of one step of the second screen on a card
FOUND = 8  # columns that the second screen adds to a column, at most
EXPANDED = 64  # integer weights are written out as rows up to this factor
LANES = 8


def is_wide(n_columns: int) -> bool:
    """Whether so many columns are searched by screens.

    >>> is_wide(500), is_wide(50_000)
    (False, True)
    """
    return n_columns > WIDE


class WideState(NamedTuple):
    """Parents of each node end to end, the screened pairs, and how many steps are done.

    `every` says whether each family is tried with every column.
    """

    parents_from: Ints
    parents: Annotated[Ints, GROWS]
    pairs: Annotated[Ints, GROWS]
    gains: Annotated[Floats, GROWS]
    steps: int
    every: bool


class WideSearch(Search[WideState]):
    """Screens, then searches; columns stand in the order of `data`."""

    def __init__(
        self, data: WideData, *, effort: str, n_jobs: int, card: CandidateCounter | None = None,
        limits: Limits | None = None, start: Dag | None = None,
    ) -> None:  # fmt: skip
        self.data = data
        self.n = len(data.cards)
        limits = no_limits(self.n) if limits is None else limits
        self.limits = limits._replace(max_parents=data.max_parents)
        self.classes = is_symmetric(limits)
        self._start = Dag(self.n, []) if start is None else start
        self.n_jobs = n_jobs
        self.may_try_every = self.n <= EVERY_COLUMN
        every = effort == "thorough" and self.may_try_every
        self.passes = {"fast": 0, "default": 10 if self.n < 10_000 else 1, "thorough": 10}[effort]
        self.ends = span_ends(data)
        self.keep = _kept_gains(data, every=every)
        self.card = None if card is None else CardScreens(card, data, self.keep, n_jobs)
        screens = [("screen", k) for k in range(0, len(self.ends), n_jobs)]
        if self.card is not None:
            screens = [("screen", start) for start in self.card.starts]
        room = SECOND_BYTES // (8 * MOST_CELLS * data.words.shape[1])
        self.thread_batch = max(1, min(SECOND_BATCH, room))
        self.batch = self.thread_batch * n_jobs if card is None else CARD_BATCH
        second = [("second screen", k) for k in range(0, self.n, self.batch)]
        more = [] if every else [("search", 0), *second]
        self.plan = [*screens, *more, ("search", self.passes)]
        self.last_screen = screens[-1][1]
        self.first_search = len(screens) if more else -1
        none: Ints = np.zeros(0, dtype=np.int64)
        self.first = WideState(*self._start.lists, none, np.zeros(0), 0, every)

    def start(self) -> WideState:
        return self.first

    def check(self, state: WideState) -> None:
        check_stored(self.n, np.concatenate([state.parents_from, state.parents]))
        check_range("a pair", state.pairs, 0, self.n)
        check_range("the number of steps", state.steps, 0, len(self.plan) + 1)
        if len(state.pairs) != 2 * len(state.gains):
            raise ValueError("its pairs do not fit")

    def done(self, state: WideState) -> bool:
        return state.steps >= len(self.plan)

    def size(self, state: WideState) -> tuple[float, float]:
        return state.steps, len(self.plan)

    def step(self, state: WideState, ctl: Control) -> tuple[WideState, dict[str, Any]]:
        stage, k = self.plan[state.steps]
        if stage == "screen":
            state = self._screen(state, k)
            record: dict[str, Any] = {"pairs": len(state.gains)}
        elif stage == "search":
            state, record = self._search(state, k)
            if state.steps == self.first_search and self._has_functions(state):
                state = state._replace(every=True)
        elif state.every:
            record = {"pairs": 0}
        else:
            before = len(state.gains)
            state = self._screen_families(state, k)
            record = {"pairs": len(state.gains) - before}
        return state._replace(steps=state.steps + 1), {"stage": stage, **record}

    def _screen(self, state: WideState, first: int) -> WideState:
        """The pairs of the next spans of columns with all before them."""
        pairs, gains = [_pairs_of(state)], [state.gains]
        spans = range(first, min(first + self.n_jobs, len(self.ends)))
        parts = (
            map_in_threads(self._span, list(spans), self.n_jobs)
            if self.card is None
            else [self.card.pairs(first)]
        )
        for some, theirs in parts:
            pairs.append(some)
            gains.append(theirs)
        joined, values = np.concatenate(pairs), np.concatenate(gains)
        if len(values) > STRONGEST * self.n or first == self.last_screen:
            joined, values = strongest_pairs(joined, values, self.n, STRONGEST)
        return state._replace(pairs=joined.ravel(), gains=values)

    def _span(self, k: int) -> tuple[Ints, Floats]:
        begin = 0 if k == 0 else int(self.ends[k - 1])
        pairs, gains = [np.zeros((0, 2), dtype=np.int64)], [np.zeros(0)]
        held = 0
        for more, theirs in screened_pairs(self.data, self.keep, begin, int(self.ends[k])):
            pairs.append(more)
            gains.append(theirs)
            held += len(theirs)
            if held > STRONGEST * self.n + PAIR_ROOM:  # near copies: few of them will be kept
                joined = np.concatenate(pairs), np.concatenate(gains)
                kept = strongest_pairs(*joined, self.n, STRONGEST)
                pairs, gains, held = [kept[0]], [kept[1]], len(kept[1])
        return np.concatenate(pairs), np.concatenate(gains)

    def _search(self, state: WideState, passes: int) -> tuple[WideState, dict[str, Any]]:
        """The network that the search reaches from that of `state`; when stopped, so far."""
        nodes_from, nodes, gains = both_ways(_pairs_of(state), state.gains, self.n)
        room = self.n * self.data.max_parents + len(state.parents)
        dag = ParentLists(state.parents_from.copy(), np.zeros(room, dtype=np.int32))
        dag.nodes[: len(state.parents)] = state.parents
        arrows, figures = np.zeros(room, dtype=bool), np.zeros(3)
        with suppress(Stopped):  # the driver notices next; the lists hold the last whole network
            kernels.search_wide(
                self.data, nodes_from, nodes, gains, state.every, self.limits, self.classes,
                passes, dag, arrows, figures,
            )  # fmt: skip
        n_edges = int(dag.begins[-1])
        scored, moves, reinserted = figures.astype(int).tolist()
        record = {
            "edges": n_edges, "arrows": int(arrows[:n_edges].sum()), "rows": scored,
            "moves": moves, "reinsertions": reinserted,
        }  # fmt: skip
        parents = dag.nodes[:n_edges].astype(np.int64)
        return state._replace(parents_from=dag.begins, parents=parents), record

    def _has_functions(self, state: WideState) -> bool:
        """Whether columns are functions of their parents, and few enough to try every column.

        A column that a wrong parent explains nearly by itself shows no other one, so that screens
        given the present parents do not find the right ones.
        """
        if not self.may_try_every:
            return False
        left = np.empty(self.n)
        parents = state.parents.astype(np.int32)
        kernels.fill_left(self.data, state.parents_from, parents, left)
        return bool((left < FUNCTION).sum() > FUNCTIONS * self.n)

    def _screen_families(self, state: WideState, first: int) -> WideState:
        """The pairs that gain given the present parents of the next columns, added to the rest."""
        children = np.repeat(np.arange(self.n), np.diff(state.parents_from))
        below = np.argsort(state.parents, kind="stable")
        children_from = groups_of(state.parents[below], self.n)
        lists = state.parents.astype(np.int32), children[below].astype(np.int32)

        def screen(start: int) -> Array:
            best = np.empty((min(self.thread_batch, stop - start), FOUND), dtype=np.int32)
            kernels.screen_families(self.data, state.parents_from, lists[0], children_from,
                                    lists[1], start, best)  # fmt: skip
            return best

        stop = min(first + self.batch, self.n)
        starts = list(range(first, stop, self.thread_batch))
        if self.card is None:
            best = np.concatenate(list(map_in_threads(screen, starts, self.n_jobs)))
        else:
            best = self.card.families(
                first, stop, state.parents_from, lists[0], children_from, lists[1], FOUND
            )
        rows, places = np.nonzero(best >= 0)
        more = np.sort(np.column_stack([rows + first, best[rows, places]]), axis=1)
        return _with_pairs(state, more.astype(np.int64), self.n)


def _with_pairs(state: WideState, more: Ints, n: int) -> WideState:
    """`state` with pairs of unknown gain among its own, which are sorted."""
    pairs = _pairs_of(state)
    keys, new = pairs[:, 0] * n + pairs[:, 1], np.unique(more[:, 0] * n + more[:, 1])
    places = np.searchsorted(keys, new)
    fresh = np.append(keys, -1)[places] != new
    new, places = new[fresh], places[fresh]
    joined = np.insert(pairs, places, np.column_stack([new // n, new % n]), axis=0)
    return state._replace(pairs=joined.ravel(), gains=np.insert(state.gains, places, -math.inf))


def screened_pairs(
    data: WideData, keep: Floats, begin: int, end: int
) -> Iterator[tuple[Ints, Floats]]:
    """Pairs of the blocks begin … end − 1 with these and all before that gain more than keep[d]."""
    cursor: Ints = np.zeros(1, dtype=np.int64)
    room = PAIR_ROOM + LANES * LANES * (end - begin)
    pairs, gains = np.empty((room, 2), dtype=np.int32), np.empty(room)
    while cursor[0] < end:
        n = kernels.screen_pairs(data, keep, begin, end, cursor, pairs, gains)
        yield pairs[:n].astype(np.int64), gains[:n].copy()


def _pairs_of(state: WideState) -> Ints:
    return state.pairs.reshape(-1, 2)


def strongest_pairs(pairs: Ints, gains: Floats, n: int, most: int) -> tuple[Ints, Floats]:
    """The pairs that are among the `most` strongest of one of their two columns, sorted.

    >>> pairs = np.array([[0, 1], [0, 2], [1, 2]])
    >>> strongest_pairs(pairs, np.array([1.0, 3.0, 2.0]), 3, 1)[0].tolist()
    [[0, 2], [1, 2]]
    """
    keys = pairs[:, 0] * n + pairs[:, 1]
    if not (keys[1:] > keys[:-1]).all():
        order = np.argsort(keys, kind="stable")
        pairs, gains = pairs[order], gains[order]
    begin = both_ways(pairs, gains, n)[0]
    if np.diff(begin).max(initial=0) <= most:
        return pairs, gains
    crowded = np.diff(begin) > most  # a pair of another column is among its strongest
    strong: Array = np.asarray(~crowded[pairs].all(axis=1))
    rows, sides = np.nonzero(crowded[pairs])
    ends = pairs[rows, sides]
    ranked = np.lexsort((rows, -gains[rows], ends))
    groups = groups_of(ends[ranked], n)
    rank = np.arange(len(ends)) - groups[ends[ranked]]
    strong[rows[ranked[rank < most]]] = True
    return pairs[strong], gains[strong]


def both_ways(pairs: Ints, gains: Floats, n: int) -> tuple[Ints, Array, Floats]:
    """Neighbor lists of pairs: offsets, the nodes as int32, and the gain of each pair."""
    begins: Ints = np.empty(n + 1, dtype=np.int64)
    partners, theirs = np.empty(pairs.shape, dtype=np.int32), np.empty(pairs.shape)
    kernels.list_partners(pairs, gains, begins, partners, theirs)
    return begins, partners.ravel(), theirs.ravel()


def _kept_gains(data: WideData, *, every: bool) -> Floats:
    """The gain from which a pair of d degrees of freedom is kept.

    Where every column is tried, only what gains by itself; else also the pairs of which chance
    would show `WEAK_PAIRS` a column.
    """
    keep: Floats = np.full(len(data.price), 1e-7)
    return keep if every else np.minimum(keep, chance_gains(data))


def chance_gains(data: WideData) -> Floats:
    """The gain that, of independent columns, `WEAK_PAIRS` pairs a column exceed, by d."""
    freedom = np.arange(1, len(data.price), dtype=np.float64)
    chance = special.gammainccinv(freedom / 2, min(1.0, WEAK_PAIRS / len(data.cards)))
    penalty = data.a if data.kind == LIKELIHOOD else 0.5 * math.log(max(data.n_rows, 2))
    gains: Floats = np.concatenate([[0.0], chance - penalty * freedom - data.price[1:]])
    return gains


def unit_rows(table: Table) -> Table:
    """`table` with whole weights written out as rows, where that is not much longer."""
    weights = table.weights
    if weights is None:
        return table
    whole = bool((weights == np.floor(weights)).all()) and bool((weights >= 0).all())
    if not whole or table.total_weight > EXPANDED * table.n_rows:
        return table
    rows = np.repeat(np.arange(table.n_rows), weights.astype(np.int64))
    return Table(table.schema, np.ascontiguousarray(table.codes[:, rows]))


def wide_data(
    source: CountSource, score: LocalScore, rate: float | None, max_parents: int | None, order: Ints
) -> WideData:
    """What the kernels of a wide search read: the columns of `order`, in this order.

    The price of an edge is that of all columns of `source`.
    """
    table = unit_rows(source.rows())
    n, cards = len(source.schema), source.schema.cards[order]
    bits = bit_columns(source) if table is source.table and len(order) == n else None
    places = order
    if bits is None:  # of the searched columns alone, if there are others
        codes, places = (
            (table.codes, order)
            if len(order) == n
            else (np.ascontiguousarray(table.codes[order]), np.arange(len(order)))
        )
        bits = BitColumns(codes, source.schema.cards if len(order) == n else cards)
    bits.pack(places, threads_of(source))
    total = float(table.total_weight)
    form = score.form(total)
    assert form is not None
    weights = np.empty(0) if table.weights is None else table.weights.astype(np.float64)
    prior = score.structure_prior
    most = MOST_PARENTS if max_parents is None else min(max_parents, MOST_PARENTS)
    return WideData(
        bits.words, bits.total, np.ascontiguousarray(bits.first[places]), cards, weights,
        clogc_table(total), table.n_rows, *form, prior.by_count(n)[: len(order) + 1],
        prior.by_parameter,
        edge_prices(score, total, n, rate), max(0, min(most, len(order) - 1)), MAX_TABLE_CELLS,
        lane_blocks(cards),
    )  # fmt: skip


def lane_blocks(cards: Ints) -> Array:
    """Columns in blocks of eight with equal numbers of states; constants are in none.

    >>> lane_blocks(np.array([2, 3, 2, 1]))[:, :3].tolist()
    [[0, 2, -1], [1, -1, -1]]
    """
    blocks = []
    for card in np.unique(cards[cards > 1]):
        columns = np.flatnonzero(cards == card)
        block = np.full(-(-len(columns) // LANES) * LANES, -1, dtype=np.int32)
        block[: len(columns)] = columns
        blocks.append(block.reshape(-1, LANES))
    return np.concatenate(blocks) if blocks else np.empty((0, LANES), dtype=np.int32)


def span_ends(data: WideData) -> Ints:
    """Where spans of blocks end whose planes take about `SPAN_BYTES` each."""
    planes = data.cards[data.lanes[:, 0]] - 1
    spans = np.cumsum(planes) * (8 * LANES * data.words.shape[1]) // SPAN_BYTES
    last = np.flatnonzero(np.diff(spans, append=-1))
    ends: Ints = last + 1
    return ends


def can_be_wide(score: LocalScore, total: float) -> bool:
    """Whether a wide search knows the score: of a known form, and alike within a class."""
    form = score.form(total)
    known = form is not None and form.kind != AVERAGE and score.is_score_equivalent
    return known and score.structure_prior.by_edge(0).size == 0


def edges_of(state: WideState) -> Ints:
    """(parent, child) of each edge."""
    children = np.repeat(np.arange(len(state.parents_from) - 1), np.diff(state.parents_from))
    return np.column_stack([state.parents, children])


def edge_gains(data: WideData, edges: Ints, *, keep: bool = False) -> tuple[float, Ints, Floats]:
    """The score of a network, its edges, and the score that is lost without each.

    Unless all edges are kept, one to a column without other parents that gains nothing is dropped.
    """
    n = len(data.cards)
    while True:
        edges = edges[np.lexsort((edges[:, 0], edges[:, 1]))]
        parents_from = groups_of(edges[:, 1], n)
        scores, gains = np.zeros(n), np.zeros(len(edges))
        kernels.score_lists(data, parents_from, edges[:, 0].astype(np.int32), scores, gains)
        idle = (gains <= 0) & (np.diff(parents_from)[edges[:, 1]] == 1)
        if keep or not idle.any():
            break
        edges = edges[~idle]
    return float(scores.sum()), edges, gains
