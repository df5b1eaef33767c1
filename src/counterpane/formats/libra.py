"""Libra's model files: networks of tables, trees and features in logs; without names.

A first line of numbers of states, then `MN { factors }`, or `BN {` or `DN {` with `v0 { factors }`
for each variable. A factor is a feature, `1.2 +v0_1 -v4_2` (a number before the weight is an id and
is passed over); `features { … }`; `table { … }`, features that make up a table; or a `tree { … }`
of `(v1_0 then otherwise)` and numbers. Factors of one block are summed.
"""

from __future__ import annotations

import math
import os
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from counterpane.data.schema import MAX_STATES, Schema
from counterpane.data.table import Table
from counterpane.disk import write_atomically
from counterpane.errors import CounterpaneError
from counterpane.features import MAX_CELLS, Blanket, Potential, Rules, Tree
from counterpane.features.parts import Part
from counterpane.formats.files import Source
from counterpane.formats.libra_trees import ScalarTree, grown, tree_text
from counterpane.formats.network import (
    MAX_AXES,
    MAX_VARIABLES,
    Conditionals,
    Declared,
    Factors,
    Family,
    Fill,
    Network,
    assemble,
)
from counterpane.formats.tokens import Tokens, token_pattern
from counterpane.typing import Floats, Ints

TOKEN = token_pattern(comment=r"\#[^\n]*+", marks="(){}", word=r'[^\s,(){}"#]++')
CONDITION = re.compile(r"([+-]?)v([0-9]{1,9})_([0-9]{1,9})")
MAX_PLACES = 2**24  # states of all variables together
BLOCK_CELLS = 2**24  # codes made at one time
BLOCK_ROWS = 2**14


class _Features(NamedTuple):
    """Features as they are read, end to end."""

    weights: array[float]
    offsets: array[int]
    variables: array[int]
    values: array[int]
    negated: array[int]


def read_libra(source: Source) -> Network | Factors | Conditionals:
    """The network in a file of Libra's: variables v0, v1, … with states 0, 1, …

    The tables of a Bayesian network are brought to sum to 1, as its features need not.
    """
    reader = _LibraReader(source)
    kind = reader.cards_and_kind()
    schema = Schema.from_cards(reader.cards, prefix="v")
    if kind == "MN":
        parts = [part for part in reader.factors(-1) if not isinstance(part, Tree)]  # has none
        reader.end()
        return Factors(schema, parts)
    conditionals, lines = reader.conditionals()
    reader.end()
    if kind == "DN":
        return Conditionals(schema, conditionals)
    return _bayesian_network(source, schema, conditionals, lines)


