"""The names of the columns in a messy file: where they stand, what describes them, which repeat."""

from __future__ import annotations

import csv
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, islice, pairwise
from typing import Any

from counterpane.data.dates import day_number
from counterpane.data.number_formats import NO_NUMBER, is_number_like
from counterpane.errors import Advice, CounterpaneWarning

DELIMITERS = ",;\t|"
FIRST_LINES = 30  # among which the header is looked for
SAMPLE = 200  # rows by which a header is judged
ENOUGH = 20  # rows below which no row is taken for a description, nor names for values
MOST_DESCRIPTIONS = 2  # rows under a header: the question, and an identifier of it
MOST_LETTERS = 2**31 - 1  # of a cell; Python's own limit is 131,072
REPEATS = 4  # rows that a state has on average, in a column that shows what its states are

csv.field_size_limit(MOST_LETTERS)


class HeaderGuessed(CounterpaneWarning):
    """A file has no plain header: titles above it, a description below it, or names that repeat."""


def titles_left_out(rows: int, words: str) -> HeaderGuessed:
    """The warning that rows above the header were passed over; the first begins with `words`."""
    lines = "line is" if rows == 1 else f"{rows} lines are"
    return HeaderGuessed(
        f"the first {lines} above the names of the columns ({words.strip()[:40]!r} …), and left "
        "out."
    )


def split_best(line: str) -> str:
    """The delimiter that splits a line most."""
    return max(DELIMITERS, key=lambda mark: _n_named(line, mark, empty=True))


def _n_named(line: str, mark: str, *, empty: bool = False) -> int:
    """The number of fields of a line, those without text only if `empty`."""
    fields = next(csv.reader([line], delimiter=mark), [])
    return len(fields) if empty else sum(bool(field.strip()) for field in fields)


def title_lines(lines: Sequence[str]) -> int:
    """The number of lines above the header: those with fewer than half as many fields as others.

    What would be the header then must have a different word in each field; otherwise there are
    none, as where few columns have a name. Quotes that a line leaves open belong to the header.

    >>> title_lines(["Survey of 2024,,,", "", "age,sex,wind,rain", "41,m,1,2"])
    2
    """
    most = [max(_n_named(line, mark) for mark in DELIMITERS) for line in lines]
    first = next((place for place, n in enumerate(most) if 2 * n > max(most)), 0)
    if not any(most[:first]) or any(line.count('"') % 2 for line in lines[:first]):
        return 0
    names = next(csv.reader([lines[first]], delimiter=split_best(lines[first])), [])
    return first if is_header(names) else 0


def is_header(cells: Sequence[Any]) -> bool:
    """Whether cells can only be names: several words, all different."""
    words = [cell for cell in cells if isinstance(cell, str) and cell.strip()]
    named = len(words) == len(cells) == len(set(words)) > 1
    return named and not any(map(_is_figure, words))


def table_below(
    names: Sequence[Any], rows: Iterator[list[Any]], where: str, header: bool | None
) -> tuple[list[str], Iterator[list[Any]]]:
    """The names of the columns and the rows of data, of a header and the rows below it."""
    rows = iter(rows)
    sample = list(islice(rows, SAMPLE))
    unique, first = find_names(names, sample, where, header)
    return unique, islice(chain([list(names)], sample, rows), first, None)


def find_names(
    names: Sequence[Any], sample: Sequence[list[Any]], where: str, header: bool | None
) -> tuple[list[str], int]:
    """The names of the columns, and how many rows from the header on are none of data.

    A row that describes the columns is dropped, names that occur twice get a number, and names that
    are values are a row, unless `header` says that they are names. A warning tells each of these.
    The first `SAMPLE` rows below the header show it.
    """
    if header is False:
        return numbered_names(len(names)), 0
    texts = [f"column {i}" if _is_gap(n) else str(n).strip() for i, n in enumerate(names, start=1)]
    if header is None and _are_values(names, sample):
        warnings.warn(
            HeaderGuessed(
                f"the first row of {where} holds values, not names, so the columns are called "
                "'column 1', 'column 2', …; if it is a header, pass ",
                Advice("header=True", "--header"),
                ".",
            ),
            stacklevel=6,
        )
        return numbered_names(len(names)), 0
    n_left_out = _n_descriptions(sample)
    for row in sample[:n_left_out]:
        words = next(str(cell) for cell in row if not _is_gap(cell))
        _tell(f"{where}: the row {words[:40]!r}, … describes the columns, and was left out.")
    return _numbered(texts, where), 1 + n_left_out


