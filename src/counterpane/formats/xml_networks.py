"""Networks in XML: XMLBIF 0.3, and GeNIe's XDSL for chance nodes and deterministic ones."""

from __future__ import annotations

import math
import re
from array import array
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import NoReturn
from xml.parsers import expat

import numpy as np

from counterpane.data.schema import Variable
from counterpane.errors import FileFormatError
from counterpane.formats.files import MAX_TOKEN, Source
from counterpane.formats.names import IDENTIFIER, spelled
from counterpane.formats.network import (
    Declared,
    Family,
    Fill,
    Network,
    assemble,
    fill_from_numbers,
)
from counterpane.typing import Floats

MAX_DEPTH = 32
MAX_ELEMENTS = 2**18  # of one record
SPACE = "xml:space"
FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
BLANKS = re.compile(r"[ \t\r\n]+")
COLUMN = "column"  # a property of ours: the place of a variable among the columns


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


def read_xmlbif(source: Source) -> Network:
    """The network in an XMLBIF file.

    The numbers of a TABLE run over the GIVEN variables in order, then the child, the last fastest.
    """
    declared: list[Declared] = []
    families: list[Family] = []
    for record in records(source, "BIF", "NETWORK"):
        if record.tag == "VARIABLE":
            name = record.one("NAME", source).text
            kind = record.attributes.get("TYPE", "nature")
            if kind != "nature":
                source.fail(record.line, f"{name!r} is of type {kind!r}; only 'nature' is read")
            states = [outcome.text for outcome in record.all("OUTCOME")]
            declared.append(Declared(name, states, record.line))
        elif record.tag == "DEFINITION":
            table = record.one("TABLE", source)
            fill = fill_from_numbers(source, table.numbers(source), table.line)
            given = [parent.text for parent in record.all("GIVEN")]
            families.append(Family(record.one("FOR", source).text, given, fill, record.line))
    return assemble(source, declared, families)


def write_xmlbif(network: Network, *, plain_names: bool) -> Iterator[str]:
    """The text of an XMLBIF file."""
    names, states, notes = spelled(network.schema, escaped, escaped, plain_names=plain_names)
    yield '<?xml version="1.0" encoding="UTF-8"?>\n' + commented(notes)
    yield '<BIF VERSION="0.3">\n<NETWORK>\n'
    yield "<NAME>unknown</NAME>\n"
    for name, labels in zip(names, states, strict=True):
        yield '<VARIABLE TYPE="nature">\n' + written("NAME", name)
        yield "".join(written("OUTCOME", label) for label in labels) + "</VARIABLE>\n"
    for i, table in enumerate(network.tables):
        yield "<DEFINITION>\n" + written("FOR", names[i])
        yield "".join(written("GIVEN", names[p]) for p in network.dag.parents(i)) + "<TABLE>\n"
        for row in table.reshape(-1, table.shape[-1]):
            yield " ".join(map(repr, row.tolist())) + "\n"
        yield "</TABLE>\n</DEFINITION>\n"
    yield "</NETWORK>\n</BIF>\n"


def read_xdsl(source: Source) -> Network:
    """The network in an XDSL file; a deterministic node gets a table of zeros and ones.

    The numbers of a node run over its parents in order, then its states, the last one fastest.
    aGrUM up to 3.3 lets the first parent run fastest instead; its files say who wrote them, and
    are read as they are meant.
    """
    declared: list[Declared] = []
    families: list[Family] = []
    columns: dict[str, int] = {}
    backwards = False
    for record in records(source, "smile", "nodes"):
        if record.section == "nodes":
            name = record.attribute("id", source)
            states = [state.attribute("id", source) for state in record.all("state")]
            declared.append(Declared(name, states, record.line))
            parents = [p for some in record.all("parents") for p in _words(some)]
            families.append(Family(name, parents, _fill(source, record, name), record.line))
            for note in record.all("property"):
                if note.attributes.get("id") == COLUMN and re.fullmatch(r"[0-9]{1,9}", note.text):
                    columns[name] = int(note.text)
        elif record.section == "dynamic":
            source.fail(record.line, "the network is dynamic; only static ones are read")
        elif record.tag == "genie" and record.attributes.get("app", "").startswith("aGrUM"):
            backwards = True
    if backwards:
        families = [f._replace(parents=f.parents[::-1]) for f in families]
    if len(columns) == len(declared):
        declared.sort(key=lambda variable: columns[variable.name])
    return assemble(source, declared, families)


def write_xdsl(network: Network, *, plain_names: bool) -> Iterator[str]:
    """The text of an XDSL file; GeNIe wants names and states that are identifiers.

    Names with blanks cannot be held as they are, for blanks part the parents.
    """

    def name_or_none(name: str) -> str | None:
        return None if BLANKS.search(name) else escaped(name)

    names, states, notes = spelled(
        network.schema, name_or_none, escaped, plain_names=plain_names, plain_state=IDENTIFIER
    )
    yield '<?xml version="1.0" encoding="UTF-8"?>\n' + commented(notes)
    yield '<smile version="1.0" id="network">\n<nodes>\n'
    order = network.dag.topological_order()  # GeNIe wants parents before their children
    for i in order:
        parents, table = network.dag.parents(i), network.tables[i]
        yield f'<cpt id="{names[i]}">\n'
        yield "".join(f'<state id="{state}" />\n' for state in states[i])
        if parents:
            yield f"<parents>{' '.join(names[p] for p in parents)}</parents>\n"
        yield f"<probabilities>{' '.join(map(repr, table.reshape(-1).tolist()))}</probabilities>\n"
        if list(order) != sorted(order):
            yield f'<property id="{COLUMN}">{i}</property>\n'
        yield "</cpt>\n"
    yield '</nodes>\n<extensions>\n<genie version="1.0" app="Counterpane" name="network" />\n'
    yield "</extensions>\n</smile>\n"


def _words(element: Element) -> list[str]:
    return [word for word in BLANKS.split(element.text) if word]


def _fill(source: Source, record: Element, name: str) -> Fill:
    if record.tag not in ("cpt", "deterministic"):
        source.fail(
            record.line,
            f"{name!r} is a {record.tag} node; only cpt and deterministic nodes are read",
        )
    if record.tag == "deterministic":
        results = record.one("resultingstates", source)
        return _certain(source, _words(results), results.line)
    table = record.one("probabilities", source)
    return fill_from_numbers(source, table.numbers(source), table.line)


def _certain(source: Source, states: Sequence[str], line: int) -> Fill:
    """A table in which each configuration of the parents has one state for sure."""

    def fill(family: Sequence[Variable]) -> tuple[Floats, int]:
        *parents, child = family
        needed = math.prod(v.card for v in parents)
        if len(states) != needed:
            source.fail(
                line, f"{len(states)} states are given for {child.name!r}; {needed} are needed"
            )
        rows = np.zeros((needed, child.card))
        for row, state in zip(rows, states, strict=True):
            code = child.find(state)
            if code is None:
                source.fail(line, f"column {child.name!r}: {child.not_a_state(state)}")
            row[code] = 1
        return rows, line

    return fill
