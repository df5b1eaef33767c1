"""What each interaction of a joint model adds to the log-odds of the classes of one row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from counterpane.additive.effects import (
    LEAST,
    Explanation,
    Members,
    check_one,
    explain_by_potentials,
    log_odds,
    one_row,
)
from counterpane.data.table import Table
from counterpane.models.base import class_name
from counterpane.models.evidence import evidence_rows
from counterpane.models.joint import JointModel
from counterpane.models.mixture import Mixture
from counterpane.typing import Floats


def explain_row(model: JointModel, row: Any, target: str | None = None) -> Explanation:
    """The explanation of one row; see `JointModel.explain`."""
    schema = model.schema
    index = schema.index(class_name(model, target))
    frame = one_row(row, schema.names)
    columns, codes = evidence_rows(schema, frame, [index], "unknown")
    check_one(codes.shape[1])
    cells = dict(zip(columns, codes[:, 0].tolist(), strict=True))
    known = {v: code for v, code in cells.items() if code < schema.cards[v]}
    name = schema.names[index]
    answers = model.query_many(name, frame, impossible="prior", unseen="unknown")
    with np.errstate(divide="ignore"):
        log_proba = np.log(answers.probabilities[0])
    weights, parts, fixed = [1.0], [model], False
    if isinstance(model, Mixture):
        weights, parts, fixed = model.weights.tolist(), list(model.models), model.fixed
    members = Members(weights, [list(part.to_potentials()) for part in parts], fixed)
    more = _cells_beside_unknown(model, index, known, members)
    return explain_by_potentials(members, schema, index, known, log_proba, more)


def _cells_beside_unknown(
    model: JointModel, target: int, known: Mapping[int, int], members: Members
) -> dict[int, Floats]:
    """What cells add to the log-odds of the target that share a potential with unknown columns.

    One after the other, in the order of the schema, after all other cells.
    """
    schema = model.schema
    unknown = set(range(len(schema))) - known.keys() - {target}
    scopes = [set(p.scope) for potentials in members.potentials for p in potentials]
    beside = sorted(set().union(*(s for s in scopes if s & unknown)) & known.keys())
    if not beside:
        return {}
    others = [v for v in range(len(schema)) if v != target]
    codes = np.repeat(schema.cards[others][:, None], len(beside) + 1, axis=1)
    for place, v in enumerate(others):
        if v in known:  # a column more of them is known in each row
            first = beside.index(v) + 1 if v in beside else 0
            codes[place, first:] = known[v]
    table = Table(schema.select(others), codes.astype(np.uint16))
    answers = model.query_many(schema.names[target], table, impossible="prior")
    with np.errstate(divide="ignore"):
        odds = log_odds(np.maximum(np.log(answers.probabilities), LEAST))
    return dict(zip(beside, np.diff(odds, axis=0), strict=True))
