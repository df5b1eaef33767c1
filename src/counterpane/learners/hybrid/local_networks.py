"""Networks over a few columns each, learned by threads from the same rows."""

from __future__ import annotations

import math
import threading
from typing import Any

import numpy as np

from counterpane._core import hybrid as kernels
from counterpane._core.hybrid import LEAST_ROOM, Data, Scratch, Terms
from counterpane.counts.baskets import BasketCounts
from counterpane.counts.source import CountSource
from counterpane.data.table import Table
from counterpane.features import Potential, check_cells
from counterpane.memory import FEWER_STATES, need_memory
from counterpane.parallel import map_in_workers
from counterpane.progress import Control
from counterpane.scores.base import least_gain
from counterpane.typing import Floats, Ints

CHUNK_CELLS = 2**21  # cells that one call of a kernel reads; Ctrl-C is checked between two
LEAST_NUMBERS = 2**12


class LocalNetworks:
    """Learns networks over at most `width` columns of `source`; of baskets from distinct rows.

    The score of a family is its log-likelihood less ½ ln m for each of its q (r − 1) parameters.
    Probabilities are (c + N / (r q)) / (c_pa + N / q) with N = `prior`; `smooth` says whether those
    of the score are too, or of maximum likelihood.
    """

    def __init__(
        self, source: CountSource, width: int, *, prior: float, smooth: bool, n_jobs: int
    ) -> None:
        self.width = width
        self.n_jobs = n_jobs
        self.baskets = source if isinstance(source, BasketCounts) else None
        self.cards = source.schema.cards
        self.chunk = 256
        if self.baskets is None:
            table = source.rows()
            self.data, total = _data_of(table), table.total_weight
            self.chunk = max(1, min(256, CHUNK_CELLS // (table.n_rows * width)))
        else:
            total = float(self.baskets.baskets.n_rows)
        penalty = 0.5 * math.log(max(1.0, total))
        self.terms = Terms(prior, prior if smooth else 0.0, penalty, least_gain(total))
        self._own = threading.local()

    def learn(
        self, variables: Ints, members: Ints, parents: Ints, scores: Floats, ctl: Control | None
    ) -> None:
        """Fill parents[v] and scores[v] for some v, whose networks are over members[v].

        Bit a of parents[v, b] says that members[v, a] is a parent of members[v, b]; scores[v] is
        the log-likelihood of v given its blanket.
        """

        def run(part: Ints) -> tuple[Ints, Floats]:
            if self.baskets is None:
                kernels.learn_networks(
                    self.data, self.terms, part, members, self._scratch(self.data), parents, scores
                )
                return parents[part], scores[part]
            for v in part.tolist():
                data, alone, me = self._local(v, members[v])
                row, score = np.zeros_like(alone), np.zeros(len(alone))
                which = np.array([me])
                kernels.learn_networks(
                    data, self.terms, which, alone, self._scratch(data), row, score
                )
                parents[v], scores[v] = row[me], score[me]
            return parents[part], scores[part]

        parts = self._parts(variables)
        for part, results in zip(parts, map_in_workers(run, parts, self.n_jobs, ctl), strict=True):
            parents[part], scores[part] = results  # perhaps from another process

    def conditionals(self, members: Ints, parents: Ints) -> list[list[Potential]]:
        """ln P(child | parents) of each variable and its children in its own network."""
        n = len(members)
        cards = self.cards
        families = [_families(v, members[v], parents[v]) for v in range(n)]
        shapes = [[cards[list(scope)] for scope in scopes] for scopes in families]
        sizes = [sum(check_cells(s, "a family's table") for s in scopes) for scopes in shapes]
        table_from: Ints = np.cumsum([0, *sizes], dtype=np.int64)

        def run(part: Ints) -> Floats:
            first, stop = table_from[part[0]], table_from[part[-1] + 1]
            out: Floats = np.empty(stop - first)
            if self.baskets is not None:
                for v in part.tolist():
                    data, alone, me = self._local(v, members[v])
                    row = np.zeros_like(alone)
                    row[me] = parents[v]
                    begin, end = table_from[v] - first, table_from[v + 1] - first
                    starts = np.zeros(len(alone) + 1, dtype=np.int64)
                    starts[me + 1 :] = end - begin
                    kernels.fill_tables(
                        data, self.terms, np.array([me]), alone, row, self._scratch(data), starts,
                        out[begin:end],
                    )  # fmt: skip
                return out
            kernels.fill_tables(
                self.data, self.terms, part, members, parents, self._scratch(self.data),
                table_from - first, out,
            )  # fmt: skip
            return out

        values = np.concatenate(list(map_in_workers(run, self._parts(np.arange(n)), self.n_jobs)))
        potentials = []
        start = 0
        for scopes, scope_shapes in zip(families, shapes, strict=True):
            parts = []
            for scope, shape in zip(scopes, scope_shapes, strict=True):
                size = int(shape.prod())
                parts.append(Potential(scope, values[start : start + size].reshape(shape)))
                start += size
            potentials.append(parts)
        return potentials

    def _local(self, v: int, members: Ints) -> tuple[Data, Ints, int]:
        """The distinct rows of the members, a network over them in row me, and me, the place of v.

        Columns of the rows are the places of the members.
        """
        assert self.baskets is not None
        columns = members[members >= 0]
        data = _data_of(self.baskets.distinct(columns.tolist()))
        me = int(np.flatnonzero(columns == v)[0])
        alone: Ints = np.full((columns.size, members.size), -1)
        alone[me, : columns.size] = np.arange(columns.size)
        return data, alone, me

    def _parts(self, variables: Ints) -> list[Ints]:
        """The variables of each call of a kernel."""
        return np.array_split(variables, max(1, -(-variables.size // self.chunk)))

    def __getstate__(self) -> dict[str, Any]:
        """The attributes that another process needs: without the scratch memory of threads."""
        return {name: value for name, value in vars(self).items() if name != "_own"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _own=threading.local())

    def _scratch(self, data: Data) -> Scratch:
        """Scratch memory for one network of `data`, one for each thread."""
        n_rows = data.codes.shape[1]
        if not hasattr(self._own, "scratch") or self._own.scratch.numbers.size < n_rows:
            cards = np.sort(self.cards)[-self.width :]
            states, width = int(cards[-1]), cards.size
            rows = int(min(n_rows, np.prod(cards, dtype=np.float64)))
            room = max(LEAST_ROOM, rows) * states
            need_memory(20 * room, f"the counts of a column with {states:,} states", FEWER_STATES)
            self._own.scratch = Scratch(
                np.empty(n_rows, dtype=np.uint32),
                np.empty(max(LEAST_NUMBERS, room), dtype=np.int32),
                np.empty((width, rows), dtype=np.uint32),
                np.empty(rows),
                np.empty((2, rows), dtype=np.uint32),
                np.empty(room),
                np.empty(room),
            )
        scratch: Scratch = self._own.scratch
        return scratch._replace(numbers=scratch.numbers[:n_rows])


def _data_of(table: Table) -> Data:
    """What kernels read of a table."""
    weights = np.zeros(0) if table.weights is None else table.weights.astype(np.float64)
    return Data(table.codes, weights, table.schema.cards)


def _families(v: int, members: Ints, parents: Ints) -> list[tuple[int, ...]]:
    """(parents…, child) of v and its children in the network of v, in its order."""
    columns = members[members >= 0].tolist()
    sets = parents.tolist()
    me = columns.index(v)
    return [
        (*(u for a, u in enumerate(columns) if sets[c] >> a & 1), child)
        for c, child in enumerate(columns)
        if c == me or sets[c] >> me & 1
    ]
