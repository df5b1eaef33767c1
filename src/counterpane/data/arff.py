"""Columns of an ARFF file: nominal attributes keep their declared order and unused states."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from counterpane.data.clean import Cell, columns_of_rows
from counterpane.data.columns import Column, Labels, Numbers, make_labels
from counterpane.data.number_formats import NO_NUMBER
from counterpane.data.readers.text_files import FileOptions, open_text
from counterpane.data.schema import Variable
from counterpane.errors import FileFormatError

# A quoted text with backslash escapes, or a bare one. All repeats are possessive: no backtracking.
_QUOTED = r"""'((?:[^'\\]|\\.)*+)'\s*+|"((?:[^"\\]|\\.)*+)"\s*+"""
_FIELD = re.compile(rf"""\s*+(?:{_QUOTED}|([^,'"]*+))(?:,|\Z)""")
_PAIR = re.compile(rf"""\s*+([0-9]{{1,9}})\s++(?:{_QUOTED}|([^,'"]*+))(?:,|\Z)""")
_ATTRIBUTE = re.compile(rf"""\S++\s++(?:{_QUOTED}|([^\s'"{{]++))\s*+(.++)""")
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t"}


@dataclass(frozen=True)
class Attribute:
    """A declared column; `states` is None for numbers and empty for free text."""

    name: str
    states: tuple[str, ...] | None


class _Lines:
    """The lines of a file without blanks and comments; errors name the number of the last one."""

    def __init__(self, lines: Iterable[str], path: Path) -> None:
        self._lines, self._path, self._number = iter(lines), path, 0

    def __iter__(self) -> Iterator[str]:
        for line in self._lines:
            self._number += 1
            text = line.strip()
            if text and not text.startswith("%"):
                yield text

    def error(self, words: str) -> FileFormatError:
        return FileFormatError(f"file {str(self._path)!r}, line {self._number}: {words}.")


def read_arff(path: Path, options: FileOptions) -> list[Column]:
    """The columns of an ARFF file with dense or sparse rows; `?` is a missing cell."""
    with open_text(path, options) as file:
        lines = _Lines(file, path)
        attributes = _header(lines)
        columns = columns_of_rows(_rows(lines, attributes), [a.name for a in attributes])
    return [_column(a, column, path) for a, column in zip(attributes, columns, strict=True)]


def _header(lines: _Lines) -> list[Attribute]:
    attributes: list[Attribute] = []
    for line in lines:
        word = line.split(maxsplit=1)[0].lower()
        if word == "@data" and attributes:
            return attributes
        if word == "@attribute":
            attributes.append(_attribute(line, lines))
        elif word != "@relation":
            raise lines.error(f"{line[:40]!r} is out of place; @attribute lines, then @data, come")
    raise lines.error("the file ends before its @data section")


def _attribute(line: str, lines: _Lines) -> Attribute:
    match = _ATTRIBUTE.fullmatch(line)
    if match is None:
        raise lines.error(f"{line[:40]!r} lacks a name or a type")
    name, kind = _text(*match.groups()[:3]) or "", match[4].strip()
    if kind.startswith("{") and kind.endswith("}") and kind[1:-1].strip():
        return Attribute(name, tuple(text or "?" for text in _fields(kind[1:-1], lines)))
    word = kind.split()[0].lower()
    if word not in ("numeric", "real", "integer", "string"):
        raise lines.error(
            f"attribute {name!r} has the type {kind[:40]!r}; a list of states in braces, numeric, "
            "real, integer or string is allowed"
        )
    return Attribute(name, () if word == "string" else None)


def _rows(lines: _Lines, attributes: list[Attribute]) -> Iterator[list[Cell]]:
    left_out: list[Cell] = [a.states[0] if a.states else "0" for a in attributes]
    for line in lines:
        if line.startswith("{"):
            row = left_out.copy()
            for place, text in _pairs(line, lines):
                if place >= len(row):
                    raise lines.error(f"column {place} is set, and there are {len(row)} from 0")
                row[place] = text
        else:
            row = _fields(line, lines)
        if len(row) != len(attributes):
            raise lines.error(f"{len(row)} values for {len(attributes)} attributes")
        yield row


def _fields(line: str, lines: _Lines) -> list[Cell]:
    """The texts between commas; None for a bare question mark."""
    if "'" not in line and '"' not in line:
        return [_text(None, None, part) for part in line.split(",")]
    return [_text(*match.groups()) for match in _matches(_FIELD, line, lines)]


def _pairs(line: str, lines: _Lines) -> Iterator[tuple[int, Cell]]:
    """The places and texts of a sparse row, which lists what is not the first state or zero."""
    body = line[1:-1].strip()
    if not line.endswith("}"):
        raise lines.error("the brace of a sparse row is not closed")
    for match in _matches(_PAIR, body, lines) if body else ():
        place, *texts = match.groups()
        yield int(place), _text(*texts)


def _matches(pattern: re.Pattern[str], text: str, lines: _Lines) -> Iterator[re.Match[str]]:
    """Matches of `pattern` end to end, as long as a comma promises another."""
    place, more = 0, True
    while more:
        match = pattern.match(text, place)
        if match is None:
            raise lines.error(f"{text[place : place + 40]!r} cannot be read; check its quotes")
        yield match
        place, more = match.end(), match[0].endswith(",")


def _text(single: Cell, double: Cell, bare: Cell = None) -> Cell:
    quoted = single if single is not None else double
    if quoted is not None:
        return _ESCAPE.sub(lambda match: _ESCAPED.get(match[1], match[1]), quoted)
    text = (bare or "").strip()
    return None if text == "?" else text


def _column(attribute: Attribute, column: Labels, path: Path) -> Column:
    name, states = attribute.name, attribute.states
    if states is None:
        figures = ("nan" if c is None or c in NO_NUMBER else c for c in column.states)
        try:
            values = np.array([*map(float, figures), math.nan])[column.codes]
        except ValueError as error:
            raise FileFormatError(f"file {str(path)!r}, column {name!r}: {error}.") from None
        missing = np.isnan(values)
        return Numbers(name, np.where(missing, 0.0, values), missing)
    if not states:
        return make_labels(name, column.states, column.codes, declared=False)
    variable = Variable(name, states)
    cells = (-1 if cell is None else variable.code(cell) for cell in column.states)
    return Labels(name, states, np.array([*cells], dtype=np.int64)[column.codes])
