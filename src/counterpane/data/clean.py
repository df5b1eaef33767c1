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
BLOCK = 2**20  # cells held as Python rows at one time
MAX_WORDS = 1000  # of a column, for missing cells

_INTEGER = re.compile(r"[+-]?(0|[1-9][0-9]{0,17})")
_TRUTH = {"true": 1, "false": 0}


def columns_of_rows(rows: Iterable[Sequence[Cell]], names: Sequence[str]) -> list[Labels]:
    """A column for each name, whose states are the distinct cells in the order of their rows."""
    indices: list[dict[Any, int]] = [{} for _ in names]
    blocks: list[list[Array]] = [[] for _ in names]
    rows = iter(rows)
    while block := list(islice(rows, BLOCK // len(names) + 1)):
        for cells, index, codes in zip(zip(*block, strict=True), indices, blocks, strict=True):
            for cell in dict.fromkeys(cells):
                index.setdefault(cell, len(index))
            codes.append(np.fromiter(map(index.__getitem__, cells), np.int32, len(cells)))
    empty = np.empty(0, dtype=np.int32)
    return [
        Labels(name, tuple(index), np.concatenate([empty, *codes]))
        for name, index, codes in zip(names, indices, blocks, strict=True)
    ]


def text_column(column: Labels) -> Column:
    """A column of texts as truth values, numbers or texts, whichever all of its cells are.

    An empty cell is missing. Words such as NA count as missing among numbers only: among texts
    they may be states. Numbers with leading zeros and
    integers of more than 18 digits are texts, as codes of things are.
    """
    truths = read_truths(column)
    if truths is not None:
        return truths
    stripped = (str(text or "").strip() for text in column.states)
    figures = [text for text in stripped if text not in NO_NUMBER]
    if figures and not column.more and all(map(NUMBER.fullmatch, figures)):
        return numbers_of_texts(column, CellFormat())
    texts = [state or None for state in column.states]
    made = make_labels(column.name, texts, column.codes, declared=False)
    return replace(column, states=made.states, codes=made.codes)


def read_truths(column: Labels) -> Labels | None:
    """A column of texts as truth values, missing where they are empty; None if it has others."""
    texts = ["" if s is None else s.lower() if isinstance(s, str) else "?" for s in column.states]
    if column.declared or not {""} < {"", *texts} <= {"", *_TRUTH}:
        return None
    lookup = np.array([*(_TRUTH.get(text, -1) for text in texts), -1], dtype=np.int8)
    return replace(column, states=(False, True), codes=lookup[column.codes])


def text_columns(
    raw: Sequence[Column],
    *,
    decimal: str | None = None,
    semicolons: bool = False,
    formats: Mapping[str, NumberFormat] | None = None,
) -> list[Column]:
    """The columns of a file, as `text_column` makes them, and numbers in other formats as numbers.

    A column is read by its format in `formats` where all of its cells fit it. Else its format is
    found, and where it can be read in two ways, the columns that cannot decide by which `decimal`
    mark; see `find_format`. A column that came as numbers was written in the plain format, and all
    of its points are decimal marks for sure; it has integers where there was no point.
    """
    columns = [text_column(c) if isinstance(c, Labels) else c for c in raw]
    odd = [
        isinstance(c, Labels) and bool(_figures(old)) for c, old in zip(columns, raw, strict=True)
    ]
    if decimal is None and any(odd):
        decimal = file_decimal(map(_figures, raw))
    formats = formats or {}
    for place, column in enumerate(raw):
        doubtful = decimal == "," or odd[place] or column.name in formats
        if not doubtful or isinstance(column, Numbers) or column.more:
            continue
        form, texts = formats.get(column.name), _figures(column)
        if form is None or any(form.number(text) is None for text in texts):
            form = find_format(texts, decimal=decimal, semicolons=semicolons)
        if form is not None and not form.is_plain:
            columns[place] = numbers_of_texts(column, CellFormat(form))
    return columns


def _figures(column: Column) -> list[str]:
    """The distinct texts of a column that are not gaps; none where one cannot be a number."""
    if isinstance(column, Numbers):  # a text that shows the decimal mark as all of its texts do
        return ["0.5" if column.values.dtype.kind == "f" else "1"]
    texts = []
    for cell in column.states:
        text = str(cell or "").strip()
        if text not in NO_NUMBER:
            if not is_number_like(text):
                return []
            texts.append(text)
    return texts


def format_of(column: Labels, known: NumberFormat | None = None) -> NumberFormat | None:
    """The format of the texts that look like numbers: the known one if it fits all of them."""
    texts = [s for s in map(str, column.states) if s not in NO_NUMBER and is_number_like(s)]
    if known is not None and all(known.number(text) is not None for text in texts):
        return known
    return find_format(texts)


def numbers_of_texts(column: Labels, written: CellFormat, *, dated: bool = False) -> Numbers:
    """The numbers or dates that texts stand for, missing where they stand for none.

    Numbers are integers where all are written so and fit 64 bits, or are whole in another format.
    """
    texts = [str(state or "").strip() for state in column.states]
    plain = written.number.is_plain and not dated
    figures = ["0" if text in NO_NUMBER else text for text in texts] if plain else []
    if plain and all(map(NUMBER.fullmatch, figures)):
        integral = all(map(_INTEGER.fullmatch, figures))
        values = np.array([*figures, "0"], dtype=object).astype(np.int64 if integral else float)
        missing = np.array([*(text in NO_NUMBER for text in texts), True], dtype=bool)
    else:
        numbers = [written.value(text, dated=dated) for text in texts]
        missing = np.array([*(number is None for number in numbers), True], dtype=bool)
        values = np.array([*(0.0 if number is None else number for number in numbers), 0.0])
        if not dated and (values == np.rint(values)).all() and (np.abs(values) < 2**53).all():
            values = values.astype(np.int64)
    others = (str(s) for s, gap in zip(column.states, missing[:-1], strict=True) if s and gap)
    words = (text for text in others if text in GAP_WORDS or text.strip() not in NO_NUMBER)
    written = replace(written, gap_words=written.gap_words.union(islice(words, MAX_WORDS)))
    return Numbers(
        column.name, values[column.codes], missing[column.codes], dated, written,
        rows=column.rows, weights=column.weights,
    )  # fmt: skip


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
            texts = ((None if value is None else _text(value),) for value in values)
            [columns[name]] = text_columns(columns_of_rows(texts, [name]))
    return columns


def _text(value: Any) -> str:
    """A cell as a text file has it: whole numbers without a point, dates in ISO form."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        value = int(value)
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        value = value.date()
    return value if isinstance(value, str) else str(value)
