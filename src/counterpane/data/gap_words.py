"""Words such as NA among texts: missing cells where the table uses them so, else states."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from counterpane.data.columns import Column, Labels, Numbers
from counterpane.data.number_formats import GAP_WORDS
from counterpane.data.schema import Schema

SHOWN = 6  # columns that a note names


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
