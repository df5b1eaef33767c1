"""`effect`: what would change if a column were set, by a model, a learner, or rows and a graph."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from counterpane.boundary import public
from counterpane.causes.causal_graph import check_question
from counterpane.causes.effect_result import CausalEffect
from counterpane.causes.graph_effects import EffectQuestion, Structures, answer_effect
from counterpane.counts.memory import MemoryCounts
from counterpane.counts.open import read
from counterpane.counts.source import CountSource
from counterpane.data.schema import Schema
from counterpane.data.table import Table
from counterpane.errors import NotFittedError, ParameterError, shown_type
from counterpane.models.base import Model
from counterpane.models.bayesian_network import BayesianNetwork
from counterpane.models.choice import no_directions
from counterpane.models.evidence import encode_evidence
from counterpane.models.exact import name_list
from counterpane.models.mixture import Mixture
from counterpane.seeds import random_generator

MOST_STATES = 4096  # combinations of states of several treatments

CAUTION = "This holds if the graph is right, which includes that no common cause is missing in it."


@public
def effect(
    subject: Any,
    treatment: str | Iterable[str],
    outcome: str,
    *,
    given: Mapping[str, Any] | None = None,
    graph: Any = None,
    equivalence: bool | None = None,
    baseline: Any = None,
    level: float = 0.95,
    draws: int = 200,
    max_sets: int = 1000,
    equivalent_sample_size: float = 1.0,
    random_state: int | np.random.Generator | None = 0,
) -> CausalEffect:
    """P(outcome | do(treatment = each state)), differences and ratios, and how sure they are.

    Parameters
    ----------
    subject : model, learner, BootstrapResult, CountSource or table
        A network that somebody wrote down is taken as it is. A learned network, or a fitted
        learner, stands for its equivalence class: the answer covers every graph that explains the
        data as well. A `Mixture` of networks (`OrderMCMC`) and a bootstrap are averaged over their
        structures. Rows alone need a `graph`.
    treatment : str or iterable of str
        The column that is set, or several that are set together.
    outcome : str
        The column asked about.
    given : dict, optional
        {column: state} of others, for the effect within a group.
    graph : str, MixedGraph, networkx.DiGraph, optional
        The causal graph, if it is not that of `subject`; see `causal_graph`. With edges <-> the
        effect is computed by the expression of `identify`.
    equivalence : bool, optional
        True covers the equivalence class, False takes the directions of the network as they are;
        by default True for what was learned.
    baseline : state or dict, optional
        The state that others are compared with, by default the first one.
    level, draws : float and int
        The level of the intervals, and the draws from the Dirichlet posterior of the parameters.
    max_sets : int
        The most sets of parents of the treatment that the class may have.
    equivalent_sample_size : float
        With rows instead of a model: the weight of the uniform prior of each table, in rows.
    random_state : int or numpy.random.Generator, optional
        The seed.

    Returns
    -------
    CausalEffect
        The effects; they print themselves.

    Examples
    --------
    >>> import counterpane as cp
    >>> recovery = [[[0.9, 0.1], [0.7, 0.3]], [[0.6, 0.4], [0.3, 0.7]]]
    >>> tables = [[0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], recovery]
    >>> schema, dag = cp.Schema.from_cards([2, 2, 2]), cp.Dag(3, [(0, 1), (0, 2), (1, 2)])
    >>> print(cp.effect(cp.BayesianNetwork(schema, dag, tables), "x1", "x2"))
    The effect in the graph of the network.
    P(x2 | do(x1))
    x1  x2  seen   do     minus x1=0  ratio
    0   0   0.845  0.750
    0   1   0.155  0.250
    1   0   0.344  0.500  -0.250      0.667
    1   1   0.656  0.500  0.250       2.000
    This holds if the graph is right, which includes that no common cause is missing in it.
    """
    if not 0 < level < 1 or draws < 2 or max_sets < 1:
        raise ParameterError(
            f"level={level}, draws={draws}, max_sets={max_sets}; a level between 0 and 1, 2 draws "
            "or more, and a positive number of sets are needed."
        )
    subject = opened_subject(subject, graph)
    schema = subject.schema if not isinstance(subject, Structures) else subject.models[0].schema
    names = name_list(treatment)
    if isinstance(outcome, str):
        check_question(schema.names, names, [outcome], given or {})
    else:
        raise ParameterError(f"outcome={outcome!r}; name one column.")
    states = math.prod(schema[name].card for name in names)
    if states > MOST_STATES:
        raise ParameterError(
            f"the treatments have {states:,} combinations of states; at most {MOST_STATES:,} are "
            "allowed: set fewer columns at once."
        )
    question = EffectQuestion(
        schema,
        schema.indices(names),
        schema.index(outcome),
        _codes(schema, given),
        draws,
        random_generator(random_state),
    )
    estimates, observed, notes = answer_effect(
        question, subject, graph, equivalence, max_sets, equivalent_sample_size
    )
    target = subject.origin.target if isinstance(subject, BayesianNetwork) else None
    if target is not None:
        notes.append(
            f"The network was learned to predict {target!r}: its edges need not be causes."
        )
    return CausalEffect(
        tuple(schema[v] for v in question.x),
        schema[question.y],
        dict(given or {}),
        tuple(estimates),
        observed,
        _baseline(schema, names, baseline),
        level,
        (*notes, CAUTION),
    )


def opened_subject(subject: Any, graph: Any) -> Any:
    """A network, networks with weights, or a count source, from what the user passed."""
    if hasattr(subject, "edge_probabilities"):  # a BootstrapResult
        models = [m for m in subject.models if isinstance(m, BayesianNetwork)]
        if not models or len(models) < len(subject.models):
            raise ParameterError(
                "the bootstrap kept no Bayesian networks; call bootstrap(…, keep_models=True) with "
                "a learner of networks."
            )
        return Structures(models, [1 / len(models)] * len(models), sampled=True)
    if isinstance(subject, CountSource | Table) or not (
        isinstance(subject, Model) or hasattr(subject, "fit")
    ):
        if graph is None:
            raise ParameterError(
                f"{shown_type(subject)} has rows, and rows alone do not tell causes; pass "
                "graph='x -> y; …', or a fitted learner of networks."
            )
        data = subject if isinstance(subject, CountSource | Table) else read(subject)
        return MemoryCounts(data) if isinstance(data, Table) else data
    model = subject
    if hasattr(subject, "fit"):
        model = getattr(subject, "model_", None)
        if model is None:
            raise NotFittedError(f"{type(subject).__name__} has no model yet; call fit first.")
    if graph is None and (getattr(model, "provenance", None) or {}).get("pag"):
        raise ParameterError(
            "FCI allows for common causes that are missing, and its graph leaves marks open, so it "
            "does not give this effect; write the graph down and pass graph=… with <-> edges."
        )
    if isinstance(model, Mixture) and not model.fixed:
        networks = [m for m in model.models if isinstance(m, BayesianNetwork)]
        if len(networks) == len(model.models):
            return Structures(networks, model.weights.tolist(), sampled=False)
    elif isinstance(model, BayesianNetwork):
        return model
    raise no_directions(model)


def _codes(schema: Schema, given: Mapping[str, Any] | None) -> dict[int, int]:
    coded = encode_evidence(schema, given)
    if coded.weights:
        name = schema.names[next(iter(coded.weights))]
        raise ParameterError(f"given={name!r} leaves several states; name one state of it.")
    return dict(coded.codes)


def _baseline(schema: Schema, names: Sequence[str], baseline: Any) -> tuple[int, ...]:
    """The codes of the states to compare with."""
    if baseline is None:
        return (0,) * len(names)
    if not isinstance(baseline, Mapping):
        baseline = {names[0]: baseline} if len(names) == 1 else {}
    if set(baseline) != set(names):
        raise ParameterError(
            f"baseline={baseline!r}; a state for each of {', '.join(map(repr, names))} is needed."
        )
    return tuple(schema[name].code(baseline[name]) for name in names)
