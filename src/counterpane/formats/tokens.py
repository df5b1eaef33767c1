"""The tokens of a text format, scanned piece by piece."""

from __future__ import annotations

import codecs
import re
import sys
from array import array
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple, NoReturn

from counterpane.data.schema import MAX_STATES
from counterpane.formats.files import MAX_TOKEN, Source


def token_pattern(*, comment: str, marks: str, word: str) -> re.Pattern[str]:
    """The pattern of a format's tokens; commas separate no more than blanks do.

    The quantifiers are possessive, so that no input makes the scan go back.
    """
    quoted = r'"(?:[^"\\]++|\\.)*+"'
    return re.compile(
        rf"[ \t,]*+(?:(?P<word>{word})|(?P<mark>[{marks}])|(?P<blank>[\s,]++|\Z)"
        rf"|(?P<quoted>{quoted})|(?P<comment>{comment})|(?P<bad>.))",
        re.DOTALL,
    )


class Token(NamedTuple):
    """A name, number or mark, and its line. `kind` is quoted, mark, word or end."""

    text: str
    line: int
    kind: str

    @property
    def syntax(self) -> str:
        """The text as a keyword or mark; a quoted text is neither."""
        return "" if self.kind == "quoted" else self.text


class Tokens:
    """A text that is read token by token; `inside` says in complaints what is being read."""

    def __init__(self, source: Source, pattern: re.Pattern[str]) -> None:
        self._source = source
        self._tokens = self._scan(pattern)
        self._line = 1

    def fail(self, line: int, message: str) -> NoReturn:
        """Raise a `FileFormatError` for `line`."""
        self._source.fail(line, message)

    def next(self, inside: str | None = None) -> Token:
        """The next token; the end of the text is an error `inside` something."""
        token = next(self._tokens, None)
        if token is not None:
            return Token(*token)
        if inside is not None:
            self.ended(inside)
        return Token("", self._line, "end")

    def ended(self, inside: str) -> NoReturn:
        """Complain that the text ends too early."""
        self.fail(self._line, f"the file ends inside {inside}; it may be cut short")

    def expect(self, syntax: str, inside: str) -> None:
        """Pass over the marks or keywords in `syntax`, a blank between each two."""
        for needed in syntax.split():
            token = self.next(inside)
            if token.syntax != needed:
                self.misplaced(token, f"{inside} where {needed!r} is needed")

    def misplaced(self, token: Token, where: str) -> NoReturn:
        """Complain that `token` stands `where` it should not."""
        self.fail(token.line, f"{token.text[:40]!r} stands in {where}")

    def name(self, inside: str) -> Token:
        """A name, bare or quoted."""
        token = self.next(inside)
        if token.kind == "mark":
            self.misplaced(token, f"{inside} where a name is needed")
        return token

    def names(self, closing: str, inside: str) -> list[str]:
        """The names before the mark `closing`."""
        names: list[str] = []
        for text, line, kind in self._tokens:
            if kind == "mark":
                if text == closing:
                    break
                self.misplaced(Token(text, line, kind), f"{inside} where a name is needed")
            names.append(sys.intern(text))  # rows repeat the states of their parents
            if len(names) > MAX_STATES:
                self.fail(line, f"{inside} lists more than {MAX_STATES} names")
        else:
            self.ended(inside)
        return names

    def family(self, inside: str, *, needs_bar: bool) -> tuple[Token, list[str]]:
        """The child and its parents in `(child | parents…) {`."""
        self.expect("(", inside)
        child, mark = self.name(inside), self.next(inside)
        parents: list[str] = []
        if mark.syntax == "|":
            parents = self.names(")", inside)
        elif mark.kind != "mark" and not needs_bar:
            parents = [mark.text, *self.names(")", inside)]
        elif mark.syntax != ")":
            self.misplaced(mark, f"{inside} where '|' or ')' is needed")
        self.expect("{", inside)
        return child, parents

    def skip(self, closing: str, inside: str) -> None:
        """Pass over everything up to the mark `closing`."""
        while self.next(inside).syntax != closing:
            pass

    def probability(self, token: Token, inside: str) -> float:
        """The number that `token` spells."""
        return self._source.probability(token.text, token.line, inside)

    def numbers(self, closing: str, inside: str) -> array[float]:
        """The numbers before the mark `closing`."""
        numbers = array("d")
        for text, line, kind in self._tokens:
            if kind == "mark" and text == closing:
                break
            numbers.append(self._source.probability(text, line, inside))
        else:
            self.ended(inside)
        return numbers

    def _scan(self, pattern: re.Pattern[str]) -> Iterator[tuple[str, int, str]]:
        """The fields of the tokens; plain tuples, because they are many."""
        rest = ""
        for piece in chain(self._texts(), [None]):
            text = rest + (piece or "")
            read = size = len(text)
            for match in pattern.finditer(text):
                kind = match.lastgroup or ""
                word = match.group(kind)
                if kind == "blank":
                    self._line += word.count("\n")
                elif piece is not None and (match.end() == size or kind == "bad"):
                    # What touches the end of a piece, or is not closed in it, may go on.
                    read = match.start()
                    break
                elif kind in ("word", "mark"):
                    yield word, self._line, kind
                elif kind == "bad":
                    self.fail(self._line, "a quote or a comment is opened and never closed")
                else:
                    if kind == "quoted":
                        yield re.sub(r'\\(["\\])', r"\1", word[1:-1]), self._line, kind
                    else:
                        self._source.comment(word, self._line)
                    self._line += word.count("\n")
            rest = text[read:]
            if len(rest) > MAX_TOKEN:
                self.fail(
                    self._line,
                    f"a name, number, quote or comment is longer than {MAX_TOKEN:,} characters",
                )

    def _texts(self) -> Iterator[str]:
        decoder = codecs.getincrementaldecoder("utf-8-sig")()
        line = 1
        for piece in chain(self._source.pieces(), [b""]):
            try:
                text = decoder.decode(piece, final=not piece)
            except UnicodeDecodeError as error:
                line += error.object[: error.start].count(b"\n")
                self.fail(line, "this is not UTF-8 text")
            line += text.count("\n")
            yield text
