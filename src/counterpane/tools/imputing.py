"""Frames with their gaps filled by a model: the most probable values, or draws."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from counterpane.data.columns import Column, columns_of
from counterpane.data.encoding import encode_column
from counterpane.data.fill import Patch, cell_values, filled, gaps_in
from counterpane.data.schema import Schema
from counterpane.data.table import Table
from counterpane.errors import DataError, ParameterError, Setting, TableSizeError
from counterpane.features import Potential
from counterpane.inference.certainty import warn_inexact
from counterpane.inference.completion import Completion
from counterpane.inference.gibbs import Gibbs
from counterpane.inference.question import NO_EVIDENCE
from counterpane.models.dependency_network import DependencyNetwork
from counterpane.models.joint import JointModel
from counterpane.models.markov_network import MarkovNetwork
from counterpane.models.mixture import Mixture
from counterpane.seeds import random_generator
from counterpane.typing import Array, Bools, Codes, Floats, Ints, State

MAX_DRAWS = 1000


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
            logs = np.array([a.engine.log_partition - b.engine.log_partition for a, b in pairs])
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
    shares, log_weights = model.engine.ask_rows([v], others, codes[others])
    impossible = log_weights == -np.inf
    if impossible.any():
        shares[impossible] = model.engine.ask([v], NO_EVIDENCE)[0].reshape(-1)
    return shares


def _estimated(
    model: JointModel, codes: Codes, gaps: Bools, asked: list[int], reason: TableSizeError | None
) -> dict[int, Floats]:
    """By the conditional of a variable where all that it reads is observed, else by chains."""
    cards = model.schema.cards
    ends = np.cumsum(cards)
    hidden = codes == cards[:, None]
    around = {v: list(model.engine.blanket.neighbors(v)) for v in asked}
    open_cells = {v: gaps[v] & hidden[around[v]].any(axis=0) for v in asked}
    rows = np.flatnonzero(np.any(list(open_cells.values()), axis=0))
    chains: Any = None
    if rows.size:
        if reason is not None:
            words = "probabilities are estimated by Gibbs sampling"
            warn_inexact(f"{reason.reason}; {words}.")
        every = range(len(cards))
        chains, _ = model.engine.estimator.sampler.rows(every, codes[:, rows], settings=Gibbs())
    tables = {}
    for v in asked:
        at = np.flatnonzero(gaps[v])
        known = np.minimum(codes[:, at], cards[:, None] - 1).astype(np.uint16)
        table = np.exp(model.engine.blanket.full_conditionals(known, [v]))
        free = open_cells[v][at]
        if free.any():
            place = np.searchsorted(rows, at[free])
            table[free] = chains[place, ends[v] - cards[v] : ends[v]]
        tables[v] = table
    return tables


def draw_missing_cells(model: JointModel, codes: Codes, seed: int) -> Codes:
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
    return model.engine.estimator.sampler.complete(codes, settings=Gibbs(random_state=seed))


def _by_tree(model: JointModel, codes: Codes, seed: int) -> Codes:
    """By exact draws in a junction tree; the cells of an impossible row are those of any row."""
    potentials, cards = model.to_potentials(), model.schema.cards
    task = Completion([p.scope for p in potentials], cards, codes, model.schema.names)
    drawn, log_weights = task.draws([p.log_values for p in potentials], 1, seed)
    impossible = np.flatnonzero(log_weights == -np.inf)
    if impossible.size:
        prior = model.engine.draw(impossible.size, NO_EVIDENCE, np.random.default_rng(seed))
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


class ImputedCell(NamedTuple):
    """A cell that was filled: its value, and P(value | the observed cells of the row).

    For a column that was cut, the probability is that of the interval.
    """

    row: int
    column: str
    value: State
    probability: float


class Gaps(NamedTuple):
    """A frame in a model's terms: columns by variable, codes (variables, rows), cells to fill.

    A code at the card is not observed: a gap, a state that the model does not know, or a column
    that the frame does not have. Only the first is filled.
    """

    columns: dict[int, Column]
    codes: Codes
    gaps: Bools


class Fill(NamedTuple):
    """Row, variable, code and probability of each cell to fill, variable by variable."""

    rows: Ints
    variables: Ints
    codes: Ints
    probabilities: Floats


class Completed(NamedTuple):
    """A frame without gaps in the model's columns, and the cells that were filled, row by row."""

    frame: Any
    cells: list[ImputedCell]


