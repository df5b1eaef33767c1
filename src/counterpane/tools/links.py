"""What joins the columns of a model, and how strongly: edges, and interactions of a classifier."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from counterpane.additive.classifier import AdditiveClassifier
from counterpane.additive.effects import MEANING, MIN_SAMPLES, Effects, log_odds
from counterpane.features import Potential, Rules, Tree
from counterpane.graphs import Cpdag, cpdag, with_known_directions
from counterpane.independence.edge_strength import UNIT, edge_strengths
from counterpane.models.bayesian_network import BayesianNetwork
from counterpane.models.dependency_network import DependencyNetwork
from counterpane.models.edges import (
    ARROW_SHARE,
    Edge,
    Edges,
    mark_of,
    stored_shares,
    with_shares,
)
from counterpane.models.markov_network import MarkovNetwork
from counterpane.models.mixture import Mixture
from counterpane.typing import Floats

ROUNDING = 1e-9  # counts below it come from subtracting the prior
LOG_FLOOR = -14.0  # stands for the log of a probability that is practically zero
GRAPH_LEARNERS = ("GSMN", "GSIMN", "PFMN")  # learn a graph; tables on cliques follow from it

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
SCORE = ("score", "What an item adds to the score of the other one.")
WEIGHT = ("weight", "The largest weight of a rule that joins the columns, in nats of log-odds.")


Marginals: TypeAlias = Sequence[Floats | None] | None
"""P(v) of each variable, None where it is not known."""


class Link(NamedTuple):
    """Columns that a model joins, by position: (from, to) if `directed`.

    `share` is the confidence in the link, if known: the weight of the models that have it, or the
    share of samples that have it as it is drawn. `explained` is the share of an interaction in the
    sum of the variances of all.
    """

    scope: tuple[int, ...]
    strength: float
    share: float | None = None
    directed: bool = False
    explained: float | None = None


@dataclass(frozen=True)
class ModelLinks:
    """All links of a model, the strongest first, and what their strength means.

    `shape` is "dag", "conditional" (an arrow to each column from those that its conditional reads),
    "undirected", or "faces" (interactions of a classifier, which all contain the class too).
    `measure` names the unit of the strengths and `meaning` explains it; `shares` says what a share
    is, and `samples` the number of samples. `stored` says that the strengths are those that the
    model was learned with, not what its tables alone show.
    """

    links: tuple[Link, ...]
    shape: str
    measure: str
    meaning: str
    shares: str = ""
    samples: int | None = None
    stored: bool = False


def model_links(
    model: Any, *, target: str | None = None, marginals: Marginals = None
) -> ModelLinks:
    """The edges or interactions of a model, the strongest first.

    `target` is the class whose interactions a mixture of classifiers shows. `marginals`, P(v) for
    each variable, weight the tables of a network that was not learned from rows; uniform by
    default.

    >>> import counterpane as cp
    >>> links = model_links(cp.ChowLiu().fit(cp.load_dataset("titanic")).model_)
    >>> links.shape, links.measure, links.links[0].scope
    ('dag', 'bits per row', (2, 3))
    """
    if isinstance(model, BayesianNetwork):
        return network_links(model, marginals)
    if isinstance(model, MarkovNetwork):
        return markov_links(model)
    if isinstance(model, DependencyNetwork):
        return conditional_links(model)
    if isinstance(model, Mixture):
        return mixture_links(model, target, marginals)
    if isinstance(model, AdditiveClassifier):
        return interaction_links(model, model.effects)
    return score_links(model)


def class_of(model: BayesianNetwork) -> Cpdag:
    """The equivalence class of a network, with the directions that a user required of it."""
    shape = cpdag(model.dag)
    known = model.record.constraints.known_directions
    if not known:
        return shape
    pairs = [(model.schema.index(p), model.schema.index(x)) for p, x in known]
    return with_known_directions(shape, pairs)


def equivalence_graph(model: BayesianNetwork) -> Any:
    """The Markov equivalence class of a network as a networkx `DiGraph` of column names.

    An edge whose direction the class leaves open is there in both directions; the edge attribute
    `directed` is False. Directions that a user required of the learner count as known.

    Parameters
    ----------
    model : BayesianNetwork
        The network.

    Returns
    -------
    networkx.DiGraph
        The class.

    Examples
    --------
    >>> from counterpane import BayesianNetwork, Dag, Schema
    >>> schema, dag = Schema.from_cards([2, 2]), Dag(2, [(0, 1)])
    >>> pair = BayesianNetwork(schema, dag, [[0.7, 0.3], [[0.9, 0.1], [0.4, 0.6]]])
    >>> sorted(equivalence_graph(pair).edges)
    [('x0', 'x1'), ('x1', 'x0')]
    """
    return class_of(model).to_networkx(model.schema.names)


def arrows_of(model: BayesianNetwork) -> frozenset[tuple[int, int]]:
    """The edges that are drawn as arrows, by position.

    If the network was learned from data, those that all networks of the class share, and that the
    bootstrap samples support if their shares are known; see `arrow_is_supported`. All of them if
    somebody wrote the network down.
    """
    if not model.record.learned:
        return frozenset(model.dag.edges)
    shares, names = stored_shares(model.record.edge_shares), model.schema.names
    known = set(model.record.constraints.known_directions)
    return frozenset(
        (p, x)
        for p, x in class_of(model).compelled.edges
        if shares is None or shares.supports(names[p], names[x]) or (names[p], names[x]) in known
    )


def arrow_names(model: Any) -> frozenset[tuple[str, str]] | None:
    """The edges of a model's graph that are drawn as arrows, by name; None for all that it has."""
    if not hasattr(model, "dag"):
        return None
    names = model.schema.names
    return frozenset((names[p], names[x]) for p, x in arrows_of(model))


