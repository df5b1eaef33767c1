"""Sets of columns to adjust for: back-door and front-door, all minimal ones.

A set is valid where it separates treatment and outcome in the proper back-door graph and holds
nothing that the treatment may change on its way to the outcome (van der Zander, Liśkiewicz & Textor
2014); in an equivalence class, where the same holds for its possible paths (Perković et al. 2018).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, islice
from typing import Any, NamedTuple

from counterpane.causes.causal_graph import causal_graph, check_question
from counterpane.checks import INTEGER, NAMES, STRING, accepts
from counterpane.data.schema import Schema
from counterpane.errors import GraphError, NotIdentifiedError, ParameterError
from counterpane.graphs import (
    Cpdag,
    Dag,
    MixedGraph,
    UndirectedGraph,
    consistent_extension,
    m_separated,
    moralize,
)
from counterpane.graphs.mixed import canonical_dag
from counterpane.graphs.reach import reached
from counterpane.models.evidence import name_list

MOST_SETS = 1000
MOST_CHECKS = 5000  # sets that the front-door is looked for among

Neighbors = dict[int, set[int]]


@accepts(treatment=NAMES, outcome=NAMES, limit=INTEGER)
def adjustment_sets(
    graph: Any,
    treatment: str | Iterable[str],
    outcome: str | Iterable[str],
    *,
    source: Any = None,
    limit: int = MOST_SETS,
) -> list[tuple[str, ...]]:
    """All minimal sets of columns that remove confounding, the smallest first.

    With such a set z, P(outcome | do(treatment)) = Σ_z P(outcome | treatment, z) P(z).

    Parameters
    ----------
    graph : str, MixedGraph, BayesianNetwork, learner or networkx.DiGraph
        The causal graph, or an equivalence class; see `causal_graph`. In a class, a set is valid
        for every graph of it.
    treatment, outcome : str or iterable of str
        The columns that are set, and those asked about.
    source : model, CountSource or Schema, optional
        Where the numbers of states come from: sets with the fewest cells to count come first. By
        default those of a network or learner; without any, sets with the fewest columns do.
    limit : int
        The largest number of sets.

    Returns
    -------
    list of tuple of str
        The sets, empty where adjustment cannot help; [()] where nothing has to be adjusted for.

    Examples
    --------
    >>> adjustment_sets("z -> x; z -> w -> y; x -> y", "x", "y")
    [('z',), ('w',)]
    """
    mixed = causal_graph(graph)
    x, y = name_list(treatment), name_list(outcome)
    sets = list(islice(_minimal_sets(mixed, x, y), limit + 1))
    if len(sets) > limit:
        raise ParameterError(
            f"there are more than limit={limit} minimal adjustment sets; raise the limit, or take "
            "the parents of the treatment."
        )
    schema = _schema_of(graph if source is None else source)
    return sorted(sets, key=lambda z: _cells(z, schema, mixed.names))


def first_adjustment_sets(graph: MixedGraph, x: list[str], y: list[str]) -> list[tuple[str, ...]]:
    """The minimal sets, at most a thousand of them, those with the fewest columns first."""
    sets = list(islice(_minimal_sets(graph, x, y), MOST_SETS))
    return sorted(sets, key=lambda z: _cells(z, None, graph.names))


@accepts(treatment=STRING, outcome=STRING)
def front_door_sets(graph: Any, treatment: str, outcome: str) -> list[tuple[str, ...]]:
    """All minimal front-door sets, the smallest first: what carries the whole effect, unconfounded.

    The set cuts every directed path from treatment to outcome, has no common cause with the
    treatment, and the treatment blocks its back-door paths to the outcome (Pearl 1995).

    Parameters
    ----------
    graph : str, MixedGraph, BayesianNetwork or networkx.DiGraph
        The causal graph; see `causal_graph`.
    treatment, outcome : str
        The column that is set, and the one asked about.

    Returns
    -------
    list of tuple of str
        The sets; of more than 5,000 candidates the smallest are looked at.

    Examples
    --------
    >>> front_door_sets("smoking -> tar -> cancer; smoking <-> cancer", "smoking", "cancer")
    [('tar',)]
    """
    mixed = causal_graph(graph)
    check_question(mixed.names, [treatment], [outcome])
    split_class(mixed, directed=True)
    between = set(mixed.descendants(treatment)) & set(mixed.ancestors(outcome))
    candidates = [name for name in mixed.names if name in between]
    apart = mixed.without_edges_out_of([treatment])
    sets: list[tuple[str, ...]] = []
    several = (m for size in range(1, len(candidates) + 1) for m in combinations(candidates, size))
    for m in islice(several, MOST_CHECKS):
        if any(set(smaller) <= set(m) for smaller in sets):
            continue
        rest = [name for name in mixed.names if name not in m]
        cut = outcome not in mixed.subgraph(rest).descendants(treatment)
        if (
            cut
            and m_separated(apart, [treatment], m)
            and m_separated(mixed.without_edges_out_of(m), m, [outcome], [treatment])
        ):
            sets.append(m)
    return sets


def _cells(z: Sequence[str], schema: Schema | None, names: Sequence[str]) -> tuple[Any, ...]:
    cells = 1 if schema is None else math.prod(schema[name].card for name in z)
    return cells, len(z), [names.index(name) for name in z]


def _schema_of(source: Any) -> Schema | None:
    if isinstance(source, Schema):
        return source
    schema = getattr(getattr(source, "model_", source), "schema", None)
    return schema if isinstance(schema, Schema) else None


class _CutGraph(NamedTuple):
    """A DAG without the first edges of causal paths, and what an adjustment set may hold."""

    dag: Dag
    x: frozenset[int]
    y: frozenset[int]
    allowed: frozenset[int]


def _minimal_sets(graph: MixedGraph, x: list[str], y: list[str]) -> Iterator[tuple[str, ...]]:
    check_question(graph.names, x, y)
    question = _question(graph, x, y)
    for separator in _separators(*_contracted(question)):
        yield tuple(graph.names[v] for v in sorted(separator))


def split_class(graph: MixedGraph, *, directed: bool = False) -> Cpdag | None:
    """The equivalence class that a graph with → and – is; None for one with → and ↔."""
    kinds = {edge.kind for edge in graph.edges}
    if kinds <= {"->", "<->"}:
        return None
    if directed or not kinds <= {"->", "--"}:
        edge = next(edge for edge in graph.edges if edge.kind not in ("->", "<->"))
        raise GraphError(
            f"the graph leaves the direction of {edge} open; direct it, or use a graph with -> and "
            "<-> only."
        )
    place = {name: i for i, name in enumerate(graph.names)}
    pairs = {kind: [(place[e.a], place[e.b]) for e in graph.edges if e.kind == kind]
             for kind in ("->", "--")}  # fmt: skip
    n = len(place)
    return Cpdag(Dag(n, pairs["->"]), UndirectedGraph(n, pairs["--"]))


def _question(graph: MixedGraph, x: list[str], y: list[str]) -> _CutGraph:
    place = {name: i for i, name in enumerate(graph.names)}
    treated, asked = frozenset(place[v] for v in x), frozenset(place[v] for v in y)
    shape = split_class(graph)
    dag = canonical_dag(graph)[0] if shape is None else consistent_extension(shape)
    down = {v: set(dag.children(v)) for v in range(dag.n)}
    if shape is not None:
        for a, b in shape.reversible.edges:
            down[a].add(b)
            down[b].add(a)
    up: Neighbors = {v: set() for v in down}
    for a, below in down.items():
        for b in below:
            up[b].add(a)
    causal = (reached(down, treated, treated) - treated) & reached(up, asked, treated)
    if shape is not None:
        _check_amenable(graph, shape, treated, causal)
    forbidden = reached(down, causal)
    first = {(a, b) for a in treated for b in causal}
    cut = Dag(dag.n, [edge for edge in dag.edges if edge not in first])
    observed = frozenset(range(len(graph.names)))
    return _CutGraph(cut, treated, asked, observed - treated - asked - forbidden)


def _check_amenable(
    graph: MixedGraph, shape: Cpdag, treated: frozenset[int], causal: set[int]
) -> None:
    """Refuse a class in which a possibly causal path begins with an edge of open direction."""
    for a, b in shape.reversible.edges:
        for v, w in ((a, b), (b, a)):
            if v in treated and w in causal:
                names = graph.names
                raise NotIdentifiedError(
                    f"the class leaves open whether {names[v]!r} acts on {names[w]!r} or the other "
                    "way round, so no adjustment set holds for all its graphs; require the "
                    "direction, or ask cp.effect for the range."
                )


def _contracted(question: _CutGraph) -> tuple[Neighbors, int, int]:
    """The moral graph of the ancestors, with one node for x, one for y, and allowed ones between.

    A node that no set may hold is taken out, and its neighbors are joined.
    """
    dag, x, y = question.dag, question.x, question.y
    ends = x | y
    ancestral = ends | set(dag.ancestors(ends))
    moral = moralize(Dag(dag.n, [e for e in dag.edges if e[0] in ancestral and e[1] in ancestral]))
    source, sink = dag.n, dag.n + 1
    place = {v: source if v in x else sink if v in y else v for v in ancestral}
    around: Neighbors = {v: set() for v in {source, sink, *place.values()}}
    for a, b in moral.edges:
        if a in ancestral and place[a] != place[b]:
            around[place[a]].add(place[b])
            around[place[b]].add(place[a])
    for v in sorted(set(around) - question.allowed - {source, sink}):
        neighbors = around.pop(v)
        for u in neighbors:
            around[u] |= neighbors - {u}
            around[u].discard(v)
    return around, source, sink


def _separators(around: Neighbors, source: int, sink: int) -> Iterator[frozenset[int]]:
    """All minimal sets of nodes that separate `source` and `sink` (Shen & Liang 1997)."""
    if sink in around[source]:
        return
    seen: set[frozenset[int]] = set()
    waiting = [frozenset({source})]
    while waiting:
        near = waiting.pop(0)
        border = set().union(*(around[v] for v in near)) - near
        if sink in border:
            continue
        far = reached(around, {sink}, near | border)
        separator = frozenset(v for v in border if around[v] & far)
        if separator in seen:
            continue
        seen.add(separator)
        yield separator
        side = reached(around, {source}, separator)
        waiting += [frozenset(side | {v}) for v in sorted(separator) if sink not in around[v]]
