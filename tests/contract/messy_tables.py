"""Messy tables as people keep them: how each is written as a text file, and its typed columns."""

from __future__ import annotations

import csv
import datetime
import decimal
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

ROWS = 240
DAY = datetime.date(2019, 11, 4)
UTC = datetime.UTC
WIDE = 10_000  # names of the widest header
LONG = 140_000  # characters of the longest cell: the csv module of Python stops at 131,072
MANY = 66_000  # different texts: more than a variable may have states
BINNED = 6_000  # different numbers: more than are kept one by one while the contract is tested
Cells = Sequence[str | None]


@dataclass(frozen=True)
class Messy:
    """A table whose cells are texts, None where empty, and the same with real types, if it has any.

    The text file has `titles` above the `header`, and `bad` bytes in place of each U+FFFD. In a
    frame the columns have the names of `texts`.
    """

    texts: Mapping[str, Cells]
    typed: pa.Table | None = None
    header: Sequence[str] = ()
    titles: Sequence[str] = ()
    delimiter: str = ","
    bad: bytes = b""
    exact: bool = True  # no column has more numbers than are kept one by one

    @property
    def names(self) -> list[str]:
        """The names above the columns of a file."""
        return list(self.header or self.texts)

    def to_bytes(self) -> bytes:
        """The text file."""
        text = io.StringIO()
        writer = csv.writer(text, delimiter=self.delimiter, lineterminator="\n")
        writer.writerows([[title, *[""] * (len(self.texts) - 1)] for title in self.titles])
        writer.writerow(self.names)
        writer.writerows(zip(*self.texts.values(), strict=True))
        written = text.getvalue().encode()
        return written.replace("\ufffd".encode(), self.bad) if self.bad else written

    def to_arrow(self) -> pa.Table:
        """The texts as they are in the file, with nulls for empty cells."""
        return pa.table({name: pa.array(c, pa.string()) for name, c in self.texts.items()})


TABLES: dict[str, Callable[[], Messy]] = {}


def messy(make: Callable[[], Messy]) -> Callable[[], Messy]:
    """Note a table under the name of its function, and make it once."""
    TABLES[make.__name__.replace("_", " ")] = made = cache(make)
    return made


def words(seed: int = 1, rows: int = ROWS) -> list[str]:
    """A column of few texts."""
    return np.random.default_rng(seed).choice(["low", "middle", "high"], rows).tolist()


def of_types(types: Mapping[str, Any], **columns: Sequence[Any]) -> pa.Table:
    """Typed columns; the types that `types` does not name are inferred."""
    return pa.table({name: pa.array(c, types.get(name)) for name, c in columns.items()})


def shown(cells: Sequence[Any], form: Callable[[Any], str] = str) -> list[str | None]:
    """Cells as texts."""
    return [None if cell is None else form(cell) for cell in cells]


# ---- numbers -------------------------------------------------------------------------------------


@messy
def thousands() -> Messy:
    amounts = (np.random.default_rng(2).integers(1, 900, ROWS) * 100 + 1000).tolist()
    return Messy(
        {"amount": shown(amounts, "{:,}".format), "kind": words()},
        of_types({}, amount=amounts, kind=words()),
    )


@messy
def decimal_commas() -> Messy:
    widths = (np.random.default_rng(3).integers(100, 900, ROWS) / 100).tolist()
    comma = shown(widths, lambda width: f"{width:.2f}".replace(".", ","))
    return Messy(
        {"width": comma, "kind": words()}, of_types({}, width=widths, kind=words()), delimiter=";"
    )


@messy
def percents_and_currencies() -> Messy:
    rng = np.random.default_rng(4)
    shares, prices = rng.integers(0, 100, ROWS), rng.integers(100, 90_000, ROWS)
    return Messy(
        {
            "share": shown(shares.tolist(), "{}%".format),
            "price": shown((prices / 100).tolist(), "${:,.2f}".format),
            "kind": words(),
        },
        of_types({}, share=shares, price=prices / 100, kind=words()),
    )


