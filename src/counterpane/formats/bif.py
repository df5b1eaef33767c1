"""The Interchange Format for Bayesian networks (BIF 0.15)."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from counterpane.data.schema import Variable
from counterpane.formats.files import Source
from counterpane.formats.names import bare_or_quoted, spelled
from counterpane.formats.network import Declared, Family, Fill, Network, assemble
from counterpane.formats.tokens import Tokens, token_pattern
from counterpane.typing import Floats, Ints

TOKEN = token_pattern(
    comment=r"//[^\n]*+|/\*.*?\*/",
    marks=r"(){}\[\];|",
    word=r'(?:[^\s,(){}\[\];|"/]++|/(?![/*]))++',
)


class BifRow(NamedTuple):
    """One line of a probability block; `keyword` is table, default, or empty before states."""

    keyword: str
    states: list[str]
    numbers: array[float]
    line: int


def read_bif(source: Source) -> Network:
    """The network in a BIF file.

    Rows and blocks may stand in any order, `default` fills the rows not given, and the numbers of
    a `table` run over the variables as listed, the last one fastest.
    """
    tokens = Tokens(source, TOKEN)
    declared: list[Declared] = []
    families: list[Family] = []
    while (token := tokens.next()).kind != "end":
        if token.syntax == "network":
            tokens.skip("{", "a network block")
            _skip_properties(tokens, "a network block")
        elif token.syntax == "variable":
            declared.append(_read_variable(tokens))
        elif token.syntax == "probability":
            families.append(_read_family(tokens))
        elif token.syntax == "property":
            tokens.skip(";", "a property")
        else:
            wanted = "the file where 'network', 'variable' or 'probability' is needed"
            tokens.misplaced(token, wanted)
    return assemble(source, declared, families)


def write_bif(network: Network, *, plain_names: bool) -> Iterator[str]:
    """The text of a BIF file; names as they are may need quotes, which aGrUM cannot read."""
    spell = bare_or_quoted(TOKEN)
    names, states, notes = spelled(network.schema, spell, spell, plain_names=plain_names)
    yield "".join(f"// {note}\n" for note in notes)
    yield "network unknown {\n}\n"
    for name, labels in zip(names, states, strict=True):
        shown = f"[ {len(labels)} ] {{ {', '.join(labels)} }}"
        yield f"variable {name} {{\n  type discrete {shown};\n}}\n"
    for i, table in enumerate(network.tables):
        parents = network.dag.parents(i)
        bar = f" | {', '.join(names[p] for p in parents)}" if parents else ""
        yield f"probability ( {names[i]}{bar} ) {{\n"
        rows = table.reshape(-1, table.shape[-1])
        for given, row in zip(product(*(states[p] for p in parents)), rows, strict=True):
            head = f"({', '.join(given)})" if parents else "table"
            yield f"  {head} {', '.join(map(repr, row.tolist()))};\n"
        yield "}\n"


def _skip_properties(tokens: Tokens, inside: str) -> None:
    while (token := tokens.next(inside)).syntax != "}":
        if token.syntax != "property":
            tokens.misplaced(token, inside)
        tokens.skip(";", "a property")


def _read_variable(tokens: Tokens) -> Declared:
    name, line, _ = tokens.name("a variable's head")
    inside = f"the block of variable {name!r}"
    tokens.expect("{", inside)
    states: list[str] = []
    while (token := tokens.next(inside)).syntax != "}":
        if token.syntax == "property":
            tokens.skip(";", "a property")
        elif token.syntax == "type" and not states:
            tokens.expect("discrete [", inside)
            size = tokens.next(inside)
            tokens.expect("] {", inside)
            states = tokens.names("}", inside)
            tokens.expect(";", inside)
            if size.text != str(len(states)):
                tokens.fail(
                    size.line,
                    f"variable {name!r} declares {size.text[:20]} states and lists {len(states)}",
                )
        else:
            tokens.misplaced(token, inside)
    return Declared(name, states, line)


def _read_family(tokens: Tokens) -> Family:
    child, parents = tokens.family("the head of a probability block", needs_bar=False)
    inside = f"the probability block of {child.text!r}"
    rows: list[BifRow] = []
    while (token := tokens.next(inside)).syntax != "}":
        if token.syntax == "property":
            tokens.skip(";", "a property")
        elif token.syntax in ("table", "default"):
            rows.append(BifRow(token.text, [], tokens.numbers(";", inside), token.line))
        elif token.syntax == "(":
            states = tokens.names(")", inside)
            rows.append(BifRow("", states, tokens.numbers(";", inside), token.line))
        else:
            tokens.misplaced(token, inside)
    return Family(child.text, parents, _given(tokens, rows, child.line), child.line)


def _given(tokens: Tokens, rows: Sequence[BifRow], line: int) -> Fill:
    """A table given row by row, with a default for the other rows, or as a whole."""

    def fill(family: Sequence[Variable]) -> tuple[Floats, Ints]:
        *parents, child = family
        shape = tuple(v.card for v in parents)
        _check_counts(tokens, rows, child, math.prod(shape), line)
        table: Floats = np.empty((*shape, child.card))
        lines: Ints = np.zeros(shape, dtype=np.int64)  # 0 where nothing is given yet
        for row in sorted(rows, key=lambda row: row.keyword == "default"):
            numbers = np.array(row.numbers)
            where: Any = ...
            if row.keyword == "table":
                numbers = np.moveaxis(numbers.reshape(child.card, *shape), 0, -1)
            else:
                where = lines == 0 if row.keyword else _configuration(tokens, row, parents)
            if lines[where].any():
                tokens.fail(row.line, f"a row of {child.name!r} is given twice")
            table[where], lines[where] = numbers, row.line
        return table.reshape(-1, child.card), lines.reshape(-1)

    return fill


def _check_counts(
    tokens: Tokens, rows: Sequence[BifRow], child: Variable, total: int, line: int
) -> None:
    """Refuse too few rows or numbers, before a table is made for them."""
    if len(rows) < total and all(not row.keyword for row in rows):
        missing = total - len(rows)
        tokens.fail(line, f"{missing} of {total} rows of {child.name!r} are missing")
    if sum(row.keyword == "default" for row in rows) > 1:
        tokens.fail(line, f"the table of {child.name!r} has more than one default")
    for row in rows:
        needed = child.card * (total if row.keyword == "table" else 1)
        if len(row.numbers) != needed:
            tokens.fail(
                row.line,
                f"{len(row.numbers)} numbers are given for {child.name!r}; {needed} are needed",
            )


def _configuration(tokens: Tokens, row: BifRow, parents: Sequence[Variable]) -> tuple[int, ...]:
    if len(row.states) != len(parents):
        tokens.fail(
            row.line, f"{len(row.states)} states are given for {len(parents)} parents in one row"
        )
    codes = []
    for state, parent in zip(row.states, parents, strict=True):
        code = parent.find(state)
        if code is None:
            tokens.fail(row.line, f"column {parent.name!r}: {parent.not_a_state(state)}")
        codes.append(code)
    return tuple(codes)
