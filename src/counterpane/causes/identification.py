"""Which effects a graph identifies: the algorithms ID and IDC of Shpitser & Pearl (2006).

They are complete: where they fail, two models with the graph and the same observed distribution
have different effects, and a hedge shows where.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from counterpane.causes.adjustment import first_adjustment_sets, front_door_sets
from counterpane.causes.causal_graph import causal_graph, check_question
from counterpane.causes.evaluation import checked_effect, tables_for
from counterpane.causes.expressions import (
    Expression,
    Probability,
    Product,
    Quotient,
    Sum,
    expression_text,
    product_of,
    sum_out,
)
from counterpane.checks import NAMES, accepts
from counterpane.counts.source import CountSource, Policy
from counterpane.errors import GraphError, NotIdentifiedError, ParameterError, Setting
from counterpane.graphs import MixedGraph, m_separated
from counterpane.models.answer import Answer
from counterpane.models.evidence import name_list
from counterpane.models.joint import JointModel

IdentifyMethod = Literal["auto", "back-door", "front-door", "id"]


@dataclass(frozen=True)
class Identified:
    """P(outcome | do(treatment), given) as an expression in what can be observed.

    Attributes
    ----------
    treatment, outcome, given : tuple of str
        The columns that are set, asked about, and conditioned on.
    expression : Expression
        The expression; it prints itself.
    method : str
        How it was found: "back-door", "front-door" or "id".
    columns : tuple of str
        The columns that the expression needs; no other has to be measured.
    """

    treatment: tuple[str, ...]
    outcome: tuple[str, ...]
    given: tuple[str, ...]
    expression: Expression
    method: str

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the expression is computed from."""
        return tuple(sorted(_mentioned(self.expression)))

    @property
    def question(self) -> str:
        """The effect, as P(y | do(x), z)."""
        right = [f"do({name})" for name in self.treatment] + list(self.given)
        return f"P({', '.join(self.outcome)} | {', '.join(right)})"

    def __str__(self) -> str:
        return f"{self.question} = {expression_text(self.expression)}"

    def evaluate(
        self,
        source: JointModel | CountSource,
        do: Mapping[str, Any],
        given: Mapping[str, Any] | None = None,
        *,
        equivalent_sample_size: float = 0.0,
        missing: Policy = "error",
    ) -> Answer:
        """P(outcome | do, given) by the probabilities of a model, or by counts without a model.

        `do` has a state for each treatment, `given` one for each column conditioned on.
        `equivalent_sample_size` smooths counted tables; `missing` is the policy for gaps.
        """
        conditions = dict(given or {})
        for states, names, what in ((do, self.treatment, "do"), (conditions, self.given, "given")):
            if set(states) != set(names):
                raise ParameterError(
                    f"{what} names {sorted(states)}; a state for each of {sorted(names)} is needed."
                )
        schema = source.schema
        codes = {name: schema[name].code(state) for name, state in {**do, **conditions}.items()}
        tables = tables_for(
            self.expression,
            source,
            equivalent_sample_size=equivalent_sample_size,
            missing=missing,
        )
        set_first = [name for name in self.treatment if name in self.expression.free]
        others = {name: codes[name] for name in self.given if name in self.expression.free}
        table = checked_effect(self.expression, tables, schema, set_first, self.outcome, others)
        return Answer(
            [schema[name] for name in self.outcome],
            table[tuple(codes[name] for name in set_first)],
        )


