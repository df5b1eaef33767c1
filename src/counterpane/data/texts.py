"""Text files: opened safely, their cells collected column by column, their meaning guessed."""

from __future__ import annotations

import codecs
import csv
import gzip
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, TypeAlias, cast

import numpy as np

from counterpane.data.columns import Column, Labels, Numbers, make_labels
from counterpane.errors import FileFormatError, ParameterError, Setting
from counterpane.typing import Array

Cell: TypeAlias = str | None
BLOCK = 2**20  # cells held as Python rows at one time

_INTEGER = re.compile(r"[+-]?(0|[1-9][0-9]{0,17})")
NUMBER = re.compile(r"[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_TRUTH = {"true": 1, "false": 0}
NO_NUMBER = frozenset({"", "NA", "N/A", "NaN", "nan", "null", "NULL", "?"})


@contextmanager
def open_text(path: Path, encoding: str) -> Iterator[IO[str]]:
    """The text of a file, unpacked where its name ends in .gz; every failure is one sentence."""
    try:
        codecs.lookup(encoding)
    except LookupError:
        raise ParameterError(
            Setting("encoding", encoding), " is not known; try 'latin-1'."
        ) from None
    opener = gzip.open if path.suffix.lower() == ".gz" else open
    try:
        with opener(path, "rt", encoding=encoding, newline="") as file:
            yield cast("IO[str]", file)
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
    except OSError as error:
        raise FileFormatError(
            f"file {str(path)!r} cannot be read: {error.strerror or error}."
        ) from None


def collect(rows: Iterable[Sequence[Cell]], width: int) -> list[tuple[list[Cell], Array]]:
    """For each of `width` columns its distinct cells as they came, and the code of each row."""
    indices: list[dict[Cell, int]] = [{} for _ in range(width)]
    blocks: list[list[Array]] = [[] for _ in range(width)]
    rows = iter(rows)
    while block := list(islice(rows, BLOCK // width + 1)):
        for cells, index, codes in zip(zip(*block, strict=True), indices, blocks, strict=True):
            for cell in dict.fromkeys(cells):
                index.setdefault(cell, len(index))
            codes.append(np.fromiter(map(index.__getitem__, cells), np.int32, len(cells)))
    empty = np.empty(0, dtype=np.int32)
    return [
        (list(index), np.concatenate([empty, *codes]))
        for index, codes in zip(indices, blocks, strict=True)
    ]


def text_column(name: str, cells: list[Cell], codes: Array) -> Column:
    """A column of truth values, numbers or texts, whichever all of its distinct cells are.

    An empty cell is missing. Words such as NA count as missing among numbers only: among texts
    they may be states. Numbers with leading zeros are texts, as codes of things are.
    """
    texts = [cell or "" for cell in cells]
    truths = {text.lower() for text in texts} - {""}
    if truths and truths <= _TRUTH.keys():
        lookup = np.array([_TRUTH.get(text.lower(), -1) for text in texts], dtype=np.int8)
        return Labels(name, (False, True), lookup[codes])
    stripped = [text.strip() for text in texts]
    figures = [text for text in stripped if text not in NO_NUMBER]
    if figures and all(map(NUMBER.fullmatch, figures)):
        return number_column(name, stripped, codes)
    return make_labels(name, [text or None for text in texts], codes, declared=False)


def number_column(name: str, texts: Sequence[Cell], codes: Array) -> Numbers:
    """A column of numbers; integers where all are written so, and fit 64 bits."""
    missing = np.array([text is None or text in NO_NUMBER for text in texts], dtype=bool)
    figures = ["0" if gone else text or "" for text, gone in zip(texts, missing, strict=True)]
    whole = all(map(_INTEGER.fullmatch, figures))
    values = np.array(figures, dtype=object).astype(np.int64 if whole else np.float64)
    return Numbers(name, values[codes], missing[codes])
