"""Several chains of orders or partitions, walked a block of samples at a time."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from counterpane._core import bayesian as kernels
from counterpane.learn.bayesian.parent_tables import ParentTables
from counterpane.learn.driver import Search
from counterpane.parallel import map_in_threads
from counterpane.progress import Control
from counterpane.typing import Floats, Ints

BLOCKS = 32  # the samples of a chain come in so many blocks; a step is one block of every chain


class Chains(NamedTuple):
    """Where every chain is, and what its blocks of samples added up to.

    `edges` and `squares` are (chains, blocks, child, candidate), `ends` each block's last places.
    """

    seed: int
    next: int
    places: Ints
    edges: Floats
    squares: Floats
    ends: Ints
    log_scores: Floats


class ChainSearch(Search[Chains]):
    """Walks all chains, a block a step: first burn-in, by orders and then by layers, then samples.

    Random numbers depend on (seed, chain, block) only, neither on threads nor on an interruption.
    """

    def __init__(
        self,
        tables: ParentTables,
        seed: int,
        *,
        n_chains: int,
        n_samples: int,
        burn_in: int,
        thin: int,
        partition: bool,
        n_jobs: int,
    ) -> None:
        self.tables = tables
        self.seed = seed
        self.n_chains = n_chains
        self.n_samples = n_samples
        self.thin = thin
        self.partition = partition
        self.n_jobs = n_jobs
        n_blocks = min(BLOCKS, n_samples)
        cuts = np.linspace(0, n_samples, n_blocks + 1).astype(np.int64)
        self.slices = [slice(int(a), int(b)) for a, b in pairwise(cuts)]
        burn = np.diff(np.linspace(0, burn_in, n_blocks + 1).astype(np.int64)).tolist()
        self.burn = [size for size in burn if size]
        self.by_order = len(self.burn) // 2 if partition else len(self.burn) + n_blocks

    def start(self) -> Chains:
        n, k = self.tables.arrays.candidates.shape
        places = [
            np.random.default_rng([self.seed, c, 0]).permutation(n) for c in range(self.n_chains)
        ]
        if self.partition and self.by_order == 0:
            places = [np.zeros(n, dtype=np.int64)] * self.n_chains
        shape = (self.n_chains, len(self.slices))
        return Chains(
            self.seed, 0, np.array(places), np.zeros((*shape, n, k)), np.zeros((*shape, n, k)),
            np.zeros((*shape, n), dtype=np.int64), np.zeros((self.n_chains, self.n_samples)),
        )  # fmt: skip

    def done(self, state: Chains) -> bool:
        return state.next == len(self.burn) + len(self.slices)

    def size(self, state: Chains) -> tuple[float, float]:
        return state.next, len(self.burn) + len(self.slices)

    def step(self, state: Chains, ctl: Control) -> tuple[Chains, dict[str, Any]]:
        n, k = self.tables.arrays.candidates.shape
        block = state.next - len(self.burn)
        samples = self.slices[block] if block >= 0 else slice(0, self.burn[state.next])
        length = samples.stop - samples.start
        arrays = self.tables.arrays

        def run(chain: int) -> tuple[Ints, Floats, Floats, Floats]:
            rng = np.random.default_rng([state.seed, chain, state.next + 1])
            place = state.places[chain].copy()
            edges, squares, log_scores = np.zeros((n, k)), np.zeros((n, k)), np.empty(length)
            if state.next < self.by_order:
                uniforms = rng.random((length, self.thin, 2))
                kernels.walk_orders(arrays, place, uniforms, edges, squares, log_scores)
            else:
                uniforms = rng.random((length, n + 6 * self.thin))
                kernels.walk_layers(arrays, place, uniforms, edges, squares, log_scores)
            if self.partition and state.next + 1 == self.by_order:
                chosen = np.empty_like(place)
                kernels.draw_by_order(arrays, place, rng.random((n,)), chosen)
                kernels.fill_layers(arrays.candidates, chosen, place)
            return place, edges, squares, log_scores + self.tables.offsets.sum()

        done = list(map_in_threads(run, range(self.n_chains), self.n_jobs))
        places, edges, squares, log_scores = (np.array(part) for part in zip(*done, strict=True))
        state = state._replace(next=state.next + 1, places=places)
        if block >= 0:
            # In place: only entries that the given state does not have yet.
            state.edges[:, block], state.squares[:, block] = edges, squares
            state.ends[:, block], state.log_scores[:, samples] = places, log_scores
        kept = samples.stop if block >= 0 else 0
        by_chain = {f"chain_{c}": float(s) for c, s in enumerate(log_scores.mean(axis=1))}
        return state, {"samples": kept, "log_score": float(log_scores.mean()), **by_chain}
