"""Arrow arrays in, codes and weights out, block by block."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from typing import Any

import numpy as np

from counterpane.counts.tasks import BLOCK_ROWS
from counterpane.data.encoder import ValueCodes
from counterpane.data.number_formats import NO_NUMBER, widened
from counterpane.data.schema import Schema, Variable, code_dtype
from counterpane.errors import DataError, MissingExtraError, WeightError, unknown_name
from counterpane.typing import Array, Bools, Codes, Floats

Block = list[Any]
"""Arrow arrays of one length, one for each column."""


class ColumnTypes:
    """The Arrow type of each column, by name; with `texts` every cell is that of a text file.

    `what` names them in messages. The null type stands for one that only the rows show.
    """

    def __init__(self, types: Mapping[str, Any], *, what: str, texts: bool = False) -> None:
        self.types = dict(types)
        self.what = what
        self.texts = texts

    def check(self, names: Sequence[str]) -> None:
        """Refuse columns that are not there, or whose type no state can have."""
        for name in names:
            if name not in self.types:
                raise unknown_name(f"column of {self.what}", name, self.types)
            if not is_null(self.types[name]):
                family_of(name, self.types[name])


def family(kind: Any) -> str | None:
    """Which values an Arrow type holds: "text", "truth", "number", or None for all others."""
    types = pyarrow_module("types")
    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return "text"
    if types.is_boolean(kind):
        return "truth"
    number = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    return "number" if number else None


def family_of(name: str, kind: Any) -> str:
    """The family of a column's type, which must be one of the three."""
    kind_family = family(kind)
    if kind_family is None:
        raise DataError(
            f"column {name!r} holds {kind}; texts, booleans, numbers or categories are allowed: "
            "leave it out by columns=…, or convert it."
        )
    return kind_family


def is_null(kind: Any) -> bool:
    """Whether a type is that of columns without any value."""
    types = pyarrow_module("types")
    return bool(types.is_null(kind.value_type if types.is_dictionary(kind) else kind))


def pyarrow_module(module: str) -> Any:
    """A module of pyarrow, imported when it is first needed."""
    try:
        return importlib.import_module(f"pyarrow.{module}")
    except ImportError:
        raise MissingExtraError(
            "tables larger than memory are read by pyarrow, which is not installed; install "
            "counterpane[duckdb]."
        ) from None


SPAN = 2**16  # the widest range of integers that is looked up in an array
_NOWHERE: tuple[int, Array] = 0, np.zeros(0, dtype=np.int64)


class TextCodes(ValueCodes):
    """The codes of the cells of a text file; empty cells are missing.

    Numbers are read from them for a variable of numbers, among which words such as NA are missing.
    """

    def __init__(self, variable: Variable) -> None:
        super().__init__(variable)
        self._numeric = variable.cuts is not None or all(
            s is None or (isinstance(s, int | float) and not isinstance(s, bool))
            for s in variable.states
        )

    def find(self, value: Any) -> int | None:
        """The code of a cell; None if it is no state."""
        if value == "" or (self._numeric and value.strip() in NO_NUMBER):
            return self.missing
        if not self._numeric:
            return self.variable.find(value)
        for number in int, float:  # integers may have more digits than a float holds
            with suppress(ValueError):
                return self.variable.find(number(value))
        return None