class _LibraReader:
    """Reads a file from front to back; `self.token` is the one that comes next."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.tokens = Tokens(source, TOKEN)
        self.cards: list[int] = []
        self.size = 0
        self.conditions: dict[str, tuple[int, int, bool]] = {}
        self.token = self.tokens.next("the numbers of states")

    def cards_and_kind(self) -> str:
        """The keyword after the numbers of states, which are kept."""
        while self.token.syntax not in ("BN", "DN", "MN"):
            text, line = self.token.text, self.token.line
            card = int(text) if text.isdecimal() and len(text) < 9 else 0
            if not 1 <= card <= MAX_STATES:
                self.source.fail(
                    line,
                    f"{text[:20]!r} stands where a number of states, BN, DN or MN is needed",
                )
            self.cards.append(card)
            if len(self.cards) > MAX_VARIABLES or sum(self.cards) > MAX_PLACES:
                self.source.fail(line, "there are too many variables or states")
            self._next("the numbers of states")
        if not self.cards:
            self.source.fail(self.token.line, "the numbers of states come first, and there is none")
        kind = self.token.syntax
        self._next("the file")
        self._expect("{", "the file")
        return kind

    def conditionals(self) -> tuple[list[list[Part]], list[int]]:
        """The parts of each variable, and the line where they start."""
        found: dict[int, tuple[list[Part], int]] = {}
        while self.token.syntax != "}":
            name, line = self.token.text, self.token.line
            number = int(name[1:]) if re.fullmatch(r"v[0-9]{1,9}", name) else -1
            if not 0 <= number < len(self.cards) or number in found:
                last = len(self.cards) - 1
                self.source.fail(
                    line, f"{name[:20]!r} stands where one of v0 … v{last} not yet told is needed"
                )
            self._next("a variable")
            self._expect("{", "a variable")
            found[number] = self.factors(number), line
        for v in range(len(self.cards)):
            if v not in found:
                self.source.fail(self.token.line, f"the file tells nothing of v{v}")
        self._next("the file")
        parts, lines = zip(*(found[v] for v in range(len(self.cards))), strict=True)
        return list(parts), list(lines)

    def factors(self, owner: int) -> list[Part]:
        """The factors up to a closing brace; single features are put together."""
        parts: list[Part] = []
        single, start = _empty(), self.token.line
        while (word := self.token.syntax) != "}":
            line = self.token.line
            if word in ("features", "table"):
                self._next(word)
                self._expect("{", word)
                features = _empty()
                while self.token.syntax != "}":
                    self._feature(features)
                self._next("the file")
                parts.append(self._made(line, _table if word == "table" else _rules, features))
            elif word == "tree":
                self._next(word)
                self._expect("{", word)
                tree = self._tree()
                self._expect("}", word)
                parts.append(self._made(line, grown, tree, owner))
            else:
                self._feature(single)
        if single.weights:
            parts.append(self._made(start, _rules, single))
        self._next("the file")
        return parts

    def end(self) -> None:
        """Refuse what comes after the last brace."""
        if self.token.kind != "end":
            self.tokens.misplaced(self.token, "the file after its end")

    def _made(self, line: int, make: Any, *read: Any) -> Part:
        """The part of what was read; what it refuses is the file's fault."""
        try:
            part: Part = make(np.array(self.cards, dtype=np.int64), *read)
        except CounterpaneError as error:
            self.source.fail(line, str(error))
        return part

    def _feature(self, features: _Features) -> None:
        """Read a feature: an id, if two numbers come on a line, a weight and conditions."""
        line = self.token.line
        weight = self._number()
        if self.token.line == line and self.token.kind == "word" and not self._is_condition():
            weight = self._number()
        features.weights.append(weight)
        while self._is_condition():
            variable, value, negated = self.conditions[self.token.text]
            features.variables.append(variable)
            features.values.append(value)
            features.negated.append(negated)
            self._next("a feature")
        features.offsets.append(len(features.variables))

    def _tree(self) -> ScalarTree:
        """Read a tree, each node before its children."""
        tree = ScalarTree(array("q"), array("d"))
        waiting: list[tuple[int, int]] = []  # inner nodes, and which child comes next
        while True:
            node = len(tree.log_values)
            if self.token.syntax == "(":
                self._next("a tree")
                if not self._is_condition() or self.token.text[0] != "v":
                    self.tokens.misplaced(self.token, "a tree where a variable is needed")
                variable, value, _ = self.conditions[self.token.text]
                self._next("a tree")
                tree.add(variable, value, 0.0)
                waiting.append((node, 2))
                continue
            tree.add(-1, 0, self._number())
            while waiting:
                parent, place = waiting.pop()
                tree.nodes[4 * parent + place] = node
                if place == 2:
                    waiting.append((parent, 3))
                    break
                self._expect(")", "a tree")
                node = parent
            else:
                return tree

    def _is_condition(self) -> bool:
        """Whether the next token is one; it is kept by its text, as files repeat them."""
        text = self.token.text
        if text not in self.conditions:
            match = CONDITION.fullmatch(text)
            if match is None or self.token.kind != "word":
                return False
            self.conditions[text] = (int(match[2]), int(match[3]), match[1] == "-")
        return True

    def _number(self) -> float:
        """The next token as a log."""
        try:
            number = float(self.token.text)
        except ValueError:
            number = math.nan
        if not number < math.inf or "_" in self.token.text:
            self.tokens.misplaced(self.token, "a factor where a number is needed")
        self._next("a factor")
        return number

    def _expect(self, mark: str, inside: str) -> None:
        if self.token.syntax != mark:
            self.tokens.misplaced(self.token, f"{inside} where {mark!r} is needed")
        self._next(inside if mark != "}" else "the file")

    def _next(self, inside: str) -> None:
        self.size += 1
        if self.size > MAX_CELLS:
            self.source.fail(self.token.line, f"the file holds more than {MAX_CELLS:,} words")
        if self.token.syntax == "}":  # only after a brace may the file end
            self.token = self.tokens.next()
        else:
            self.token = self.tokens.next(inside)


def _empty() -> _Features:
    return _Features(array("d"), array("q", [0]), array("q"), array("q"), array("b"))


def _rules(cards: Ints, features: _Features) -> Rules:
    return Rules(cards, *features)


def _table(cards: Ints, features: _Features) -> Part:
    """The table of features that each tell the states of the same variables, else the rules."""
    rules = _rules(cards, features)
    width = int(rules.offsets[1]) if len(rules) else 0
    scope = rules.variables[:width]
    regular = 0 < width <= MAX_AXES and rules.variables.size == width * len(rules)
    if not regular or rules.negated.any() or len(set(scope.tolist())) < width:
        return rules
    cells = math.prod(cards[scope].tolist())
    if cells != len(rules) or (rules.variables.reshape(-1, width) != scope).any():
        return rules
    values: Floats = np.zeros(cards[scope])
    np.add.at(values, tuple(rules.values.reshape(-1, width).T), rules.weights)
    return Potential(scope, values)


