"""Columns made fit to learn from, and what was done to each of them."""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import combinations, islice
from typing import Any, Literal

import numpy as np

from counterpane.data.clean import format_of, numbers_of_texts, read_truths
from counterpane.data.columns import (
    Column,
    Labels,
    Numbers,
    check_columns,
    columns_of,
    count_rows,
    n_rows,
)
from counterpane.data.dates import are_seasons, find_day_first
from counterpane.data.number_formats import (
    GAP_WORDS,
    NO_NUMBER,
    PLAIN,
    CellFormat,
    is_number_like,
)
from counterpane.data.schema import Schema
from counterpane.errors import DataError, ParameterError, Setting, unknown_name

MOST = 0.95  # share of cells that must be numbers or dates for a column to be read as such
HALF = 0.5  # share of cells that suffices where the others are a few words, such as "unknown"
FEW_WORDS = 3  # different ones
MAX_LABELS = 256  # most states of a text column
MANY_LABELS = 2048  # the same, where effects of states are penalized
FEW_LABELS = 20  # states that are never too many
ROWS_A_LABEL = 5  # rows that each state of a column of texts needs on average
OWN_VALUE = 0.98  # share of different numbers from which a column may identify rows
EMPTY = "no value in any row"
SHOWN = 6  # columns that a note names
SMALL = 20  # most rows of a table in which no column identifies rows
_IDENTITY = re.compile(r"(^|[^a-z])(id|ids|key|uuid|guid|index|nr|no|num|number)$")


