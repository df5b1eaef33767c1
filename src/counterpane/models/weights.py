"""Weights of evidence: partition functions, exact or between bounds."""

from __future__ import annotations

from counterpane.checks import EVIDENCE, LIMITS, accepts
from counterpane.inference.join_graph import WeightBounds
from counterpane.inference.limits import limited
from counterpane.models.evidence import Evidence, encode_evidence
from counterpane.models.joint import JointModel


@accepts(evidence=EVIDENCE, **LIMITS)
def log_weight(
    model: JointModel,
    evidence: Evidence = None,
    *,
    exact: bool | float | None = None,
    max_memory: float | str | None = None,
) -> float:
    """ln Σ exp(Σ potentials) over the rows that agree with the evidence (partition function).

    For a normalized model it is ln P(evidence).

    >>> import numpy as np
    >>> from counterpane import BayesianNetwork, Dag, Schema
    >>> schema, dag = Schema.from_cards([2, 2]), Dag(2, [(0, 1)])
    >>> model = BayesianNetwork(schema, dag, [[0.8, 0.2], [[0.9, 0.1], [0.4, 0.6]]])
    >>> round(float(np.exp(log_weight(model, {"x1": 1}))), 4)
    0.2
    """
    with limited(exact, max_memory):
        weight = model.engine.ask((), encode_evidence(model.schema, evidence))[1]
        return weight + model.engine.log_constant


@accepts(evidence=EVIDENCE, **LIMITS)
def log_weight_bounds(
    model: JointModel,
    evidence: Evidence = None,
    *,
    exact: bool | float | None = None,
    max_memory: float | str | None = None,
) -> WeightBounds:
    """(lower, upper) bounds on `log_weight`, equal if an exact answer is affordable.

    Else the upper bound is that of mini-buckets, and the lower one the weight of the rows that
    agree with a row of positive probability on a few columns.

    Parameters
    ----------
    model : JointModel
        A product of potentials: a Bayesian or a Markov network.
    evidence : dict, optional
        Column → state.
    exact : bool or float, optional
        The seconds that an exact answer may take; True: any time, False: none.
    max_memory : float or str, optional
        The memory that it may take, in bytes or as "2 GB".

    Returns
    -------
    WeightBounds
        Two natural logs, with an `estimate` between them.

    Examples
    --------
    >>> from counterpane import BayesianNetwork, Dag, Schema
    >>> schema, dag = Schema.from_cards([2, 2]), Dag(2, [(0, 1)])
    >>> model = BayesianNetwork(schema, dag, [[0.8, 0.2], [[0.9, 0.1], [0.4, 0.6]]])
    >>> lower, upper = log_weight_bounds(model, {"x1": 1}, exact=False)
    >>> lower <= log_weight(model, {"x1": 1}) <= upper
    True
    """
    with limited(exact, max_memory):
        return model.engine.bounds(encode_evidence(model.schema, evidence))
