"""The missing cells of coded rows under a model: P(state | observed cells), and draws of rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from counterpane.errors import TableSizeError
from counterpane.features import Potential
from counterpane.inference.completion import Completion
from counterpane.inference.gibbs import Gibbs
from counterpane.models.certainty import warn
from counterpane.models.dependency_network import DependencyNetwork
from counterpane.models.markov_network import MarkovNetwork
from counterpane.models.mixture import Mixture
from counterpane.models.query import JointModel
from counterpane.typing import Bools, Codes, Floats, Ints


def without_missing_states(model: JointModel, variables: Ints) -> JointModel:
    """The model given that none of the variables is in the state None, the missing cell.

    A gap that is filled has a value; where missing is a state of its own, that is no value.
    """
    masks = {}
    for v in variables.tolist():
        absent = model.schema[v].find(None)
        if absent is not None:
            logs = np.zeros(model.schema[v].card)
            logs[absent] = -np.inf
            masks[v] = Potential((v,), logs)
    return _weighed(model, masks) if masks else model


def _weighed(model: JointModel, factors: Mapping[int, Potential]) -> JointModel:
    """The model times factors of single variables."""
    if isinstance(model, Mixture):
        members = [_weighed(member, factors) for member in model.models]
        logs = np.zeros(len(members))
        if not model.fixed:  # a member counts by how much of it the factors leave
            pairs = zip(members, model.models, strict=True)
            logs = np.array([new.log_partition - old.log_partition for new, old in pairs])
        return Mixture(members, model.weights * np.exp(logs - logs.max()), fixed=model.fixed)
    if isinstance(model, DependencyNetwork):
        parts = enumerate(model.conditionals)
        return DependencyNetwork(
            model.schema, [(*p, factors[v]) if v in factors else p for v, p in parts]
        )
    rules = model.rules if isinstance(model, MarkovNetwork) else ()
    known = model.potentials if isinstance(model, MarkovNetwork) else model.to_potentials()
    return MarkovNetwork(model.schema, [*known, *rules, *factors.values()])


def missing_marginals(model: JointModel, codes: Codes, gaps: Bools) -> dict[int, Floats]:
    """Variable → P(state | observed cells of the row), (gaps of the variable, states).

    A code at the card is not observed, be it one of the `gaps` or not. A row that is impossible
    under the model tells nothing. What is too large for an exact answer, or a dependency network
    has no exact answer for, is estimated by Gibbs sampling.
    """
    asked = np.flatnonzero(gaps.any(axis=1)).tolist()
    reason = None
    if not isinstance(model, DependencyNetwork):
        try:
            return {v: marginal_rows(model, v, codes[:, gaps[v]]) for v in asked}
        except TableSizeError as error:
            if isinstance(model, Mixture):
                raise
            reason = error
    return _estimated(model, codes, gaps, asked, reason)


def marginal_rows(model: JointModel, v: int, codes: Codes) -> Floats:
    """P(v | the other cells of the row), exactly; v's own cells are not read."""
    others = [u for u in range(len(codes)) if u != v]
    found, log_weights = model._ask_rows([v], others, codes[others])
    impossible = log_weights == -np.inf
    if impossible.any():
        found[impossible] = model._ask([v], {}, {})[0].reshape(-1)
    return found


def _estimated(
    model: JointModel, codes: Codes, gaps: Bools, asked: list[int], reason: TableSizeError | None
) -> dict[int, Floats]:
    """By the conditional of a variable where all that it reads is observed, else by chains."""
    cards = model.schema.cards
    ends = np.cumsum(cards)
    hidden = codes == cards[:, None]
    open_cells = {v: gaps[v] & hidden[list(model.blanket.neighbors(v))].any(axis=0) for v in asked}
    rows = np.flatnonzero(np.any(list(open_cells.values()), axis=0))
    chains: Any = None
    if rows.size:
        if reason is not None:
            words = str(reason).split(";")[0]
            warn(f"{words}; probabilities are estimated by Gibbs sampling.", 7)
        every = range(len(cards))
        chains, _ = model._approximator.sampler.rows(every, codes[:, rows], settings=Gibbs())
    tables = {}
    for v in asked:
        at = np.flatnonzero(gaps[v])
        known = np.minimum(codes[:, at], cards[:, None] - 1).astype(np.uint16)
        table = np.exp(model.blanket.full_conditionals(known, [v]))
        free = open_cells[v][at]
        if free.any():
            place = np.searchsorted(rows, at[free])
            table[free] = chains[place, ends[v] - cards[v] : ends[v]]
        tables[v] = table
    return tables


def completed_rows(model: JointModel, codes: Codes, seed: int) -> Codes:
    """The rows with a draw from P(missing cells | observed cells) in each; others stay.

    Each row has a stream of random numbers of its own.
    """
    if isinstance(model, Mixture):
        return _in_turn(model, codes, seed)
    try:
        if not isinstance(model, DependencyNetwork):
            return _by_tree(model, codes, seed)
    except TableSizeError:
        pass  # `missing_marginals` has told it
    return model._approximator.sampler.complete(codes, settings=Gibbs(random_state=seed))


def _by_tree(model: JointModel, codes: Codes, seed: int) -> Codes:
    """By exact draws in a junction tree; the cells of an impossible row are those of any row."""
    potentials, cards = model.to_potentials(), model.schema.cards
    task = Completion([p.scope for p in potentials], cards, codes, model.schema.names)
    drawn, log_weights = task.draws([p.log_values for p in potentials], 1, seed)
    impossible = np.flatnonzero(log_weights == -np.inf)
    if impossible.size:
        prior = model._draw(impossible.size, {}, {}, np.random.default_rng(seed))
        if prior is not None:
            drawn[:, impossible] = prior
    return np.where(codes == cards[:, None], drawn, codes)


def _in_turn(model: JointModel, codes: Codes, seed: int) -> Codes:
    """One variable after the other, each given what was drawn before it."""
    codes, cards = codes.copy(), model.schema.cards
    levels = np.random.default_rng(seed).random(codes.shape)
    for v in np.flatnonzero((codes == cards[:, None]).any(axis=1)).tolist():
        rows = np.flatnonzero(codes[v] == cards[v])
        heights = marginal_rows(model, v, codes[:, rows]).cumsum(axis=1)
        heights[:, -1] = np.inf
        codes[v, rows] = (heights <= levels[v, rows, None]).sum(axis=1)
    return codes
