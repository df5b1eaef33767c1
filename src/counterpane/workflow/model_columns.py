"""Columns as a model reads them, and what is said of columns and cells that it does not know."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from counterpane.data.columns import Column, Labels, Numbers
from counterpane.data.encoding import as_written
from counterpane.data.number_formats import NO_NUMBER, PLAIN
from counterpane.data.prepare import words_among
from counterpane.data.schema import formats_of
from counterpane.typing import Bools


def as_learned(model: Any, columns: Sequence[Column]) -> list[Column]:
    """Columns as a model takes them: texts are the numbers and dates that they were for it."""
    known = {variable.name: variable for variable in model.schema}
    return [as_written(c, known[c.name]) if c.name in known else c for c in columns]


def lacking_columns(model: Any, columns: Sequence[Column], target: str | None = None) -> list[str]:
    """The columns of a model, but for the target, that are not there; quoted names."""
    names = {column.name for column in columns} | {target}
    return [repr(name) for name in model.schema.names if name not in names]


def data_notes(model: Any, raw: Sequence[Column], target: str | None) -> list[str]:
    """Sentences on the columns of a model that DATA lacks, and on the cells it does not know."""
    before, after = ({c.name: c for c in columns} for columns in (raw, as_learned(model, raw)))
    absent = lacking_columns(model, raw, target)
    lines = [f"Not in DATA, so summed out: {', '.join(absent)}."] if absent else []
    formats = formats_of(model.schema)
    for variable in model.schema:
        if variable.name in before and variable.name != target:
            name = variable.name
            lines += _cell_notes(variable, before[name], after[name], formats.get(name))
    return lines


def _cell_notes(variable: Any, before: Column, after: Column, number_format: Any) -> Iterator[str]:
    """Sentences on the cells of a column that were read otherwise than in training, or not."""
    written = before.written.number if isinstance(before, Numbers) and before.written else PLAIN
    if not written.is_plain and written != number_format:
        yield f"Read {variable.name} as {written.words()}."
    if isinstance(after, Numbers) and isinstance(before, Labels):
        lost = before.codes[after.missing & text_cells(before)]
        if lost.size:
            yield (
                f"Column {variable.name!r}: {lost.size:,} cells that are no "
                f"{'date' if after.dated else 'number'}, such as "
                f"{before.states[lost[0]]!r}, are taken as missing."
            )
    if isinstance(after, Numbers) and variable.cuts is None:
        after = after.labels()
    if isinstance(after, Labels):
        strange = [variable.find(s) is None for s in after.states]
        cells = int(np.append(strange, False)[after.codes].sum())
        if cells:
            first = after.states[strange.index(True)]
            several = (
                f"{cells:,} cells with states that the model does not know, such as {first!r},"
            )
            one = f"1 cell, {first!r}, has a state that the model does not know, and is"
            what = one if cells == 1 else f"{several} are"
            yield f"Column {variable.name!r}: {what} taken as unknown."


def text_cells(column: Labels) -> Bools:
    """Which cells hold a text that is no word for a missing number."""
    gaps = [code for code, s in enumerate(column.states) if s is None or s in NO_NUMBER]
    cells: Bools = (column.codes >= 0) & ~np.isin(column.codes, gaps)
    return cells


def kept_texts(before: Labels, after: Numbers) -> Bools:
    """Which cells of a column of numbers hold a text that stands for a value, not for a gap.

    A word such as "unknown" that occurs more than once stands for a gap; any other text may be a
    number that was mistyped.
    """
    codes = [before.states.index(word) for word in words_among(before, after)]
    gaps = [code for code in codes if (before.codes == code).sum() > 1]
    kept: Bools = after.missing & text_cells(before) & ~np.isin(before.codes, gaps)
    return kept
