"""Hugin's NET language, for discrete networks."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import Any

from counterpane.data.schema import Variable
from counterpane.formats.files import Source
from counterpane.formats.names import KEYWORDS, bare_or_quoted, quoted, spelled
from counterpane.formats.network import (
    Declared,
    Family,
    Fill,
    Network,
    assemble,
    fill_from_numbers,
)
from counterpane.formats.tokens import Tokens, token_pattern
from counterpane.typing import Floats, Ints

TOKEN = token_pattern(comment=r"%[^\n]*+", marks=r"(){};=|", word=r'[^\s,(){};=|"%]++')
OTHER_NODES = ("continuous", "utility", "decision", "function", "instance")


def read_net(source: Source) -> Network:
    """The network in a NET file; a class around its nodes is passed over.

    The numbers of `data` run over the parents as listed, then the child, the last one fastest.
    """
    tokens = Tokens(source, TOKEN)
    declared: list[Declared] = []
    families: list[Family] = []
    classes = 0
    while (token := tokens.next("a class" if classes else None)).kind != "end":
        if token.syntax == "net":
            tokens.expect("{", "the net block")
            for _ in _fields(tokens, "the net block"):
                tokens.skip(";", "the net block")
        elif token.syntax == "class":
            tokens.name("a class")
            tokens.expect("{", "a class")
            classes += 1
        elif token.syntax == "}" and classes:
            classes -= 1
        elif token.syntax == "discrete":
            tokens.expect("node", "a discrete node")
            declared.append(_read_node(tokens))
        elif token.syntax == "node":
            declared.append(_read_node(tokens))
        elif token.syntax == "potential":
            families.append(_read_potential(source, tokens))
        elif token.syntax in OTHER_NODES:
            name = tokens.name(f"a {token.text} node")
            if name.syntax == "node":
                name = tokens.name(f"a {token.text} node")
            tokens.fail(
                token.line,
                f"{name.text!r} is a {token.text} node; only discrete chance nodes are read",
            )
        elif classes and token.kind == "word":
            tokens.expect("=", "a class")
            tokens.skip(";", "a class")
        else:
            tokens.misplaced(token, "the file where 'net', 'node' or 'potential' is needed")
    return assemble(source, declared, families)


def write_net(network: Network, *, plain_names: bool) -> Iterator[str]:
    """The text of a NET file; states are quoted, and so are names that are not plain."""
    names, states, notes = spelled(
        network.schema,
        bare_or_quoted(TOKEN),
        quoted,
        plain_names=plain_names,
        keywords={*KEYWORDS, "class"},
    )
    yield "".join(f"% {note}\n" for note in notes)
    yield "net\n{\n}\n"
    for name, labels in zip(names, states, strict=True):
        yield f"node {name}\n{{\n  states = ({' '.join(labels)});\n}}\n"
    for i, table in enumerate(network.tables):
        parents = network.dag.parents(i)
        bar = f" | {' '.join(names[p] for p in parents)}" if parents else ""
        yield f"potential ({names[i]}{bar})\n{{\n  data = {_nested(table.tolist())};\n}}\n"


def _nested(numbers: list[Any]) -> str:
    """The numbers in parentheses, one pair for each axis."""
    if isinstance(numbers[0], float):
        return f"({' '.join(map(repr, numbers))})"
    return "(" + "\n    ".join(map(_nested, numbers)) + ")"


def _fields(tokens: Tokens, inside: str) -> Iterator[str]:
    """The names of the fields of a block; the caller reads each value and its semicolon."""
    while (token := tokens.next(inside)).syntax != "}":
        if token.kind != "word":
            tokens.misplaced(token, f"{inside} where a field's name is needed")
        tokens.expect("=", inside)
        yield token.text


def _read_node(tokens: Tokens) -> Declared:
    name, line, _ = tokens.name("a node's head")
    inside = f"the block of node {name!r}"
    tokens.expect("{", inside)
    states: list[str] = []
    for field in _fields(tokens, inside):
        if field == "states":
            if states:
                tokens.fail(line, f"node {name!r} lists its states twice")
            tokens.expect("(", inside)
            states = tokens.names(")", inside)
            tokens.expect(";", inside)
        else:
            tokens.skip(";", inside)
    return Declared(name, states, line)


def _read_potential(source: Source, tokens: Tokens) -> Family:
    child, parents = tokens.family("the head of a potential", needs_bar=True)
    inside = f"the potential of {child.text!r}"
    fill: Fill | None = None
    for field in _fields(tokens, inside):
        if field == "data":
            if fill is not None:
                tokens.fail(child.line, f"{inside} has data twice")
            fill = _read_data(source, tokens, inside, child.line)
        else:
            tokens.skip(";", inside)
    if fill is None:
        tokens.fail(child.line, f"{inside} has no data; only tables of numbers are read")
    return Family(child.text, parents, fill, child.line)


def _read_data(source: Source, tokens: Tokens, inside: str, line: int) -> Fill:
    """A table whose numbers stand in one pair of parentheses, or nested ones around each row."""
    numbers = array("d")
    lengths: dict[int, int] = {}  # of the innermost parentheses, and the first line of each
    depth = start = 0
    while (token := tokens.next(inside)).syntax != ";" or depth:
        if token.syntax == "(":
            depth, start = depth + 1, len(numbers)
        elif token.syntax == ")" and depth:
            if len(numbers) > start:
                lengths.setdefault(len(numbers) - start, token.line)
            depth, start = depth - 1, len(numbers)
        elif depth:
            numbers.append(tokens.probability(token, inside))
        else:
            tokens.misplaced(token, f"{inside} where data in parentheses are needed")
    whole = fill_from_numbers(source, numbers, line)

    def fill(family: Sequence[Variable]) -> tuple[Floats, int | Ints]:
        card = family[-1].card
        for length, where in lengths.items():
            if length not in (card, len(numbers)):
                source.fail(where, f"a row of {family[-1].name!r} has {length} numbers, not {card}")
        return whole(family)

    return fill
