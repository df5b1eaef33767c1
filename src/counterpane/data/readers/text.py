"""Delimited text: where the table begins, its rows, and blocks of its columns."""

from __future__ import annotations

import io
import warnings
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import islice, pairwise
from typing import Any

import numpy as np

from counterpane._core import text as core
from counterpane.data.clean import numbers_of_texts, text_columns
from counterpane.data.columns import Column, Labels, Numbers
from counterpane.data.headers import (
    FIRST_LINES,
    SAMPLE,
    find_names,
    split_best,
    title_lines,
    titles_left_out,
)
from counterpane.data.number_formats import GAP_WORDS, NO_NUMBER, NUMBER, CellFormat
from counterpane.data.readers.blocks import BLOCK_ROWS, Block
from counterpane.data.readers.files import FileReader
from counterpane.data.readers.text_files import (
    TEXT,
    FileOptions,
    other_encoding,
    utf8_pieces,
    with_encoding,
)
from counterpane.data.remote import FilePath
from counterpane.errors import CounterpaneError, FileFormatError, Setting, check_names
from counterpane.typing import Array

BLOCK_BYTES = 2**24  # after which a block ends
BLOCK_CELLS = 2**22
MOST_ROW_BYTES = 2**28
MOST_DISTINCT = 4096  # cells of a block above which numbers are no texts
_WORDS = sorted(NO_NUMBER - {""})
_GAP_WORDS = core.GapWords(
    "".join(_WORDS).encode(), np.cumsum([0, *map(len, _WORDS)], dtype=np.int64)
)

Rows = tuple[bytearray, Array]
"""Text, and for each row and cell where the bytes of the cell begin and end in it."""


def read_delimited(path: FilePath, options: FileOptions) -> list[Column]:
    """The columns of a file with a header row; see `text_columns` for their kinds."""
    text = DelimitedText(path, options)
    formats = options.formats or {}
    columns = text.collect(text.names, text.names & formats.keys())
    again = [name for name in text.names if columns[name] is None]
    columns |= text.collect(again, again) if again else {}
    return text_columns(
        [column for column in columns.values() if column is not None],
        decimal=options.decimal,
        semicolons=text.delimiter == ";",
        formats=formats,
    )


class DelimitedText:
    """A text file with a header row, whose columns are read block by block, again for each pass.

    The default delimiter is the one of comma, semicolon, tab and bar that splits the header most.
    Blank lines are skipped; a row with more or fewer fields than the header is refused. Unless
    `strict`, titles above the header and a description below it are left out, with a warning. It
    can be pickled if its path and options can.
    """

    def __init__(self, path: FilePath, options: FileOptions) -> None:
        self.path, self.options = path, options
        guessing = not options.strict and options.header is not False
        with closing(TextRows(path, replace(options, report=None))) as rows:
            lines, above = rows.first_lines(1 if options.strict else FIRST_LINES)
            titles = title_lines(lines[above:]) if guessing else 0
            if titles:
                words = lines[above].strip(",;|\t\r\n ")
                warnings.warn(titles_left_out(titles + above, words), stacklevel=5)
            above += titles
            self.delimiter = options.delimiter or split_best("".join(lines[above : above + 1]))
            self._above = above, len("".join(lines[:above]).encode(*TEXT))
            rows.delimiter = self.delimiter
            rows.skip(*self._above)
            header = rows.first_row()
            if not header:
                raise FileFormatError(f"file {str(path)!r} is empty; a header row is needed.")
            if options.strict and "" in header and options.header is not False:
                raise FileFormatError(
                    f"file {str(path)!r}: column {header.index('') + 1} has no name in the header; "
                    "name each column (pandas writes an unnamed index unless told index=False)."
                )
            names, self._n_skipped = header, 1
            if not options.strict or options.header is False:
                sample = list(islice(rows.texts(len(header), SAMPLE), SAMPLE)) if guessing else []
                where = f"file {str(path)!r}"
                names, self._n_skipped = find_names(header, sample, where, options.header)
            self.names = tuple(names)
        check_names(names, f"file {str(path)!r}: ")

    def blocks(
        self, names: Sequence[str] | None = None, as_text: Collection[str] = ()
    ) -> Iterator[list[Column]]:
        """The cells of some columns, in blocks of at most `BLOCK_ROWS` rows.

        A column has the texts of its cells, in the order in which they first occur, the empty text
        among them. It has numbers instead where more than `MOST_DISTINCT` cells of the block are
        distinct, and all of them plain numbers or words for missing values: integers, or reals of
        which one has a point that cannot separate thousands. Columns `as_text` have texts in any
        case.
        """
        names = self.names if names is None else names
        places = [self.names.index(name) for name in names]
        texts = [self.names.index(name) for name in as_text]
        left = self._n_skipped
        with closing(TextRows(self.path, self.options)) as rows:
            rows.delimiter = self.delimiter
            rows.skip(*self._above)
            for text, bounds in rows.blocks(len(self.names)):
                skipped = min(left, len(bounds))
                left -= skipped
                if len(bounds) > skipped:
                    yield TextBlock(text, bounds[skipped:]).columns(places, names, texts)

    def collect(
        self, names: Sequence[str], as_text: Collection[str]
    ) -> dict[str, Labels | Numbers | None]:
        """Each column as `text_columns` takes it; None for one that must be read as text."""
        found = {name: ColumnBlocks(name) for name in names}
        for block in self.blocks(names, as_text):
            for column in block:
                found[column.name].add(column)
        return {name: whole.column() for name, whole in found.items()}


