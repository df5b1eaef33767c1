"""Gibbs sampling: chains that redraw one variable at a time from its conditional."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from counterpane._core import inference as kernels
from counterpane.errors import EvidenceError, ParameterError, Setting
from counterpane.features import Blanket, check_cells
from counterpane.inference.convergence import rhat, standard_errors
from counterpane.inference.gibbs_tables import compile_scan, gather_tables
from counterpane.memory import need_memory
from counterpane.parallel import map_in_threads
from counterpane.ragged import offsets_of
from counterpane.seeds import random_generator
from counterpane.typing import Array, Bools, Codes, Floats, Ints, Words

STRETCHES = 250  # means along a chain from which its convergence is estimated
LEAST_STRETCHES = 50  # of chains over so many states that the means would take much memory
RECORD = 2**24  # means of all chains in memory
START_SWEEPS = 1000  # sweeps in search of a row of positive probability
BLOCK_UPDATES = 4_000_000  # draws between two checks for an interruption
TOGETHER = 2**22  # sums of chains in memory at a time


@dataclass(frozen=True)
class Gibbs:
    """The settings of Gibbs sampling, an approximate method of queries.

    Each chain has its own stream of random numbers, so the answer does not depend on `n_jobs`. If
    some rows are impossible, the chains first search for a possible one.

    Parameters
    ----------
    n_chains : int
        Number of independent chains.
    burn_in : int
        Sweeps over all free variables before the first sample.
    n_samples : int
        Sweeps of each chain that enter the estimate.
    start : dict, optional
        States by name at which the chains start; other variables start at uniformly drawn states.
    random_state : int, Generator or None
        Seed of the chains.
    n_jobs : int
        Number of threads.

    Examples
    --------
    >>> import counterpane as cp
    >>> model = cp.ChowLiu().fit(cp.load_dataset("titanic")).model_
    >>> answer = model.query("survived", {"status": "first"}, method=cp.Gibbs(n_samples=2000))
    >>> abs(answer["yes"] - model.query("survived", {"status": "first"})["yes"]) < 0.02
    True
    """

    n_chains: int = 4
    burn_in: int = 100
    n_samples: int = 1000
    start: Mapping[Any, Any] | None = None
    random_state: int | np.random.Generator | None = 0
    n_jobs: int = 1

    def __post_init__(self) -> None:
        for name, least in (("n_chains", 1), ("burn_in", 0), ("n_samples", 1), ("n_jobs", 1)):
            value = getattr(self, name)
            if not isinstance(value, (int, np.integer)) or value < least:
                raise ParameterError(
                    Setting(name, value), f"; a whole number from {least} is needed."
                )


class Estimate(NamedTuple):
    """Probabilities with their standard errors and convergence, state by state.

    `effective_size` is the number of independent draws that would have the same standard error.
    """

    probabilities: Floats
    standard_errors: Floats
    rhat: Floats
    effective_size: Floats


def estimate_from(probabilities: Floats, means: Floats, draws: int) -> Estimate:
    """The estimate by `draws` sweeps of chains whose `means` are (chains, stretches, cells)."""
    p, errors = probabilities, standard_errors(means)
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.where(errors > 0, p * (1 - p) / errors**2, draws)
    agreement = rhat(means) if means.shape[1] > 1 else np.full(p.size, np.nan)
    return Estimate(p, errors, agreement, size)


class Sampler:
    """Gibbs chains for the conditionals of `blanket`: of a joint distribution, or given one by one.

    Variables are drawn in their order; estimates are means of conditionals, not of states
    (Rao–Blackwell). `names` are used in messages.

    >>> from counterpane.features import Potential
    >>> pair = Potential((0, 1), np.log([[0.3, 0.2], [0.1, 0.4]]))
    >>> sampler = Sampler(Blanket([2, 2], [pair]))
    >>> estimate = sampler.marginals({1: 1}, settings=Gibbs(random_state=0))[0]
    >>> estimate.probabilities.round(4).tolist()
    [0.3333, 0.6667]
    """

    def __init__(self, blanket: Blanket, names: Sequence[str] | None = None) -> None:
        self.blanket = blanket
        self._names = names
        if blanket.joint and _constant(blanket) == -np.inf:
            raise EvidenceError("the model gives every row the weight zero; nothing can be drawn.")
        self._tables = gather_tables(blanket)
        self._states = offsets_of(blanket.cards)
        parts = blanket.parts
        logs = {"values": parts.values, "rule_weights": parts.rule_weights}
        logs["leaf_values"] = parts.leaf_values
        self._forbids = any(np.isneginf(array).any() for array in logs.values())
        self._relaxed = parts._replace(
            **{k: np.maximum(array, -kernels.IMPOSSIBLE) for k, array in logs.items()}
        )

    def marginals(
        self,
        evidence: Mapping[int, int],
        likelihoods: Mapping[int, Floats] | None = None,
        *,
        settings: Gibbs,
        start: Mapping[int, int | Ints] | None = None,
    ) -> dict[int, Estimate]:
        """P(v | evidence) for each variable v that is not in `evidence`.

        `start` has the states at which the chains start, or one state for each chain.
        """
        flat = self._estimate(evidence, likelihoods, start, settings)
        states = self._states
        return {
            v: Estimate(*(part[states[v] : states[v + 1]] for part in flat))
            for v in range(self.blanket.cards.size)
            if v not in evidence
        }

    def joint(
        self,
        targets: Sequence[int],
        evidence: Mapping[int, int],
        likelihoods: Mapping[int, Floats] | None = None,
        *,
        settings: Gibbs,
        start: Mapping[int, int | Ints] | None = None,
    ) -> Estimate:
        """P(targets | evidence), with one axis for each variable of `targets`."""
        shape = tuple(self.blanket.cards[list(targets)].tolist())
        check_cells(shape, "the answer")
        flat = self._estimate(evidence, likelihoods, start, settings, targets)
        return Estimate(*(part.reshape(shape) for part in flat))

    def rows(
        self, columns: Sequence[int], codes: Array, *, settings: Gibbs
    ) -> tuple[Floats, Floats]:
        """(P(v = s | row), standard errors), each (n_rows, Σ cards), for missing cells v.

        codes[c, r] is the state of columns[c] in row r, missing at or above the card. Each distinct
        row is answered once, by `settings.n_chains` chains whose spread gives the standard errors:
        NaN for one chain. Observed cells have zeros.
        """
        cards, chains = self.blanket.cards, settings.n_chains
        width = int(cards.sum())
        check_cells((codes.shape[1], width), f"the answer for {codes.shape[1]:,} rows", 2**30)
        every = np.repeat(cards[:, None], codes.shape[1], axis=1)
        every[list(columns)] = np.minimum(codes, cards[list(columns), None])
        distinct, where, inverse = np.unique(every, axis=1, return_index=True, return_inverse=True)
        seeds = _seeds(settings, (distinct.shape[1], chains))
        out, errors = np.empty((2, distinct.shape[1], width))
        for block in _alike(distinct == cards[:, None], TOGETHER // (width * chains)):
            units = np.repeat(distinct[:, block], chains, axis=1)
            rows = np.repeat(where[block], chains)
            sums, _ = self._run(units, seeds[block].reshape(-1), settings, rows=rows)
            means = sums.reshape(block.size, chains, width) / settings.n_samples
            out[block], errors[block] = means.mean(axis=1), np.nan
            if chains > 1:
                errors[block] = means.std(axis=1, ddof=1) / np.sqrt(chains)
        back = inverse.reshape(-1)
        return out[back], errors[back]

    def complete(self, codes: Array, *, settings: Gibbs) -> Codes:
        """The rows with a state drawn for each missing cell; each row has its own chain.

        codes[v, r] is missing at the card. The state is that after `burn_in` + 1 sweeps.
        """
        cards = self.blanket.cards
        out: Codes = codes.astype(np.uint16)
        seeds = _seeds(settings, codes.shape[1])
        once = replace(settings, n_samples=1)
        for block in _alike(codes == cards[:, None], TOGETHER // int(cards.sum())):
            units = np.ascontiguousarray(codes[:, block], dtype=np.int64)
            if (units[:, 0] == cards).any():
                _, states = self._run(units, seeds[block], once, keep=1, rows=block)
                out[:, block] = states[:, 0].T
        return out

    def draw(
        self,
        n: int,
        evidence: Mapping[int, int],
        likelihoods: Mapping[int, Floats] | None = None,
        *,
        settings: Gibbs,
        start: Mapping[int, int | Ints] | None = None,
    ) -> Codes:
        """Codes (n_variables, n) of rows at equal distances along the chains."""
        chains = min(settings.n_chains, n)
        each = -(-n // chains)
        longer = replace(settings, n_samples=max(settings.n_samples // each, 1) * each)
        units = self._units(evidence, chains)
        _, states = self._run(
            units, _seeds(settings, chains), longer,
            start=start, likelihoods=likelihoods, keep=each,
        )  # fmt: skip
        return np.ascontiguousarray(states.reshape(-1, self.blanket.cards.size)[:n].T)

    def _estimate(
        self,
        evidence: Mapping[int, int],
        likelihoods: Mapping[int, Floats] | None,
        start: Mapping[int, int | Ints] | None,
        settings: Gibbs,
        targets: Sequence[int] = (),
    ) -> Estimate:
        """The joint table of `targets`, or without them the conditionals of all variables, flat."""
        cards = self.blanket.cards
        cells = int(cards[list(targets)].prod()) if len(targets) else int(cards.sum())
        room = max(RECORD // (cells * settings.n_chains), LEAST_STRETCHES)
        n_means = min(settings.n_samples, STRETCHES, room)
        sums, _ = self._run(
            self._units(evidence, settings.n_chains), _seeds(settings, settings.n_chains), settings,
            start=start, likelihoods=likelihoods, targets=targets, n_means=n_means,
        )  # fmt: skip
        sizes = np.bincount(np.arange(settings.n_samples) * n_means // settings.n_samples)
        means = np.divide(sums, sizes[:, None])
        p = sums.sum(axis=(0, 1)) / (settings.n_chains * settings.n_samples)
        return estimate_from(p, means, settings.n_chains * settings.n_samples)

    def _units(self, evidence: Mapping[int, int], chains: int) -> Ints:
        """One row for each chain: the evidence, and missing codes."""
        row = self.blanket.cards.copy()
        row[list(evidence)] = list(evidence.values())
        return np.repeat(row[:, None], chains, axis=1)

    def _run(
        self,
        units: Ints,
        seeds: Words,
        settings: Gibbs,
        *,
        start: Mapping[int, int | Ints] | None = None,
        likelihoods: Mapping[int, Floats] | None = None,
        targets: Sequence[int] = (),
        n_means: int = 1,
        keep: int = 0,
        rows: Ints | None = None,
    ) -> tuple[Floats, Codes]:
        """(sums of conditionals, (units, n_means, cells); stored rows, (units, keep, variables)).

        The missing codes of `units` are free; all units must have the same ones. `rows` are their
        numbers for messages.
        """
        cards, states = self.blanket.cards, self._states
        free = units[:, 0] == cards
        tables, scan = self._tables, compile_scan(self._tables, cards, free)
        codes = units.astype(np.uint16)
        codes[cards == 1] = 0
        for v, code in (start or {}).items():
            codes[v] = np.where(free[v], code, codes[v])
        soft: Floats = np.zeros(int(cards.sum()) if likelihoods else 0)
        for v, weights in (likelihoods or {}).items():
            with np.errstate(divide="ignore"):
                soft[states[v] : states[v + 1]] = np.log(weights)
        order = np.argsort(np.array(targets, dtype=np.int64))  # the order of the scan
        variables = np.array(targets, dtype=np.int64)[order]
        strides = np.cumprod([1, *cards[list(targets)][:0:-1]])[::-1][: len(targets)][order]
        cells = int(cards[list(targets)].prod()) if len(targets) else int(cards.sum())
        check_cells((len(seeds), n_means, cells), "the record of the chains", 2**26)
        numbers = len(seeds) * (8 * n_means * cells + 2 * keep * cards.size)
        need_memory(numbers, f"the record of {len(seeds)} chains", "draw fewer rows or samples")
        sums: Floats = np.zeros((len(seeds), n_means, cells))
        stored: Codes = np.empty((len(seeds), keep, cards.size), dtype=np.uint16)
        faults: Ints = np.empty(len(seeds), dtype=np.int64)
        laws = np.flatnonzero(free | self.blanket.joint)
        if not self._forbids and not np.isneginf(soft).any():
            laws = laws[:0]

        def run(block: Ints) -> None:
            keys = np.zeros(scan.slots[-1], dtype=np.uint64)  # pages not reached are never touched
            kernels.run_chains(
                tables.scopes, tables.values, tables.rules, scan, self.blanket.parts,
                self._relaxed, laws, START_SWEEPS, codes, soft, variables, strides,
                settings.burn_in, settings.n_samples, seeds, block[0], block[-1] + 1, keys, sums,
                stored, faults,
            )  # fmt: skip

        updates = max(1, scan.free.size * (settings.burn_in + settings.n_samples))
        size = max(1, min(BLOCK_UPDATES // updates, -(-len(seeds) // settings.n_jobs)))
        every = np.arange(len(seeds))
        list(map_in_threads(run, np.split(every, every[size::size]), settings.n_jobs))
        self._check(faults, rows)
        return sums, stored

    def _check(self, faults: Ints, rows: Ints | None) -> None:
        """Raise if a chain reached no possible row or state."""
        bad = np.flatnonzero(faults != -1)
        if not bad.size:
            return
        v = int(faults[bad[0]])
        where = "" if rows is None else f"row {rows[bad[0]]}: "
        if v == -2:
            raise EvidenceError(
                f"{where}no row of positive probability that agrees with the evidence was found in "
                f"{START_SWEEPS} sweeps; give less evidence, or a possible row by Gibbs(start=…)."
            )
        name = f"variable {v}" if self._names is None else repr(self._names[v])
        raise EvidenceError(
            f"{where}a chain came to a row in which no state of {name} is possible; conditionals "
            "that contradict each other need smoothing, or other evidence."
        )


def _constant(blanket: Blanket) -> float:
    """The sum of the potentials and rules without variables."""
    parts = blanket.parts
    empty = np.diff(parts.scope_offsets) == 0
    potentials = parts.values[parts.value_offsets[:-1][empty]].sum()
    return float(potentials + parts.rule_weights[np.diff(parts.rule_offsets) == 0].sum())


def _alike(missing: Bools, most: int) -> Iterator[Ints]:
    """Blocks of at most `most` rows with the same missing cells; `missing` is (variables, rows)."""
    _, pattern = np.unique(missing, axis=1, return_inverse=True)
    for k in range(int(pattern.max(initial=-1)) + 1):
        rows = np.flatnonzero(pattern == k)
        yield from np.split(rows, range(max(1, most), rows.size, max(1, most)))


def _seeds(settings: Gibbs, shape: int | tuple[int, int]) -> Words:
    rng = random_generator(settings.random_state)
    return rng.integers(0, 2**64, size=shape, dtype=np.uint64)
