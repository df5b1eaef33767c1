"""Causal graphs as users write them: text, networks, learners, networkx, all as a `MixedGraph`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from counterpane.errors import GraphError, ParameterError, unknown_name
from counterpane.graphs import Cpdag, MixedGraph, UndirectedGraph
from counterpane.models.base import Model
from counterpane.models.bayesian_network import BayesianNetwork
from counterpane.tools.links import class_of

_ARROWS = re.compile(r"\s*(<->|<-|->|--|↔|←|→|–|—)\s*")
_KINDS = {"↔": "<->", "←": "<-", "→": "->", "–": "--", "—": "--"}


def causal_graph(graph: Any) -> MixedGraph:
    """The graph of direct causes and of common causes that were not measured.

    Parameters
    ----------
    graph : str, MixedGraph, BayesianNetwork, learner or networkx.DiGraph
        A text such as "smoking -> tar -> cancer; smoking <-> cancer", where a <-> b says that a
        and b have a common cause that was not measured, and a -- b that the direction is not
        known; a network with the directions that it has; a learner with its equivalence class, in
        which a -- b is a direction that the data leave open; or a networkx graph whose edges may
        have `directed=False`.

    Returns
    -------
    MixedGraph
        The graph.

    Examples
    --------
    >>> print(causal_graph("smoking -> tar -> cancer; smoking <-> cancer"))
    smoking → tar
    smoking ↔ cancer
    tar → cancer
    """
    if isinstance(graph, MixedGraph):
        return graph
    if isinstance(graph, str):
        return _parsed(graph)
    if isinstance(graph, BayesianNetwork):
        return mixed_class(Cpdag(graph.dag, UndirectedGraph(graph.dag.n)), graph.schema.names)
    if isinstance(model := getattr(graph, "model_", None), BayesianNetwork):
        return mixed_class(class_of(model), model.schema.names)
    if hasattr(graph, "is_directed") and graph.is_directed():
        return _of_networkx(graph)
    kind = type(graph).__name__
    if isinstance(graph, Model) or hasattr(graph, "is_directed"):
        raise ParameterError(
            f"the edges of a {kind} have no directions, so it says nothing about causes; pass a "
            "BayesianNetwork, or a graph such as 'x -> y; x <-> y'."
        )
    raise ParameterError(
        f"a {kind} is no causal graph; pass a text such as 'x -> y; x <-> y', a MixedGraph, a "
        "network, a fitted learner or a networkx.DiGraph."
    )


def mixed_class(shape: Cpdag, names: Sequence[str]) -> MixedGraph:
    """An equivalence class as a graph with → and –.

    >>> from counterpane.graphs import Dag, cpdag
    >>> print(mixed_class(cpdag(Dag(2, [(0, 1)])), ["a", "b"]))
    a – b
    """
    arrows = [(names[a], "->", names[b]) for a, b in shape.compelled.edges]
    lines = [(names[a], "--", names[b]) for a, b in shape.reversible.edges]
    return MixedGraph(names, [*arrows, *lines])


def check_question(
    names: Sequence[str],
    treatment: Sequence[str],
    outcome: Sequence[str],
    given: Iterable[str] = (),
) -> None:
    """Refuse a question about unknown columns, or one that names a column twice."""
    conditions = list(given)
    for name in (*treatment, *outcome, *conditions):
        if not isinstance(name, str) or name not in names:
            raise unknown_name("column", name, names)
    if not treatment or not outcome:
        raise ParameterError("an effect needs a treatment and an outcome; name a column for each.")
    both = [name for name in treatment if name in outcome]
    if both:
        raise ParameterError(
            f"{both[0]!r} is both treatment and outcome; a column has no effect on itself, so name "
            "another outcome."
        )
    twice = [name for name in conditions if name in treatment or name in outcome]
    if twice:
        role = "set by do" if twice[0] in treatment else "asked about"
        raise ParameterError(f"{twice[0]!r} is both {role} and given; drop it from one of the two.")
    several = [*treatment, *outcome]
    if len(set(several)) < len(several):
        name = next(n for n in several if several.count(n) > 1)
        raise ParameterError(f"{name!r} is named twice; name each column once.")


def _parsed(text: str) -> MixedGraph:
    """The graph of chains a -> b <-> c with ; or line breaks between them."""
    names: dict[str, None] = {}
    edges: list[tuple[str, str, str]] = []
    for chain in re.split(r"[;\n]", text):
        parts = _ARROWS.split(chain.strip())
        if parts == [""]:
            continue
        nodes = [name.strip() for name in parts[::2]]
        if not all(nodes):
            raise GraphError(
                f"{chain.strip()!r} has an arrow without a column; write edges as 'a -> b', "
                "'a <-> b' or 'a -- b', with ; between them."
            )
        names.update(dict.fromkeys(nodes))
        kinds = [_KINDS.get(kind, kind) for kind in parts[1::2]]
        edges += zip(nodes, kinds, nodes[1:], strict=False)
    if not names:
        raise GraphError("the text names no column; write edges as 'a -> b; a <-> c'.")
    return MixedGraph(list(names), edges)


def _of_networkx(graph: Any) -> MixedGraph:
    edges = []
    for a, b, directed in graph.edges(data="directed", default=True):
        if directed or not graph.has_edge(b, a):
            edges.append((str(a), "->", str(b)))
        else:
            edges.append((str(a), "--", str(b)))
    return MixedGraph([str(node) for node in graph.nodes], edges)
