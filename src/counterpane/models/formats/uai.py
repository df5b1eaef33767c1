"""The format of the UAI inference competitions, for Bayesian networks. It holds no names."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator

from counterpane.data.schema import MAX_STATES
from counterpane.models.formats.network import (
    MAX_VARIABLES,
    Declared,
    Family,
    Network,
    assemble,
    listed,
)
from counterpane.models.formats.source import Source
from counterpane.models.formats.tokens import Tokens, token_pattern
from counterpane.potentials import MAX_CELLS

TOKEN = token_pattern(comment=r"\#[^\n]*+", marks="(){};", word=r'[^\s,(){};"#]++')


def read_uai(source: Source) -> Network:
    """The network in a UAI file: variables x0, x1, … with states 0, 1, …

    Each scope ends with the child, and the numbers run over the scope as listed, the last one
    fastest. (aGrUM up to 3.3 lets the first parent run faster than the others; its files with two
    parents or more mean something else here, as in the other readers of this format.)
    """
    tokens = Tokens(source, TOKEN)
    head = tokens.next("the preamble")
    if head.syntax == "MARKOV":
        tokens.fail(head.line, "this is a Markov network; reading them comes with Markov networks")
    if head.syntax != "BAYES":
        tokens.misplaced(head, "the file where 'BAYES' is needed")
    n = _count(tokens, 1, MAX_VARIABLES, "the number of variables")
    cards = [_count(tokens, 1, MAX_STATES, f"the size of variable {i}") for i in range(n)]
    declared = [
        Declared(f"x{i}", [str(k) for k in range(card)], head.line) for i, card in enumerate(cards)
    ]
    _count(tokens, n, n, "the number of tables, one for each variable,")
    scopes = []
    for i in range(n):
        size = _count(tokens, 1, n, f"the size of scope {i}")
        scopes.append([_count(tokens, 0, n - 1, f"a variable of scope {i}") for _ in range(size)])
    families = []
    for i, scope in enumerate(scopes):
        cells = math.prod(cards[v] for v in scope)
        if cells > MAX_CELLS:
            tokens.fail(head.line, f"table {i} would have more than {MAX_CELLS:,} cells")
        _count(tokens, cells, cells, f"the size of table {i}")
        inside = f"table {i}"
        first = tokens.next(inside)
        numbers = array("d", [tokens.probability(first, inside)])
        for _ in range(cells - 1):
            numbers.append(tokens.probability(tokens.next(inside), inside))
        *parents, child = (f"x{v}" for v in scope)
        fill = listed(source, numbers, first.line)
        families.append(Family(child, parents, fill, first.line))
    if (token := tokens.next()).kind != "end":
        tokens.misplaced(token, "the file after the last table")
    return assemble(source, declared, families)


def write_uai(network: Network, *, plain_names: bool) -> Iterator[str]:
    """The text of a UAI file; names and states are not kept, be they plain or not."""
    cards = network.schema.cards.tolist()
    yield f"BAYES\n{len(cards)}\n{' '.join(map(str, cards))}\n{len(cards)}\n"
    for i in range(len(cards)):
        scope = (*network.dag.parents(i), i)
        yield f"{len(scope)} {' '.join(map(str, scope))}\n"
    for table in network.tables:
        yield f"\n{table.size}\n"
        for row in table.reshape(-1, table.shape[-1]):
            yield f" {' '.join(map(repr, row.tolist()))}\n"


def _count(tokens: Tokens, low: int, high: int, what: str) -> int:
    token = tokens.next("the preamble or before a table")
    number = int(token.text) if token.text.isdecimal() and len(token.text) < 20 else -1
    if not low <= number <= high:
        allowed = str(low) if low == high else f"{low} to {high}"
        tokens.fail(token.line, f"{what} is {token.text[:20]!r}; {allowed} is needed")
    return number