def impute_frame(
    model: JointModel,
    frame: Any,
    draws: int | None,
    random_state: Any,
    *,
    cells: bool = True,
    read: list[Column] | None = None,
    fixed: Mapping[str, Bools] | None = None,
) -> list[Completed]:
    """The frame with the most probable value in each gap, or as many frames as `draws`.

    Without `cells` the filled cells are not listed. `read` are the columns of the frame as the
    model reads them, by default those of the frame; `fixed` marks cells that stay as they are,
    though the model cannot read them.
    """
    if draws is not None and (
        not isinstance(draws, int | np.integer) or not 1 <= draws <= MAX_DRAWS
    ):
        raise ParameterError(
            Setting("draws", draws), f"; a whole number from 1 to {MAX_DRAWS} is allowed."
        )
    gaps = gaps_of(model.schema, frame if read is None else read)
    for name, rows in (fixed or {}).items():
        gaps.gaps[model.schema.index(name), rows] = False
    for v, variable in enumerate(model.schema):
        if variable.written is not None and variable.written.empty_is_value:
            gaps.gaps[v] = False
    rng = random_generator(random_state)
    drawing = rng if draws is not None else None
    return [
        _completed(model.schema, frame, gaps, fill, drawing, cells)
        for fill in fills_of(model, gaps, draws, rng, cells)
    ]


def gaps_of(schema: Schema, frame: Any, *, keep_states: bool = False) -> Gaps:
    """The gaps of a frame in the columns of the model.

    With `keep_states` a gap is observed where missing is a state of the column.
    """
    table = isinstance(frame, Table)
    listed = frame.labels() if table else columns_of(frame, schema.names, unusable={})
    position = {name: v for v, name in enumerate(schema.names)}
    columns = {position[c.name]: c for c in listed if c.name in position}
    if not columns:
        shown = ", ".join(repr(c.name) for c in listed[:6])
        raise DataError(
            f"no column of the frame ({shown}) is a column of the model; name the columns as in "
            "the model's schema."
        )
    n_rows = gaps_in(next(iter(columns.values()))).size
    if not n_rows:
        raise DataError("the table has no rows; at least one is needed.")
    gaps: Bools = np.zeros((len(schema), n_rows), dtype=bool)
    codes: Codes = np.repeat(schema.cards[:, None], n_rows, axis=1).astype(np.uint16)
    for v, column in columns.items():
        gaps[v] = gaps_in(column)
        codes[v] = encode_column(column, schema[v], "unknown")
        if not keep_states:
            codes[v, gaps[v]] = schema[v].card
    return Gaps(columns, codes, gaps)


def fills_of(
    model: JointModel, gaps: Gaps, draws: int | None, rng: np.random.Generator, shares: bool = True
) -> list[Fill]:
    """States for the gaps: the most probable one of each cell, or draws of whole rows.

    Draws without `shares` have no probabilities, which take longer than they do.
    """
    variables, rows = np.nonzero(gaps.gaps)
    if not rows.size:
        return [Fill(rows, variables, rows, np.empty(0))] * (draws or 1)
    conditioned = without_missing_states(model, np.unique(variables))
    tables: list[Floats] = []
    if draws is None or shares:
        tables = list(missing_marginals(conditioned, gaps.codes, gaps.gaps).values())
    if draws is None:
        chosen = [np.concatenate([table.argmax(axis=1) for table in tables])]
    else:
        open_rows = np.unique(rows)
        place = np.searchsorted(open_rows, rows)
        seeds = rng.integers(2**63, size=draws).tolist()
        drawn = (draw_missing_cells(conditioned, gaps.codes[:, open_rows], seed) for seed in seeds)
        chosen = [codes[variables, place].astype(np.int64) for codes in drawn]
    ends = np.cumsum([len(table) for table in tables])[:-1]
    fills = []
    for codes in chosen:
        parts = zip(tables, np.split(codes, ends), strict=True) if tables else ()
        each = [table[np.arange(len(c)), c] for table, c in parts]
        fills.append(Fill(rows, variables, codes, np.concatenate([np.empty(0), *each])))
    return fills


def _completed(
    schema: Schema,
    frame: Any,
    gaps: Gaps,
    fill: Fill,
    rng: np.random.Generator | None,
    cells: bool,
) -> Completed:
    patches: dict[str, Patch] = {}
    for v in np.unique(fill.variables).tolist():
        where = np.flatnonzero(fill.variables == v)
        variable, column = schema[v], gaps.columns[v]
        values = cell_values(variable, fill.codes[where], column, rng)
        dated = bool(variable.dated and values.dtype != object)
        patches[variable.name] = Patch(fill.rows[where], values, dated)
    done = filled(frame, patches, schema.names)
    return Completed(done, _cells(schema, fill, patches) if cells else [])


def _cells(schema: Schema, fill: Fill, patches: Mapping[str, Patch]) -> list[ImputedCell]:
    """The filled cells, row by row."""
    values: Array = np.empty(len(fill.rows), dtype=object)
    for name, patch in patches.items():
        values[fill.variables == schema.index(name)] = patch.plain().tolist()
    order = np.lexsort((fill.variables, fill.rows))
    names = np.array(schema.names, dtype=object)[fill.variables[order]]
    rows, shares = fill.rows[order].tolist(), fill.probabilities[order].tolist()
    return list(map(ImputedCell, rows, names, values[order], shares))
