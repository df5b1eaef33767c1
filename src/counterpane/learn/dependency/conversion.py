"""From a dependency network to a Markov network in closed form, without optimization.

For an order o of the variables and a base row x⁰, P(x)/P(x⁰) is a product over variables of
P(x_i | those before i as in x, those after as in x⁰) / P(x⁰_i | the same): each term of ln P_i
gives one feature whose conditions on later variables are settled by x⁰, and one, subtracted, whose
condition on x_i is settled too (Lowd, "Closed-form learning of Markov networks from dependency
networks", 2012). Averages over orders and base rows give each sub-feature a share of the weight.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from counterpane._core import dependency as kernels
from counterpane.counts.memory import MemoryCounts
from counterpane.counts.source import CountSource
from counterpane.counts.view import resolved
from counterpane.data.schema import Schema
from counterpane.data.table import Table
from counterpane.errors import ParameterError, ScopeError, unknown_name
from counterpane.learn.dependency.conversion_features import (
    MAX_CONDITIONS,
    merged,
    read_terms,
    space_of,
)
from counterpane.models.dependency_network import DependencyNetwork
from counterpane.models.markov_network import MarkovNetwork
from counterpane.typing import Floats, Ints

MODES = {"all": kernels.ALL, "linear": kernels.LINEAR, "single": kernels.SINGLE}
MAX_SUBSETS = 20  # the most variables of one feature of which all subsets may be made
DEFAULT_SUBSETS = 8

Orders = Literal["all", "linear", "single"] | Sequence[Any]
Base = Literal["marginals", "uniform"] | Mapping[str, Any] | Sequence[Any]


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

    `orders`: the mean over "all" orders of the variables; over the n rotations of the schema's
    order ("linear"; with `reverse`, of its reverse too); that order alone ("single"); or over one
    or several orders given as names or positions. `base`: the row that gives the values of later
    variables, {name: state} or states in order; or the mean over rows drawn from the "marginals" of
    `data` (a table, frame or source; (count + 1/r) / (N + 1) for r states, N rows) or "uniform"
    ones. The default is the marginals if there is `data`, otherwise uniform.

    A feature of k variables has 2^(k−1) sub-features over all orders, k over rotations, one in an
    order. A feature of more than `max_length` variables uses rotations instead of all orders (by
    default from 9 on), and the order alone instead of its rotations (by default never). Equal
    features are merged. Cost: the number of sub-features.

    >>> import counterpane as cp
    >>> from counterpane.features import Potential
    >>> schema, pair = cp.Schema.from_cards([2, 2]), Potential((0, 1), np.log([[4, 1], [1, 4]]))
    >>> model = to_markov_network(cp.DependencyNetwork(schema, [[pair], [pair]]))
    >>> model.query(["x0", "x1"]).probabilities.round(4).tolist()
    [[0.4, 0.1], [0.1, 0.4]]
    """
    if not isinstance(network, DependencyNetwork):
        raise ParameterError(
            f"a {type(network).__name__} cannot be converted; pass a DependencyNetwork."
        )
    schema = network.schema
    mode, positions = _orders(schema, orders, reverse=reverse)
    longest = _longest(mode, max_length)
    space = space_of(schema.cards, _base(schema, base, data))
    terms = read_terms(network.blanket.parts, space)
    modes = np.where(np.diff(terms.groups) >= longest, min(mode + 1, kernels.SINGLE), mode)
    rules = merged(terms, modes, positions, space, schema.names)
    told = {"orders": orders if isinstance(orders, str) else "given", "max_length": max_length}
    provenance = {**(network.provenance or {}), "conversion": told}
    return MarkovNetwork(schema, [rules], provenance=provenance)


def _orders(schema: Schema, orders: Orders, *, reverse: bool) -> tuple[int, Ints]:
    """How sub-features are made, and where each variable stands in each of the orders."""
    n = len(schema)
    if isinstance(orders, str):
        if orders not in MODES:
            raise unknown_name("orders", orders, MODES)
        natural = np.arange(n)
        both = [natural, natural[::-1]] if reverse and orders != "single" else [natural]
        return MODES[orders], np.array(both)
    one = len(orders) > 0 and isinstance(orders[0], str | int | np.integer)
    positions = []
    for order in [orders] if one else orders:
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
    """The most variables, target included, with which a feature goes by `mode`."""
    allowed = MAX_SUBSETS if mode == kernels.ALL else MAX_CONDITIONS
    if max_length is None:
        return DEFAULT_SUBSETS if mode == kernels.ALL else allowed
    if not 1 <= max_length <= allowed:
        raise ParameterError(f"max_length={max_length} must be from 1 to {allowed:,}.")
    return int(max_length)


def _base(schema: Schema, base: Base | None, data: Any) -> list[Floats]:
    """For each variable the probabilities of its states in the rows that others are held at."""
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


def _marginals(schema: Schema, data: Any) -> list[Floats]:
    """(count + 1/r) / (N + 1) for each state, N the rows that tell the variable."""
    if data is None:
        raise ParameterError("base='marginals' needs data=…, a table or source of counts.")
    if not isinstance(data, CountSource):
        same = isinstance(data, Table) and data.schema == schema
        data = MemoryCounts(data if same else Table.from_frame(data, schema=schema))
    if data.schema != schema:  # that of a network in which missing cells are states, perhaps
        data = resolved(data, "state")
    if data.schema != schema:
        raise ScopeError(f"the data is over {data.schema!r}, the network over {schema!r}.")
    counts = data.counts([(v,) for v in range(len(schema))])
    return [(c + 1.0 / c.size) / (c.sum() + 1.0) for c in counts]
