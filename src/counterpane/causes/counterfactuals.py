"""Counterfactuals of given mechanisms: the twin network of Balke & Pearl (1994)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from counterpane.causes.causal_graph import check_question
from counterpane.checks import MAPPING, NAMES, NONE, accepts, instance_of
from counterpane.data.schema import Schema, Variable
from counterpane.errors import ParameterError, shown_type
from counterpane.graphs import Dag
from counterpane.models.answer import Answer
from counterpane.models.bayesian_network import BayesianNetwork
from counterpane.models.evidence import evidence_codes, evidence_mapping, name_list
from counterpane.models.joint import JointModel

TWIN = "′"  # the mark of a column in the other world


@accepts(
    model=instance_of(BayesianNetwork, JointModel),
    outcome=NAMES,
    do=MAPPING,
    evidence=MAPPING | NONE,
)
def counterfactual(
    model: BayesianNetwork,
    outcome: str | Iterable[str],
    do: Mapping[str, Any],
    evidence: Mapping[str, Any] | None = None,
) -> Answer:
    """P(outcome, had `do` been done | evidence of what did happen), from mechanisms.

    Parameters
    ----------
    model : BayesianNetwork
        The mechanisms: every column with parents follows from them with certainty; what is random
        is in columns without parents, which are the same in both worlds.
    outcome : str or iterable of str
        The columns asked about, in the world where `do` was done.
    do : dict
        {column: state} of what would have been set.
    evidence : dict, optional
        {column: state} of what was seen in the world as it is, also of columns in `do`.

    Returns
    -------
    Answer
        The probabilities.

    Examples
    --------
    Two riflemen fire on the captain's order. The prisoner is dead; would he be, had A not fired?

    >>> import counterpane as cp
    >>> same, either = [[1, 0], [0, 1]], [[[1, 0], [0, 1]], [[0, 1], [0, 1]]]
    >>> schema = cp.Schema([cp.Variable(n, ("no", "yes")) for n in ("order", "a", "b", "dead")])
    >>> squad = cp.BayesianNetwork(
    ...     schema, cp.Dag(4, [(0, 1), (0, 2), (1, 3), (2, 3)]), [[0.5, 0.5], same, same, either]
    ... )
    >>> cp.counterfactual(squad, "dead", do={"a": "no"}, evidence={"dead": "yes"})["yes"]
    1.0
    """
    if not isinstance(model, BayesianNetwork):
        raise ParameterError(
            f"{shown_type(model)} has no mechanisms; a BayesianNetwork is needed in which "
            "every column with parents follows from them."
        )
    schema = model.schema
    asked, states = name_list(outcome), evidence_mapping(do, "do")
    check_question(schema.names, list(states), asked)
    for name in evidence_mapping(evidence):
        schema.index(name)
    codes = evidence_codes(schema, states)
    changed = {*codes, *model.dag.descendants(codes)}
    _check_mechanisms(model, changed)
    twin = twin_network(model, codes)
    columns = [
        f"{name}{TWIN * _primes(schema)}" if schema.index(name) in changed else name
        for name in asked
    ]
    both = [name for name, column in zip(asked, columns, strict=True) if name == column]
    same = [name for name in both if name in (evidence or {})]
    if same:
        raise ParameterError(
            f"{same[0]!r} is asked about, but was seen and is not changed by the intervention; "
            "drop it from one of the two."
        )
    answer = twin.query(columns, evidence)
    return Answer([schema[name] for name in asked], answer.probabilities, answer.log_evidence)


def twin_network(model: BayesianNetwork, do: Mapping[int, int]) -> BayesianNetwork:
    """Both worlds in one network: after the columns of `model`, a copy of all that `do` changes.

    Copies have a prime in their names; what `do` does not change is shared. `do` is column → code.

    >>> schema = Schema.from_cards([2, 2])
    >>> pair = BayesianNetwork(schema, Dag(2, [(0, 1)]), [[0.5, 0.5], [[1, 0], [0, 1]]])
    >>> twin_network(pair, {0: 1}).schema.names
    ('x0', 'x1', 'x0′', 'x1′')
    """
    schema, dag = model.schema, model.dag
    changed = sorted({*do, *dag.descendants(do)})
    place = {v: dag.n + k for k, v in enumerate(changed)}
    mark = TWIN * _primes(schema)
    copies = [Variable(f"{schema.names[v]}{mark}", schema[v].states) for v in changed]
    parents = [list(dag.parents(v)) for v in range(dag.n)]
    tables: list[Any] = list(model.tables)
    for v in changed:
        if v in do:
            parents.append([])
            tables.append(np.eye(schema[v].card)[do[v]])
            continue
        family = [place.get(p, p) for p in dag.parents(v)]
        order = np.argsort(family).tolist()
        parents.append(sorted(family))
        tables.append(model.tables[v].transpose([*order, len(family)]))
    return BayesianNetwork(Schema([*schema, *copies]), Dag.from_parents(parents), tables)


def _primes(schema: Schema) -> int:
    """How many primes make the names of copies new."""
    n = 1
    while any(f"{name}{TWIN * n}" in schema.names for name in schema.names):
        n += 1
    return n


def _check_mechanisms(model: BayesianNetwork, changed: Iterable[int]) -> None:
    for v in sorted(changed):
        table = model.tables[v]
        if table.ndim > 1 and not np.isin(table, (0.0, 1.0)).all():
            name = model.schema.names[v]
            raise ParameterError(
                f"{name!r} does not follow from its parents with certainty, so its mechanism is "
                "not given; add its noise as a column without parents, or ask "
                "cp.causation_bounds for what holds under every mechanism."
            )
