"""The format of the UAI inference competitions, for Bayesian and Markov networks.

It has no names; they follow the last table as comments.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Sequence

import numpy as np

from counterpane.data.schema import MAX_STATES, Schema
from counterpane.errors import ParameterError
from counterpane.features import MAX_CELLS, Potential
from counterpane.formats.files import Source
from counterpane.formats.names import notes_of
from counterpane.formats.network import (
    MAX_AXES,
    MAX_VARIABLES,
    Declared,
    Factors,
    Family,
    Network,
    assemble,
    declared_variables,
    fill_from_numbers,
)
from counterpane.formats.tokens import Tokens, token_pattern
from counterpane.typing import Floats

MAX_TABLES = 2**20
TOKEN = token_pattern(comment=r"\#[^\n]*+", marks="(){};", word=r'[^\s,(){};"#]++')


def read_uai(source: Source) -> Network | Factors:
    """The network in a UAI file: variables x0, x1, … with states 0, 1, …

    Comments of ours give them their names (see `names`).

    The numbers of a table run over its scope as listed, the last one fastest; in a Bayesian network
    each scope ends with the child. (aGrUM up to 3.3 lets the first parent run faster than the
    others; its files with two parents or more mean something else here, as in the other readers of
    this format.)
    """
    tokens = Tokens(source, TOKEN)
    head = tokens.next("the preamble")
    if head.syntax not in ("BAYES", "MARKOV"):
        tokens.misplaced(head, "the file where 'BAYES' or 'MARKOV' is needed")
    bayes = head.syntax == "BAYES"
    n = _count(tokens, 1, MAX_VARIABLES, "the number of variables")
    cards = [_count(tokens, 1, MAX_STATES, f"the size of variable {i}") for i in range(n)]
    declared = [
        Declared(f"x{i}", [str(k) for k in range(card)], head.line) for i, card in enumerate(cards)
    ]
    if bayes:
        n_tables = _count(tokens, n, n, "the number of tables, one for each variable,")
    else:
        n_tables = _count(tokens, 0, MAX_TABLES, "the number of tables")
    scopes = []
    for i in range(n_tables):
        size = _count(tokens, int(bayes), n, f"the size of scope {i}")
        scopes.append([_count(tokens, 0, n - 1, f"a variable of scope {i}") for _ in range(size)])
    tables = [
        _numbers(tokens, i, math.prod(cards[v] for v in scope), head.line)
        for i, scope in enumerate(scopes)
    ]
    if (token := tokens.next()).kind != "end":
        tokens.misplaced(token, "the file after the last table")
    if not bayes:
        return _factors(source, declared, scopes, tables)
    families = []
    for scope, (numbers, line) in zip(scopes, tables, strict=True):
        *parents, child = (f"x{v}" for v in scope)
        families.append(Family(child, parents, fill_from_numbers(source, numbers, line), line))
    return assemble(source, declared, families)


def write_uai(network: Network | Factors, *, plain_names: bool) -> Iterator[str]:
    """The text of a UAI file; with `plain_names` the names and states follow as comments.

    That of a Markov network has dense tables, of numbers and not of their logs.
    """
    schema = network.schema
    if isinstance(network, Factors):
        potentials = [p for part in network.parts for p in part.to_potentials()]
        scopes, tables = [p.scope for p in potentials], [*map(_table, potentials)]
        yield from _text("MARKOV", schema, scopes, tables)
    else:
        scopes = [(*network.dag.parents(i), i) for i in range(len(schema))]
        yield from _text("BAYES", schema, scopes, network.tables)
    if plain_names:  # readers that count numbers stop before the comments
        plain = [f"x{i}" for i in range(len(schema))]
        states = [[str(k) for k in range(v.card)] for v in schema]
        yield "".join(f"# {note}\n" for note in notes_of(schema, plain, states))


def _table(potential: Potential) -> Floats:
    """exp of the potential's logs, which must be within the range of numbers."""
    with np.errstate(over="ignore", under="ignore"):
        table: Floats = np.exp(potential.log_values)
    if ((table == 0) != (potential.log_values == -np.inf)).any() or (table == np.inf).any():
        raise ParameterError(
            f"{potential!r} holds logs beyond the range of numbers, and UAI files hold the "
            "numbers; save the network as .cp."
        )
    return table


def _text(
    kind: str, schema: Schema, scopes: Sequence[Sequence[int]], tables: Sequence[Floats]
) -> Iterator[str]:
    cards = schema.cards.tolist()
    yield f"{kind}\n{len(cards)}\n{' '.join(map(str, cards))}\n{len(scopes)}\n"
    for scope in scopes:
        yield f"{' '.join(map(str, (len(scope), *scope)))}\n"
    for table in tables:
        yield f"\n{table.size}\n"
        for row in table.reshape(-1, table.shape[-1] if table.ndim else 1):
            yield f" {' '.join(map(repr, row.tolist()))}\n"


def _numbers(tokens: Tokens, place: int, cells: int, line: int) -> tuple[array[float], int]:
    """The numbers of a table and the line of the first."""
    if cells > MAX_CELLS:
        tokens.fail(line, f"table {place} would have more than {MAX_CELLS:,} cells")
    _count(tokens, cells, cells, f"the size of table {place}")
    inside = f"table {place}"
    first = tokens.next(inside)
    numbers = array("d", [tokens.probability(first, inside)])
    for _ in range(cells - 1):
        numbers.append(tokens.probability(tokens.next(inside), inside))
    return numbers, first.line


def _factors(
    source: Source,
    declared: Sequence[Declared],
    scopes: Sequence[Sequence[int]],
    tables: Sequence[tuple[array[float], int]],
) -> Factors:
    schema = Schema(declared_variables(source, declared))
    potentials = []
    for scope, (numbers, line) in zip(scopes, tables, strict=True):
        if len(set(scope)) < len(scope) or len(scope) > MAX_AXES:
            source.fail(line, f"a table names a variable twice, or more than {MAX_AXES} of them")
        with np.errstate(divide="ignore"):
            values = np.log(np.array(numbers)).reshape([schema.cards[v] for v in scope])
        potentials.append(Potential(scope, values))
    return Factors(schema, potentials)


def _count(tokens: Tokens, low: int, high: int, what: str) -> int:
    token = tokens.next("the preamble or before a table")
    number = int(token.text) if token.text.isdecimal() and len(token.text) < 20 else -1
    if not low <= number <= high:
        allowed = str(low) if low == high else f"{low} to {high}"
        tokens.fail(token.line, f"{what} is {token.text[:20]!r}; {allowed} is needed")
    return number
