"""The records of an XML file, one by one. Entities and whatever else could swell are refused."""

from __future__ import annotations

import re
from array import array
from collections import deque
from collections.abc import Iterable, Iterator
from typing import NoReturn
from xml.parsers import expat

from counterpane.errors import FileFormatError
from counterpane.models.formats.source import MAX_TOKEN, Source

MAX_DEPTH = 32
MAX_ELEMENTS = 2**18  # of one record
SPACE = "xml:space"
FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Element:
    """An element with its children, its line, and the tag of the section that it stands in."""

    __slots__ = ("attributes", "children", "line", "pieces", "section", "tag")

    def __init__(self, tag: str, attributes: dict[str, str], line: int, section: str) -> None:
        self.tag = tag
        self.attributes = attributes
        self.line = line
        self.section = section
        self.children: list[Element] = []
        self.pieces: list[str] = []

    @property
    def text(self) -> str:
        """The text, without the blanks around it unless the file says that they count."""
        text = "".join(self.pieces)
        return text if self.attributes.get(SPACE) == "preserve" else text.strip(" \t\r\n")

    def all(self, tag: str) -> list[Element]:
        """The children with this tag."""
        return [child for child in self.children if child.tag == tag]

    def one(self, tag: str, source: Source) -> Element:
        """The only child with this tag."""
        found = self.all(tag)
        if len(found) != 1:
            source.fail(self.line, f"<{self.tag}> has {len(found)} <{tag}>; one is needed")
        return found[0]

    def attribute(self, name: str, source: Source) -> str:
        """The value of an attribute that must be there."""
        if name not in self.attributes:
            source.fail(self.line, f"<{self.tag}> has no attribute {name!r}")
        return self.attributes[name]

    def numbers(self, source: Source) -> array[float]:
        """The numbers in the text."""
        numbers, line = array("d"), self.line
        for match in re.finditer(r"\n|[^ \t\r\n]++", "".join(self.pieces)):
            word = match.group()
            if word == "\n":
                line += 1
            else:
                numbers.append(source.probability(word, line, f"<{self.tag}>"))
        return numbers


class _Builder:
    """What the parser calls: a stack of open elements, and the records that are done."""

    def __init__(self, source: Source, root: str, section: str) -> None:
        self._source = source
        self._root = root
        self._section = section
        self._stack: list[Element] = []
        self._kept = 0
        self.done: deque[Element] = deque()
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.buffer_size = MAX_TOKEN
        self.parser.specified_attributes = True  # the defaults of a DTD could swell without end
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._data
        self.parser.CommentHandler = self._comment
        self.parser.EntityDeclHandler = self._entity
        self.parser.SkippedEntityHandler = self._entity

    def fail(self, message: str) -> NoReturn:
        self._source.fail(self.parser.CurrentLineNumber, message)

    def feed(self, piece: bytes, *, final: bool) -> None:
        try:
            self.parser.Parse(piece, final)
        except expat.ExpatError as error:
            reason = expat.ErrorString(error.code)
            self._source.fail(error.lineno, f"this is not XML, or it is cut short ({reason})")
        except FileFormatError:
            raise
        except (LookupError, ValueError) as error:
            self.fail(f"the encoding cannot be read ({error})")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        depth = len(self._stack)
        if depth == 0 and tag != self._root:
            self.fail(f"the root is <{tag[:40]}>; <{self._root}> is needed")
        section = self._stack[1].tag if depth > 1 else ""
        element = Element(tag, attributes, self.parser.CurrentLineNumber, section)
        if depth == 2:
            self._kept = 0
        elif depth > 2 and section == self._section:
            self._stack[-1].children.append(element)
            self._kept += 1
        self._stack.append(element)
        if depth >= MAX_DEPTH or self._kept > MAX_ELEMENTS:
            self.fail(f"<{tag[:40]}> is nested too deep, or in a record of too many elements")

    def _end(self, tag: str) -> None:
        element = self._stack.pop()
        if len(self._stack) == 2:
            self.done.append(element)

    def _data(self, text: str) -> None:
        if len(self._stack) > 2 and self._stack[1].tag == self._section:
            self._stack[-1].pieces.append(text)

    def _comment(self, text: str) -> None:
        self._source.comment(text, self.parser.CurrentLineNumber)

    def _entity(self, name: str, *_: object) -> NoReturn:
        self.fail(f"the entity {name[:40]!r} is declared or used; such files are not read")


def records(source: Source, root: str, section: str) -> Iterator[Element]:
    """The elements two levels below `root`, each as it ends; only those in `section` whole."""
    builder = _Builder(source, root, section)
    fed = 0
    for piece in source.pieces():
        fed += len(piece)
        builder.feed(piece, final=False)
        if fed - builder.parser.CurrentByteIndex > MAX_TOKEN:
            builder.fail(f"a tag or comment is longer than {MAX_TOKEN:,} bytes")
        while builder.done:
            yield builder.done.popleft()
    builder.feed(b"", final=True)
    yield from builder.done


def escaped(word: str) -> str | None:
    """The word as text or attribute; None where XML has no way to hold it."""
    if FORBIDDEN.search(word):
        return None
    return re.sub(r'[&<>"\t\n\r]', lambda match: f"&#{ord(match.group())};", word)


def commented(notes: Iterable[str]) -> str:
    """Each note as a comment."""
    return "".join(f"<!-- {note} -->\n" for note in notes)


def written(tag: str, text: str) -> str:
    """An element around text that is `escaped`; blanks at its ends are said to count."""
    blanks = (" ", "&#9;", "&#10;", "&#13;")
    space = f' {SPACE}="preserve"' if text.startswith(blanks) or text.endswith(blanks) else ""
    return f"<{tag}{space}>{text}</{tag}>\n"