@messy
def few_and_many_integers() -> Messy:
    rng = np.random.default_rng(5)
    few, many = rng.integers(0, 7, ROWS).tolist(), rng.integers(0, 5000, ROWS).tolist()
    gaps = [None if i % 9 == 0 else n for i, n in enumerate(few)]
    return Messy(
        {"few": shown(few), "many": shown(many), "some": shown(gaps), "kind": words()},
        of_types({}, few=few, many=many, some=gaps, kind=words()),
    )


@messy
def many_real_numbers() -> Messy:
    """Numbers of four octaves; more are different than are kept while the contract is tested."""
    numbers = np.round(2 ** np.random.default_rng(6).uniform(0, 4, BINNED + 500), 6).tolist()
    kinds = words(rows=len(numbers))
    return Messy(
        {"size": shown(numbers, repr), "kind": kinds},
        of_types({}, size=numbers, kind=kinds),
        exact=False,
    )


@messy
def one_dominant_value() -> Messy:
    rng = np.random.default_rng(7)
    rows = 1200
    amounts = np.where(rng.random(rows) < 0.95, 0.0, np.round(rng.lognormal(3, 1, rows), 2))
    kinds = words(rows=rows)
    return Messy(
        {"claim": shown(amounts.tolist(), "{:g}".format), "kind": kinds},
        of_types({}, claim=[float(f"{a:g}") for a in amounts], kind=kinds),
    )


@messy
def leading_zeros() -> Messy:
    codes = [f"{n:05d}" for n in np.random.default_rng(8).integers(0, 30, ROWS)]
    return Messy({"zip": codes, "kind": words()})


@messy
def decimals() -> Messy:
    prices = [
        decimal.Decimal(int(n)) / 100 for n in np.random.default_rng(9).integers(0, 900, ROWS)
    ]
    gaps = [None if i % 11 == 0 else price for i, price in enumerate(prices)]
    types = {"price": pa.decimal128(9, 2), "gaps": pa.decimal128(20, 2)}
    return Messy(
        {"price": shown(prices, "{:.2f}".format), "gaps": shown(gaps, "{:.2f}".format),
         "kind": words()},
        of_types(types, price=prices, gaps=gaps, kind=words()),
    )  # fmt: skip


# ---- dates ---------------------------------------------------------------------------------------


def days() -> list[datetime.date]:
    offsets = np.random.default_rng(10).integers(0, 900, ROWS).tolist()
    return [DAY + datetime.timedelta(offset) for offset in offsets]


@messy
def iso_dates() -> Messy:
    some = [None if i % 13 == 0 else day for i, day in enumerate(days())]
    return Messy(
        {"seen": shown(some), "kind": words()},
        of_types({"seen": pa.date32()}, seen=some, kind=words()),
    )


@messy
def day_first_dates() -> Messy:
    return Messy({"seen": [d.strftime("%d/%m/%Y") for d in days()], "kind": words()})


def moments(zone: datetime.tzinfo | None = None) -> list[datetime.datetime]:
    seconds = np.random.default_rng(11).integers(0, 10**7, ROWS).tolist()
    start = datetime.datetime(2020, 1, 1, tzinfo=zone)
    return [start + datetime.timedelta(seconds=second) for second in seconds]


@messy
def datetimes() -> Messy:
    return Messy(
        {"at": [m.isoformat(" ") for m in moments()], "kind": words()},
        of_types({"at": pa.timestamp("us")}, at=moments(), kind=words()),
    )


@messy
def dates_with_zones() -> Messy:
    east = datetime.timezone(datetime.timedelta(hours=2))
    return Messy(
        {"at": [m.astimezone(east).isoformat() for m in moments(UTC)], "kind": words()},
        of_types({"at": pa.timestamp("us", "UTC")}, at=moments(UTC), kind=words()),
    )


# ---- ids, missing cells and mixed columns --------------------------------------------------------


@messy
def identifiers() -> Messy:
    numbers, keys = list(range(1, ROWS + 1)), [f"p-{7 * i:04d}" for i in range(ROWS)]
    return Messy(
        {"id": shown(numbers), "name": keys, "kind": words()},
        of_types({}, id=numbers, name=keys, kind=words()),
    )