class ColumnsLeftOut(UserWarning):
    """Columns that say nothing a model could use were left out of a table."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """Columns to learn from, and what was done to others, by column name.

    `left_out` has the reasons why columns were left out, `read_as` what texts were read as, and
    `gap_words` the words for missing cells in columns of texts.
    """

    columns: list[Column]
    left_out: dict[str, str] = field(default_factory=dict)
    read_as: dict[str, str] = field(default_factory=dict)
    gap_words: dict[str, list[str]] = field(default_factory=dict)

    def facts(self) -> dict[str, Any]:
        """The fields above that are not empty, by name, as the record of a model keeps them."""
        values = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "columns"}
        return {name: value for name, value in values.items() if value}

    @property
    def sentence(self) -> str:
        """What was left out, as one sentence; empty if nothing was."""
        each = [f"{name!r} ({why})" for name, why in self.left_out.items()]
        return f"left out: {', '.join(each)}." if each else ""


@dataclass(frozen=True, kw_only=True)
class ReadRules:
    """What the user of `read` says of columns, and what is done to those that are not usable."""

    states: Mapping[str, Any] = field(default_factory=dict)
    schema: Schema | None = None
    discretize: Any = None
    target: str | None = None
    on_unusable: Literal["error", "drop"] | None = None
    drop: Collection[str] = ()
    categorical: Collection[str] = ()

    def __post_init__(self) -> None:
        if self.on_unusable not in ("error", "drop", None):
            raise ParameterError(
                Setting("on_unusable", self.on_unusable), "; 'error' or 'drop' is allowed."
            )

    @property
    def is_auto(self) -> bool:
        """Whether the rule for cuts is "auto", perhaps beside given cuts."""
        named = isinstance(self.discretize, str) and self.discretize == "auto"
        return named or isinstance(self.discretize, Mapping)

    @property
    def auto(self) -> bool:
        """Whether columns are prepared as the command does."""
        return self.schema is None and self.is_auto

    @property
    def lenient(self) -> bool:
        """Whether columns from which nothing can be learned are dropped."""
        return self.on_unusable == "drop" or (self.auto and self.on_unusable is None)

    @property
    def keep(self) -> list[str]:
        """The columns that are never dropped."""
        cuts = self.discretize if isinstance(self.discretize, Mapping) else {}
        return [*self.states, *cuts, *([] if self.target is None else [self.target])]

    def prepared(
        self, frame: Any, keep: Collection[str] = (), drop: Collection[str] = ()
    ) -> Prepared:
        """The columns to learn from; a warning names those that are left out, unless notes do."""
        done = prepare(
            frame, keep=[*keep, *self.keep], drop=drop, categorical=self.categorical,
            leave_some=self.auto,
        )  # fmt: skip
        if done.left_out and not self.auto:
            warnings.warn(done.sentence, ColumnsLeftOut, stacklevel=3)
        return done


def preparation_notes(facts: Mapping[str, Any], schema: Schema) -> list[str]:
    """What was done to the columns of a table, a sentence for each: `facts` are of `Prepared`."""
    notes = [f"Left out {name}: {why}." for name, why in facts.get("left_out", {}).items()]
    notes += [f"Read {name} as {words}." for name, words in facts.get("read_as", {}).items()]
    notes += taken_notes(facts.get("gap_words", {}))
    return [*notes, *cut_notes(schema), *kept_notes(schema)]


def cut_notes(schema: Schema) -> list[str]:
    """Sentences that name the columns of numbers with cuts, and those without."""
    cut = [variable.name for variable in schema if variable.cuts]
    others = [variable.name for variable in schema if variable.cuts == ()]
    notes = [f"Cut into intervals: {', '.join(cut)}."] if cut else []
    if others:
        notes.append(f"Not discretized (no cut point is informative): {', '.join(others)}.")
    return notes


def prepare(
    frame: Any,
    *,
    keep: Collection[str] = (),
    drop: Collection[str] = (),
    categorical: Collection[str] = (),
    leave_some: bool = False,
    many_states: bool = False,
) -> Prepared:
    """The columns of a frame from which a model can be learned.

    Texts become numbers or dates where nearly all of them are written so, and the rest of them
    missing. Left out is a column without values, with one value in all rows, of a kind that has no
    states, one whose values name the rows (nearly every text differs; nearly every whole number
    differs, and they are consecutive or the column is called so), and one of texts with more than
    256 states, or with fewer than 5 rows a state. Columns named in `keep` or `categorical` are not
    left out. `many_states` allows up to 2,048 states instead of 256, for learners that penalize
    effects. `drop` and `categorical` are those of `choose_columns`. If no column would be left
    that raises, or, with `leave_some`, all columns of values stay.

    >>> found = prepare({"name": [f"n{i}" for i in range(50)], "kind": ["a", "b"] * 25})
    >>> [column.name for column in found.columns], found.left_out
    (['kind'], {'name': 'names the rows: 50 values in 50 rows'})
    """
    unusable: dict[str, str] = {}
    columns = columns_of(frame, unusable=unusable)
    names = [column.name for column in columns]
    if not columns:
        kinds = f"; {', '.join(f'{n!r} holds {why}' for n, why in unusable.items())}"
        raise DataError(
            f"the table has no columns that can be used{kinds if unusable else ''}; at least one "
            "is needed."
        )
    check_columns(columns)
    for name in keep:
        if name not in names:
            raise unknown_name("column", name, names)
    keep = {*keep, *categorical}
    done = Prepared([], {name: why for name, why in unusable.items() if name not in drop})
    names_left = [name for name in drop if name not in unusable]
    columns = choose_columns(columns, drop=names_left, categorical=categorical)
    most = MANY_LABELS if many_states else MAX_LABELS
    typed = [c if c.name in categorical else _typed(c, done) for c in columns]
    words = gap_words_of(typed)
    for column in typed:
        fit = _without_gap_words(column, words, done)
        why = "" if column.name in keep else _why_unusable(fit, most)
        if why:
            done.left_out[column.name] = why
            done.read_as.pop(column.name, None)
            done.gap_words.pop(column.name, None)
        else:
            done.columns.append(_with_missing_state(fit, done))
    if not done.columns and leave_some:
        names_left = [c.name for c in columns if done.left_out[c.name] != EMPTY]
        if names_left:
            return prepare(columns, keep=names_left)
    if not done.columns:
        raise DataError(f"no column is left to learn from; {done.sentence or 'drop fewer.'}")
    return done


def choose_columns(
    columns: Sequence[Column], *, drop: Collection[str] = (), categorical: Collection[str] = ()
) -> list[Column]:
    """The columns without those in `drop`; the numbers of those in `categorical` are states.

    >>> [column] = choose_columns(columns_of({"zip": [10, 20], "x": [1, 2]}), drop=["x"],
    ...                           categorical=["zip"])
    >>> column.states
    (10, 20)
    """
    names = [column.name for column in columns]
    for name in (*drop, *categorical):
        if name not in names:
            raise unknown_name("column", name, names)
    both = sorted(set(drop) & set(categorical))
    if both:
        raise DataError(f"column {both[0]!r} is both dropped and categorical; choose one.")
    return [
        replace(c.labels(), declared=True)
        if c.name in categorical and isinstance(c, Numbers)
        else c
        for c in columns
        if c.name not in drop
    ]


def _without_gap_words(column: Column, words: Collection[str], done: Prepared) -> Column:
    """A column of texts without the table's words for missing cells, which `done` is told."""
    if not isinstance(column, Labels) or column.declared:
        return column
    found = [state for state in column.states if isinstance(state, str) and state in words]
    if not found:
        return column
    done.gap_words[column.name] = found
    written = CellFormat(gap_words=frozenset(found))
    return replace(without_words(column, found), written=written)