def strengths_of(model: BayesianNetwork, tables: list[Floats] | None = None) -> Edges:
    """All edges, strongest first: measured on the rows the network was learned from.

    `tables` are counts of other rows, of axes (parents…, child). A network that was not learned
    from rows has no counts; its list is empty without them.
    """
    if tables is None:
        if model.strengths is None:
            return Edges()
        tables = family_counts(model, model.prior_size or 0.0)
    bits = edge_strengths(model.dag, cpdag(model.dag), tables)
    arrows, names = arrows_of(model), model.schema.names
    ranked = sorted(bits, key=lambda edge: (-bits[edge], edge))
    edges = (
        Edge(names[p], names[x], mark_of((p, x) in arrows), bits[p, x], UNIT) for p, x in ranked
    )
    return with_shares(edges, stored_shares(model.record.edge_shares))


def family_counts(model: BayesianNetwork, prior_size: float) -> list[Floats]:
    """The counts that a network was estimated from, with a uniform prior of this weight.

    Whole counts come back exactly: they are rounded where all of them are whole up to the rounding
    errors of a product.
    """
    assert model.strengths is not None
    counts, whole = [], True
    for table, strength in zip(model.tables, model.strengths, strict=True):
        each = strength[..., None] * table - prior_size / table.size
        slack = 64 * np.finfo(np.float64).eps * (strength[..., None] + 1)
        whole = whole and bool((np.abs(each - np.rint(each)) <= slack).all())
        counts.append(np.where(each > ROUNDING * strength.sum(), each, 0.0))
    return [np.rint(each) for each in counts] if whole else counts


def ranked_links(
    links: Iterable[Link],
    shape: str,
    measure: tuple[str, str],
    shares: str = "",
    *,
    stored: bool = False,
) -> ModelLinks:
    """The links, the strongest first; `measure` is (its name, its meaning)."""
    ranked = sorted(links, key=lambda link: (-link.strength, link.scope))
    return ModelLinks(tuple(ranked), shape, *measure, shares, stored=stored)


def network_links(model: BayesianNetwork, marginals: Marginals = None) -> ModelLinks:
    """The edges with the strengths that the network learned, else those of its tables.

    `marginals` are P(v) of each variable, if known; they weight the rows of tables.
    """
    edges = model.edge_strengths()
    if not edges:
        return ranked_links(_table_links(model, marginals), "dag", TABLE_BITS)
    return ranked_links(edge_links(model, edges), "dag", BITS, stored=True)


