"""What joins the columns of a model, and how strongly: edges, and hyperedges of three or more."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from counterpane.counts.memory import MemoryCounts
from counterpane.features import Potential, Rules, Tree
from counterpane.graphs import cpdag
from counterpane.independence.edge_strength import UNIT
from counterpane.models.additive import AdditiveClassifier
from counterpane.models.bayesian_network import BayesianNetwork
from counterpane.models.dependency_network import DependencyNetwork
from counterpane.models.edges import arrows_of, strengths_of
from counterpane.models.effects import MEANING, MIN_SAMPLES, log_odds, measure_effects
from counterpane.models.markov_network import MarkovNetwork
from counterpane.models.mixture import Mixture
from counterpane.report.rows import Rows, group_information
from counterpane.typing import Floats

FLOOR = -14.0  # the log of what is as good as impossible
MOST_JOINED = 6  # columns of a link of which the smaller ones in it are looked for
ONE_WAY = 0.75  # the share of an edge's one direction from which it is drawn as an arrow
MOST_MEASURED = 20_000  # links of an undirected model that are measured in the data
ENTRIES = 2**23  # contributions of faces that are held at a time

BITS = (
    UNIT,
    "Mutual information of the two columns given the child's other parents, in bits per row, minus "
    "what independent columns would show by chance: how much the one tells about the other beyond "
    "the rest. It is the same for all networks that fit the data equally well.",
)
TABLE_BITS = (
    UNIT,
    "Mutual information of the two columns given the child's other parents, in bits per row, as "
    "the network's own tables have it.",
)
PAIR_BITS = (
    UNIT,
    "Mutual information of the columns in the data, in bits per row, minus what independent "
    "columns would show by chance; of three or more columns, how much they tell about each other "
    "in all.",
)
ODDS = (
    "log-odds",
    "How far the columns' joint table moves log-odds beyond what each of them does alone, as a "
    "root mean square over its cells, in nats.",
)
CLASS_ODDS = ("effect", MEANING)
TABLE_ODDS = (
    "effect",
    "How far the interaction's table moves the log-odds of the class, as a root mean square over "
    "its cells, in nats.",
)
SHIFT = (
    "shift",
    "How far the answer to a split of the local tree shifts the probabilities, deeper splits "
    "counting half as much at each level.",
)
WEIGHT = ("weight", "The largest weight of a rule that joins the columns, in nats of log-odds.")


class Link(NamedTuple):
    """Columns that are joined: (from, to) where `directed`; `share` is its confidence, if known."""

    scope: tuple[int, ...]
    strength: float
    share: float | None = None
    directed: bool = False
    explained: float | None = None  # of an interaction's variance, see `counterpane.models.effects`


@dataclass(frozen=True)
class Links:
    """All links of a model, the strongest first, and what their strength means.

    `shape` is "dag", "conditional" (an arrow to each column from those that its own conditional
    reads), "undirected", or "faces" (interactions of a classifier, which all hold the class too).
    `shares` says what a share is, and `samples` of how many samples.
    """

    links: tuple[Link, ...]
    shape: str
    measure: str
    meaning: str
    shares: str = ""
    samples: int | None = None


def links_of(model: Any, target: int | None, rows: Rows | None, marginals: Sequence[Any]) -> Links:
    """The links of any model."""
    if isinstance(model, AdditiveClassifier):
        samples = 0 if model.effects is None else model.effects.samples
        words = f"share of {samples} half samples on which the interaction was selected"
        shares = words if samples >= MIN_SAMPLES else ""
        return _ordered(_of_additive(model, rows), "faces", CLASS_ODDS, shares)
    if isinstance(model, Mixture):
        return _of_mixture(model, target, marginals)
    if isinstance(model, BayesianNetwork):
        return _of_network(model, rows, marginals)
    if isinstance(model, DependencyNetwork):
        return _measured(_of_conditionals(model), rows)
    found = _of_pairs(model) if _is_by_pairs(model) else _of_markov(model)
    return _measured(_ordered(found, "undirected", ODDS if model.potentials else WEIGHT), rows)


def is_conditional(model: Any) -> bool:
    """Whether a model knows the class given the rest, and nothing else."""
    return isinstance(model, AdditiveClassifier) or (isinstance(model, Mixture) and model.fixed)


def _ordered(
    links: Iterable[Link], shape: str, measure: tuple[str, str], shares: str = ""
) -> Links:
    ranked = sorted(links, key=lambda link: (-link.strength, link.scope))
    return Links(tuple(ranked), shape, *measure, shares)


def _measured(links: Links, rows: Rows | None) -> Links:
    """The links with their mutual information in the data, where there is data."""
    if rows is None or len(links.links) > MOST_MEASURED:
        return links
    bits = group_information(rows.table, [k.scope for k in links.links])
    found = [k._replace(strength=b) for k, b in zip(links.links, bits, strict=True)]
    return _ordered(found, links.shape, PAIR_BITS)


def _of_network(model: BayesianNetwork, rows: Rows | None, marginals: Sequence[Any]) -> Links:
    """The edges as the network learned them; else as the data have them, or else its tables."""
    edges = model.edge_strengths()
    if not edges and rows is not None:
        scopes = [(*model.dag.parents(x), x) for x in range(model.dag.n)]
        counted = MemoryCounts(rows.table).counts(scopes, missing="drop")
        edges = strengths_of(model, list(counted))
    if not edges:
        return _ordered(_of_tables(model, marginals), "dag", TABLE_BITS)
    place = {name: i for i, name in enumerate(model.schema.names)}
    links = [Link((place[e.parent], place[e.child]), e.bits, None, e.directed) for e in edges]
    return _ordered(links, "dag", BITS)


def _of_tables(model: BayesianNetwork, marginals: Sequence[Any]) -> list[Link]:
    found, arrows = [], arrows_of(model)
    for child in range(len(model.schema)):
        parents, table = model.dag.parents(child), model.tables[child]
        if model.strengths is not None:
            weights = model.strengths[child]
        else:  # parents taken as independent
            weights = np.ones(())
            for p in parents:
                own = marginals[p] if marginals[p] is not None else np.ones(model.schema.cards[p])
                weights = weights[..., None] * own
        found += [
            Link((p, child), _information(table, weights, axis), None, (p, child) in arrows)
            for axis, p in enumerate(parents)
        ]
    return found


def _information(table: Floats, weights: Floats, axis: int) -> float:
    """I(child; the parent at `axis` | the other parents) of a conditional table, in bits."""
    share = (weights / weights.sum())[..., None]
    total = share.sum(axis=axis, keepdims=True)
    joint = share * table
    mean = joint.sum(axis=axis, keepdims=True) / np.where(total > 0, total, 1.0)
    held = joint > 0
    ratio = np.where(held, table, 1.0) / np.where(held, mean, 1.0)
    return max(float((joint * np.log2(ratio)).sum()), 0.0)


def pure_interaction(log_values: Floats) -> float:
    """The root mean square of a table of logs, less all that fewer of its axes explain."""
    table = np.maximum(log_values, FLOOR)
    for axis in range(table.ndim):
        table = table - table.mean(axis=axis, keepdims=True)
    return float(np.sqrt((table**2).mean()))


def _of_markov(model: MarkovNetwork) -> list[Link]:
    found: dict[tuple[int, ...], float] = {}
    for potential in model.potentials:
        if len(potential.scope) > 1:
            scope = tuple(sorted(potential.scope))
            own = pure_interaction(potential.log_values)
            found[scope] = found.get(scope, 0.0) + own
    for rules in model.rules:
        for scope, members in rules.by_scope():
            if len(scope) > 1:
                largest = float(np.abs(rules.weights[members]).max())
                found[scope] = max(found.get(scope, 0.0), largest)
    return [Link(scope, strength) for scope, strength in found.items()]


def _is_by_pairs(model: MarkovNetwork) -> bool:
    """Whether a model was learned as a graph, whose tables on cliques merely follow from it."""
    learner = str((model.provenance or {}).get("learner"))
    return learner.startswith(("GSMN(", "GSIMN(", "PFMN("))


def _of_pairs(model: MarkovNetwork) -> list[Link]:
    """The edges of the graph: how far two columns move each other, whatever the others do."""
    found: dict[tuple[int, int], float] = {}
    for potential in model.potentials:
        for a in range(len(potential.scope)):
            moved = _parents_in(potential, potential.scope[a])
            for u, strength in moved.items():
                pair = (min(u, potential.scope[a]), max(u, potential.scope[a]))
                found[pair] = found.get(pair, 0.0) + strength / 2
    return [Link(pair, strength) for pair, strength in found.items()]


def _of_conditionals(model: DependencyNetwork) -> Links:
    """Arrows to each column from those that its conditional reads; both ways make a plain line."""
    arrows: dict[tuple[int, int], float] = {}
    kinds: set[type] = set()
    for v, parts in enumerate(model.conditionals):
        for part in parts:
            kinds.add(type(part))
            for u, strength in _parents_in(part, v).items():
                arrows[u, v] = arrows.get((u, v), 0.0) + strength
    links = []
    for (u, v), strength in arrows.items():
        back = arrows.get((v, u))
        if back is None:
            links.append(Link((u, v), strength, None, True))
        elif u < v:
            links.append(Link((u, v), (strength + back) / 2))
    measure = SHIFT if kinds == {Tree} else WEIGHT if kinds == {Rules} else ODDS
    return _ordered(links, "conditional", measure)


def _parents_in(part: Any, v: int) -> dict[int, float]:
    """How strongly a part of v's conditional depends on each other column."""
    if isinstance(part, Potential):
        table = np.maximum(part.log_values, FLOOR)
        own = part.scope.index(v)
        table = table - table.mean(axis=own, keepdims=True)
        found = {}
        for axis, u in enumerate(part.scope):
            if u != v:
                rest = table - table.mean(axis=axis, keepdims=True)
                found[u] = float(np.sqrt((rest**2).mean()))
        return found
    if isinstance(part, Rules):
        found = {}
        for scope, members in part.by_scope():
            largest = float(np.abs(part.weights[members]).max())
            for u in set(scope) - {v}:
                found[u] = max(found.get(u, 0.0), largest)
        return found
    return _splits(part)


