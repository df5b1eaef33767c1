"""Rows with missing cells as weighted rows without: what every learner can count."""

from __future__ import annotations

import numpy as np

from counterpane.data.table import Table
from counterpane.inference.completion import Completion
from counterpane.models.bayesian_network import BayesianNetwork
from counterpane.progress import Control
from counterpane.typing import Array, Codes, Floats, Ints

MAX_COPIES = 32  # of a row: what it stands for is then known well enough


def completed_rows(
    table: Table,
    model: BayesianNetwork,
    *,
    most: int,
    seed: int,
    n_jobs: int = 1,
    ctl: Control | None = None,
) -> Table:
    """A weighted table without missing cells whose counts are those expected under `model`.

    A row that can be completed in up to `most` ways becomes all of them, each with its probability
    given what the row shows: its part of every count is exact. Other rows become `most` draws from
    that distribution, evenly spread, which are right on average. For a row of weight w it is w
    times as many, as for w equal rows, up to `MAX_COPIES`. Equal rows are joined.

    >>> import counterpane as cp
    >>> pair = cp.Schema.from_cards([2, 2])
    >>> tables = [[0.8, 0.2], [[0.9, 0.1], [0.4, 0.6]]]
    >>> model = cp.BayesianNetwork(pair, cp.Dag(2, [(0, 1)]), tables)
    >>> rows = completed_rows(cp.Table(pair, [[2, 0], [1, 0]]), model, most=8, seed=0)
    >>> rows.codes.tolist(), rows.weights.round(3).tolist()
    ([[0, 0, 1], [0, 1, 1]], [1.0, 0.4, 0.6])
    """
    cards = table.schema.cards
    rows = table.distinct()
    assert rows.weights is not None
    weights = rows.weights.astype(np.float64)
    missing = rows.codes == cards[:, None]
    copies = np.clip(np.ceil(weights), 1, MAX_COPIES).astype(np.int64)
    few = missing.T @ np.log2(cards) <= np.log2(most * copies) + 1e-9
    codes: list[Array] = []
    shares: list[Floats] = []
    if few.any():
        every, of_row, share = _every_completion(rows.codes[:, few], model)
        codes.append(every)
        shares.append(share * weights[few][of_row])
    if not few.all():
        scopes = [p.scope for p in model.to_potentials()]
        again = np.repeat(np.flatnonzero(~few), copies[~few])
        gaps = Completion(scopes, cards, rows.codes[:, again], table.schema.names, n_jobs=n_jobs)
        logs = [p.log_values for p in model.to_potentials()]
        codes.append(gaps.draws(logs, most, seed, ctl=ctl)[0])
        shares.append(np.repeat((weights / copies)[again] / most, most))
    return Table(table.schema, np.concatenate(codes, axis=1), np.concatenate(shares)).distinct()


def _every_completion(codes: Codes, model: BayesianNetwork) -> tuple[Array, Ints, Floats]:
    """(all ways to complete each row, which row each is of, its probability given the row)."""
    cards = model.schema.cards
    ways: Ints = np.where(codes == cards[:, None], cards[:, None], 1).prod(axis=0)
    starts = np.cumsum(ways) - ways
    of_row: Ints = np.repeat(np.arange(ways.size), ways)
    number = np.arange(of_row.size) - starts[of_row]
    every = codes[:, of_row].copy()
    for column, card in zip(every, cards, strict=True):
        gap = column == card
        column[gap] = number[gap] % card
        number[gap] //= card
    logs = model.score_samples(Table(model.schema, every))
    shares = np.exp(logs - np.maximum.reduceat(logs, starts)[of_row])
    return every, of_row, shares / np.add.reduceat(shares, starts)[of_row]
