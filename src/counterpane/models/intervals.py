"""Credible intervals of answers, from the uncertainty of a network's tables."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from counterpane.checks import EVIDENCE, INTEGER, INTERVENTION, NAMES, NUMBER, accepts
from counterpane.errors import ParameterError
from counterpane.inference.sampling import answer_interval
from counterpane.models.answer import Answer, Interval
from counterpane.models.bayesian_network import BayesianNetwork
from counterpane.models.evidence import (
    Evidence,
    Intervention,
    encode_evidence,
    evidence_mapping,
)
from counterpane.seeds import random_generator


@accepts(variables=NAMES, evidence=EVIDENCE, do=INTERVENTION, level=NUMBER, draws=INTEGER)
def query_interval(
    model: BayesianNetwork,
    variables: str | Iterable[str],
    evidence: Evidence = None,
    *,
    do: Intervention = None,
    level: float = 0.95,
    draws: int = 200,
    random_state: int | np.random.Generator | None = None,
) -> Interval:
    """The mean of P(variables | evidence) and its credible interval.

    Each table's row is drawn from its Dirichlet posterior, with the parameters strength × table;
    the interval is the middle `level` of the answers, for each state. It expresses the uncertainty
    of the parameters; the graph is taken as certain.

    Parameters
    ----------
    model : BayesianNetwork
        A network that was learned from rows, or has `strengths`.
    variables : str or list of str
        The columns that are asked about.
    evidence : dict, optional
        Column → state.
    do : dict, optional
        Column → the state that it is set to from outside.
    level : float
        The probability of the interval.
    draws : int
        Number of draws of the tables.
    random_state : int, Generator or None
        Seed of the draws.

    Returns
    -------
    Interval
        The answers `mean`, `lower` and `upper`.

    Examples
    --------
    >>> import counterpane as cp
    >>> model = cp.ChowLiu().fit(cp.load_dataset("titanic")).model_
    >>> query_interval(model, "survived", {"sex": "female"}, random_state=0)
    survived       P   lower   upper
    no        0.2692  0.2299  0.3068
    yes       0.7308  0.6932  0.7701
    """
    if model.strengths is None:
        raise ParameterError(
            "the network does not say how certain its tables are; learn it from data, or pass "
            "strengths, one for each row of a table."
        )
    answer = model.query(variables, evidence, do=do, method="exact")  # checks all of it
    if do:
        model, evidence = model.do(do), {**evidence_mapping(evidence), **do}
    assert model.strengths is not None
    coded = encode_evidence(model.schema, evidence)
    queried = model.schema.indices(answer.names)
    families = {
        p.scope: model.strengths[p.scope[-1]][..., None] * model.tables[p.scope[-1]]
        for p in model.engine.relevant({*queried, *coded.variables})
    }
    bounds = answer_interval(
        families, model.schema.cards, queried, coded.codes, coded.weight_potentials(),
        level=level, draws=draws, rng=random_generator(random_state),
    )  # fmt: skip
    return Interval(*(Answer(answer.variables, p) for p in bounds))