class ArrowCodes:
    """The codes of a variable's cells in Arrow arrays; NULL and NaN are missing.

    With `texts` the cells are those of a text file.
    """

    def __init__(self, variable: Variable, *, texts: bool = False) -> None:
        self.variable = variable
        self.by_value = TextCodes(variable) if texts else ValueCodes(variable)
        self._missing = variable.missing_code
        self._places = _NOWHERE  # the first integer of the look-up table, and its codes

    def __getstate__(self) -> dict[str, Any]:
        """The state without the look-up table, which may be large and is quickly rebuilt."""
        return {**vars(self), "_places": _NOWHERE}

    def encode(self, values: Any, out: Codes) -> None:
        """Write the codes of an Arrow array to `out`; a value that is no state raises."""
        types = pyarrow_module("types")
        if self.variable.cuts is not None:
            self._cut(values, out)
        elif not (types.is_integer(values.type) and self._encode_whole(values, out)):
            self._encode_listed(values, out)

    def _encode_listed(self, values: Any, out: Codes) -> None:
        """Encode by the dictionary of the values."""
        types = pyarrow_module("types")
        if types.is_string_view(values.type):
            values = values.cast("large_string")  # string views cannot be encoded directly
        coded = values if types.is_dictionary(values.type) else values.dictionary_encode()
        listed = coded.dictionary.to_pylist()
        indices = coded.indices
        if indices.null_count:
            indices = indices.cast("int64").fill_null(len(listed))
        self.by_value.encode(listed, indices.to_numpy(zero_copy_only=False), out)

    def _encode_whole(self, values: Any, out: Codes) -> bool:
        """Encode integers by a look-up table; False if their range is too wide."""
        ends = pyarrow_module("compute").min_max(values).as_py()
        low, high = ends["min"], ends["max"]
        if low is None:
            out[:] = self._missing
            return True
        if high - low >= SPAN:
            return False
        codes = self._span(low, high)
        numbers = (values.fill_null(low) if values.null_count else values).to_numpy()
        shift = int(codes[0]) - low
        if codes[0] >= 0 and codes[-1] - codes[0] == high - low and (np.diff(codes) == 1).all():
            np.copyto(out, numbers, casting="unsafe")  # both steps are right modulo 2^8 or 2^16
            if shift:
                np.add(out, out.dtype.type(shift % 2 ** (8 * out.itemsize)), out=out)
        else:
            start = np.array(low).astype(np.int64)  # above 2^63 both wrap, and differ rightly
            looked_up = codes[numbers.astype(np.int64) - start]
            if looked_up.min() < 0:
                raise self.by_value.refusal(int(numbers[np.argmin(looked_up)]))
            out[:] = looked_up
        if values.null_count:
            out[values.is_null().to_numpy(zero_copy_only=False)] = self._missing
        return True

    def _span(self, low: int, high: int) -> Array:
        """The codes of all whole numbers from `low` to `high`."""
        start, codes = self._places  # read and written as one tuple: threads share it
        end = start + len(codes)
        if low < start or high >= end:
            first, last = min(low, start), max(high, end - 1)
            if end == start or last - first >= SPAN:
                first, last = low, high
            start = first
            codes = np.array([self.by_value[v] for v in range(first, last + 1)], dtype=np.int64)
            self._places = start, codes
        return codes[low - start : high - start + 1]

    def _cut(self, values: Any, out: Codes) -> None:
        """Encode by the intervals that numbers fall into."""
        numbers = arrow_numbers(values, self.variable.name)
        out[:] = np.searchsorted(np.array(self.variable.cuts), numbers, side="right")
        out[np.isnan(numbers)] = self._missing


def arrow_numbers(values: Any, name: str) -> Array:
    """An Arrow array as real numbers, NaN where there is none; integers stay integers."""
    compute = pyarrow_module("compute")
    if pyarrow_module("types").is_dictionary(values.type):
        values = values.dictionary_decode()
    if family(values.type) == "text":
        bare = compute.utf8_trim_whitespace(values)
        empty = compute.is_in(bare, value_set=_array(sorted(NO_NUMBER), bare.type))
        bare = compute.utf8_ltrim(compute.if_else(empty, None, bare), "+")
        try:
            values = bare.cast("float64")
        except ValueError as error:
            raise DataError(f"column {name!r} holds no numbers: {error}; it must.") from None
    if pyarrow_module("types").is_integer(values.type) and not values.null_count:
        integers: Array = values.to_numpy()
        return integers
    if values.type.bit_width < 64 and pyarrow_module("types").is_floating(values.type):
        return widened(values.to_numpy(zero_copy_only=False))
    numbers: Array = values.cast("float64", safe=False).to_numpy(zero_copy_only=False)
    return numbers


def _array(values: list[str], kind: Any) -> Any:
    return pyarrow_module("lib").array(values, type=kind)


Cells = Callable[[Sequence[str]], Generator[Block, None, None]]
"""Reads the named columns: blocks of rows of any size, in order."""


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
        """The names of the columns to read, each once, the weights last; at least one."""
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
        once = list(dict.fromkeys(columns))  # pairs may contain a column on both sides
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
                    place = slice(at, at + len(piece[0]))
                    self.encode(piece, once, codes[:, place])
                    if weights is not None:
                        weights[place] = arrow_weights(piece[-1], self.weights or "")
                    at = place.stop
                yield codes if order is None else codes[order], weights

    def encode(self, block: Block, columns: Sequence[int], out: Codes | None = None) -> Codes:
        """The codes of a block of some columns, written to `out` if given."""
        if out is None:
            out = np.empty((len(columns), len(block[0])), dtype=self._dtype)
        for codes, values, v in zip(out, block, columns, strict=False):  # without the weights
            self._codes[v].encode(values, codes)
            if not self.has_missing[v] and codes.max(initial=0) == self.schema.cards[v]:
                raise DataError(
                    f"column {self.schema.names[v]!r} has missing cells, and had none when the "
                    "source was made; make it again."
                )
        return out


def of_block_rows(blocks: Iterable[Block]) -> Iterator[list[Block]]:
    """Blocks of exactly `BLOCK_ROWS` rows: float sums are then the same as in memory."""
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


def arrow_weights(values: Any, name: str) -> Floats:
    """The weights in an Arrow array, checked."""
    if family(values.type) not in ("number", "text"):
        raise WeightError(f"the weight column {name!r} holds no numbers; it must.")
    try:
        weights = arrow_numbers(values, name).astype(np.float64)
    except DataError as error:
        raise WeightError(f"the weight {error}") from None
    bad = ~np.isfinite(weights) | (weights < 0)
    if bad.any():
        raise WeightError(
            f"the weight column {name!r} holds {weights[np.argmax(bad)]}; weights must be there, "
            "finite and not negative."
        )
    return weights
