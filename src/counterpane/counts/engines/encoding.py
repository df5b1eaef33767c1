"""Cells to codes, block by block: what every source of Arrow arrays does with them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from typing import Any

import numpy as np

from counterpane.counts.engines.arrow_codes import ArrowCodes, as_numbers
from counterpane.counts.engines.arrow_types import Block, family
from counterpane.counts.tasks import BLOCK_ROWS
from counterpane.data.schema import Schema, code_dtype
from counterpane.errors import DataError, WeightError
from counterpane.typing import Array, Bools, Codes, Floats

Cells = Callable[[Sequence[str]], Generator[Block, None, None]]
"""What reads the named columns, blocks of rows of any size in order."""


class RowEncoder:
    """The codes of `schema` and the weights of rows that come as Arrow arrays; can be pickled.

    A missing cell raises in the columns that `has_missing` says have none. `weights` names the
    weight column; with `whole` its sums are whole numbers.
    """

    def __init__(
        self, schema: Schema, has_missing: Bools, weights: str | None, *, whole: bool, texts: bool
    ) -> None:
        self.schema = schema
        self.has_missing = has_missing
        self.weights = weights
        self.weight_dtype = np.dtype(np.int64 if whole else np.float64)
        self._dtype = code_dtype(schema.cards)
        self._codes = [ArrowCodes(variable, texts=texts) for variable in schema]

    def names(self, columns: Sequence[int]) -> list[str]:
        """The columns to read for those asked, each once, the weights last; at least one."""
        names = [self.schema.names[v] for v in dict.fromkeys(columns)]
        names += [] if self.weights is None else [self.weights]
        return names or [self.schema.names[0]]

    def rows(
        self, cells: Cells, columns: Sequence[int], *, reuse: bool = False
    ) -> Generator[tuple[Codes, Array | None], None, None]:
        """The codes and weights of all rows, `BLOCK_ROWS` at a time, the last fewer.

        With `reuse` one array holds the codes of block after block: fresh memory costs workers as
        much as decoding does, where their allocator gives it back each time.
        """
        once = list(dict.fromkeys(columns))  # pairs may ask for a column on both sides
        order = None if once == list(columns) else [once.index(v) for v in columns]
        codes: Codes = np.empty((len(once), 0), dtype=self._dtype)
        with closing(cells(self.names(columns))) as blocks:
            for pieces in of_block_rows(blocks):
                rows = sum(len(piece[0]) for piece in pieces)
                if not reuse or codes.shape[1] != rows:
                    codes = np.empty((len(once), rows), dtype=self._dtype)
                weights = None if self.weights is None else np.empty(rows, self.weight_dtype)
                at = 0
                for piece in pieces:
                    here = slice(at, at + len(piece[0]))
                    self.encode(piece, once, codes[:, here])
                    if weights is not None:
                        weights[here] = weights_of(piece[-1], self.weights or "")
                    at = here.stop
                yield codes if order is None else codes[order], weights

    def encode(self, block: Block, columns: Sequence[int], out: Codes | None = None) -> Codes:
        """The codes of a block of some columns, written to `out` if given."""
        if out is None:
            out = np.empty((len(columns), len(block[0])), dtype=self._dtype)
        for codes, values, v in zip(out, block, columns, strict=False):  # the weight is left over
            self._codes[v].encode(values, codes)
            if not self.has_missing[v] and codes.max(initial=0) == self.schema.cards[v]:
                raise DataError(
                    f"column {self.schema.names[v]!r} has missing cells, and had none when the "
                    "source was made; make it again."
                )
        return out


def of_block_rows(blocks: Iterable[Block]) -> Iterator[list[Block]]:
    """Blocks cut and put together to `BLOCK_ROWS` rows: float sums are then those of memory."""
    pieces: list[Block] = []
    held = 0
    for block in blocks:
        rows, at = len(block[0]), 0
        while at < rows:
            n = min(rows - at, BLOCK_ROWS - held)
            pieces.append([values.slice(at, n) for values in block])
            at, held = at + n, held + n
            if held == BLOCK_ROWS:
                yield pieces
                pieces, held = [], 0
    if pieces:
        yield pieces


def weights_of(values: Any, name: str) -> Floats:
    """The weights in an Arrow array, checked."""
    if family(values.type) not in ("number", "text"):
        raise WeightError(f"the weight column {name!r} holds no numbers; it must.")
    try:
        weights = as_numbers(values, name).astype(np.float64)
    except DataError as error:
        raise WeightError(f"the weight {error}") from None
    bad = ~np.isfinite(weights) | (weights < 0)
    if bad.any():
        raise WeightError(
            f"the weight column {name!r} holds {weights[np.argmax(bad)]}; weights must be there, "
            "finite and not negative."
        )
    return weights
