"""The syntax of BIF 0.15: text in, declarations out. Names are not looked up here."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import NamedTuple, NoReturn

from counterpane.errors import FileFormatError

# Possessive quantifiers: no input makes the scan go back. Commas separate no more than blanks do.
TOKEN = re.compile(
    r"""(?P<skip>[\s,]++|//[^\n]*+|/\*.*?\*/)
    |(?P<quoted>"(?:[^"\\]++|\\.)*+")
    |(?P<mark>[(){}\[\];|])
    |(?P<word>(?:[^\s,(){}\[\];|"/]++|/(?![/*]))++)
    |(?P<bad>.)""",
    re.VERBOSE | re.DOTALL,
)


class Token(NamedTuple):
    """A name, number or mark, and where it stands. `kind` is quoted, mark, word or end."""

    text: str
    at: int
    kind: str

    @property
    def syntax(self) -> str:
        """The text as a keyword or mark; a quoted text is neither."""
        return "" if self.kind == "quoted" else self.text


class Declared(NamedTuple):
    """A variable block."""

    name: Token
    states: list[Token]


class Row(NamedTuple):
    """One line of a probability block; `keyword` is table, default, or empty before states."""

    keyword: str
    states: list[Token]
    numbers: list[float]
    at: int


class Block(NamedTuple):
    """A probability block: the child first, then its parents."""

    variables: list[Token]
    rows: list[Row]

    @property
    def name(self) -> str:
        """The child's name."""
        return self.variables[0].text

    @property
    def at(self) -> int:
        """Where the child's name stands."""
        return self.variables[0].at


class Source:
    """A BIF text, read token by token; every complaint names the line."""

    def __init__(self, text: str, path: str) -> None:
        self._text = text
        self._path = path
        self._tokens = self._scan()

    def fail(self, at: int, message: str) -> NoReturn:
        """Raise a `FileFormatError` for the line at position `at`."""
        line = self._text.count("\n", 0, at) + 1
        raise FileFormatError(f"{self._path!r}, line {line}: {message}.")

    def parse(self) -> tuple[list[Declared], list[Block]]:
        """All variable and probability blocks, in the order of the text."""
        declared: list[Declared] = []
        blocks: list[Block] = []
        while (token := self._next()).kind != "end":
            if token.syntax == "network":
                while self._next("a network block").syntax != "{":
                    pass
                self._skip_properties("a network block")
            elif token.syntax == "variable":
                declared.append(self._variable())
            elif token.syntax == "probability":
                blocks.append(self._probability())
            elif token.syntax == "property":
                self._skip_to_semicolon()
            else:
                self.fail(
                    token.at,
                    f"{token.text[:40]!r} stands where 'network', 'variable' or 'probability' "
                    "is expected",
                )
        return declared, blocks

    def _scan(self) -> Iterator[Token]:
        for match in TOKEN.finditer(self._text):
            kind = match.lastgroup or ""
            if kind == "skip":
                continue
            text, at = match.group(), match.start()
            if kind == "bad":
                self.fail(at, "a quote or a comment is opened and never closed")
            if kind == "quoted":
                text = re.sub(r'\\(["\\])', r"\1", text[1:-1])
            yield Token(text, at, kind)

    def _next(self, inside: str | None = None) -> Token:
        """The next token; the end of the text is an error `inside` a block."""
        token = next(self._tokens, None)
        if token is None:
            token = Token("", len(self._text), "end")
            if inside is not None:
                self.fail(token.at, f"the file ends inside {inside}; it may be cut short")
        return token

    def _expect(self, mark: str, inside: str) -> None:
        token = self._next(inside)
        if token.syntax != mark:
            self.fail(token.at, f"{token.text[:40]!r} stands in {inside} where {mark!r} is needed")

    def _name(self, inside: str) -> Token:
        token = self._next(inside)
        if token.kind == "mark":
            self.fail(token.at, f"{token.text!r} stands in {inside} where a name is needed")
        return token

    def _until(self, mark: str, inside: str) -> list[Token]:
        """The names before the closing `mark`; one bar may stand among them."""
        names: list[Token] = []
        while (token := self._next(inside)).syntax != mark:
            if token.kind == "mark" and (token.syntax != "|" or len(names) != 1):
                self.fail(token.at, f"{token.text!r} stands in {inside} where a name is needed")
            if token.kind != "mark":
                names.append(token)
        return names

    def _skip_to_semicolon(self) -> None:
        while self._next("a property").syntax != ";":
            pass

    def _skip_properties(self, inside: str) -> None:
        while (token := self._next(inside)).syntax != "}":
            if token.syntax != "property":
                self.fail(token.at, f"{token.text[:40]!r} stands in {inside}")
            self._skip_to_semicolon()

    def _variable(self) -> Declared:
        name = self._name("a variable's head")
        inside = f"the block of variable {name.text!r}"
        self._expect("{", inside)
        states: list[Token] | None = None
        while (token := self._next(inside)).syntax != "}":
            if token.syntax == "property":
                self._skip_to_semicolon()
            elif token.syntax == "type" and states is None:
                for word in ("discrete", "["):
                    self._expect(word, inside)
                size = self._next(inside)
                for mark in ("]", "{"):
                    self._expect(mark, inside)
                states = self._until("}", inside)
                self._expect(";", inside)
                if size.text != str(len(states)):
                    self.fail(
                        size.at,
                        f"variable {name.text!r} declares {size.text[:20]} states and lists "
                        f"{len(states)}",
                    )
            else:
                self.fail(token.at, f"{token.text[:40]!r} stands in {inside}")
        if not states:
            self.fail(name.at, f"variable {name.text!r} lists no states")
        return Declared(name, states)

    def _probability(self) -> Block:
        inside = "a probability block"
        self._expect("(", inside)
        variables = self._until(")", inside)
        if not variables:
            self.fail(self._next().at, "a probability block names no variable")
        inside = f"the probability block of {variables[0].text!r}"
        self._expect("{", inside)
        rows: list[Row] = []
        while (token := self._next(inside)).syntax != "}":
            if token.syntax == "property":
                self._skip_to_semicolon()
            elif token.syntax in ("table", "default"):
                rows.append(Row(token.text, [], self._numbers(inside), token.at))
            elif token.syntax == "(":
                states = self._until(")", inside)
                rows.append(Row("", states, self._numbers(inside), token.at))
            else:
                self.fail(token.at, f"{token.text[:40]!r} stands in {inside}")
        return Block(variables, rows)

    def _numbers(self, inside: str) -> list[float]:
        """Numbers up to the semicolon: finite, not negative."""
        numbers = []
        while (token := self._next(inside)).syntax != ";":
            try:
                number = float(token.text)
            except ValueError:
                number = math.nan
            if not 0 <= number < math.inf or "_" in token.text:
                self.fail(
                    token.at,
                    f"{token.text[:40]!r} stands in {inside} where a probability or ';' is needed",
                )
            numbers.append(number)
        return numbers
