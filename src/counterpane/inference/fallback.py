"""Estimates where an exact answer is too expensive: the method is chosen by the kind of network.

Propagation (loopy, and in a join graph) and sampling (Gibbs chains, from rows found by search where
some rows are impossible; without these, also parallel tempering) are both run. An answer is trusted
only if the two kinds agree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from counterpane.errors import ParameterError, Setting
from counterpane.features import Potential
from counterpane.inference.certainty import AGREED, TRUSTED, Certainty
from counterpane.inference.gibbs import Estimate, Gibbs, Sampler
from counterpane.inference.join_graph import BeliefPropagation, ClusterRun, JoinGraph
from counterpane.inference.mean_field import Approximation
from counterpane.inference.question import CodedEvidence
from counterpane.typing import Floats, Ints

UPDATES_PER_SECOND = 8e6  # draws of one variable along Gibbs chains
MOVES_PER_UPDATE = 16  # neighbors of a variable that are told of its change in the time of a draw
CHAINS = 4
LOOPY_ITERATIONS = 500
MOST_SWEEPS = 5_000_000  # of a chain
BEYOND = 2.0  # standard errors of sampling; a larger difference is a bias of propagation
LEAST_BIAS = 1e-6  # the mean square error of propagation where chains see none
SHARES = {
    "plan": 0.1, "loopy": 0.05, "join_graph": 0.35, "gibbs": 0.25, "tempered": 0.25,
}  # of the time  # fmt: skip
DIFFERENT = 4.0  # standard errors between plain and tempered chains that make the plain ones stuck
NEGLIGIBLE = 1e-3  # a difference that does not


@dataclass(frozen=True)
class Auto:
    """The settings of `method="auto"`: how an answer is estimated that cannot be exact.

    Without impossible rows it is the mean of sampling and propagation, each weighed by its
    precision; that of a join graph if chains disagree and the join graph converges. Sampling is by
    Gibbs chains, or by parallel tempering where chains disagree with each other or with that. With
    impossible rows the answer is that of a join graph, or of loopy belief propagation where only
    that converges.

    Parameters
    ----------
    seconds : float
        The estimated time for propagation and sampling together.
    random_state : int
        Seed of the chains.

    Examples
    --------
    >>> import counterpane as cp
    >>> model = cp.ChowLiu().fit(cp.load_dataset("titanic")).model_
    >>> answer = model.query("survived", {"sex": "female"}, method=cp.Auto(2), exact=False)
    >>> round(answer["yes"], 2), answer.certainty.trusted
    (0.73, True)
    """

    seconds: float = 10.0
    random_state: int = 0

    def __post_init__(self) -> None:
        if not self.seconds > 0:
            raise ParameterError(Setting("seconds", self.seconds), "; a number above 0 is needed.")


class Choice(NamedTuple):
    """What the kinds of methods say of the marginals, and the answer that is taken.

    `settled` is whether chains agree in all columns; `errors` are the standard errors of an answer
    to which both kinds contribute.
    """

    sampled: dict[int, Estimate]
    propagated: Approximation
    settled: bool
    method: str
    marginals: dict[int, Floats]
    errors: dict[int, Floats] | None = None


class Fallback:
    """Both kinds of estimates for one evidence, each within its share of the time."""

    def __init__(
        self,
        potentials: Sequence[Potential],
        cards: Ints,
        coded: CodedEvidence,
        settings: Auto,
    ) -> None:
        self.coded = coded
        self.settings = settings
        self.cards = cards
        parts = [*potentials, *coded.weight_potentials()]
        self.run = ClusterRun(
            parts, cards, coded.codes, plan_seconds=SHARES["plan"] * settings.seconds
        )

    @cached_property
    def propagated(self) -> dict[str, Approximation]:
        """The answers of the join graph and of loopy propagation; first what is preferred."""
        seconds = self.settings.seconds
        settings = BeliefPropagation(LOOPY_ITERATIONS, JoinGraph.tolerance)
        loopy = self.run.propagate(settings, seconds=SHARES["loopy"] * seconds)
        joined = self.run.propagate(JoinGraph(SHARES["join_graph"] * seconds))
        if loopy.converged and not joined.converged:
            return {"bp": loopy, "join_graph": joined}
        return {"join_graph": joined, "bp": loopy}

    @cached_property
    def _updates(self) -> float:
        """The cost of a sweep of a chain: draws, and the neighbors that are told of a change."""
        free = self.cards.size - len(self.coded.codes)
        widths = np.array([len(p.scope) for p in self.run.potentials], dtype=float)
        return max(1.0, free + float((widths * (widths - 1)).sum()) / MOVES_PER_UPDATE)

    def chains(self, propagated: Approximation) -> tuple[Gibbs, dict[int, Ints] | None]:
        """(the settings of Gibbs chains; where they start if some rows are impossible)."""
        sweeps = SHARES["gibbs"] * self.settings.seconds * UPDATES_PER_SECOND / CHAINS
        sweeps /= self._updates
        samples = int(min(max(sweeps, 100), MOST_SWEEPS))
        seed = self.settings.random_state
        settings = Gibbs(CHAINS, max(50, samples // 10), samples, random_state=seed)
        if not self.run.has_zeros:
            return settings, None
        beliefs = propagated.flat(self.cards)
        seeds = [None, *(seed * CHAINS + k for k in range(1, CHAINS))]
        rows = np.array([self.run.solution(beliefs, seed=s) for s in seeds])
        return settings, {v: rows[:, v] for v in range(self.cards.size)}

    def sample(
        self, sampler: Sampler, propagated: Approximation
    ) -> tuple[dict[int, Estimate], str]:
        """(The marginals by chains, the name of the method): plain ones unless they are stuck.

        Plain chains may be stuck in one place together, and agree. They are more precise than
        tempered ones, and are taken if they agree with each other and with these.
        """
        settings, start = self.chains(propagated)
        plain = sampler.marginals(*self.coded, settings=settings, start=start)
        seconds, seed = SHARES["tempered"] * self.settings.seconds, self.settings.random_state
        tempered = None if self.run.has_zeros else self.run.temper(CHAINS, seconds, seed)
        if tempered is None or (
            agreed(plain) and all(map(near, plain.values(), tempered.values()))
        ):
            return plain, "gibbs"
        return tempered, "tempered gibbs"

    def choose(self, sampler: Sampler) -> Choice:
        """The marginals by both kinds, and the answer."""
        name, propagated = next(iter(self.propagated.items()))
        sampled, chains = self.sample(sampler, propagated)
        settled = agreed(sampled)
        stuck = not settled and self.propagated["join_graph"].converged
        if self.run.has_zeros or stuck:  # chains that are stuck do not know it
            return Choice(sampled, propagated, settled, name, propagated.marginals)
        bias = {n: squared_bias(sampled, p.marginals) for n, p in self.propagated.items()}
        name = min(bias, key=bias.__getitem__)
        pooled = pool(sampled, self.propagated[name].marginals, bias[name])
        return Choice(sampled, propagated, settled, f"{chains} and {name}", *pooled)


def agreed(sampled: Mapping[int, Estimate]) -> bool:
    """Whether the chains agree in all columns."""
    worst = (float(np.nanmax(e.rhat, initial=1.0)) for e in sampled.values())
    return max(worst, default=1.0) <= AGREED


def near(one: Estimate, other: Estimate) -> bool:
    """Whether two estimates of a column differ by no more than their standard errors allow."""
    error = np.hypot(one.standard_errors, other.standard_errors)
    gap = np.abs(one.probabilities - other.probabilities)
    return bool((gap <= DIFFERENT * error + NEGLIGIBLE).all())


def squared_bias(sampled: Mapping[int, Estimate], propagated: Mapping[int, Floats]) -> float:
    """The mean square error of propagation, as far as chains can tell.

    Its mean square difference to sampling, less what is due to the standard errors of sampling
    (the variance between studies of DerSimonian & Laird 1986).
    """
    excess = [(e.probabilities - propagated[v]) ** 2 - _variance(e) for v, e in sampled.items()]
    return max(float(np.concatenate(excess).mean()), LEAST_BIAS)


def pool(
    sampled: Mapping[int, Estimate], propagated: Mapping[int, Floats], bias: float
) -> tuple[dict[int, Floats], dict[int, Floats]]:
    """(the mean of both kinds, each column weighed by its precision; its standard errors).

    What a column differs by beyond two standard errors of sampling is a bias of its own.
    """
    means, errors = {}, {}
    for v, e in sampled.items():
        variance = _variance(e)
        gap = float(np.abs(e.probabilities - propagated[v]).max()) - BEYOND * np.sqrt(variance)
        own = max(bias, max(gap, 0.0) ** 2)
        share = own / (own + variance)
        means[v] = share * e.probabilities + (1 - share) * propagated[v]
        errors[v] = np.full(means[v].shape, np.sqrt(share * variance))
    return means, errors


def _variance(estimate: Estimate) -> float:
    """The largest squared standard error of a column; that of a guess where it is unknown."""
    return float(np.nan_to_num(estimate.standard_errors, nan=0.5).max() ** 2)


def chosen_marginals(
    potentials: Sequence[Potential],
    sampler: Sampler,
    cards: Ints,
    queried: Sequence[int],
    coded: CodedEvidence,
    settings: Auto,
) -> tuple[list[Floats], list[Certainty]]:
    """P(v | evidence) and how sure, for each v in `queried`, by the chosen method."""
    choice = Fallback(potentials, cards, coded, settings).choose(sampler)
    sure = []
    for v in queried:
        estimate = choice.sampled[v]
        gap = float(np.abs(estimate.probabilities - choice.propagated.marginals[v]).max())
        trusted = gap <= TRUSTED and choice.settled  # chains that are stuck in one column are lost
        if choice.errors is None:
            certainty = Certainty(choice.method, choice.propagated.converged)
        else:
            worst = float(estimate.rhat.max())
            certainty = Certainty(choice.method, choice.settled, choice.errors[v], worst)
        sure.append(certainty._replace(trusted=trusted, difference=gap))
    return [choice.marginals[v] for v in queried], sure


def chosen_joint(
    potentials: Sequence[Potential],
    sampler: Sampler,
    cards: Ints,
    queried: Sequence[int],
    coded: CodedEvidence,
    settings: Auto,
) -> tuple[Floats, Certainty]:
    """P(queried | evidence) of several variables by sampling, and how sure.

    Propagation tells of one variable at a time: it is compared with the marginals.
    """
    fallback = Fallback(potentials, cards, coded, settings)
    propagated = next(iter(fallback.propagated.values()))
    gibbs, start = fallback.chains(propagated)
    estimate = sampler.joint(queried, *coded, settings=gibbs, start=start)
    p = estimate.probabilities
    gap = max(
        float(np.abs(p.sum(axis=tuple(b for b in range(p.ndim) if b != a)) - q).max())
        for a, q in enumerate(propagated.marginals[v] for v in queried)
    )
    certainty = Certainty.of_chains(estimate)
    trusted = certainty.converged and gap <= TRUSTED
    return p, certainty._replace(trusted=trusted, difference=gap)


def possible_rows(
    potentials: Sequence[Potential], cards: Ints, coded: CodedEvidence, chains: int
) -> dict[int, Ints]:
    """For each variable its states in rows of positive probability, one for each chain."""
    run = ClusterRun([*potentials, *coded.weight_potentials()], cards, coded.codes)
    rows = np.array([run.solution(seed=k or None) for k in range(chains)])
    return {v: rows[:, v] for v in range(cards.size)}


def likely_rows(
    potentials: Sequence[Potential], cards: Ints, coded: CodedEvidence
) -> list[dict[int, int]]:
    """Rows of positive probability whose states are likely by propagation, for climbs."""
    run = ClusterRun([*potentials, *coded.weight_potentials()], cards, coded.codes)
    if not run.has_zeros:
        return []
    beliefs = run.propagate(JoinGraph()).flat(cards)
    rows = [run.solution(beliefs, seed=k or None) for k in range(2 * CHAINS)]
    return [dict(enumerate(row.tolist())) for row in rows]