@accepts(treatment=NAMES, outcome=NAMES, given=NAMES)
def identify(
    graph: Any,
    treatment: str | Iterable[str],
    outcome: str | Iterable[str],
    given: str | Iterable[str] = (),
    *,
    method: IdentifyMethod = "auto",
) -> Identified:
    """P(outcome | do(treatment), given) as an expression in observed probabilities.

    Parameters
    ----------
    graph : str, MixedGraph, BayesianNetwork, learner or networkx.DiGraph
        The causal graph; see `causal_graph`. Common causes that were not measured are edges <->.
    treatment, outcome : str or iterable of str
        The columns that are set, and those asked about.
    given : str or iterable of str
        Columns whose states are known, for the effect within a group.
    method : {"auto", "back-door", "front-door", "id"}
        "id" is the complete algorithm of Shpitser & Pearl. "auto" takes the back-door or the
        front-door where the graph has one, since their expressions are shorter.

    Returns
    -------
    Identified
        The expression; `evaluate` computes it on a model or on counts.

    Raises
    ------
    NotIdentifiedError
        Where no expression exists; the error holds the hedge that stands against it.

    Examples
    --------
    >>> print(identify("smoke -> tar -> ill; smoke <-> ill", "smoke", "ill"))
    P(ill | do(smoke)) = Σ_{tar} P(tar | smoke) [Σ_{smoke′} P(ill | smoke′, tar) P(smoke′)]
    """
    mixed = causal_graph(graph)
    x, y, z = name_list(treatment), name_list(outcome), name_list(given)
    check_question(mixed.names, x, y, z)
    if method not in ("auto", "back-door", "front-door", "id"):
        raise ParameterError(
            Setting("method", method), "; 'auto', 'back-door', 'front-door' or 'id' is allowed."
        )
    _check_directed(mixed)
    done = None
    if method in ("auto", "back-door") and not z:
        done = _by_back_door(mixed, x, y)
    if done is None and method in ("auto", "front-door") and not z and len(x) == len(y) == 1:
        done = _by_front_door(mixed, x, y)
    if done is None and method in ("back-door", "front-door"):
        raise NotIdentifiedError(
            f"the graph has no {method} set for P({', '.join(y)} | do({', '.join(x)})); try "
            "method='id', which finds every expression that exists."
        )
    if done is None:
        try:
            expression = _conditional_effect(mixed, x, y, z)
        except _HedgeReached as stop:
            raise _not_identified(x, y, z, stop) from None
        done = Identified(tuple(x), tuple(y), tuple(z), expression, "id")
    return done


class _HedgeReached(Exception):
    """Line 5 of ID: the districts of a hedge, the outer one and the inner one."""

    def __init__(self, outer: frozenset[str], inner: frozenset[str]) -> None:
        super().__init__()
        self.outer, self.inner = outer, inner


def _not_identified(
    x: Sequence[str], y: Sequence[str], z: Sequence[str], stop: _HedgeReached
) -> NotIdentifiedError:
    outer, inner = tuple(sorted(stop.outer)), tuple(sorted(stop.inner))
    right = ", ".join([f"do({', '.join(x)})", *z])
    error = NotIdentifiedError(
        f"P({', '.join(y)} | {right}) is not identified by this graph: {{{', '.join(outer)}}} and "
        f"{{{', '.join(inner)}}} are a hedge, joined by common causes that were not measured; "
        "measure one of these, or set the treatment in an experiment."
    )
    error.hedge = (outer, inner)
    return error


def _check_directed(graph: MixedGraph) -> None:
    open_ = [edge for edge in graph.edges if edge.kind not in ("->", "<->")]
    if open_:
        raise GraphError(
            f"the graph leaves the direction of {open_[0]} open; direct it, or ask cp.effect for "
            "the range over all graphs of the class."
        )


def _by_back_door(graph: MixedGraph, x: list[str], y: list[str]) -> Identified | None:
    sets = first_adjustment_sets(graph, x, y)
    if not sets:
        return None
    order = graph.topological_order()
    z = tuple(name for name in order if name in sets[0])
    inner = Probability(tuple(y), (*x, *z))
    term = product_of([inner, Probability(z)]) if z else inner
    return Identified(tuple(x), tuple(y), (), sum_out(z, term, order), "back-door")


def _by_front_door(graph: MixedGraph, x: list[str], y: list[str]) -> Identified | None:
    sets = front_door_sets(graph, x[0], y[0])
    if not sets:
        return None
    order = graph.topological_order()
    m = tuple(name for name in order if name in sets[0])
    inner = Sum(tuple(x), Product((Probability(tuple(y), (*x, *m)), Probability(tuple(x)))))
    term = Sum(m, Product((Probability(m, tuple(x)), inner)))
    return Identified(tuple(x), tuple(y), (), term, "front-door")


