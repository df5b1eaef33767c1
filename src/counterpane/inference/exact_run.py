"""Exact answers within limits of memory and time: a question, its plan, and its run.

Only the separators of a clique tree are stored, cliques are formed block by block. Where separators
do not fit, some are computed twice; where that is not enough, the question is split into runs, one
for each joint state of a few columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain

import numpy as np
import numpy.typing as npt

from counterpane._core import inference as kernels
from counterpane.errors import Advice, TableSizeError
from counterpane.features import MAX_CELLS, Potential, check_cells
from counterpane.features.potential import LARGE, leveled
from counterpane.inference.limits import Limits, current_limits
from counterpane.memory import size_text
from counterpane.parallel import map_in_threads
from counterpane.progress import Control, Stopped
from counterpane.typing import Codes, Floats, Ints

CELLS_PER_SECOND = 1.5e8  # of a plan's cliques, for the passes in both directions
WORDS_PER_SECOND = 4e8  # of the search for an order
PLAN_SECONDS = 15.0  # that the search for an order may take
POOL = 256e6  # bytes of freed tables that wait for the next one
SUM, MAXIMIZE, KEEP = 0, 1, 2  # stages of variables
WEIGHT, MARGINALS, JOINT, BEST = range(4)  # tasks
YEAR = 3.15e7
RUN_CELLS = 2e8  # cells of the runs of one call
QUICK_CELLS = 2e6  # of a plan that takes milliseconds, in which nobody waits for progress


@dataclass(frozen=True)
class ExactPlan:
    """The cost of an exact answer, before any table is allocated.

    Parameters
    ----------
    cells : float
        The number of cells of all cliques, of all runs, with those that are formed twice.
    largest_table : float
        The number of cells of the largest clique, which is never stored.
    memory : float
        The bytes that the run takes: separators, and freed tables that are used again.
    seconds : float
        The estimated time on one core.
    conditioned : tuple of int
        The columns whose joint states have one run each.
    runs : int
        The number of runs.
    possible : bool
        False if propagation of zeros has shown that no row agrees with the evidence.
    """

    cells: float
    largest_table: float
    memory: float
    seconds: float
    conditioned: tuple[int, ...] = ()
    runs: int = 1
    possible: bool = True
    order: Ints = field(default_factory=lambda: np.empty(0, np.int64), repr=False, compare=False)
    segment: float = field(default=np.inf, repr=False)
    pool: float = field(default=0.0, repr=False)
    largest_own: float = field(default=1.0, repr=False)


def coded_factors(
    potentials: Iterable[Potential],
    cards: Ints,
    evidence: Mapping[int, int],
    every: Iterable[int] = (),
) -> tuple[kernels.FactorList, Ints, float]:
    """(the potentials as kernels read them; codes of the evidence, or −1; what was taken off).

    A variable that is in no potential and not in `every` has one state.
    """
    factors, shift = list(potentials), 0.0
    logs = _end_to_end(factors)
    if not np.abs(logs, where=logs > -np.inf, out=np.zeros_like(logs)).max(initial=0.0) < LARGE:
        factors, shift = leveled(factors)  # what was taken off comes back in the weight
        logs = _end_to_end(factors)
    scopes = list(chain.from_iterable(p.scope for p in factors))
    involved = {*scopes, *every}
    present: Ints = np.ones_like(cards)
    present[list(involved)] = cards[list(involved)]
    value_from, scope_from = np.zeros((2, len(factors) + 1), dtype=np.int64)
    np.cumsum([p.log_values.size for p in factors], out=value_from[1:])
    np.cumsum([len(p.scope) for p in factors], out=scope_from[1:])
    codes = np.full(cards.size, -1, dtype=np.int64)
    known = {v: code for v, code in evidence.items() if v in involved}
    codes[list(known)] = list(known.values())
    columns = np.array(scopes, dtype=np.int64)
    return kernels.FactorList(present, scope_from, columns, value_from, logs), codes, shift


def quick_cells(potentials: Iterable[Potential], cards: Ints, every: Iterable[int]) -> float:
    """The cells of the cliques of a greedy order; very many where a long one was given up."""
    factors, codes, _ = coded_factors(potentials, cards, {}, every)
    order, report = np.zeros(cards.size, dtype=np.int64), np.zeros(3)
    kernels.plan_order(factors, codes, 0.0, 1.0, order, report)
    return float(report[0])


def _end_to_end(factors: Sequence[Potential]) -> Floats:
    flat: Floats = np.concatenate([np.empty(0), *(p.log_values for p in factors)], axis=None)
    return flat


class ExactRun:
    """A question about a product of potentials; its plan is made once, when it is needed.

    `keep` are variables whose joint table is the answer, `maximize` those whose best states are.
    Variables in no potential and no question are left out.

    >>> pair = [Potential((0, 1), np.log([[0.3, 0.2], [0.1, 0.4]]))]
    >>> run = ExactRun(pair, [2, 2], {1: 1}, every=[0])
    >>> marginals, log_weight = run.marginals([0])
    >>> marginals[0].round(4).tolist(), round(float(np.exp(log_weight)), 4)
    ([0.3333, 0.6667], 0.6)
    >>> ExactRun(pair, [2, 2], {}, maximize=[0, 1]).best()[0]
    {0: 1, 1: 1}
    """

    def __init__(
        self,
        potentials: Iterable[Potential],
        cards: npt.ArrayLike,
        evidence: Mapping[int, int],
        *,
        every: Iterable[int] = (),
        keep: Sequence[int] = (),
        maximize: Sequence[int] = (),
        limits: Limits | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        self.cards: Ints = np.asarray(cards, dtype=np.int64)
        self.limits = limits or current_limits()
        self._names = names
        self._targets: Ints = np.array(keep, dtype=np.int64)
        involved = {*every, *keep, *maximize}
        self._factors, self._evidence, self._shift = coded_factors(
            potentials, self.cards, evidence, involved
        )
        self._fixed = dict(evidence)
        self._stages = np.full(self.cards.size, SUM, dtype=np.int64)
        self._stages[list(maximize)] = MAXIMIZE
        self._stages[list(keep)] = KEEP
        self._maximize = tuple(maximize)

    @cached_property
    def plan(self) -> ExactPlan:
        """The cost of the answer within the memory allowed; see `check`."""
        pool = min(POOL, self.limits.bytes / 10)
        most = max((self.limits.bytes - pool) / 8, 1.0)
        search = min(PLAN_SECONDS, max(self.limits.seconds, 1.0)) * WORDS_PER_SECOND
        order, conditioned = (np.zeros(self.cards.size, dtype=np.int64) for _ in range(2))
        report = np.zeros(kernels.PLAN_ENTRIES)
        possible = kernels.plan_exact(
            self._factors, self._evidence, self._stages, search,
            self.limits.seconds * CELLS_PER_SECOND, most, order, conditioned, report,
        )  # fmt: skip
        ordered, chosen, cells, largest, peak, segment, runs, again, own = report.tolist()
        total = (cells + again) * runs
        return ExactPlan(
            cells=total, largest_table=largest, memory=8 * peak + min(pool, 8 * peak),
            seconds=total / CELLS_PER_SECOND, runs=int(runs), possible=possible,
            conditioned=tuple(conditioned[: int(chosen)].tolist()), order=order[: int(ordered)],
            segment=segment, pool=pool / 8, largest_own=own,
        )  # fmt: skip

    def check(self, memory: float = 0.0) -> ExactPlan:
        """The plan; raises `TableSizeError` if it, with so many more bytes, exceeds the limits."""
        plan, limits = self.plan, self.limits
        if memory:
            plan = replace(plan, memory=plan.memory + memory)
        if plan.possible and (plan.seconds > limits.seconds or plan.memory > 1.1 * limits.bytes):
            need = f", {size_text(plan.memory)} of memory" if plan.memory else ""
            raise TableSizeError(
                f"an exact answer needs {'about' if need else 'at least'} {count_text(plan.cells)} "
                f"cells in cliques of up to {count_text(plan.largest_table)}{need} and "
                f"{_time(plan.seconds)}, and {size_text(limits.bytes)} and {_time(limits.seconds)} "
                "are allowed; ",
                Advice(
                    f"{_way_out(plan, limits, 'exact=', 'max_memory=…')} method='gibbs', "
                    "'mean_field', 'bp' or 'join_graph'.",
                    f"{_way_out(plan, limits, '--exact ', '--max-memory')} --method gibbs, "
                    "mean_field, bp or join_graph.",
                ),
            )
        return plan

    def weight(self) -> float:
        """The log of the weight of the evidence; minus infinity if it is impossible."""
        return self._solve(WEIGHT, 0)[1]

    def marginals(self, targets: Sequence[int]) -> tuple[list[Floats], float]:
        """(P(v | evidence) for each v in `targets`, ln of the weight of the evidence)."""
        sizes = self._factors.cards
        flat, log_weight, _ = self._solve(MARGINALS, int(sizes.sum()))
        starts = np.append(0, np.cumsum(sizes))
        return [flat[starts[v] : starts[v + 1]] for v in targets], log_weight

    def joint(self) -> tuple[Floats, float]:
        """(P(keep | evidence), axes in the order of `keep`; ln of the weight of the evidence)."""
        shape = self.cards[self._targets]
        if shape.prod(dtype=float) > MAX_CELLS:
            names = [f"variable {v}" for v in range(self.cards.size)]
            named = [repr(self._names[v]) if self._names else names[v] for v in self._targets]
            more = f" and {len(named) - 8} more" if len(named) > 8 else ""
            check_cells(shape.tolist(), f"the joint table of {', '.join(named[:8])}{more}")
        flat, log_weight, _ = self._solve(JOINT, int(shape.prod()))
        return flat.reshape(shape), log_weight

    def best(self) -> tuple[dict[int, int], float]:
        """(the most probable states of the variables to maximize, the log of their weight)."""
        _, log_weight, codes = self._solve(BEST, 0)
        return {v: int(codes[v]) for v in self._maximize}, log_weight

    def draws(self, n: int, rng: np.random.Generator) -> Codes | None:
        """Codes (n_variables, n) of n independent draws of rows; None if no row is possible.

        Each clique is drawn given its separator, from the root on. A variable in no potential is
        uniform.
        """
        plan = self.check(
            8 * self.plan.largest_own
        )  # a clique's table at one state of its separator
        codes: Codes = np.zeros((self.cards.size, n), dtype=np.uint16)
        shares = np.ones(1)
        if plan.possible and plan.runs > 1:
            weights = np.array([log_weight for _, log_weight, _ in self._runs(plan, WEIGHT, 0, 1)])
            if weights.max() == -np.inf:
                return None
            shares = np.exp(weights - weights.max())
        conditioned = np.array(plan.conditioned, dtype=np.int64)
        counts = rng.multinomial(n, shares / shares.sum())
        for run, end in zip(np.flatnonzero(counts), np.cumsum(counts[counts > 0]), strict=True):
            part: Codes = np.zeros((self.cards.size, int(counts[run])), dtype=np.uint16)
            if not plan.possible or not kernels.draw_exact(
                self._factors, self._evidence, self._stages, plan.order, conditioned, plan.segment,
                plan.pool, int(run), int(rng.integers(2**63)), part,
            ):  # fmt: skip
                return None
            codes[:, end - counts[run] : end] = part
        return codes if plan.runs == 1 else codes[:, rng.permutation(n)]

    def _solve(self, task: int, size: int) -> tuple[Floats, float, Ints]:
        plan = self.check()
        out, top, total = np.zeros(size), -np.inf, 0.0
        codes: Ints = np.zeros(self.cards.size, dtype=np.int64)
        if not plan.possible:
            return out, top, codes
        for part, log_weight, best in self._runs(plan, task, size):
            if log_weight == -np.inf:
                continue
            if log_weight > top:
                shrink = np.exp(top - log_weight)
                out, total, top, codes = out * shrink, total * shrink, log_weight, best
            weight = float(np.exp(log_weight - top))
            out += weight * part
            total += weight
        if total == 0.0:
            return out, -np.inf, codes
        top += self._shift
        return out / total, top if task == BEST else top + float(np.log(total)), codes

    def _runs(
        self, plan: ExactPlan, task: int, size: int, step: int | None = None
    ) -> Iterator[tuple[Floats, float, Ints]]:
        """(answer, log-weight, best codes) of each block of `step` runs, in order.

        Blocks depend on the plan alone, and threads that fit into memory take them in turn: so the
        number of threads changes no bit. Where there is one block, threads share large cliques.
        """
        limits = self.limits
        conditioned = np.array(plan.conditioned, dtype=np.int64)
        step = step or max(1, int(RUN_CELLS * plan.runs // max(plan.cells, 1.0)))
        blocks = list(range(0, plan.runs, step))

        def work(first: int, threads: int = 1) -> tuple[Floats, float, Ints]:
            part, best = np.zeros(size), np.zeros(self.cards.size, dtype=np.int64)
            log_weight = kernels.solve_exact(
                self._factors, self._evidence, self._stages, self._targets, plan.order, conditioned,
                plan.segment, plan.pool, task, first, min(first + step, plan.runs), threads, part,
                best,
            )  # fmt: skip
            return part, log_weight, best

        if len(blocks) == 1 and plan.cells < QUICK_CELLS and limits.report is None:
            yield work(0)
            return
        fitting = int(max(1.0, limits.bytes // max(plan.memory, 1.0)))
        jobs = min(limits.n_threads, fitting, len(blocks))
        run = partial(work, threads=limits.n_threads if jobs == 1 else 1)
        control = Control.within(limits.hard_seconds, limits.report)
        try:
            with control.watching():
                for done, answer in enumerate(map_in_threads(run, blocks, jobs)):
                    yield answer
                    control.report("runs", min((done + 1) * step, plan.runs), plan.runs)
        except Stopped:
            if not control.expired:  # the work around this one was stopped
                raise
            raise TableSizeError(
                f"an exact answer was estimated to take {_time(plan.seconds)} and was stopped "
                f"after {_time(limits.hard_seconds or 0.0)}; ",
                Advice(
                    "allow more by exact=…, or estimate by method='gibbs', 'join_graph' or 'bp'.",
                    "allow more by --exact, or estimate by --method gibbs, join_graph or bp.",
                ),
            ) from None
        except BaseException:
            control.cancel()  # threads stop inside their tables
            raise


def marginal(
    potentials: Iterable[Potential],
    cards: npt.ArrayLike,
    keep: Iterable[int],
    evidence: Mapping[int, int],
    *,
    names: Sequence[str] | None = None,
) -> tuple[Floats, float]:
    """(P(keep | evidence), ln of the weight of the evidence); axes follow `keep`.

    The weight is Σ exp(Σ potentials) over all rows that agree with the evidence: the probability
    of the evidence for a normalized model. If it is zero the probabilities are all zero.
    """
    run = ExactRun(potentials, cards, evidence, keep=tuple(keep), names=names)
    return run.joint()


def map_query(
    potentials: Iterable[Potential],
    cards: npt.ArrayLike,
    variables: Iterable[int],
    evidence: Mapping[int, int],
    *,
    names: Sequence[str] | None = None,
) -> tuple[dict[int, int], float]:
    """(most probable joint codes of `variables` given the evidence, their log-weight).

    Other variables are summed out first. If several rows are equally probable, one is returned.
    """
    targets = tuple(variables)
    return ExactRun(potentials, cards, evidence, maximize=targets, names=names).best()


def count_text(cells: float) -> str:
    """A number of cells for people.

    >>> count_text(1234567), count_text(2.0**60)
    ('1,234,567', '10^18')
    """
    return f"{cells:,.0f}" if cells < 1e15 else f"10^{np.log10(cells):.0f}"


def _time(seconds: float) -> str:
    if seconds == np.inf:
        return "any time"
    for unit, scale in (("years", YEAR), ("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * scale:
            return f"{_short(seconds / scale)} {unit}"
    return f"{_short(seconds)} s"


def _short(number: float) -> str:
    return (
        f"{number:,.1f}" if number < 10 else f"{number:,.0f}" if number < 1e6 else f"{number:.0e}"
    )


def _way_out(plan: ExactPlan, limits: Limits, exact: str, memory: str) -> str:
    """What to allow, or to do instead."""
    ways = []
    if plan.seconds > limits.seconds and plan.seconds < YEAR:
        scale = 10 ** max(0, int(np.log10(max(plan.seconds, 1))) - 1)
        ways.append(f"{exact}{np.ceil(plan.seconds / scale) * scale:.0f}")
    if plan.memory > 1.1 * limits.bytes and plan.seconds < YEAR:
        ways.append(memory)
    allow = f"allow it by {' and '.join(ways)}, " if ways else ""
    return f"{allow}give evidence on more columns, or estimate by"