class TextBlock:
    """Some rows of a text file."""

    def __init__(self, text: bytearray, bounds: Array) -> None:
        self._text, self._bounds = text, bounds

    def columns(
        self, places: Sequence[int], names: Sequence[str], as_text: Collection[int]
    ) -> list[Column]:
        """Some columns, as `DelimitedText.blocks` has them."""
        texts = sorted(set(places).intersection(as_text))
        found: dict[int, Column] = {}
        for place, cells in self._labels(sorted(set(places).difference(texts)), MOST_DISTINCT):
            column = self._numbers(place) if cells is None else cells
            if column is None:
                texts.append(place)
            else:
                found[place] = column
        for place, cells in self._labels(texts, len(self._bounds)):
            assert cells is not None
            found[place] = cells
        return [replace(found[i], name=name) for i, name in zip(places, names, strict=True)]

    def _labels(self, places: Sequence[int], limit: int) -> Iterator[tuple[int, Labels | None]]:
        """Columns with their distinct cells; None where these are more than `limit`."""
        size = len(places), len(self._bounds)
        codes, first = np.empty(size, dtype=np.int32), np.empty(size, dtype=np.int32)
        n_distinct = np.empty(len(places), dtype=np.int64)
        columns = np.array(places, dtype=np.int64)
        core.find_distinct(self._text, self._bounds, columns, limit, codes, first, n_distinct)
        for place, n, own, rows in zip(places, n_distinct.tolist(), codes, first, strict=True):
            yield place, None if n < 0 else Labels("", self._texts(place, rows[:n]), own)

    def _texts(self, place: int, rows: Array) -> tuple[str, ...]:
        """The cells of a column in some rows."""
        begin, end = self._bounds[rows, place].T
        joined = bytearray(int((end - begin).sum()))
        ends = np.empty(len(rows), dtype=np.int64)
        core.join_cells(self._text, self._bounds, place, rows, joined, ends)
        text = joined.decode(*TEXT)
        return tuple(text[a:b] for a, b in pairwise([0, *ends.tolist()]))

    def _numbers(self, place: int) -> Numbers | None:
        """A column of numbers; None if it has none, or they are better seen as texts."""
        n = len(self._bounds)
        integers, reals = np.empty(n, dtype=np.int64), np.empty(n)
        missing, met = np.empty(n, dtype=bool), np.empty(len(_WORDS), dtype=bool)
        kind = core.read_numbers(
            self._text, self._bounds, place, _GAP_WORDS, integers, reals, missing, met
        )
        if kind == core.NO_NUMBERS:
            return None
        words = (word for word, is_met in zip(_WORDS, met, strict=True) if is_met)
        written = CellFormat(gap_words=GAP_WORDS.intersection(words))
        return Numbers("", integers if kind == core.INTEGERS else reals, missing, written=written)