@messy
def missing_value_words() -> Messy:
    gaps = ["NA", "n/a", "unknown", "-", None]
    numbers = shown(np.random.default_rng(12).integers(0, 90, ROWS).tolist())
    return Messy(
        {
            "na": ["NA" if i % 7 == 0 else n for i, n in enumerate(numbers)],
            "unknown": ["unknown" if i % 8 == 0 else n for i, n in enumerate(numbers)],
            "several": [gaps[i % 5] if i % 6 == 0 else n for i, n in enumerate(numbers)],
            "text": [gaps[i % 5] if i % 4 == 0 else w for i, w in enumerate(words(2))],
            "dash": ["-" if i % 5 == 0 else w for i, w in enumerate(words(3))],
            "kind": words(),
        }
    )


@messy
def mixed_types() -> Messy:
    rng = np.random.default_rng(13)
    mixed = rng.choice(["1", "2", "2.5", "b", "true", "1.0"], ROWS).tolist()
    numbers = rng.integers(0, 50, ROWS).tolist()
    some = [f"{n}+" if i % 3 == 0 else str(n) for i, n in enumerate(numbers)]
    late = ["1"] * (ROWS - 1) + ["a"]  # which the last block alone shows
    return Messy({"mixed": mixed, "some": some, "late": late, "kind": words()})


@messy
def booleans() -> Messy:
    truths = (np.random.default_rng(14).random(ROWS) < 0.4).tolist()
    some = [None if i % 10 == 0 else truth for i, truth in enumerate(truths)]
    spelled = ["true" if truth else "FALSE" for truth in truths]
    return Messy(
        {"well": spelled, "some": shown(some), "kind": words()},
        of_types({}, well=truths, some=some, kind=words()),
    )


@messy
def constants_and_empty_columns() -> Messy:
    empty, one = [None] * ROWS, [None] * (ROWS - 1) + ["x"]
    lone = [None] * (ROWS - 1) + [3]
    return Messy(
        {"same": ["a"] * ROWS, "seven": ["7"] * ROWS, "empty": empty, "one": one,
         "lone": shown(lone), "kind": words()},
        of_types({"empty": pa.string(), "one": pa.string()}, same=["a"] * ROWS, seven=[7] * ROWS,
                 empty=empty, one=one, lone=lone, kind=words()),
    )  # fmt: skip


@messy
def more_texts_than_states() -> Messy:
    texts = [f"t{i % MANY:x}" for i in range(MANY + 500)]
    kinds = words(rows=len(texts))
    return Messy({"text": texts, "kind": kinds})


# ---- how the file is written ---------------------------------------------------------------------


@messy
def title_rows() -> Messy:
    some = shown(np.random.default_rng(15).integers(0, 60, ROWS).tolist())
    return Messy(
        {"age": some, "kind": words(), "place": words(4)},
        titles=["Survey of 2024", "Source: the office of statistics"],
    )


@messy
def duplicate_names() -> Messy:
    return Messy(
        {"size": words(), "size (2)": words(2), "kind": words(3)}, header=["size", "size", "kind"]
    )


@messy
def long_cells() -> Messy:
    long = ["a" * LONG if i % 80 == 0 else "b" for i in range(ROWS)]
    return Messy({"note": long, "kind": words()})


@messy
def ten_thousand_names() -> Messy:
    rows = 6
    texts = {f"n{i}": [str((i + k) % 3) for k in range(rows)] for i in range(WIDE - 1)}
    texts["kind"] = ["u", "v"] * (rows // 2)
    return Messy(texts)


@messy
def one_bad_byte() -> Messy:
    places = [("Köln", "Århus", "Málaga")[i % 3] for i in range(ROWS)]
    places[100] = "K\ufffdln"
    return Messy({"place": places, "kind": words()}, bad=b"\xf6")


@messy
def quoted_newlines() -> Messy:
    notes = [("first\nsecond", 'says "no"', "one, two", "plain")[i % 4] for i in range(ROWS)]
    return Messy({"note": notes, "kind": words()})