def edge_links(model: BayesianNetwork, edges: Iterable[Edge]) -> list[Link]:
    """Edges by position; their shares are added where they are shown."""
    place = {name: i for i, name in enumerate(model.schema.names)}
    return [
        Link((place[e.source], place[e.target]), e.strength or 0.0, None, e.directed) for e in edges
    ]


def _table_links(model: BayesianNetwork, marginals: Marginals) -> list[Link]:
    links, arrows = [], arrows_of(model)
    for child in range(len(model.schema)):
        parents, table = model.dag.parents(child), model.tables[child]
        if model.strengths is not None:
            weights = model.strengths[child]
        else:  # parents taken as independent
            weights = np.ones(())
            for p in parents:
                known = None if marginals is None else marginals[p]
                prior = np.ones(model.schema.cards[p]) if known is None else known
                weights = weights[..., None] * prior
        links += [
            Link((p, child), _information(table, weights, axis), None, (p, child) in arrows)
            for axis, p in enumerate(parents)
        ]
    return links


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
    table = np.maximum(log_values, LOG_FLOOR)
    for axis in range(table.ndim):
        table = table - table.mean(axis=axis, keepdims=True)
    return float(np.sqrt((table**2).mean()))


def markov_links(model: MarkovNetwork) -> ModelLinks:
    """The scopes of potentials and rules, with the size of what they add to log-odds.

    A model that was learned as a graph has the edges of the graph instead.
    """
    by_pairs = model.record.learner.name in GRAPH_LEARNERS
    links = _pair_links(model) if by_pairs else _scope_links(model)
    return ranked_links(links, "undirected", ODDS if model.potentials else WEIGHT)


def _scope_links(model: MarkovNetwork) -> list[Link]:
    strengths: dict[tuple[int, ...], float] = {}
    for potential in model.potentials:
        if len(potential.scope) > 1:
            scope = tuple(sorted(potential.scope))
            size = pure_interaction(potential.log_values)
            strengths[scope] = strengths.get(scope, 0.0) + size
    for rules in model.rules:
        for scope, members in rules.by_scope():
            if len(scope) > 1:
                largest = float(np.abs(rules.weights[members]).max())
                strengths[scope] = max(strengths.get(scope, 0.0), largest)
    return [Link(scope, strength) for scope, strength in strengths.items()]


def _pair_links(model: MarkovNetwork) -> list[Link]:
    """The edges of the graph: how far two columns move each other, whatever the others do."""
    strengths: dict[tuple[int, int], float] = {}
    for potential in model.potentials:
        for a in range(len(potential.scope)):
            moved = _parents_in(potential, potential.scope[a])
            for u, strength in moved.items():
                pair = (min(u, potential.scope[a]), max(u, potential.scope[a]))
                strengths[pair] = strengths.get(pair, 0.0) + strength / 2
    return [Link(pair, strength) for pair, strength in strengths.items()]


def conditional_links(model: DependencyNetwork) -> ModelLinks:
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
    return ranked_links(links, "conditional", measure)


def _parents_in(part: Any, v: int) -> dict[int, float]:
    """How strongly a part of v's conditional depends on each other column."""
    if isinstance(part, Potential):
        table = np.maximum(part.log_values, LOG_FLOOR)
        own = part.scope.index(v)
        table = table - table.mean(axis=own, keepdims=True)
        strengths = {}
        for axis, u in enumerate(part.scope):
            if u != v:
                rest = table - table.mean(axis=axis, keepdims=True)
                strengths[u] = float(np.sqrt((rest**2).mean()))
        return strengths
    if isinstance(part, Rules):
        strengths = {}
        for scope, members in part.by_scope():
            largest = float(np.abs(part.weights[members]).max())
            for u in set(scope) - {v}:
                strengths[u] = max(strengths.get(u, 0.0), largest)
        return strengths
    return _splits(part)


