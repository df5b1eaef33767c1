"""Cells as they are written in files to columns of truth values, numbers or texts."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, TypeAlias

import numpy as np

from counterpane.data.columns import Column, Labels, Numbers, from_objects, make_labels
from counterpane.data.number_formats import (
    GAP_WORDS,
    NO_NUMBER,
    NUMBER,
    CellFormat,
    NumberFormat,
    file_decimal,
    find_format,
    is_number_like,
)
from counterpane.typing import Array

Cell: TypeAlias = str | None
MAX_WORDS = 1000  # of a column, for missing cells
BLOCK = 2**20  # cells held as Python rows at one time

_INTEGER = re.compile(r"[+-]?(0|[1-9][0-9]{0,17})")
_LONG_INTEGER = re.compile(r"[+-]?[0-9]{16,300}")  # that a double may not hold
_TRUTH = {"true": 1, "false": 0}


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
        column = number_column(name, stripped, codes)
        long = {int(text) for text in figures if _LONG_INTEGER.fullmatch(text)}
        real = column.values.dtype.kind == "f"
        if real and len(long) > len(set(map(float, long))):  # doubles cannot tell them apart
            states = sorted(set(figures), key=lambda text: (float(text), len(text), text))
            place = {text: code for code, text in enumerate(states)}
            lookup = np.array([place.get(text, -1) for text in stripped])
            return Labels(name, tuple(states), lookup[codes], declared=True)
        return column
    return make_labels(name, [text or None for text in texts], codes, declared=False)


def text_columns(
    names: Sequence[str],
    collected: Sequence[tuple[list[Cell], Array]],
    *,
    decimal: str | None = None,
    semicolons: bool = False,
    formats: Mapping[str, NumberFormat] | None = None,
) -> list[Column]:
    """The columns of a file, as `text_column` makes them, and numbers in other formats as numbers.

    A column is read by its format in `formats` where all of its cells fit it. Else its format is
    found, and where it can be read in two ways, the columns that cannot decide by which `decimal`
    mark; see `find_format`.
    """
    columns = [text_column(name, *cells) for name, cells in zip(names, collected, strict=True)]
    every = range(len(columns))
    odd = [i for i in every if isinstance(columns[i], Labels) and _figures(collected[i][0])]
    if decimal is None and odd:
        decimal = file_decimal(_figures(collected[i][0]) for i in every)
    formats = formats or {}
    doubtful = [i for i in every if decimal == "," or i in odd or names[i] in formats]
    for place in doubtful:
        name, texts = names[place], _figures(collected[place][0])
        form = formats.get(name)
        if form is None or any(form.number(text) is None for text in texts):
            form = find_format(texts, decimal=decimal, semicolons=semicolons)
        if form is not None and not form.is_plain:
            columns[place] = formatted_column(name, *collected[place], form)
    return columns


def formatted_column(name: str, cells: Sequence[Cell], codes: Array, form: NumberFormat) -> Numbers:
    """The numbers that cells are in a format; missing where they are none."""
    numbers = [None if cell is None else form.number(cell) for cell in cells]
    missing = np.array([number is None for number in numbers] + [True], dtype=bool)
    values = np.array([*(0.0 if number is None else number for number in numbers), 0.0])
    integers = values.astype(np.int64) if (np.abs(values) < 2**53).all() else values
    values = integers if (integers == values).all() else values
    return Numbers(
        name, values[codes], missing[codes], written=CellFormat(form, None, _gap_words(cells))
    )


def _figures(cells: Sequence[Cell]) -> list[str]:
    """The distinct texts of a column that are not gaps; none where one cannot be a number."""
    texts = []
    for cell in cells:
        text = (cell or "").strip()
        if text not in NO_NUMBER:
            if not is_number_like(text):
                return []
            texts.append(text)
    return texts


def number_column(name: str, texts: Sequence[Cell], codes: Array) -> Numbers:
    """A column of numbers; integers where all are written so, and fit 64 bits."""
    missing = np.array([text is None or text in NO_NUMBER for text in texts], dtype=bool)
    figures = ["0" if empty else text or "" for text, empty in zip(texts, missing, strict=True)]
    integral = all(map(_INTEGER.fullmatch, figures))
    values = np.array(figures, dtype=object).astype(np.int64 if integral else np.float64)
    return Numbers(
        name, values[codes], missing[codes], written=CellFormat(gap_words=_gap_words(texts))
    )


def _gap_words(cells: Sequence[Cell]) -> frozenset[str]:
    return frozenset(GAP_WORDS.intersection(cell for cell in cells if cell))


def format_of(column: Labels, known: NumberFormat | None = None) -> NumberFormat | None:
    """The format of the texts that look like numbers: the known one if it fits all of them."""
    texts = [s for s in map(str, column.states) if s not in NO_NUMBER and is_number_like(s)]
    if known is not None and all(known.number(text) is not None for text in texts):
        return known
    return find_format(texts)


def numbers_of_texts(column: Labels, written: CellFormat, *, dated: bool = False) -> Numbers:
    """The numbers or dates that texts stand for; missing where they stand for none."""
    numbers = [written.value(str(state), dated=dated) for state in column.states]
    values = np.array([*(np.nan if v is None else v for v in numbers), np.nan])[column.codes]
    missing = np.isnan(values)
    others = (str(s) for s, v in zip(column.states, numbers, strict=True) if v is None)
    words = written.gap_words.union(islice(others, MAX_WORDS))
    values = np.where(missing, 0.0, values)
    return Numbers(column.name, values, missing, dated, replace(written, gap_words=words))


NUMERIC = {bool, int, float}


def typed_columns(cells: Mapping[str, list[Any]]) -> dict[str, Column | list[Any]]:
    """Columns by name; a column of lists or objects stays as it is, for `columns_of` to refuse.

    Numbers, truth values, dates and lengths of time keep their kind. A column of texts is read as
    that of a text file is. So is a column of several kinds, whose cells become texts first.
    """
    columns: dict[str, Column | list[Any]] = {}
    for name, values in cells.items():
        kinds = {type(value) for value in values} - {type(None)}
        dates = all(issubclass(kind, datetime.date) for kind in kinds)
        if kinds & {list, dict}:
            columns[name] = values
        elif kinds <= NUMERIC or dates or kinds == {datetime.timedelta}:
            columns[name] = from_objects(name, values)
        else:
            texts = [None if value is None else _text(value) for value in values]
            columns[name] = text_columns([name], collect(_as_rows(texts), 1))[0]
    return columns


def _as_rows(texts: Sequence[str | None]) -> list[tuple[str | None]]:
    return [(text,) for text in texts]


def _text(value: Any) -> str:
    """A cell as a text file has it: whole numbers without a point, dates in ISO form."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        value = int(value)
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        value = value.date()
    return value if isinstance(value, str) else str(value)