class ColumnBlocks:
    """The blocks of one column, put together."""

    def __init__(self, name: str) -> None:
        self._name, self._index = name, dict[Any, int]()
        self._parts: list[Array | Numbers] = []

    def add(self, column: Column) -> None:
        """Add a block."""
        if isinstance(column, Numbers):
            self._parts.append(column)
            return
        index = self._index
        codes = [index.setdefault(text, len(index)) for text in column.states]
        self._parts.append(np.array(codes, dtype=np.int32)[column.codes])

    def column(self) -> Labels | Numbers | None:
        """The texts, or numbers; None where blocks do not agree."""
        texts = Labels(self._name, tuple(self._index), np.arange(len(self._index)))
        if not any(isinstance(part, Numbers) for part in self._parts):
            empty = np.empty(0, dtype=np.int32)
            return replace(texts, codes=np.concatenate([empty, *self._parts]))
        figures = [text.strip() for text in self._index if text.strip() not in NO_NUMBER]
        if not all(map(NUMBER.fullmatch, figures)):
            return None
        few = numbers_of_texts(replace(texts, states=(*texts.states, "")), CellFormat())
        parts = [p if isinstance(p, Numbers) else few.take(p) for p in self._parts]
        values = np.concatenate([part.values for part in parts])
        sure = any(isinstance(p, Numbers) and p.values.dtype.kind == "f" for p in self._parts)
        if values.dtype.kind == "f" and not sure:
            return None
        words = [part.written.gap_words for part in parts if part.written is not None]
        missing = np.concatenate([part.missing for part in parts])
        written = CellFormat(gap_words=frozenset().union(*words))
        return Numbers(self._name, values, missing, written=written)


# ---- rows ----------------------------------------------------------------------------------------


