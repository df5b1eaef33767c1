"""How probable a network finds what rows show: a measure that all policies for gaps share."""

from __future__ import annotations

import numpy as np

from counterpane.data.table import Table
from counterpane.inference.completion import Completion
from counterpane.models.bayesian_network import BayesianNetwork
from counterpane.typing import Floats


def observed_log_prob(model: BayesianNetwork, table: Table) -> Floats:
    """ln P(the cells that a row shows | that it shows them), natural log, one number a row.

    Missing cells are summed out. Where missing is a state of a column (None), the probability is
    conditional on the shown cells not being in it: so models with and without such states are
    measured alike, in nats of the same cells. Cost: one pass over a junction tree for each row,
    and one for each pattern of shown cells where there are such states.

    >>> import counterpane as cp
    >>> table = cp.read({"a": ["x", "x", "y", None], "b": [0, 0, 1, 1]})
    >>> as_state = cp.ChowLiu(missing="state").fit(table).model_
    >>> expected = cp.ChowLiu(missing="em").fit(table).model_
    >>> [observed_log_prob(m, table).round(2).tolist() for m in (as_state, expected)]
    [[-0.53, -0.53, -1.15, -0.69], [-0.8, -0.8, -0.88, -0.69]]
    """
    cards = model.schema.cards
    stateful = np.array([v.states[-1] is None for v in model.schema])
    gaps = (table.codes == table.schema.cards[:, None]) | (
        stateful[:, None] & (table.codes == cards[:, None] - 1)
    )
    codes = np.where(gaps, cards[:, None], table.codes)
    potentials = model.to_potentials()
    scopes = [p.scope for p in potentials]
    logs = [p.log_values for p in potentials]
    shown = model.score_samples(Table(model.schema, codes))
    if not stateful.any():
        return shown
    return shown - _log_prob_shown(scopes, logs, cards, ~gaps, np.flatnonzero(stateful))


def _log_prob_shown(
    scopes: list[tuple[int, ...]], logs: list[Floats], cards: Floats, shown: Floats, columns: Floats
) -> Floats:
    """ln P(the shown cells of `columns` are not in their last state), for each row.

    Each column gets a binary child that says whether it is shown; this is then the evidence.
    """
    n = cards.size
    patterns, pattern_of = np.unique(shown[columns].T, axis=0, return_inverse=True)
    children = []
    for column in columns.tolist():
        with np.errstate(divide="ignore"):
            is_shown = np.arange(cards[column]) < cards[column] - 1
            children.append(np.log(np.stack([~is_shown, is_shown], axis=1).astype(np.float64)))
    every = [*scopes, *((int(c), n + i) for i, c in enumerate(columns))]
    sizes = np.append(cards, np.full(columns.size, 2))
    codes = np.repeat(sizes[:, None], len(patterns), axis=1)
    codes[n:] = np.where(patterns.T, 1, 2)
    rows = Completion(every, sizes, codes)
    found: Floats = rows.expected([*logs, *children], np.ones(len(patterns)))[1]
    return found[pattern_of.reshape(-1)]
