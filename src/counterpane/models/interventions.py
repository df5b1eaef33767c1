"""Networks after an intervention."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from counterpane.data.schema import state_text
from counterpane.errors import ParameterError
from counterpane.graphs import Dag

if TYPE_CHECKING:
    from counterpane.models.bayesian_network import BayesianNetwork


def cut_network(model: BayesianNetwork, codes: Mapping[int, int]) -> BayesianNetwork:
    """The network in which columns are set to codes: no edges into them, and no other state.

    >>> import counterpane as cp
    >>> rain = cp.BayesianNetwork(cp.Schema.from_cards([2, 2]), cp.Dag(2, [(0, 1)]),
    ...                           [[0.7, 0.3], [[0.9, 0.1], [0.2, 0.8]]])
    >>> cut = cut_network(rain, {1: 1})
    >>> cut.dag.edges, cut.tables[1].tolist()
    ((), [0.0, 1.0])
    """
    if model.record.marks:
        raise ParameterError(
            "the network of FCI answers questions about the columns, not about causes: common "
            "causes may be missing from it, so do does not apply; use cp.effect with graph=… and "
            "<-> edges."
        )
    dag = Dag.from_parents([() if v in codes else model.dag.parents(v) for v in range(model.dag.n)])
    tables: list[Any] = list(model.tables)
    strengths = None if model.strengths is None else list(model.strengths)
    for v, code in codes.items():
        tables[v] = np.eye(model.schema[v].card)[code]
        if strengths is not None:
            strengths[v] = np.array(1.0)
    names = {model.schema.names[v]: state_text(model.schema[v].states[c]) for v, c in codes.items()}
    record = model.record.with_parts(
        learner={"text": None, "config": None},
        constraints={"known_directions": ()},
        data={"fingerprint": None},
        interventions=names,
    )
    return type(model)(model.schema, dag, tables, strengths, record=record)