def _with_missing_state(column: Column, done: Prepared) -> Column:
    """A column of texts that most rows do not have, with missing as one of its states.

    What such cells would hold cannot be estimated from the others, and that they are empty says
    something: there is no comment, no second address, no pool.
    """
    if not isinstance(column, Labels) or column.declared or not column.states:
        return column
    if any(isinstance(state, bool) for state in column.states):
        return column
    gaps = column.codes < 0
    n_gaps, rows = count_rows(column, gaps), n_rows(column)
    if 2 * n_gaps <= rows:
        return column
    done.read_as[column.name] = (
        f"text in which a missing value is a state ({n_gaps:,} of {rows:,} rows)"
    )
    codes = np.where(gaps, len(column.states), column.codes)
    written = replace(column.written or CellFormat(), empty_is_value=True)
    return replace(column, states=(*column.states, None), codes=codes, written=written)


def _typed(column: Column, done: Prepared) -> Column:
    """A column of texts as booleans, numbers or dates where they are such; others as they are."""
    if isinstance(column, Numbers):
        if column.written is not None and not column.written.number.is_plain:
            done.read_as[column.name] = column.written.number.words()
        if column.binned is not None and column.binned.read_as:
            done.read_as[column.name] = column.binned.read_as
        endless = ~column.missing & ~np.isfinite(column.values)
        if not endless.any():
            return column
        done.read_as[column.name] = (
            f"{count_rows(column, endless):,} infinite cells taken as missing"
        )
        return replace(column, missing=column.missing | endless)
    truths = read_truths(column)
    if truths is not None:
        return truths
    found = typed_texts(column)
    if found is None:
        return column
    numbers, words = found
    if words:
        done.read_as[column.name] = words
    return numbers