def _bayesian_network(
    source: Source, schema: Schema, conditionals: Sequence[Iterable[Part]], lines: Sequence[int]
) -> Network:
    """The tables of conditionals whose graph has no cycle."""
    blanket = Blanket.of_conditionals(schema.cards, conditionals, schema.names)
    declared, families = [], []
    for v, (variable, line) in enumerate(zip(schema, lines, strict=True)):
        parents = blanket.neighbors(v)
        declared.append(Declared(variable.name, [str(s) for s in variable.states], line))
        fill = _filled(source, blanket, v, parents, line)
        families.append(Family(variable.name, [schema.names[p] for p in parents], fill, line))
    return assemble(source, declared, families)


def _filled(source: Source, blanket: Blanket, v: int, parents: Sequence[int], line: int) -> Fill:
    """P(v | parents), one row for each of their joint states, a block of rows at a time."""

    def fill(_: Any) -> tuple[Floats, int]:
        shape = blanket.cards[list(parents)]
        rows = np.empty((int(shape.prod()), int(blanket.cards[v])))
        step = max(1, BLOCK_CELLS // blanket.cards.size)
        for start in range(0, len(rows), step):
            block = np.arange(start, min(start + step, len(rows)))
            codes = np.zeros((blanket.cards.size, block.size), dtype=np.uint16)
            if parents:
                codes[list(parents)] = np.unravel_index(block, shape)
            try:
                rows[block] = np.exp(blanket.full_conditionals(codes, [v]))
            except CounterpaneError as error:
                source.fail(line, str(error))
        return rows, line

    return fill


def write_libra(
    network: Network | Factors | Conditionals, *, plain_names: bool = True
) -> Iterator[str]:
    """The text of a `.bn`, `.dn`, `.cn` or `.mn` file; names and states are not kept."""
    yield f"{','.join(map(str, network.schema.cards.tolist()))}\n"
    if isinstance(network, Factors):
        yield "MN {\n"
        yield from _parts(network.parts)
        yield "}\n"
        return
    yield "BN {\n" if isinstance(network, Network) else "DN {\n"
    for v, parts in enumerate(_conditionals(network)):
        yield f"v{v} {{\n"
        yield from _parts(parts)
        yield "}\n"
    yield "}\n"


def write_libra_data(path: str | os.PathLike[str], table: Table) -> None:
    """Write the codes of a table as Libra's `.data`, whole or not at all; a missing cell is `*`.

    With `.gz` at the end of the name it is packed. `counterpane.read` reads it back.
    """
    write_atomically(path, (text.encode() for text in _rows(table)))


def _conditionals(network: Network | Conditionals) -> Iterator[Iterable[Part]]:
    if isinstance(network, Conditionals):
        yield from network.conditionals
        return
    for v, table in enumerate(network.tables):
        with np.errstate(divide="ignore"):
            yield [Potential((*network.dag.parents(v), v), np.log(table))]


def _parts(parts: Iterable[Part]) -> Iterator[str]:
    for part in parts:
        if isinstance(part, Potential):
            yield "table {\n"
            for states in np.ndindex(part.log_values.shape):
                where = "".join(f" +v{v}_{s}" for v, s in zip(part.scope, states, strict=True))
                yield f"{float(part.log_values[states])!r}{where}\n"
        elif isinstance(part, Rules):
            yield "features {\n"
            yield from _features(part)
        else:
            yield "tree {\n"
            yield from tree_text(part)
        yield "}\n"


def _features(rules: Rules) -> Iterator[str]:
    signs = np.where(rules.negated, "-", "+").tolist()
    conditions = [
        f" {sign}v{v}_{s}"
        for sign, v, s in zip(signs, rules.variables.tolist(), rules.values.tolist(), strict=True)
    ]
    offsets = rules.offsets.tolist()
    for r, weight in enumerate(rules.weights.tolist()):
        yield f"{weight!r}{''.join(conditions[offsets[r] : offsets[r + 1]])}\n"


def _rows(table: Table) -> Iterator[str]:
    cards = table.schema.cards
    for start in range(0, table.n_rows, BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        codes = table.codes[:, block]
        cells = np.where(codes == cards[:, None], "*", codes.astype(str)).T.tolist()
        weights = None if table.weights is None else table.weights[block].tolist()
        heads = ["" for _ in cells] if weights is None else [f"{w!r}|" for w in weights]
        yield "".join(f"{h}{','.join(row)}\n" for h, row in zip(heads, cells, strict=True))