def numbered_names(n: int) -> list[str]:
    """Names of columns that have none."""
    return [f"column {i}" for i in range(1, n + 1)]


def _numbered(names: list[str], where: str) -> list[str]:
    """The names, each its own: a second Qty is called Qty (2)."""
    taken, times, unique = set(names), Counter[str](), []
    for name in names:
        times[name] += 1
        new = name
        while times[name] > 1 and new in taken:
            new = f"{name} ({times[name]})"
            times[name] += new in taken
        taken.add(new)
        unique.append(new)
    renamed = [new for name, new in zip(names, unique, strict=True) if new != name]
    if renamed:
        _tell(f"{where}: names of columns occur twice; the later are called {_listed(renamed)}.")
    return unique


def _listed(words: Sequence[str]) -> str:
    return ", ".join(map(repr, words[:4])) + (f" and {len(words) - 4:,} more" * (len(words) > 4))


def _are_values(names: Sequence[Any], sample: Sequence[Sequence[Any]]) -> bool:
    """Whether a first row holds values: each cell is a sign for that, against it, or neither.

    Signs of values are a number above numbers, unless such numbers can be names (years, or
    0, 1, 2, …), and a text that occurs again in its column. Against it are a text above numbers,
    which decides, and a text that a column of few states does not have. In doubt the row is kept
    as values, since names can be given to it later.
    """
    others = [row for row in sample if list(row) != list(names)]  # files put together repeat it
    if not others:
        return False
    figures = [str(name).strip() for name in names if _is_figure(name) and not _is_gap(name)]
    are_names = _can_be_names(figures)
    signs = against = 0
    for place, name in enumerate(names):
        known = [row[place] for row in others if not _is_gap(row[place])]
        if _is_gap(name) or not known:
            continue
        numeric = 2 * sum(map(_is_figure, known)) > len(known)
        if _is_figure(name):
            signs += numeric and not are_names
        elif numeric:
            return False
        elif len(known) >= ENOUGH:
            again = name in known
            signs += again
            against += not again and len(set(known)) * REPEATS <= len(known)
    return signs > against


def _can_be_names(figures: Sequence[str]) -> bool:
    """Whether numbers may be names of columns: different years, or whole numbers in equal steps."""
    if not all(figure.isdigit() for figure in figures):
        return False
    numbers = [int(figure) for figure in figures]
    steps = {b - a for a, b in pairwise(numbers)}
    different = len(set(numbers)) == len(numbers)
    years = different and all(1800 <= number <= 2100 for number in numbers)
    return years or (len(numbers) > 1 and len(steps) == 1 and steps.pop() > 0)


def _n_descriptions(sample: Sequence[Sequence[Any]]) -> int:
    """The number of rows at the begin that are none of data."""
    for n in range(MOST_DESCRIPTIONS, 0, -1):
        others = sample[n:]
        if len(others) >= ENOUGH and all(_is_description(row, others) for row in sample[:n]):
            return n
    return 0


def _is_description(row: Sequence[Any], others: Sequence[Sequence[Any]]) -> bool:
    """Whether a row is none of data: no cell of it occurs in others, and several show it.

    A column shows it whose other cells are numbers, or few states. Without any column of numbers
    the texts must also be longer than all states, as questions are.
    """
    n_numbers, n_states, longer = 0, 0, True
    for place, cell in enumerate(row):
        if _is_gap(cell):
            continue
        known = [other[place] for other in others if not _is_gap(other[place])]
        if _is_figure(cell) or cell in known:
            return False
        states = set(known)
        if known and all(map(_is_figure, states)):
            n_numbers += 1
        elif known and len(states) * REPEATS <= len(known):
            n_states += 1
            longer &= len(str(cell)) > max(len(str(state)) for state in states)
    return n_numbers + n_states > 1 if n_numbers else longer and n_states > 2


def _is_gap(cell: Any) -> bool:
    return cell is None or (isinstance(cell, str) and cell.strip() in NO_NUMBER)


def _is_figure(cell: Any) -> bool:
    """Whether a cell holds a number, a truth value or a date."""
    if not isinstance(cell, str):
        return cell is not None
    has_digits = any(map(str.isdigit, cell))  # a comma alone is none
    return (has_digits and is_number_like(cell.strip())) or day_number(cell) is not None


def _tell(words: str) -> None:
    warnings.warn(words, HeaderGuessed, stacklevel=7)
