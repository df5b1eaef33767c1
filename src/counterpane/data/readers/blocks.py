"""The protocol of readers: blocks of columns, read anew for each pass over the rows."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Collection, Generator, Iterator, Sequence
from typing import Any

from counterpane.data.columns import Column, Labels, Unread, arrow_codes, columns_of
from counterpane.errors import CounterpaneError, MissingExtraError, unknown_name

BLOCK_ROWS = 131_072  # rows between two checks of the control: Ctrl-C works within milliseconds
Block = list[Column | Unread]
"""Columns of equal length."""


class BlockReader(ABC):
    """The columns `names` of `what`, which are read block by block; can be pickled if files are.

    In a text file every cell is a text, or a number in a block of many plain numbers.
    """

    what: str
    names: tuple[str, ...]
    kind: str = "column"  # what messages call one
    text_file: bool = False
    semicolons: bool = False  # whether they separate the cells of a text file

    @abstractmethod
    def blocks(
        self, names: Sequence[str], as_text: Collection[str] = ()
    ) -> Generator[Block, None, None]:
        """The cells of some columns, in the order of the rows, at most `BLOCK_ROWS` at a time.

        The columns `as_text` of a text file come as texts only.
        """

    @property
    def n_bytes(self) -> int | None:
        """The size of the files that a pass reads; None if they are not files."""
        return None

    def check(self, names: Sequence[str]) -> None:
        """Refuse names of columns that are not there."""
        for name in names:
            if name not in self.names:
                raise unknown_name(f"column of {self.what}", name, self.names)

    def read_otherwise(self, error: CounterpaneError) -> bool:
        """Whether another pass may succeed after an error, as another encoding is now tried."""
        return False


def batch_columns(
    batch: Any, names: Sequence[str], undeclared: Collection[str] = ()
) -> Iterator[Block]:
    """The columns of an Arrow record batch or table, in blocks that are not too long.

    The dictionaries of the columns `undeclared` are those of a file, and declare no states.
    """
    pyarrow = importlib.import_module("pyarrow")
    if not isinstance(batch, pyarrow.Table):
        batch = pyarrow.Table.from_batches([batch])
    typed = batch.select([name for name in dict.fromkeys(names) if name not in undeclared])
    for start in range(0, batch.num_rows, BLOCK_ROWS):
        part = typed.slice(start, BLOCK_ROWS)
        found = usable_columns(part, part.num_rows)
        for name in undeclared:
            if name in names:
                states, codes = arrow_codes(batch.column(name).slice(start, BLOCK_ROWS))
                found[name] = Labels(name, tuple(states), codes)
        yield [found[name] for name in names]


def usable_columns(frame: Any, rows: int) -> dict[str, Column | Unread]:
    """The columns of a frame or a mapping of so many rows; some kinds of them are unread."""
    unusable: dict[str, str] = {}
    found: dict[str, Column | Unread] = {c.name: c for c in columns_of(frame, unusable=unusable)}
    for name, reason in unusable.items():
        found[name] = Unread(name, reason.removesuffix(" values, which have no states"), rows)
    return found


def pyarrow_module(module: str) -> Any:
    """A module of pyarrow, imported when it is first needed."""
    try:
        return importlib.import_module(f"pyarrow.{module}")
    except ImportError:
        raise MissingExtraError(
            "parquet and Arrow files and lazy frames are read by pyarrow, which is not installed; "
            "install counterpane[duckdb]."
        ) from None
