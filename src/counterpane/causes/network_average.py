"""Effects averaged over networks that explain the rows, adjusted in the rows themselves.

In each network the effect is adjusted for the parents of the treatment (Pearl 1995), with shares of
the rows: Σ_s P(y | x, s) P(s). The sum is right in every network with these parents, whether or not
the network has a path from x to y, so that an edge that a search missed does not make the effect
zero. It is zero where y is a parent of x. Averaging over parents that are drawn from their
posterior is the method of Pensar, Talvitie, Hyttinen & Koivisto (2020).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from counterpane.causes.effect_result import EffectEstimate
from counterpane.causes.graph_effects import (
    Answered,
    EffectQuestion,
    Structures,
    answer_structures,
)
from counterpane.counts.memory import MemoryCounts
from counterpane.data.table import Table
from counterpane.learners.bayesian.sampled_networks import (
    SampledNetworks,
    bits_set,
    sample_networks,
)
from counterpane.learners.bayesian.structural_em import COMPLETIONS, completed_rows
from counterpane.learners.parameters import fit_parameters
from counterpane.models.bayesian_network import BayesianNetwork
from counterpane.typing import Array, Floats

BLOCK = 2**21  # cells drawn at once
MOST_NETWORKS = 100  # whose own tables answer, for several treatments or within a group
MEASURED = (
    "In each network the effect is measured in the rows, since an edge that is not found does not "
    "prove that there is no effect."
)
SHOWN = 4  # sets of parents in a note


def average_effect(
    question: EffectQuestion, model: BayesianNetwork, rows: Table, size: float
) -> Answered | None:
    """The effect averaged over networks of the rows; None if `model` cannot be learned again."""
    if rows.has_missing.any():
        rows = completed_rows(rows, model, most=COMPLETIONS, seed=0)
    networks = sample_networks(model, rows, question.draws, question.rng)
    if networks is None:
        return None
    if len(question.x) == 1 and not question.codes:
        estimate, adjusted = _adjusted(question, networks, rows, size)
        notes = [_parents_note(question, networks, adjusted)]
        notes += [MEASURED] if estimate.acts < 1 else []
    else:
        estimate, notes = _in_networks(question, networks, rows, size), []
    return [estimate], [_paths_note(question, networks), *notes]


def _paths_note(question: EffectQuestion, networks: SampledNetworks) -> str:
    many = len(networks)
    kind = "drawn from the exact posterior" if networks.exact else "learned from bootstrap samples"
    there = int(networks.with_path(list(question.x), question.y).sum())
    text = (
        f"Averaged over {many:,} networks {kind}: a directed path from {question.label()} to "
        f"{question.outcome} in {there:,} of {many:,} sampled networks"
    )
    back = sum(networks.with_path([question.y], v) for v in question.x)
    return f"{text}, from {question.outcome} to {question.label()} in {int(np.sum(back > 0)):,}."


def _parents_note(
    question: EffectQuestion, networks: SampledNetworks, counts: dict[tuple[int, ...], int]
) -> str:
    names, many = question.schema.names, len(networks)
    ranked = sorted(counts, key=lambda parents: (-counts[parents], parents))
    texts = []
    for parents in ranked[:SHOWN]:
        words = ", ".join(names[v] for v in parents) or "nothing"
        none = " (no effect)" if question.y in parents else ""
        texts.append(f"{words}{none} in {counts[parents]:,}")
    rest = len(ranked) - SHOWN
    more = f"; {rest} other sets in {sum(counts[p] for p in ranked[SHOWN:]):,}" if rest > 0 else ""
    return (
        f"Causes of {question.label()} that the effect adjusts for, in {many:,} networks: "
        f"{'; '.join(texts)}{more}."
    )


def _adjusted(
    question: EffectQuestion, networks: SampledNetworks, rows: Table, size: float
) -> tuple[EffectEstimate, dict[tuple[int, ...], int]]:
    """The estimate, and in how many networks the treatment has each set of parents."""
    (x,), y = question.x, question.y
    cards = rows.schema.cards
    known = (rows.codes[x] < rows.schema[x].n_known) & (rows.codes[y] < rows.schema[y].n_known)
    codes = rows.codes[:, known]
    weights = np.ones(codes.shape[1]) if rows.weights is None else rows.weights[known]
    masks, counts = np.unique(networks.parents[:, x], return_counts=True)
    per_network = max(1, question.draws // len(networks))
    value: Floats = np.zeros((cards[x], cards[y]))
    draws = []
    for mask, count in zip(masks.tolist(), counts.tolist(), strict=True):
        tables = _strata(codes, weights, bits_set(mask), x, y, cards)
        no_effect = bool(mask >> y & 1)
        mean, drawn = _effect_draws(tables, no_effect, count * per_network, size, question.rng)
        value += mean * count / len(networks)
        draws.append(drawn)
    acts = float(networks.with_path([x], y).mean())
    adjusted = {tuple(bits_set(m)): c for m, c in zip(masks.tolist(), counts.tolist(), strict=True)}
    return EffectEstimate(value, np.concatenate(draws), None, acts), adjusted


def _strata(
    codes: Array, weights: Array, parents: Sequence[int], x: int, y: int, cards: Array
) -> Floats:
    """The counts of (treatment, outcome) for each combination of parents that occurs."""
    others = [v for v in parents if v != y]
    place = np.zeros(codes.shape[1], dtype=np.int64)
    if others:
        place = np.unique(codes[others], axis=1, return_inverse=True)[1].reshape(-1)
    shape = (int(place.max(initial=0)) + 1, int(cards[x]), int(cards[y]))
    cells = np.ravel_multi_index((place, codes[x], codes[y]), shape)
    counts = np.bincount(cells, weights, int(np.prod(shape))).astype(np.float64)
    return counts.reshape(shape)


def _effect_draws(
    counts: Floats, no_effect: bool, n: int, size: float, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """(mean, draws) of Σ_s P(y | x, s) P(s), of shapes (x, y) and (n, x, y).

    The prior of P(y | x, s) weighs `size` rows and has the mean P(y | x), so that a treatment that
    never occurs with some s is taken as it is elsewhere.
    """
    n_x, n_y = counts.shape[1:]
    if no_effect:
        alpha = counts.sum(axis=(0, 1)) + size / n_y
        drawn = rng.dirichlet(alpha, n)
        return np.tile(alpha / alpha.sum(), (n_x, 1)), np.repeat(drawn[:, None], n_x, axis=1)
    overall = counts.sum(axis=0) + size / n_y
    prior = size * overall / overall.sum(axis=-1, keepdims=True)
    alpha = counts + prior
    of_strata = counts.sum(axis=(1, 2))
    mean = alpha / alpha.sum(axis=-1, keepdims=True)
    value: Floats = np.tensordot(of_strata / of_strata.sum(), mean, axes=1)
    parts = []
    step = max(1, BLOCK // counts.size)
    for start in range(0, n, step):
        block = min(step, n - start)
        shares = rng.standard_gamma(np.broadcast_to(of_strata, (block, len(of_strata))))
        shares /= shares.sum(axis=1, keepdims=True)
        tables = rng.standard_gamma(np.broadcast_to(alpha, (block, *alpha.shape)))
        totals = tables.sum(axis=-1, keepdims=True)
        tables = np.where(totals > 0, tables / np.where(totals > 0, totals, 1.0), mean)
        parts.append(np.einsum("ds,dsxy->dxy", shares, tables))
    return value, np.concatenate(parts)


def _in_networks(
    question: EffectQuestion, networks: SampledNetworks, rows: Table, size: float
) -> EffectEstimate:
    """The effect by the tables of the most frequent networks, fitted to the rows."""
    source = MemoryCounts(rows)
    dags, counts = networks.distinct()
    dags, counts = dags[:MOST_NETWORKS], counts[:MOST_NETWORKS]
    models = [fit_parameters(source, dag, equivalent_sample_size=size) for dag in dags]
    structures = Structures(models, counts.tolist(), sampled=False)
    return answer_structures(question, structures, False, 1)[0][0]
