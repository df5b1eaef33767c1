"""Text files: how they are written, and their text: unpacked, of a known encoding, as UTF-8."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import warnings
import zlib
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, cast

from counterpane.checks import BOOLEAN, NONE, STRING, check
from counterpane.data.number_formats import NumberFormat
from counterpane.data.remote import FilePath
from counterpane.disk import check_unpacked, most_unpacked, open_bytes, path_errors
from counterpane.errors import (
    CounterpaneError,
    CounterpaneWarning,
    FileFormatError,
    ParameterError,
    Setting,
)
from counterpane.progress import Report

MEGABYTE = 1e6
PIECE = 2**20  # bytes read at a time
TEXT = "utf-8", "surrogatepass"  # some codecs decode to lone surrogates
GUESS = "utf-8-sig"
_ODD, _BEYOND_ASCII = re.compile("[\udc80-\udcff]"), re.compile("[^\x00-\x7f]")


@dataclass(frozen=True)
class FileOptions:
    """How a file is written; None is detected.

    Without `encoding` text is UTF-8, UTF-16 if it begins so, otherwise Windows-1252, and `guessed`
    then; if `damaged`, bytes that are no text of the encoding are replaced. `header` says whether
    the first row has the names of the columns. `sheet` is one of an Excel file. `formats` are the
    formats of numbers that a model was learned from, by column. Columns without a name are named
    after their position. If `strict`, they are refused, and so is text that is not UTF-8. `report`
    is told how much was read.
    """

    delimiter: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    sheet: str | int | None = None
    header: bool | None = None
    formats: Mapping[str, NumberFormat] | None = None
    report: Report | None = None
    strict: bool = False
    guessed: bool = False
    damaged: bool = False

    def __post_init__(self) -> None:
        if self.decimal not in (None, ".", ","):
            raise ParameterError(Setting("decimal", self.decimal), "; '.' or ',' is allowed.")
        if self.delimiter is not None:
            check_delimiter(self.delimiter)
        check("encoding", self.encoding, STRING | NONE)
        check("header", self.header, BOOLEAN | NONE)


def check_delimiter(delimiter: Any) -> None:
    """Refuse a delimiter that is not one character."""
    if not isinstance(delimiter, str) or len(delimiter) != 1:
        raise ParameterError(Setting("delimiter", delimiter), "; one character is needed.")


@contextmanager
def open_text(path: Path, options: FileOptions) -> Iterator[IO[str]]:
    """The text of a file, unpacked where its name ends in .gz; every failure is one sentence."""
    encoding, errors = options.encoding or "utf-8-sig", "replace" if options.damaged else "strict"
    packed = path.suffix.lower() == ".gz"
    with (
        text_errors(path, encoding),
        io.TextIOWrapper(open_bytes(path, packed=packed), encoding, errors, newline="") as file,
    ):
        yield file


@contextmanager
def text_errors(path: FilePath, encoding: str) -> Iterator[None]:
    """Turns what goes wrong with the text of a file into one sentence."""
    try:
        io.TextIOWrapper(io.BytesIO(), encoding)
    except (LookupError, ValueError):  # one of bytes, or with a null character
        raise ParameterError(
            Setting("encoding", encoding), " is not known; try 'latin-1'."
        ) from None
    try:
        with path_errors(path, "read"):
            yield
    except EOFError:
        raise FileFormatError(
            f"file {str(path)!r} is cut short: its gzip data have no end; fetch it again."
        ) from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise FileFormatError(
            f"file {str(path)!r} is not a sound gzip file ({error}); fetch it again, or "
            "drop .gz from its name."
        ) from None
    except UnicodeError as error:
        raise FileFormatError(
            f"file {str(path)!r} is not {encoding} text ({error}); pass ",
            Setting("encoding"),
            " if it is text of another kind.",
        ) from None
    except csv.Error as error:
        raise FileFormatError(f"file {str(path)!r} cannot be read as text: {error}.") from None


# ---- encodings -----------------------------------------------------------------------------------


def with_encoding(path: FilePath, options: FileOptions) -> FileOptions:
    """The options with the encoding that a file is read by first."""
    if options.encoding:
        return options
    wide = not options.strict and _is_wide(path)
    return replace(options, encoding="utf-16" if wide else GUESS, guessed=not options.strict)


def other_encoding(
    path: FilePath, options: FileOptions, error: CounterpaneError
) -> FileOptions | None:
    """The options to read a file by after an error; None if its encoding was not to blame."""
    guessed = options.guessed and options.encoding == GUESS
    if not guessed or options.damaged or not isinstance(error.__context__, UnicodeError):
        return None
    if _is_damaged_utf8(path):
        return replace(options, damaged=True)
    return replace(options, encoding="cp1252")


def _is_wide(path: FilePath) -> bool:
    """Whether a file begins as UTF-16 text does."""
    with path_errors(path, "read"), path.open("rb") as file:
        return file.read(2) in (b"\xff\xfe", b"\xfe\xff")


class BytesReplaced(CounterpaneWarning):
    """A UTF-8 file has bytes that are not valid characters."""


def _is_damaged_utf8(path: FilePath) -> bool:
    """Whether a file is UTF-8 text but for a few bytes; a warning says where the first is.

    Text of another encoding has hardly any sequence of bytes that is a character beyond ASCII in
    UTF-8, and UTF-8 has many for each byte that was damaged.
    """
    good = bad = offset = lines = 0
    first = (0, 0)
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    with path_errors(path, "read"):
        for block in unpacked(path):
            text = decoder.decode(block)
            odd = _ODD.search(text)
            if odd and not bad:
                before = text[: odd.start()]
                first = (
                    offset + len(before.encode(errors="surrogateescape")),
                    lines + before.count("\n") + 1,
                )
            n_odd = len(_ODD.findall(text))
            bad, good = bad + n_odd, good + len(_BEYOND_ASCII.findall(text)) - n_odd
            offset, lines = (
                offset + len(text.encode(errors="surrogateescape")),
                lines + text.count("\n"),
            )
    if good < bad:
        return False
    several = f"{bad:,} bytes are" if bad > 1 else "1 byte is"
    warnings.warn(
        BytesReplaced(
            f"file {str(path)!r}: {several} not valid UTF-8, the first at byte {first[0]:,} (line "
            f"{first[1]:,}), and read as '\ufffd'; pass ",
            Setting("encoding"),
            " if the text has another encoding.",
        ),
        stacklevel=4,
    )
    return True


# ---- bytes ---------------------------------------------------------------------------------------


def utf8_pieces(path: FilePath, options: FileOptions) -> Generator[bytes, None, None]:
    """The text of a file here or in a store as valid UTF-8, without a byte order mark.

    It is unpacked if the name of the file ends in .gz, unless there is too much of it.
    """
    encoding, errors = options.encoding or "utf-8-sig", "replace" if options.damaged else "strict"
    with text_errors(path, encoding):
        name = codecs.lookup(encoding).name
        as_it_is = errors == "strict" and name in ("utf-8", "utf-8-sig")
        decoder: Any = codecs.getincrementaldecoder("utf-8" if as_it_is else encoding)(errors)
        mark = codecs.BOM_UTF8 if as_it_is and name == "utf-8-sig" else b""
        unfinished = False
        for piece in unpacked(path, options.report):
            if not as_it_is:
                yield decoder.decode(piece, not piece).encode(*TEXT)
                continue
            if unfinished or not piece or not piece.isascii():
                decoder.decode(piece, not piece)
                unfinished = bool(decoder.getstate()[0])
            yield piece.removeprefix(mark)
            mark = b""


def unpacked(path: FilePath, report: Report | None = None) -> Iterator[bytes]:
    """The bytes of a file, and empty ones at its end."""
    packed = path.suffix.lower() == ".gz"
    limit, size = most_unpacked(path) if packed else 0, 0
    stored = cast("IO[bytes]", open(path, "rb") if isinstance(path, Path) else path.open())  # noqa: SIM115
    with closing(stored):
        file = gzip.GzipFile(fileobj=stored) if packed else stored
        total = path.stat().st_size / MEGABYTE
        report = report or (lambda *_: None)
        report("reading, megabytes", 0.0, total)
        piece = b"?"
        while piece:
            piece = file.read(max(PIECE, 4))  # a byte order mark is not cut
            size += len(piece)
            if packed and size > limit:
                check_unpacked(path, size, "unpack it with gunzip and pass the result")
            report("reading, megabytes", stored.tell() / MEGABYTE, total)
            yield piece