class TextRows:
    """The rows of a text file from its first to its last, which `delimiter` splits into cells."""

    delimiter = ","

    def __init__(self, path: FilePath, options: FileOptions) -> None:
        self._path, self._pieces = path, utf8_pieces(path, options)
        self._text, self._at = bytearray(), 0
        self._line, self._ended = 0, False

    def close(self) -> None:
        """Close the file."""
        self._pieces.close()

    def first_lines(self, most: int) -> tuple[list[str], int]:
        """The first lines, with their ends, and the number of blank ones above all others.

        Below these are at most so many, fewer only if the file has no more or they are too long.
        """
        while True:
            ends = self._text.rfind(b"\n"), self._text.rfind(b"\r", 0, -1)
            known = len(self._text) if self._ended else max(ends) + 1
            lines: list[str] = []
            blank = 0
            for line in io.StringIO(self._text[:known].decode(*TEXT), newline=""):
                lines.append(line)
                blank += len(lines) == blank + 1 and not line.strip()
                if len(lines) == blank + most:
                    return lines, blank
            if (len(lines) > blank and known > MOST_ROW_BYTES) or not self._more():
                return lines, blank

    def skip(self, lines: int, size: int) -> None:
        """Pass over so many lines, which are so many bytes."""
        while len(self._text) < size and self._more():
            pass
        self._at, self._line = size, lines

    def first_row(self) -> list[str]:
        """The cells of the next row, however many; none if there is no row."""
        bounds: Array = np.empty((1, 1, 2), dtype=np.int32)
        line = self._line
        n, n_cells = self._split(bounds, any_width=True)
        if n_cells > 1:
            self._line = line
            bounds = np.empty((1, n_cells, 2), dtype=np.int32)
            n, _ = self._split(bounds)
        return cells_of(self._text, bounds[0]) if n else []

    def blocks(self, width: int, most: int = BLOCK_ROWS) -> Iterator[Rows]:
        """The rows that are left, in blocks of at most so many; one of another width is refused.

        A block is read before the next one is made, which is in the same memory.
        """
        bounds = np.empty((max(1, min(most, BLOCK_CELLS // width)), width, 2), dtype=np.int32)
        while n := self._split(bounds)[0]:
            yield self._text, bounds[:n]

    def texts(self, width: int, most: int) -> Iterator[list[str]]:
        """The same as lists of cells; so many rows are read at one time."""
        for text, bounds in self.blocks(width, most):
            yield from [cells_of(text, row) for row in bounds]

    def _split(self, bounds: Array, *, any_width: bool = False) -> tuple[int, int]:
        """The number of rows put into `bounds`, and of the cells of a row of another width."""
        del self._text[: self._at]
        self._at, row, mark = 0, 0, self.delimiter.encode(*TEXT)
        while True:
            size = len(self._text)
            row, self._at, lines, fault, n_cells = core.split_rows(
                self._text, self._at, size, mark, self._ended, bounds, row
            )
            self._line += lines
            if fault == core.OTHER_WIDTH and any_width:
                return row, n_cells
            if fault:
                raise self._fault(fault, n_cells, bounds.shape[1])
            if row == len(bounds) or self._at >= BLOCK_BYTES or self._ended:
                return row, 0
            self._more()

    def _more(self) -> bool:
        """Read on, further the more is unfinished; whether there was anything."""
        unfinished = len(self._text) - self._at
        if unfinished > MOST_ROW_BYTES:
            raise FileFormatError(
                f"file {str(self._path)!r}, line {self._line + 1}: a row has more than "
                f"{MOST_ROW_BYTES:,} bytes; close its quotes, or pass ",
                Setting("delimiter"),
                " if the file is no table.",
            )
        size = len(self._text)
        for piece in self._pieces:
            self._text += piece
            if len(self._text) - size > unfinished:
                return True
        self._ended = True
        return len(self._text) > size

    def _fault(self, fault: int, n_cells: int, width: int) -> FileFormatError:
        where = f"file {str(self._path)!r}, line {self._line}"
        if fault == core.AFTER_QUOTE:
            return FileFormatError(f"{where}: '{self.delimiter}' expected after '\"'.")
        if fault == core.OPEN_QUOTE:
            return FileFormatError(f"{where}: unexpected end of data.")
        return FileFormatError(
            f"{where}: {n_cells} fields where the header has {width}; repair the line, or pass ",
            Setting("delimiter"),
            " if it is not as guessed.",
        )


def cells_of(text: bytearray, bounds: Array) -> list[str]:
    """The cells that begin and end at some places."""
    return [text[begin:end].decode(*TEXT) for begin, end in bounds.tolist()]


# ---- several files -------------------------------------------------------------------------------


class TextFiles(FileReader):
    """Files of delimited text."""

    text_file = True

    def __init__(self, located: Sequence[tuple[FilePath, FilePath]], options: FileOptions) -> None:
        self._options = {path.absolute(): with_encoding(path, options) for path, _ in located}
        self._texts: dict[FilePath, DelimitedText] = {}
        self._failed: FilePath | None = None
        super().__init__(located)
        self.semicolons = self._text(self.paths[0]).delimiter == ";"

    def kinds(self, path: FilePath) -> dict[str, str]:
        try:
            return dict.fromkeys(self._text(path).names, "")
        except CounterpaneError as error:
            if not self._try_again(path, error):
                raise
            return dict.fromkeys(self._text(path).names, "")

    def read_otherwise(self, error: CounterpaneError) -> bool:
        return self._failed is not None and self._try_again(self._failed, error)

    def only(self, paths: Collection[FilePath]) -> TextFiles:
        reader = super().only(paths)
        reader._options = {path: self._options[path] for path in paths}
        reader._texts = {path: text for path, text in self._texts.items() if path in paths}
        return reader

    def _try_again(self, path: FilePath, error: CounterpaneError) -> bool:
        """Whether another encoding of a file can be tried."""
        path = path.absolute()
        other = other_encoding(path, self._options[path], error)
        if other is None:
            return False
        self._options[path] = other
        self._texts.pop(path, None)
        return True

    def _text(self, path: FilePath) -> DelimitedText:
        path = path.absolute()
        if path not in self._texts:
            self._texts[path] = DelimitedText(path, self._options[path])
        return self._texts[path]

    def _blocks(
        self, path: FilePath, names: Sequence[str], as_text: Collection[str], groups: range | None
    ) -> Iterator[Block]:
        try:
            for block in self._text(path).blocks(names, as_text):
                yield list(block)
        except CounterpaneError:
            self._failed = path
            raise