def typed_texts(column: Labels) -> tuple[Numbers, str] | None:
    """A column of texts as numbers or dates and how they were read; None if they are others."""
    texts = [s for s in column.states if isinstance(s, str)]
    if len(texts) < len(column.states) or not texts or column.declared:
        return None
    gaps = [code for code, text in enumerate(column.states) if text in NO_NUMBER]
    n_known = column.more + count_rows(column, (column.codes >= 0) & ~np.isin(column.codes, gaps))
    sample = texts[:: max(1, len(texts) // 100)]  # a few texts rule out most kinds
    for dated in (False, True):
        order = find_day_first(texts) if dated else None
        if are_seasons(sample) if dated else not any(map(is_number_like, sample)):
            continue
        form = (None if dated else format_of(column)) or PLAIN
        written = CellFormat(form, order)
        if not any(written.value(text, dated=dated) is not None for text in sample):
            continue
        numbers = numbers_of_texts(column, written, dated=dated)
        n_others = n_known - count_rows(numbers, ~numbers.missing)
        words = words_of_reading(numbers, n_known, n_others, words_among(column, numbers))
        if words is not None:
            told = n_others or dated or not form.is_plain
            return numbers, words if told else ""
    return None


def words_of_reading(
    numbers: Numbers, n_known: int, n_others: int, gap_words: Sequence[str]
) -> str | None:
    """How texts were read as numbers or dates; None if `n_others` of their cells are too many.

    `gap_words` are the other texts, if these are few words.
    """
    few = not numbers.dated and n_others and numbers.n_values <= FEW_LABELS  # 0, 1 and "unknown"
    if few or n_others > (1 - (HALF if gap_words else MOST)) * n_known:
        return None
    written = numbers.written or CellFormat()
    words = "numbers" if written.number.is_plain else written.number.words()
    words = "dates" if numbers.dated else words
    if numbers.dated and written.day_first is not None:
        words += f", the {'day' if written.day_first else 'month'} first"
    if n_others:
        named = f" ({', '.join(map(repr, gap_words))})" if gap_words else ""
        cells = "cell" if n_others == 1 else "cells"
        words += f", {n_others:,} other {cells}{named} taken as missing"
    return words


def words_among(column: Labels, numbers: Numbers) -> list[str]:
    """The texts that are no numbers or dates, if they are few words without digits; else none."""
    others = np.setdiff1d(column.codes[numbers.missing], [-1])
    return few_words(str(column.states[i]) for i in others)


def few_words(texts: Iterable[str]) -> list[str]:
    """The texts beside numbers if they are few words without digits; else none."""
    words = list(islice((text for text in texts if text not in NO_NUMBER), FEW_WORDS + 1))
    plain = not any(c.isdigit() for word in words for c in word)  # 90+ and <5 are numbers of a kind
    return words if len(words) <= FEW_WORDS and plain else []


def _why_unusable(column: Column, most: int) -> str:
    """Why nothing can be learned from a column of at most `most` states; empty where it can."""
    if isinstance(column, Labels):
        known = column.codes >= 0
        n_values = len(np.unique(column.codes[known])) + column.more_values
        n_known = column.more + count_rows(column, known)
    else:
        n_values, n_known = column.n_values, count_rows(column, ~column.missing)
    rows = n_rows(column)
    if not n_known:
        return EMPTY
    if n_values == 1 and n_known == rows:
        return "the same value in all rows"
    if rows <= SMALL:
        return ""
    sizes = f"{n_values:,} values in {n_known:,} rows"
    if isinstance(column, Numbers):
        return f"names the rows: {sizes}" if _names_rows(column, n_values, n_known) else ""
    if n_values > FEW_LABELS and n_values > n_known / 2:
        return f"names the rows: {sizes}"
    if n_values > most or (n_values > FEW_LABELS and n_values * ROWS_A_LABEL > n_known):
        return f"too many states: {sizes}"
    return ""


def _names_rows(column: Numbers, n_values: int, n_known: int) -> bool:
    """Whether whole numbers, nearly all different, are consecutive or called an identity."""
    distinct = column.distinct
    if column.dated or distinct.dtype.kind not in "iu" or n_values < OWN_VALUE * n_known:
        return False
    dense = int(distinct[-1]) - int(distinct[0]) < 1.5 * n_values
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", column.name).lower()
    return n_values > SMALL and (dense or bool(_IDENTITY.search(words)))


# ---- words such as NA among texts: missing where the table uses them so, else states -------------


def gap_words_of(columns: Sequence[Column]) -> frozenset[str]:
    """The words that stand for missing cells in a table.

    These occur among numbers, or in two columns of texts that have no other state in common: what
    NA means in one column alone nobody can tell, and in columns of one kind it may be Namibia.

    >>> sex = Labels("sex", ("NA", "f", "m"), np.arange(3))
    >>> kind = Labels("kind", ("NA", "a"), np.arange(2))
    >>> gap_words_of([sex, kind]), gap_words_of([sex])
    (frozenset({'NA'}), frozenset())
    """
    numbers = [c.written for c in columns if isinstance(c, Numbers) and c.written is not None]
    found = {word for written in numbers for word in written.gap_words & GAP_WORDS}
    texts = [{*c.states} for c in columns if isinstance(c, Labels) and not c.declared]
    for word in GAP_WORDS - found:
        others = [states - GAP_WORDS for states in texts if word in states]
        if any(one.isdisjoint(other) for one, other in combinations(others, 2)):
            found.add(word)
    return frozenset(found)


def without_words(column: Labels, words: Collection[str]) -> Labels:
    """A column whose states in `words` are missing cells."""
    gaps = np.array([state in words for state in column.states], dtype=bool)
    places = np.append(np.where(gaps, -1, np.cumsum(~gaps) - 1), -1)
    states = tuple(s for s, gap in zip(column.states, gaps, strict=True) if not gap)
    return replace(column, states=states, codes=places[column.codes])


def taken_notes(taken: Mapping[str, Sequence[str]]) -> list[str]:
    """A sentence for each word that was taken as missing; `taken` has the words by column."""
    return [f"Taken as missing: {words} in {names}." for words, names in _by_words(taken)]


def kept_notes(schema: Schema) -> list[str]:
    """A sentence for each word that is a state of columns of texts."""
    kept = {
        v.name: [s for s in v.states if isinstance(s, str) and s.strip() in GAP_WORDS]
        for v in schema
        if v.cuts is None
    }
    return [
        f"Kept {words} as a value of {names}: leave such cells empty if they are missing."
        for words, names in _by_words(kept)
    ]


def _by_words(columns: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    """(words, names of the columns that have them) in words, each list of words once."""
    groups: dict[str, list[str]] = {}
    for name, words in columns.items():
        if words:
            groups.setdefault(", ".join(map(repr, words)), []).append(name)
    return [
        (words, ", ".join(names[:SHOWN])
         + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""))
        for words, names in groups.items()
    ]  # fmt: skip
