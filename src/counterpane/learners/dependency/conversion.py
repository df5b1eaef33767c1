"""From a dependency network to a Markov network in closed form, without optimization.

For an order o of the variables and a base row x⁰, P(x)/P(x⁰) is a product over variables of
P(x_i | those before i as in x, those after as in x⁰) / P(x⁰_i | the same): each term of ln P_i
gives one feature whose conditions on later variables are evaluated at x⁰, and one, subtracted,
whose condition on x_i is evaluated at x⁰ too (Lowd, "Closed-form learning of Markov networks from
dependency networks", 2012). Averages over orders and base rows give each sub-feature a share of the
weight.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from counterpane._core import dependency as kernels
from counterpane._core.features import Parts
from counterpane.checks import BOOLEAN, INTEGER, NONE, accepts
from counterpane.counts.memory import MemoryCounts
from counterpane.counts.source import CountSource
from counterpane.counts.view import with_missing_policy
from counterpane.data.schema import Schema
from counterpane.data.table import Table
from counterpane.errors import (
    DataError,
    ParameterError,
    ScopeError,
    Setting,
    TableSizeError,
    shown_type,
    unknown_name,
)
from counterpane.features import Rules
from counterpane.features.conditions import Conditions
from counterpane.features.tree import paths
from counterpane.models.dependency_network import DependencyNetwork
from counterpane.models.markov_network import MarkovNetwork
from counterpane.models.record import Conversion
from counterpane.ragged import entries, flatten, offsets_of
from counterpane.typing import Array, Floats, Ints

MODES = {"all": kernels.ALL, "linear": kernels.LINEAR, "single": kernels.SINGLE}
MAX_SUBSETS = 20  # the most variables of one feature of which all subsets may be made
DEFAULT_SUBSETS = 8
MAX_CONDITIONS = 2**27  # of all terms, or of all features: 1 GiB

Orders = Literal["all", "linear", "single"] | Sequence[Any]
Base = Literal["marginals", "uniform"] | Mapping[str, Any] | Sequence[Any] | Any


@accepts(reverse=BOOLEAN, max_length=INTEGER | NONE)
def to_markov_network(
    network: DependencyNetwork,
    *,
    orders: Orders = "all",
    base: Base | None = None,
    data: Any = None,
    reverse: bool = True,
    max_length: int | None = None,
) -> MarkovNetwork:
    """The Markov network of a dependency network; exact if the conditionals are consistent.

    A feature of k variables has 2^(k−1) sub-features over all orders, k over rotations, one in an
    order. Equal features are merged. Cost: the number of sub-features.

    Parameters
    ----------
    network : DependencyNetwork
        The conditionals to convert.
    orders : {"all", "linear", "single"} or sequence
        The mean over all orders of the variables; over the n rotations of the schema's order; that
        order alone; or one or several orders, as names or positions.
    base : {"marginals", "uniform"}, dict, sequence, table, frame or count source, optional
        The row that gives the values of later variables: {name: state} or states in order; or the
        mean over rows drawn from the marginals of `data`, (count + 1/r) / (N + 1) for r states and
        N rows, or from uniform ones; or the mean over the rows of a table, by their weights. By
        default the marginals if there is `data`, else uniform.
    data : table, frame or count source, optional
        Rows for the marginals.
    reverse : bool
        With "linear", also the rotations of the reversed order.
    max_length : int, optional
        A feature of more variables uses rotations instead of all orders (by default from 9 on), and
        the order alone instead of its rotations (by default never).

    Returns
    -------
    MarkovNetwork
        A network of rules over the same schema.

    Examples
    --------
    >>> import counterpane as cp
    >>> from counterpane.features import Potential
    >>> schema, pair = cp.Schema.from_cards([2, 2]), Potential((0, 1), np.log([[4, 1], [1, 4]]))
    >>> model = to_markov_network(cp.DependencyNetwork(schema, [[pair], [pair]]))
    >>> model.query(["x0", "x1"]).probabilities.round(4).tolist()
    [[0.4, 0.1], [0.1, 0.4]]
    """
    if not isinstance(network, DependencyNetwork):
        raise ParameterError(
            f"{shown_type(network)} cannot be converted; pass a DependencyNetwork."
        )
    schema = network.schema
    mode, positions = _orders(schema, orders, reverse=reverse)
    longest = _longest(mode, max_length)
    rows = base_rows(schema, base if _is_table(base) else None)
    space = state_space(schema.cards, _base(schema, None if _is_table(base) else base, data))
    terms = read_terms(network.engine.blanket.parts, space)
    modes = np.where(np.diff(terms.groups) >= longest, min(mode + 1, kernels.SINGLE), mode)
    rules = merge_features(terms, modes, positions, rows, space, schema.names)
    settings = Conversion(orders if isinstance(orders, str) else "given", max_length)
    record = network.record.with_parts(conversion=settings)
    return MarkovNetwork(schema, [rules], record=record)


def _orders(schema: Schema, orders: Orders, *, reverse: bool) -> tuple[int, Ints]:
    """(how sub-features are formed, the place of each variable in each order)."""
    n = len(schema)
    if isinstance(orders, str):
        if orders not in MODES:
            raise unknown_name("orders", orders, MODES)
        natural = np.arange(n)
        both = [natural, natural[::-1]] if reverse and orders != "single" else [natural]
        return MODES[orders], np.array(both)
    single = len(orders) > 0 and isinstance(orders[0], str | int | np.integer)
    positions = []
    for order in [orders] if single else orders:
        places = [schema.index(v) if isinstance(v, str) else int(v) for v in order]
        if sorted(places) != list(range(n)):
            raise ParameterError(
                f"the order {list(order)[:8]} must name each of the {n} variables once."
            )
        positions.append(np.argsort(places))
    if not positions:
        raise ParameterError("no order was given; pass one, or 'all', 'linear' or 'single'.")
    return kernels.SINGLE, np.array(positions)


def _longest(mode: int, max_length: int | None) -> int:
    """The largest number of variables, target included, of a feature that is spread by `mode`."""
    allowed = MAX_SUBSETS if mode == kernels.ALL else MAX_CONDITIONS
    if max_length is None:
        return DEFAULT_SUBSETS if mode == kernels.ALL else allowed
    if not 1 <= max_length <= allowed:
        raise ParameterError(Setting("max_length", max_length), f" must be from 1 to {allowed:,}.")
    return int(max_length)


def _base(schema: Schema, base: Base | None, data: Any) -> list[Floats]:
    """For each variable the probabilities of its states at the base."""
    if base is None:
        base = "uniform" if data is None else "marginals"
    if isinstance(base, str):
        if base not in ("marginals", "uniform"):
            raise unknown_name("base", base, ("marginals", "uniform"))
        if base == "marginals":
            return _marginals(schema, data)
        return [np.full(v.card, 1.0 / v.card) for v in schema]
    if isinstance(base, Mapping):
        missing = [name for name in schema.names if name not in base]
        if missing:
            raise ParameterError(f"the base row does not tell {missing[0]!r}; all are needed.")
        base = [base[name] for name in schema.names]
    if len(base) != len(schema):
        raise ParameterError(f"the base row has {len(base)} states for {len(schema)} variables.")
    return [
        (np.arange(v.card) == v.code(state)).astype(np.float64)
        for v, state in zip(schema, base, strict=True)
    ]


def _is_table(base: Any) -> bool:
    """Whether a base is a table of rows, not a row or a word."""
    one_row = isinstance(base, str | Mapping | Sequence) or getattr(base, "ndim", 2) == 1
    return base is not None and (isinstance(base, Table | CountSource) or not one_row)


def base_rows(schema: Schema, base: Any | None) -> kernels.BaseRows:
    """The distinct rows of a table with their shares; none if the base is None."""
    n_places = int(schema.cards.sum())
    if base is None:
        return kernels.BaseRows(np.zeros((len(schema), 0), dtype=np.int32), np.zeros(0), n_places)
    source = _encoded(schema, base)
    table = (source.rows() if source.table is None else source.table).distinct()
    if table.has_missing.any():
        raise DataError("the base rows have missing cells; leave such rows out.")
    assert table.weights is not None
    if table.n_rows == 0:
        raise DataError("the base has no rows; pass one or more, or base='uniform'.")
    firsts = offsets_of(schema.cards)[:-1]
    places = np.ascontiguousarray(table.codes + firsts[:, None], dtype=np.int32)
    return kernels.BaseRows(places, table.weights / table.weights.sum(), n_places)


def _marginals(schema: Schema, data: Any) -> list[Floats]:
    """(count + 1/r) / (N + 1) for each state, N the rows in which the variable is observed."""
    if data is None:
        raise ParameterError("base='marginals' needs data=…, a table or source of counts.")
    source = _encoded(schema, data)
    counts = source.counts([(v,) for v in range(len(schema))])
    return [(c + 1.0 / c.size) / (c.sum() + 1.0) for c in counts]


def _encoded(schema: Schema, data: Any) -> CountSource:
    """The rows of a table, frame or source, coded by the schema."""
    if isinstance(data, CountSource):
        source = data
    else:
        same = isinstance(data, Table) and data.schema == schema
        source = MemoryCounts(data if same else Table.from_frame(data, schema=schema))
    if source.schema != schema:  # that of a network in which missing cells are states, perhaps
        source = with_missing_policy(source, "state")
    if source.schema != schema:
        raise ScopeError(f"the data is over {source.schema!r}, the network over {schema!r}.")
    return source


def state_space(cards: Ints, base: list[Floats]) -> kernels.StateSpace:
    """The variables with the probabilities of their states at the base."""
    owners = np.repeat(np.arange(cards.size), cards)
    return kernels.StateSpace(cards, offsets_of(cards)[:-1], owners, flatten(base, np.float64))


def read_terms(parts: Parts, space: kernels.StateSpace) -> kernels.Terms:
    """The terms of all conditionals of a compiled dependency network."""
    raw = _raw_terms(parts, space)
    n_terms, n_codes = raw.targets.size, raw.codes.size
    counts: Ints = np.empty(n_terms, dtype=np.int64)
    kernels.count_states(raw, space, counts)
    offsets = offsets_of(counts)
    terms = kernels.Terms(
        targets=np.empty(n_terms, dtype=np.int64),
        groups=np.empty(n_terms + 1, dtype=np.int64),
        variables=np.empty(n_codes, dtype=np.int64),
        shares=np.empty(n_codes),
        code_offsets=np.empty(n_codes + 1, dtype=np.int64),
        codes=np.empty(n_codes, dtype=np.int64),
        state_offsets=offsets,
        states=np.empty(offsets[-1], dtype=np.int64),
        weights=np.empty(offsets[-1]),
        back=np.empty(n_terms),
    )
    kernels.group_terms(raw, space, terms)
    return terms


def merge_features(
    terms: kernels.Terms,
    modes: Ints,
    positions: Ints,
    rows: kernels.BaseRows,
    space: kernels.StateSpace,
    names: Sequence[str],
) -> Rules:
    """The features of all terms, with their weights summed; see `kernels.spread_terms`."""
    store = _store(2**12, 2**14)
    start = 0
    while True:
        start = kernels.spread_terms(terms, modes, positions, rows, store, start)
        if store.sizes[2]:
            raise ParameterError(
                f"the conditional of {names[store.sizes[2] - 1]!r} gives a state of the base the "
                "probability zero; smooth it, or pass a base row that is possible whatever the "
                "other variables are."
            )
        if start == terms.targets.size:
            return _rules(store, space)
        store = _larger(store, *kernels.room_for_term(terms, modes, positions, start))


def _raw_terms(parts: Parts, space: kernels.StateSpace) -> kernels.RawTerms:
    """The terms of leaves of trees, of rules, and of cells of potentials."""
    kinds = [_leaf_terms(parts), _rule_terms(parts), *_potential_terms(parts)]
    numbers = np.concatenate([parts.leaf_values, parts.rule_weights, parts.values])
    targets, starts, steps, sizes, variables, values, negated = (
        np.concatenate(arrays) for arrays in zip(*kinds, strict=True)
    )
    conditions = Conditions(offsets_of(sizes), variables, values, negated).simplified(space.cards)
    codes = 2 * (space.firsts[conditions.variables] + conditions.values) + conditions.negated
    return kernels.RawTerms(targets, starts, steps, conditions.offsets, codes, numbers)


def _leaf_terms(parts: Parts) -> list[Array]:
    """(targets, starts, steps, sizes, variables, values, negated) of leaves that are reached."""
    leaves, conditions = paths(parts.cards, parts.nodes, parts.tree_roots[:-1])
    targets = np.repeat(np.arange(parts.cards.size), np.diff(parts.tree_offsets))
    trees = np.searchsorted(parts.tree_roots, leaves, side="right") - 1
    starts = parts.nodes[leaves, 2]
    sizes = np.diff(conditions.offsets)
    return [targets[trees], starts, np.ones_like(starts), sizes, *conditions[1:]]


def _rule_terms(parts: Parts) -> list[Array]:
    targets = np.repeat(np.arange(parts.cards.size), np.diff(parts.touching_offsets))
    rules = parts.touching
    sizes = np.diff(parts.rule_offsets)[rules]
    flat = entries(parts.rule_offsets, rules)
    starts = parts.leaf_values.size + rules
    conditions = (parts.rule_variables, parts.rule_values, parts.rule_negated)
    return [targets, starts, np.zeros_like(starts), sizes, *(array[flat] for array in conditions)]


def _potential_terms(parts: Parts) -> list[list[Array]]:
    """For each potential a term for each joint state of the variables other than the target."""
    terms = []
    total = 0
    before = parts.leaf_values.size + parts.rule_weights.size
    for v in range(parts.cards.size):
        for t in parts.potentials[parts.potential_offsets[v] : parts.potential_offsets[v + 1]]:
            axes = slice(parts.scope_offsets[t], parts.scope_offsets[t + 1])
            scope, strides = parts.scopes[axes], parts.strides[axes]
            others, step = scope[scope != v], strides[scope == v]
            cells = int(parts.cards[others].prod())
            total += cells * others.size
            if total > MAX_CONDITIONS:
                raise TableSizeError(
                    f"the potentials written out have more than {MAX_CONDITIONS:,} conditions; "
                    "learn trees or smaller tables."
                )
            states = np.indices(parts.cards[others]).reshape(others.size, cells)
            starts = before + parts.value_offsets[t] + strides[scope != v] @ states
            sizes = np.full(cells, others.size)
            terms.append([
                np.full(cells, v), starts, np.full(cells, step[0]), sizes,
                np.tile(others, cells), states.T.reshape(-1), np.zeros(states.size, dtype=bool),
            ])  # fmt: skip
    return terms


def _store(features: int, codes: int) -> kernels.FeatureStore:
    """An empty store with room for this number of features and codes."""
    n_slots = 1 << (2 * features - 1).bit_length()  # at most half full
    return kernels.FeatureStore(
        sizes=np.zeros(3, dtype=np.int64),
        slots=np.full(n_slots, -1, dtype=np.int64),
        hashes=np.empty(features, dtype=np.uint64),
        offsets=np.zeros(features + 1, dtype=np.int64),
        codes=np.empty(codes, dtype=np.int64),
        weights=np.empty(features),
    )


def _larger(store: kernels.FeatureStore, features: int, codes: int) -> kernels.FeatureStore:
    """The same features with room for more of them, at least for twice the present number."""
    n, size, _ = store.sizes.tolist()
    if size + codes > MAX_CONDITIONS:
        raise TableSizeError(
            f"the features have more than {MAX_CONDITIONS:,} conditions; pass a smaller "
            "max_length, or orders='linear' or 'single'."
        )
    larger = _store(max(2 * n, n + features), max(2 * size, size + codes))
    larger.sizes[:] = store.sizes
    larger.hashes[:n], larger.weights[:n] = store.hashes[:n], store.weights[:n]
    larger.offsets[: n + 1], larger.codes[:size] = store.offsets[: n + 1], store.codes[:size]
    kernels.refill_slots(larger)
    return larger


def _rules(store: kernels.FeatureStore, space: kernels.StateSpace) -> Rules:
    """The features whose weight is not zero."""
    n, size, _ = store.sizes.tolist()
    weights, sizes, codes = store.weights[:n], np.diff(store.offsets[: n + 1]), store.codes[:size]
    nonzero = weights != 0.0
    if not nonzero.all():
        codes, sizes, weights = codes[np.repeat(nonzero, sizes)], sizes[nonzero], weights[nonzero]
    places = codes // 2
    variables = space.owners[places]
    values = places - space.firsts[variables]
    return Rules(space.cards, weights, offsets_of(sizes), variables, values, codes % 2 == 1)
