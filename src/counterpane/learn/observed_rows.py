"""How probable a network finds what rows show: a measure that all policies for gaps share."""

from __future__ import annotations

import numpy as np

from counterpane.data.table import Table
from counterpane.inference.completion import Completion
from counterpane.models.bayesian_network import BayesianNetwork
from counterpane.typing import Bools, Floats, Ints


def observed_log_prob(model: BayesianNetwork, table: Table, *, gaps_known: bool = False) -> Floats:
    """ln P(the cells that a row shows | that it shows them), natural log, one number a row.

    Missing cells are summed out. Where missing is a state of a column (None), the probability is
    conditional on the shown cells not being in it: so models with and without such states are
    measured alike, in nats of the same cells. With `gaps_known` it is conditional also on the other
    cells of such columns being missing, which may tell something of those shown. Cost: one pass
    over a junction tree for each row, and one for each pattern of gaps where there are such states.

    >>> import counterpane as cp
    >>> table = cp.read({"a": ["x", "x", "y", None], "b": [0, 0, 1, 1]})
    >>> as_state = cp.ChowLiu(missing="state").fit(table).model_
    >>> expected = cp.ChowLiu(missing="em").fit(table).model_
    >>> [observed_log_prob(m, table).round(2).tolist() for m in (as_state, expected)]
    [[-0.53, -0.53, -1.15, -0.69], [-0.8, -0.8, -0.88, -0.69]]
    >>> observed_log_prob(as_state, table, gaps_known=True).round(2).tolist()
    [-0.53, -0.53, -1.15, -0.13]
    """
    cards = model.schema.cards
    stateful = np.array([v.states[-1] is None for v in model.schema])
    gaps = (table.codes == table.schema.cards[:, None]) | (
        stateful[:, None] & (table.codes == cards[:, None] - 1)
    )
    gap_code = cards - (stateful if gaps_known else 0)
    codes = np.where(gaps, gap_code[:, None], table.codes)
    shown = model.score_samples(Table(model.schema, codes))
    if not stateful.any():
        return shown
    columns = np.flatnonzero(stateful)
    return shown - _log_prob_pattern(model, columns, ~gaps[columns], gaps_known=gaps_known)


def _log_prob_pattern(
    model: BayesianNetwork, columns: Ints, shown: Bools, *, gaps_known: bool
) -> Floats:
    """ln P(the shown cells of `columns` are not in their last state), for each row.

    With `gaps_known`, and the others are. Each column gets a binary child that says whether it is
    shown; this is then the evidence.
    """
    potentials, cards = model.to_potentials(), model.schema.cards
    patterns, pattern_of = np.unique(shown.T, axis=0, return_inverse=True)
    scopes = [p.scope for p in potentials]
    logs = [p.log_values for p in potentials]
    for i, column in enumerate(columns.tolist()):
        is_shown = np.arange(cards[column]) < cards[column] - 1
        with np.errstate(divide="ignore"):
            logs.append(np.log(np.stack([~is_shown, is_shown], axis=1).astype(np.float64)))
        scopes.append((column, cards.size + i))
    sizes = np.append(cards, np.full(columns.size, 2))
    codes = np.repeat(sizes[:, None], len(patterns), axis=1)
    codes[cards.size :] = np.where(patterns.T, 1, 0 if gaps_known else 2)
    rows = Completion(scopes, sizes, codes)
    found: Floats = rows.expected(logs, np.ones(len(patterns)))[1]
    return found[pattern_of.reshape(-1)]
