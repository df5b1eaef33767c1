"""Effects in a graph, in all graphs of an equivalence class, and averaged over structures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from counterpane.causes.adjustment import split_class
from counterpane.causes.causal_graph import causal_graph, check_question
from counterpane.causes.distributions import (
    CountDistribution,
    Distribution,
    NetworkDistribution,
    NeverSeen,
    ParentWeighting,
)
from counterpane.causes.effect_result import EffectEstimate
from counterpane.causes.evaluation import checked_effect, probabilities_of
from counterpane.causes.identification import identify
from counterpane.causes.parent_sets import parent_sets
from counterpane.counts.memory import MemoryCounts
from counterpane.data.schema import Schema
from counterpane.data.table import Table
from counterpane.errors import DataError, ParameterError, TableSizeError
from counterpane.graphs import Cpdag, MixedGraph
from counterpane.models.bayesian_network import BayesianNetwork
from counterpane.tools.links import class_of
from counterpane.typing import Floats

DRAWS_AT_ONCE = 128
PARAMETERS = "The graph is taken as given: intervals hold the uncertainty of the parameters alone."
SAME = 1e-9  # effects that differ by no more are one


@dataclass(frozen=True)
class Structures:
    """Networks with weights; `sampled` ones come from bootstrap samples, else from a posterior."""

    models: Sequence[BayesianNetwork]
    weights: Sequence[float]
    sampled: bool


@dataclass(frozen=True)
class EffectQuestion:
    """Which columns are set, asked about and given, by position, and how many draws to take."""

    schema: Schema
    x: tuple[int, ...]
    y: int
    codes: Mapping[int, int]
    draws: int
    rng: np.random.Generator

    @property
    def columns(self) -> list[int]:
        """All columns of the question."""
        return [*self.x, self.y, *self.codes]

    def label(self) -> str:
        """The treatments in quotes."""
        return " and ".join(repr(self.schema.names[v]) for v in self.x)

    @property
    def outcome(self) -> str:
        """The outcome in quotes."""
        return repr(self.schema.names[self.y])

    def seen(self, rows: Table | None) -> Floats | None:
        """The shares of the outcome in the rows with each treatment; NaN where there are none.

        Rows in which one of these columns is missing do not count.
        """
        if rows is None:
            return None
        variables = [self.schema[v] for v in (*self.x, self.y)]
        codes = rows.select([v.name for v in variables]).codes
        kept = (codes < np.array([v.n_known for v in variables])[:, None]).all(axis=0)
        for v, code in self.codes.items():
            kept &= rows.codes[rows.schema.index(self.schema.names[v])] == code
        if not kept.any():
            return np.full([v.card for v in variables], np.nan)
        part = rows.select([v.name for v in variables]).take(kept)
        counts = MemoryCounts(part).counts([range(len(variables))])[0].astype(np.float64)
        with np.errstate(invalid="ignore"):
            shares: Floats = counts / counts.sum(axis=-1, keepdims=True)
        return shares

    def drawn(
        self, distribution: Distribution, effects: Callable[[Distribution], list[Floats]]
    ) -> list[Floats | None]:
        """For each effect its values in draws from the posterior; None if nothing is uncertain."""
        if not distribution.uncertain or self.draws == 0:
            return [None] * len(effects(distribution))
        parts, left, size = [], self.draws, DRAWS_AT_ONCE
        while left:
            try:
                parts.append(effects(distribution.draw(self.rng, min(size, left))))
            except TableSizeError:
                if size == 1:
                    raise
                size //= 8
                continue
            left -= min(size, left)
        each = [np.concatenate(values, axis=-1) for values in zip(*parts, strict=True)]
        return [np.moveaxis(values, -1, 0) for values in each]


Answered = tuple[list[EffectEstimate], list[str]]


def answer_effect(
    question: EffectQuestion,
    subject: Any,
    graph: Any,
    equivalence: bool | None,
    max_sets: int,
    size: float,
) -> Answered:
    """The effects, and what they rest on, for a network, structures or counts."""
    if isinstance(subject, Structures):
        if graph is not None:
            raise ParameterError(
                "an effect averaged over structures takes no graph=; ask one of the networks."
            )
        return answer_structures(question, subject, equivalence, max_sets)
    if graph is not None:
        return _in_graph(question, subject, causal_graph(graph), max_sets, size)
    learned = subject.record.learned
    if learned if equivalence is None else equivalence:
        estimates, notes = _in_class(question, subject, class_of(subject), max_sets, size)
        return estimates, [*notes, PARAMETERS]
    estimate = _in_network(question, subject, NetworkDistribution(subject, question.columns))
    notes = [PARAMETERS] if estimate.draws is not None else []
    return [estimate], [_network_note(question, estimate), *notes]


def _network_note(question: EffectQuestion, estimate: EffectEstimate) -> str:
    if estimate.acts:
        return "The effect in the graph of the network."
    return (
        f"The graph of the network has no directed path from {question.label()} to "
        f"{question.outcome}, so there is no effect."
    )


def _in_network(
    question: EffectQuestion, model: BayesianNetwork, distribution: NetworkDistribution
) -> EffectEstimate:
    """The effect in the graph of a network, with tables drawn from their posterior."""

    def effects(where: Any) -> list[Floats]:
        return [where.effect(question.x, question.y, question.codes)]

    acts = question.y in model.dag.descendants(question.x)
    (drawn,) = question.drawn(distribution, effects)
    return EffectEstimate(effects(distribution)[0], drawn, None, float(acts))


def _distribution(
    question: EffectQuestion, source: Any, columns: Iterable[int], size: float
) -> Distribution:
    several = sorted({*question.columns, *columns})
    if isinstance(source, BayesianNetwork):
        return NetworkDistribution(source, several)
    return CountDistribution(source, several, size)


def _gap_notes(distribution: Distribution) -> list[str]:
    left_out = getattr(distribution, "left_out", 0.0)
    if not left_out:
        return []
    return [f"Rows with gaps in these columns are left out: {left_out:.1%}."]


def _in_class(
    question: EffectQuestion, source: Any, shape: Cpdag, max_sets: int, size: float
) -> Answered:
    """The effects in all graphs of a class (IDA), equal ones once."""
    sets = parent_sets(shape, question.x, max_sets)
    columns = {v for each in sets for parents in each.parents for v in parents}
    distribution = _distribution(question, source, columns, size)
    weighting = ParentWeighting(question.x, question.y, [each.parents for each in sets])

    def effects(where: Distribution) -> list[Floats]:
        return weighting.effects(where, question.codes)

    names = question.schema.names
    try:
        values = effects(distribution)
        drawn = question.drawn(distribution, effects)
    except NeverSeen as gap:
        parents = ", ".join(repr(names[v]) for v in gap.parents)
        raise DataError(
            f"a state of {names[gap.treatment]!r} never occurs with some states of {parents}, so "
            "the effect is not determined; merge states, or pass equivalence=False."
        ) from None
    estimates: list[EffectEstimate] = []
    for each, value, draws in zip(sets, values, drawn, strict=True):
        if any(np.abs(value - other.probabilities).max() <= SAME for other in estimates):
            continue
        adjusted = tuple(sorted({names[v] for parents in each.parents for v in parents}))
        acts = question.y in each.example.descendants(question.x)
        estimates.append(EffectEstimate(value, draws, adjusted, float(acts)))
    return estimates, [*_class_notes(question, shape, estimates), *_gap_notes(distribution)]


def _class_notes(
    question: EffectQuestion, shape: Cpdag, estimates: Sequence[EffectEstimate]
) -> list[str]:
    x, y = question.label(), question.outcome
    if len(estimates) == 1:
        if not estimates[0].acts:
            return [f"No graph of the equivalence class has a directed path from {x} to {y}."]
        return [f"All graphs of the equivalence class give {x} the same effect on {y}."]
    open_ = [v for v in question.x if shape.reversible.has_edge(v, question.y)]
    if open_:
        name = question.schema.names[open_[0]]
        first = (
            f"The data leave open whether {name!r} acts on {y} or {y} on {name!r}: both directions "
            "explain them equally well, so the effect is a range."
        )
    else:
        first = (
            f"The data leave {len(estimates)} effects of {x} on {y} possible: the directions of "
            "its edges are partly open, so the effect is a range."
        )
    sets = [
        f"{', '.join(e.adjusted_for or ()) or 'nothing'}{'' if e.acts else ' (no effect)'}"
        for e in estimates[:6]
    ]
    more = f"; {len(estimates) - 6} more" if len(estimates) > 6 else ""
    return [first, f"Possible causes of {x} that the effects adjust for: {'; '.join(sets)}{more}."]


def _in_graph(
    question: EffectQuestion, source: Any, graph: MixedGraph, max_sets: int, size: float
) -> Answered:
    """The effect in a graph that the user passed, by the probabilities of `source`."""
    schema = question.schema
    columns = schema.indices(graph.names)  # an unknown name raises
    treatment = [schema.names[v] for v in question.x]
    conditions = [schema.names[v] for v in question.codes]
    check_question(graph.names, treatment, [schema.names[question.y]], conditions)
    shape = split_class(graph)
    if shape is not None:
        shape = _spread(shape, columns, len(schema))
        estimates, notes = _in_class(question, source, shape, max_sets, size)
        return estimates, [*notes, PARAMETERS]
    identified = identify(graph, treatment, schema.names[question.y], conditions)
    expression = identified.expression
    scopes = {p.free: sorted(schema.indices(sorted(p.free))) for p in probabilities_of(expression)}
    used = {v for scope in scopes.values() for v in scope}
    distribution = _distribution(question, source, used, size)
    codes = {schema.names[v]: code for v, code in question.codes.items()}
    codes = {name: code for name, code in codes.items() if name in expression.free}

    def effects(where: Distribution) -> list[Floats]:
        tables = {names: where.ask(scope) for names, scope in scopes.items()}
        outcome = [schema.names[question.y]]
        return [
            checked_effect(expression, tables, schema, treatment, outcome, codes, drawn=where.drawn)
        ]

    value, (drawn,) = effects(distribution)[0], question.drawn(distribution, effects)
    acts = schema.names[question.y] in graph.descendants(treatment)
    estimate = EffectEstimate(value, drawn, None, float(acts))
    notes = [f"By the graph ({identified.method}): {identified}.", *_gap_notes(distribution)]
    return [estimate], [*notes, *([] if drawn is None else [PARAMETERS])]


def _spread(shape: Cpdag, columns: Sequence[int], n: int) -> Cpdag:
    """A class over some columns as one over all `n`, the others without edges."""
    arrows = [(columns[a], columns[b]) for a, b in shape.compelled.edges]
    lines = [(columns[a], columns[b]) for a, b in shape.reversible.edges]
    return Cpdag(type(shape.compelled)(n, arrows), type(shape.reversible)(n, lines))


def answer_structures(
    question: EffectQuestion, structures: Structures, equivalence: bool | None, max_sets: int
) -> Answered:
    """The mean effect over structures; its interval holds their uncertainty too.

    Each bootstrap sample counts with the mean over its equivalence class. A network of a posterior
    has the directions it was drawn with, and its parameters are drawn in proportion to its weight.
    """
    by_class = structures.sampled and equivalence is not False
    without_draws = replace(question, draws=0)
    means, acting, draws = [], [], []
    shares = np.asarray(structures.weights) / np.sum(structures.weights)
    counts = question.rng.multinomial(question.draws, shares).tolist()
    for model, n_draws in zip(structures.models, counts, strict=True):
        distribution = NetworkDistribution(model, question.columns)
        if by_class:
            estimates = _in_class(without_draws, model, class_of(model), max_sets, 0.0)[0]
        else:
            share = replace(question, draws=0 if structures.sampled else n_draws)
            estimates = [_in_network(share, model, distribution)]
        mean = np.mean([e.probabilities for e in estimates], axis=0)
        means.append(mean)
        acting.append(float(np.mean([e.acts for e in estimates])))
        draws += [mean[None]] if structures.sampled else []
        draws += [e.draws for e in estimates if e.draws is not None]
    value: Floats = np.tensordot(shares, np.stack(means), axes=1)
    acts = float(shares @ np.array(acting))
    drawn = np.concatenate(draws) if draws else None
    many = len(structures.models)
    kind = "bootstrap samples" if structures.sampled else "different networks"
    notes = [
        f"Averaged over {many:,} {kind}: a directed path from {question.label()} to "
        f"{question.outcome} in {acts * many:,.0f} of {many:,}"
        f"{'' if structures.sampled else ', by their weights'}."
    ]
    return [EffectEstimate(value, None if many < 2 else drawn, None, acts)], notes
