"""`effect`: what would change if a column were set, by a model, a learner, or rows and a graph."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from counterpane.causes.causal_graph import check_question
from counterpane.causes.effect_result import CausalEffect, without_missing_cells
from counterpane.causes.graph_effects import EffectQuestion, Structures, answer_effect
from counterpane.causes.network_average import average_effect
from counterpane.checks import BOOLEAN, INTEGER, MAPPING, NAMES, NONE, NUMBER, STRING, accepts
from counterpane.counts.memory import MemoryCounts
from counterpane.counts.open import read
from counterpane.counts.source import CountSource
from counterpane.data.schema import Schema
from counterpane.data.table import Table
from counterpane.errors import NotFittedError, ParameterError, shown_type
from counterpane.models.base import Model
from counterpane.models.bayesian_network import BayesianNetwork
from counterpane.models.evidence import encode_evidence, name_list, no_directions
from counterpane.models.mixture import Mixture
from counterpane.seeds import random_generator
from counterpane.tools.updating import network_rows

MOST_STATES = 4096  # combinations of states of several treatments

CAUTION = "This holds if the graph is right, which includes that no common cause is missing in it."


@accepts(
    treatment=NAMES,
    outcome=STRING,
    given=MAPPING | NONE,
    equivalence=BOOLEAN | NONE,
    level=NUMBER,
    draws=INTEGER,
    max_sets=INTEGER,
    equivalent_sample_size=NUMBER,
)
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
    draws: int = 4000,
    data: Any = None,
    max_sets: int = 1000,
    equivalent_sample_size: float = 1.0,
    random_state: int | np.random.Generator | None = 0,
) -> CausalEffect:
    """P(outcome | do(treatment = each state)), differences and ratios, and how sure they are.

    Parameters
    ----------
    subject : model, learner, BootstrapResult, CountSource or table
        A network that somebody wrote down is taken as it is. A learned network, or a fitted
        learner, stands for the rows that it was learned from: the answer is averaged over networks
        that explain these rows, within the limits that the learner had, so that its interval holds
        the uncertainty of the graph and of the parameters. Up to 12 columns the networks are drawn
        from the exact posterior, otherwise they are learned from 100 bootstrap samples. A `Mixture`
        of networks (`OrderMCMC`) and a bootstrap are averaged over their own structures. Rows alone
        need a `graph`.
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
        True gives the range over all graphs of the equivalence class of the network, False takes
        its directions as they are; both take its edges as certain. By default what was learned is
        averaged over networks.
    baseline : state or dict, optional
        The state that others are compared with, by default the first one.
    level, draws : float and int
        The level of the intervals, and the draws of networks and of their parameters.
    data : table, optional
        The rows of a learned network, if its file does not have them, or has a sample.
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
    x1  x2  do     minus x1=0  ratio
    0   0   0.750
    0   1   0.250
    1   0   0.500  -0.250      0.667
    1   1   0.500  0.250       2.000
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
    rows, sample_note = _rows_of(subject, data, question)
    answer = None
    if isinstance(subject, BayesianNetwork) and graph is None and equivalence is None:
        answer = _averaged(question, subject, rows)
    if answer is None:
        answer = answer_effect(
            question, subject, graph, equivalence, max_sets, equivalent_sample_size
        )
    estimates, notes = answer
    target = subject.record.data.target if isinstance(subject, BayesianNetwork) else None
    if target is not None:
        notes.append(
            f"The network was learned to predict {target!r}: its edges need not be causes."
        )
    observed = question.seen(rows)
    if observed is None and isinstance(subject, BayesianNetwork) and subject.record.learned:
        notes.append(
            "The model has no rows, so that neither what was seen in them nor the uncertainty of "
            "the graph is known; pass the data as well."
        )
    return without_missing_cells(
        CausalEffect(
            tuple(schema[v] for v in question.x),
            schema[question.y],
            dict(given or {}),
            tuple(estimates),
            observed,
            _baseline(schema, names, baseline),
            level,
            (*notes, *sample_note, CAUTION),
        )
    )


def _averaged(question: EffectQuestion, model: BayesianNetwork, rows: Table | None) -> Any:
    """The effect averaged over networks; None for a model that was not learned, or has no rows."""
    if not model.record.learned or rows is None:
        return None
    return average_effect(question, model, rows, model.prior_size or 1.0)


def _rows_of(subject: Any, data: Any, question: EffectQuestion) -> tuple[Table | None, list[str]]:
    """The rows that a subject has or that were passed as `data`, and a note if they are a part."""
    if data is not None:
        if not isinstance(subject, BayesianNetwork):
            raise ParameterError(
                f"data is for a Bayesian network; {shown_type(subject)} takes none."
            )
        return network_rows(subject, data), []
    if isinstance(subject, CountSource):
        return subject.distinct(sorted(question.columns)), []
    models = subject.models if isinstance(subject, Structures) else [subject]
    rows = next((m.training_rows for m in models if m.training_rows is not None), None)
    if rows is None:
        return None, []
    notes = []
    if len(rows) < rows.seen:
        notes.append(
            f"The model keeps a sample of its training rows ({len(rows):,}); pass the data to use "
            "all of them."
        )
    return Table(question.schema, rows.codes, rows.weights).distinct(), notes


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
    if graph is None and hasattr(model, "record") and model.record.marks:
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
    if any(baseline[name] is None for name in names):
        raise ParameterError("baseline must be a state, not a missing cell.")
    return tuple(schema[name].code(baseline[name]) for name in names)