def _splits(tree: Tree) -> dict[int, float]:
    """Σ over the nodes that ask a column of 2^−depth × how far the answer moves a probability."""
    found: dict[int, float] = {}
    means = np.exp(tree.log_values)
    order, depth = [0], {0: 0}
    for k in order:  # grows while it is read: all nodes, parents first
        if tree.variables[k] >= 0:
            for child in tree.children[k].tolist():
                depth[child] = depth[k] + 1
                order.append(child)
    for k in reversed(order):
        if tree.variables[k] >= 0:
            yes, no = means[tree.children[k]]
            means[k] = (yes + no) / 2
            u = int(tree.variables[k])
            found[u] = found.get(u, 0.0) + float(np.abs(yes - no).max()) * 0.5 ** depth[k]
    return found


def _of_additive(model: AdditiveClassifier, rows: Rows | None) -> list[Link]:
    """The model's own effects; of a file without them, those of the rows, or else none."""
    effects = model.effects
    if effects is None and rows is not None:
        most = max(ENTRIES // ((1 + len(model.faces)) * model.n_classes), 1)
        some = np.linspace(0, rows.table.n_rows - 1, min(most, rows.table.n_rows))
        part = rows.take(some.astype(np.int64))
        moved = model.contributions(*model.encode(part.columns))[1:]
        even = np.full(model.n_classes, 1 / model.n_classes)
        effects = measure_effects(moved, np.ones(moved.shape[1]), even)
    if effects is None:
        return [Link(face, 0.0) for face in model.faces]
    return [
        Link(face, size, effects.share_of(place), explained=explained)
        for place, (face, size, explained) in enumerate(
            zip(model.faces, effects.sizes.tolist(), effects.explained.tolist(), strict=True)
        )
    ]


def _of_mixture(model: Mixture, target: int | None, marginals: Sequence[Any]) -> Links:
    """The links of all models; their share is the weight of the models that have them."""
    sums: dict[tuple[int, ...], _Sum] = {}
    learned = "learner" in (model.provenance or {})
    shape, measure = "undirected", ODDS
    for weight, part in zip(model.weights.tolist(), model.models, strict=True):
        if model.fixed and isinstance(part, MarkovNetwork) and target is not None:
            shape, measure, own = "faces", TABLE_ODDS, _class_faces(part, target)
        else:
            inner = links_of(part, target, None, marginals)
            own, shape = list(inner.links), inner.shape
            measure = (inner.measure, inner.meaning)
        if learned and isinstance(part, BayesianNetwork):  # other directions are arbitrary
            arrows = set(cpdag(part.dag).compelled.edges)
            own = [k._replace(directed=k.scope in arrows) for k in own]
        for link in own:
            sums.setdefault(tuple(sorted(link.scope)), _Sum()).add(link, weight)
    links = []
    for scope, total in sums.items():
        ends = max(total.arrows, key=lambda ends: (total.arrows[ends], ends), default=scope)
        sure = total.arrows.get(ends, 0.0) >= ONE_WAY * total.share and bool(total.arrows)
        links.append(
            Link(ends if sure else scope, total.strength / total.share, min(total.share, 1.0), sure)
        )
    return _ordered(links, shape, measure, "weight of the models that have it")


@dataclass
class _Sum:
    """What the models of a mixture say of one link, times their weights."""

    share: float = 0.0
    strength: float = 0.0
    arrows: dict[tuple[int, ...], float] = field(default_factory=dict)

    def add(self, link: Link, weight: float) -> None:
        self.share += weight
        self.strength += weight * link.strength
        if link.directed:
            self.arrows[link.scope] = self.arrows.get(link.scope, 0.0) + weight


def _class_faces(model: MarkovNetwork, target: int) -> list[Link]:
    found = []
    for potential in model.potentials:
        if len(potential.scope) > 1 and target in potential.scope:
            table = np.maximum(potential.log_values, FLOOR)
            table = log_odds(np.moveaxis(table, potential.scope.index(target), -1))
            scope = tuple(sorted(set(potential.scope) - {target}))
            found.append(Link(scope, float(np.sqrt((table**2).mean()))))
    return found


def maximal(links: Sequence[Link]) -> list[Link]:
    """The links whose columns are not all in a larger one; of two directions both are kept."""
    inside = {
        part
        for link in links
        for k in range(2, min(len(link.scope), MOST_JOINED + 1))
        for part in combinations(sorted(link.scope), k)
    }
    return [
        link for link in links if len(link.scope) > 1 and tuple(sorted(link.scope)) not in inside
    ]