def _splits(tree: Tree) -> dict[int, float]:
    """Σ over the nodes that ask a column of 2^−depth × how far the answer moves a probability."""
    strengths: dict[int, float] = {}
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
            strengths[u] = strengths.get(u, 0.0) + float(np.abs(yes - no).max()) * 0.5 ** depth[k]
    return strengths


def interaction_links(model: AdditiveClassifier, effects: Effects | None) -> ModelLinks:
    """The interactions with their effects; strength 0 if they are not known."""
    if effects is None:
        return ranked_links([Link(face, 0.0) for face in model.faces], "faces", CLASS_ODDS)
    samples = effects.samples
    words = f"share of {samples} half samples on which the interaction was selected"
    links = [
        Link(face, size, effects.share_of(place), explained=explained)
        for place, (face, size, explained) in enumerate(
            zip(model.faces, effects.sizes.tolist(), effects.variance_shares.tolist(), strict=True)
        )
    ]
    return ranked_links(
        links, "faces", CLASS_ODDS, words if samples >= MIN_SAMPLES else "", stored=True
    )


def score_links(model: Any) -> ModelLinks:
    """The pairs of items that have a score, with the larger of the two directions."""
    pairs = model.pairs.tocoo()
    strengths: dict[tuple[int, int], float] = {}
    for a, b, score in zip(*map(np.ndarray.tolist, (*pairs.coords, pairs.data)), strict=True):
        ends = (min(a, b), max(a, b))
        if a != b:
            strengths[ends] = max(strengths.get(ends, score), score)
    links = [Link(ends, strength) for ends, strength in strengths.items()]
    return ranked_links(links, "undirected", SCORE)


def mixture_links(model: Mixture, target: str | None, marginals: Marginals) -> ModelLinks:
    """The links of all models; their share is the weight of the models that have them."""
    sums: dict[tuple[int, ...], _LinkSum] = {}
    shape, measure = "undirected", ODDS
    part: Any
    for weight, part in zip(model.weights.tolist(), model.models, strict=True):
        if model.fixed and part.kind == "markov_network" and target is not None:
            index = model.schema.index(target)
            shape, measure, links = "faces", TABLE_ODDS, _class_links(part, index)
        else:
            inner = model_links(part, target=target, marginals=marginals)
            links, shape = list(inner.links), inner.shape
            measure = (inner.measure, inner.meaning)
        if shape == "dag" and model.record.learned:  # other directions are arbitrary
            arrows = set(cpdag(part.dag).compelled.edges)
            links = [k._replace(directed=k.scope in arrows) for k in links]
        for link in links:
            sums.setdefault(tuple(sorted(link.scope)), _LinkSum()).add(link, weight)
    mean = []
    for scope, total in sums.items():
        ends = max(total.arrows, key=lambda ends: (total.arrows[ends], ends), default=scope)
        sure = total.arrows.get(ends, 0.0) >= ARROW_SHARE * total.share and bool(total.arrows)
        mean.append(
            Link(ends if sure else scope, total.strength / total.share, min(total.share, 1.0), sure)
        )
    return ranked_links(mean, shape, measure, "weight of the models that have it", stored=True)


@dataclass
class _LinkSum:
    """Sums over the models of a mixture that have a link, each times its weight."""

    share: float = 0.0
    strength: float = 0.0
    arrows: dict[tuple[int, ...], float] = field(default_factory=dict)

    def add(self, link: Link, weight: float) -> None:
        self.share += weight
        self.strength += weight * link.strength
        if link.directed:
            self.arrows[link.scope] = self.arrows.get(link.scope, 0.0) + weight


def _class_links(model: MarkovNetwork, target: int) -> list[Link]:
    links = []
    for potential in model.potentials:
        if len(potential.scope) > 1 and target in potential.scope:
            table = np.maximum(potential.log_values, LOG_FLOOR)
            table = log_odds(np.moveaxis(table, potential.scope.index(target), -1))
            scope = tuple(sorted(set(potential.scope) - {target}))
            links.append(Link(scope, float(np.sqrt((table**2).mean()))))
    return links