@dataclass(frozen=True)
class _Factorized:
    """A distribution over the nodes of a graph: the observed one, or one that was derived."""

    names: tuple[str, ...]  # in topological order
    expression: Expression | None = None  # None: the observed one

    def marginal(self, keep: Iterable[str]) -> _Factorized:
        kept = set(keep)
        names = tuple(name for name in self.names if name in kept)
        if self.expression is None:
            return _Factorized(names)
        return _Factorized(names, sum_out(set(self.names) - kept, self.expression, self.names))

    def joint(self) -> Expression:
        return Probability(self.names) if self.expression is None else self.expression

    def conditional(self, name: str, graph: MixedGraph) -> Expression:
        """P(name | all earlier nodes), of which the observed one needs the Markov pillow alone."""
        place = self.names.index(name)
        before = self.names[:place]
        if self.expression is None:
            earlier = graph.subgraph([*before, name])
            district = next(d for d in earlier.districts() if name in d)
            pillow = {*district, *earlier.parents(district)} - {name}
            return Probability((name,), tuple(v for v in before if v in pillow))
        upto = self.marginal([*before, name]).joint()
        if not before:
            return upto
        return Quotient(upto, self.marginal(before).joint())


def _conditional_effect(
    graph: MixedGraph, x: Sequence[str], y: Sequence[str], z: Sequence[str]
) -> Expression:
    """IDC: a condition that the second rule of do-calculus lets become an intervention is one."""
    treatment, conditions = list(x), list(z)
    for name in list(conditions):
        rest = [other for other in conditions if other != name]
        cut = graph.without_edges_into(treatment).without_edges_out_of([name])
        if m_separated(cut, list(y), [name], [*treatment, *rest]):
            treatment.append(name)
            conditions.remove(name)
            return _conditional_effect(graph, treatment, y, conditions)
    order = graph.topological_order()
    joint = _effect(graph, treatment, [*y, *conditions], order)
    if not conditions:
        return joint
    return Quotient(joint, sum_out(y, joint, order))


def _effect(
    graph: MixedGraph, x: Sequence[str], y: Sequence[str], order: Sequence[str]
) -> Expression:
    """ID, with variables that the answer does not depend on averaged out."""
    expression = _id(frozenset(y), frozenset(x), _Factorized(tuple(order)), graph)
    idle = tuple(name for name in order if name in expression.free - {*x, *y})
    if not idle:
        return expression
    return Sum(idle, product_of([Probability(idle), expression]))


def _id(y: frozenset[str], x: frozenset[str], known: _Factorized, graph: MixedGraph) -> Expression:
    """Shpitser & Pearl's ID, by its seven lines."""
    nodes = frozenset(graph.names)
    if not x:
        return known.marginal(y).joint()
    ancestral = y | set(graph.ancestors(y))
    if ancestral != nodes:
        return _id(y, x & ancestral, known.marginal(ancestral), graph.subgraph(ancestral))
    above = y | set(graph.without_edges_into(x).ancestors(y))
    idle = nodes - x - above
    if idle:
        return _id(y, x | idle, known, graph)
    parts = graph.subgraph(nodes - x).districts()
    if len(parts) > 1:
        factors = [_id(frozenset(part), nodes - set(part), known, graph) for part in parts]
        return sum_out(nodes - x - y, product_of(factors), known.names)
    part = frozenset(parts[0])
    districts = [frozenset(district) for district in graph.districts()]
    if len(districts) == 1:
        raise _HedgeReached(nodes, part)
    home = next(district for district in districts if part <= district)
    inner = [name for name in known.names if name in home]
    factors = [known.conditional(name, graph) for name in inner]
    if home == part:
        return sum_out(part - y, product_of(factors), known.names)
    smaller = _Factorized(tuple(inner), product_of(factors))
    return _id(y, x & home, smaller, graph.subgraph(home))


def _mentioned(expression: Expression) -> set[str]:
    if isinstance(expression, Probability):
        return set(expression.free)
    if isinstance(expression, Product):
        return set().union(*map(_mentioned, expression.factors))
    if isinstance(expression, Sum):
        return _mentioned(expression.term)
    return _mentioned(expression.numerator) | _mentioned(expression.denominator)
