"""Columns as people have them, made fit to learn from; what was done is told by column."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from counterpane.data.columns import Column, Labels, Numbers, columns_of, n_rows
from counterpane.data.dates import day_number, find_day_first
from counterpane.data.frames import encode_column
from counterpane.data.schema import Schema, Variable
from counterpane.data.texts import NO_NUMBER, NUMBER
from counterpane.errors import DataError, unknown_name
from counterpane.typing import Array

MOST = 0.95  # of the cells are numbers or dates: then the column is one of these
MAX_LABELS = 256  # states of a text column
FEW_LABELS = 20  # states that are never too many
ROWS_A_LABEL = 5  # rows that each state of a column of texts needs on average
OWN_VALUE = 0.98  # of the rows have a number of their own: then it may name them
SMALL = 20  # rows up to which nothing names them
_IDENTITY = re.compile(r"(^|[^a-z])(id|ids|key|uuid|guid|index|nr|no|num|number)$")


class ColumnsLeftOut(UserWarning):
    """Columns that say nothing a model could use were left out of a table."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """Columns to learn from, and what was done: name → words that end the sentence "column …".

    `left_out` columns are gone; those `read_as` something are texts no more. `day_first` says of
    columns with dates such as 3/4/2021 which of the two numbers is the day.
    """

    columns: list[Column]
    left_out: dict[str, str] = field(default_factory=dict)
    read_as: dict[str, str] = field(default_factory=dict)
    day_first: dict[str, bool] = field(default_factory=dict)

    @property
    def told(self) -> str:
        """What was left out, as one sentence; empty where nothing was."""
        each = [f"{name!r} ({why})" for name, why in self.left_out.items()]
        return f"left out: {', '.join(each)}." if each else ""


def prepare(frame: Any, *, keep: Collection[str] = ()) -> Prepared:
    """The columns of a frame that a model can be learned from, whatever the others are.

    Texts become numbers or dates where nearly all of them are written so, and the rest of them
    missing. Left out is a column without values, with one value in all rows, of a kind that has no
    states, one whose values name the rows (nearly every text differs; nearly every whole number
    differs, and they are consecutive or the column is called so), and one of texts with more than
    256 states, or with fewer than 5 rows a state. Columns named in `keep` are not left out.

    >>> found = prepare({"name": [f"n{i}" for i in range(50)], "kind": ["a", "b"] * 25})
    >>> [column.name for column in found.columns], found.left_out
    (['kind'], {'name': 'names the rows: 50 values in 50 rows'})
    """
    strange: dict[str, str] = {}
    columns = columns_of(frame, unusable=strange)
    names = [column.name for column in columns]
    if not columns or not n_rows(columns[0]):
        raise DataError(
            f"the table has no {'rows' if columns else 'usable columns'}; at least one is needed."
        )
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise DataError(f"the column name {twice!r} occurs twice; each needs its own.")
    for name in keep:
        if name not in names:
            raise unknown_name("column", name, names)
    done = Prepared([], strange)
    for column in columns:
        fit = _typed(column, done)
        why = "" if column.name in keep else _why_unusable(fit)
        if why:
            done.left_out[column.name] = why
            done.read_as.pop(column.name, None)
            done.day_first.pop(column.name, None)
        else:
            done.columns.append(fit)
    if not done.columns:
        raise DataError(f"no column is left to learn from; {done.told}")
    return done


def prepare_like(
    columns: Sequence[Column], schema: Schema, told: Mapping[str, Any]
) -> list[Column]:
    """New columns as they were when a model was learned, of which its provenance has `told`.

    Texts are numbers or dates where they were so, and a numeric class is in its intervals.
    """
    cut = {v.name: v for v in schema if v.cuts is not None}
    target, order = str(told.get("target")), told.get("day_first", {})
    if told.get("target_cuts") and target not in cut:
        cut[target] = Variable(target, schema[target].states, tuple(told["target_cuts"]))
    found: list[Column] = []
    for c in columns:
        own = cut.get(c.name)
        named = isinstance(c, Labels) and (c.declared or (own and set(c.states) <= set(own.states)))
        if own and isinstance(c, Labels) and not named:
            c = _from_texts(c, dated=own.dated, day_first=order.get(c.name))
        if own and c.name == target and told.get("target_cuts"):
            codes = encode_column(c, own, "unknown")
            known = np.where(codes < own.card, codes, -1)
            c = Labels(c.name, own.states, known, declared=True, cut=own)
        found.append(c)
    return found


def _typed(column: Column, done: Prepared) -> Column:
    """A column of texts as numbers or dates where nearly all of them are; others as they are."""
    if isinstance(column, Numbers):
        endless = ~column.missing & ~np.isfinite(column.values)
        if not endless.any():
            return column
        done.read_as[column.name] = f"{int(endless.sum()):,} infinite cells taken as missing"
        return Numbers(column.name, column.values, column.missing | endless, column.dated)
    texts = [s for s in column.states if isinstance(s, str)]
    if len(texts) < len(column.states) or not texts or column.declared:
        return column
    gaps = [code for code, text in enumerate(column.states) if text in NO_NUMBER]
    known = int(((column.codes >= 0) & ~np.isin(column.codes, gaps)).sum())
    sample = texts[:: max(1, len(texts) // 100)]  # most columns are told apart by a few
    for dated in (False, True):
        order = find_day_first(texts) if dated else None
        if not any(_number(text, dated, order) is not None for text in sample):
            continue
        found = _from_texts(column, dated=dated, day_first=order)
        strange = known - int((~found.missing).sum())
        few = not dated and strange and len(found.distinct) <= FEW_LABELS  # 0, 1 and "unknown"
        if strange <= (1 - MOST) * known and not few:
            words = "dates" if dated else "numbers"
            if order is not None:
                words += f", the {'day' if order else 'month'} first"
            if strange:
                words += f", {strange:,} other cells taken as missing"
            if strange or dated:
                done.read_as[column.name] = words
            if order is not None:
                done.day_first[column.name] = order
            return found
    return column


def _from_texts(column: Labels, *, dated: bool, day_first: bool | None) -> Numbers:
    """The numbers or dates that texts stand for; missing where they stand for none."""
    found = [_number(state, dated, day_first) for state in column.states]
    values = np.array([*(np.nan if v is None else v for v in found), np.nan])[column.codes]
    missing = np.isnan(values)
    return Numbers(column.name, np.where(missing, 0.0, values), missing, dated)


def _number(state: Any, dated: bool, day_first: bool | None) -> float | None:
    text = str(state).strip()
    if dated:
        return day_number(text, day_first=day_first)
    return float(text) if NUMBER.fullmatch(text) else None


def _why_unusable(column: Column) -> str:
    """Why nothing can be learned from a column; empty where something can."""
    if isinstance(column, Labels):
        seen: Array = np.bincount(column.codes[column.codes >= 0], minlength=1)
        values, known = int((seen > 0).sum()), int(seen.sum())
    else:
        values, known = len(column.distinct), int((~column.missing).sum())
    rows = n_rows(column)
    if not known:
        return "no value in any row"
    if values == 1 and known == rows:
        return "the same value in all rows"
    if rows <= SMALL:
        return ""
    told = f"{values:,} values in {known:,} rows"
    if isinstance(column, Numbers):
        return f"names the rows: {told}" if _names_rows(column, values, known) else ""
    if values > FEW_LABELS and values > known / 2:
        return f"names the rows: {told}"
    if values > MAX_LABELS or (values > FEW_LABELS and values * ROWS_A_LABEL > known):
        return f"too many states: {told}"
    return ""


def _names_rows(column: Numbers, values: int, known: int) -> bool:
    """Whether whole numbers, nearly all different, are consecutive or called an identity."""
    distinct = column.distinct
    if column.dated or distinct.dtype.kind not in "iu" or values < OWN_VALUE * known:
        return False
    dense = int(distinct[-1]) - int(distinct[0]) < 1.5 * values
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", column.name).lower()
    return values > SMALL and (dense or bool(_IDENTITY.search(words)))
