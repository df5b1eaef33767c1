"""Arrow arrays of one variable in, codes out: the values are looked up once, not once a row."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from counterpane.counts.engines.arrow_types import arrow, family
from counterpane.counts.engines.database import plain
from counterpane.data.clean import NO_NUMBER
from counterpane.data.schema import Variable
from counterpane.errors import DataError, StateError
from counterpane.typing import Array, Codes

SPAN = 2**16  # of whole numbers that are looked up by place
_NOWHERE: tuple[int, Array] = 0, np.zeros(0, dtype=np.int64)


class ArrowCodes:
    """The codes of a variable's cells; NULL, NaN and empty text are missing.

    With `texts` the cells are those of a text file: numbers are read from them for a variable of
    numbers, among which words such as NA are missing too.
    """

    def __init__(self, variable: Variable, *, texts: bool = False) -> None:
        self.variable = variable
        self._texts = texts
        self._figures = variable.cuts is not None or all(
            s is None or (isinstance(s, int | float) and not isinstance(s, bool))
            for s in variable.states
        )
        absent = variable.find(None)  # missing may be a state of its own
        self._missing = variable.card if absent is None else absent
        self._known: dict[Any, int] = {}
        self._places = _NOWHERE  # the codes of whole numbers from the first

    def __getstate__(self) -> dict[str, Any]:
        """Without what was looked up: that may be much, and is soon found again."""
        return {**vars(self), "_known": {}, "_places": _NOWHERE}

    def encode(self, values: Any, out: Codes) -> None:
        """Write the codes of an Arrow array to `out`; a value that is no state raises."""
        types = arrow("types")
        if self.variable.cuts is not None:
            self._cut(values, out)
        elif not (types.is_integer(values.type) and self._encode_whole(values, out)):
            self._encode_listed(values, out)

    def code(self, value: Any) -> int:
        """The code of one value, -1 where it is no state."""
        if value is None or value != value:
            return self._missing
        if value not in self._known:
            found = self._read(value) if self._texts else self.variable.find(plain(value))
            self._known[value] = -1 if found is None else found
        return self._known[value]

    def _read(self, text: str) -> int | None:
        """The code of a cell of a text file."""
        if text == "" or (self._figures and text.strip() in NO_NUMBER):
            return self._missing
        if not self._figures:
            return self.variable.find(text)
        for number in int, float:  # whole ones may have more digits than a float holds
            with suppress(ValueError):
                return self.variable.find(number(text))
        return None

    def _encode_listed(self, values: Any, out: Codes) -> None:
        """By the dictionary of the values."""
        types = arrow("types")
        if types.is_string_view(values.type):
            values = values.cast("large_string")  # views have no direct way
        coded = values if types.is_dictionary(values.type) else values.dictionary_encode()
        listed = coded.dictionary.to_pylist()
        lookup = np.array([*map(self.code, listed), self._missing], dtype=np.int64)
        indices = coded.indices
        if indices.null_count:
            indices = indices.cast("int64").fill_null(len(listed))
        places = indices.to_numpy(zero_copy_only=False)
        if lookup.min() >= 0:
            np.take(lookup.astype(out.dtype), places, out=out, mode="clip")
            return
        codes = lookup[places]
        if codes.min() < 0:
            raise self._strange(listed[places[np.argmin(codes)]])
        out[:] = codes

    def _encode_whole(self, values: Any, out: Codes) -> bool:
        """By the place of whole numbers in a short range; False where they are spread widely."""
        ends = arrow("compute").min_max(values).as_py()
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
            found = codes[numbers.astype(np.int64) - start]
            if found.min() < 0:
                raise self._strange(int(numbers[np.argmin(found)]))
            out[:] = found
        if values.null_count:
            out[values.is_null().to_numpy(zero_copy_only=False)] = self._missing
        return True

    def _span(self, low: int, high: int) -> Array:
        """The codes of all whole numbers from `low` to `high`."""
        start, codes = self._places  # taken and set as one: threads share it
        end = start + len(codes)
        if low < start or high >= end:
            first, last = min(low, start), max(high, end - 1)
            if end == start or last - first >= SPAN:
                first, last = low, high
            start = first
            codes = np.array([self.code(v) for v in range(first, last + 1)], dtype=np.int64)
            self._places = start, codes
        return codes[low - start : high - start + 1]

    def _cut(self, values: Any, out: Codes) -> None:
        """By the intervals that numbers fall into."""
        numbers = as_numbers(values, self.variable.name)
        out[:] = np.searchsorted(np.array(self.variable.cuts), numbers, side="right")
        out[np.isnan(numbers)] = self._missing

    def _strange(self, value: Any) -> StateError:
        return StateError(
            f"column {self.variable.name!r}: {self.variable.not_a_state(value)}; declare it with "
            "states=…, or make the source again if rows were added."
        )


def as_numbers(values: Any, name: str) -> Array:
    """An Arrow array as real numbers, NaN where there is none; whole numbers stay whole."""
    compute = arrow("compute")
    if arrow("types").is_dictionary(values.type):
        values = values.dictionary_decode()
    if family(values.type) == "text":
        bare = compute.utf8_trim_whitespace(values)
        empty = compute.is_in(bare, value_set=_array(sorted(NO_NUMBER), bare.type))
        bare = compute.utf8_ltrim(compute.if_else(empty, None, bare), "+")
        try:
            values = bare.cast("float64")
        except ValueError as error:
            raise DataError(f"column {name!r} holds no numbers: {error}; it must.") from None
    if arrow("types").is_integer(values.type) and not values.null_count:
        whole: Array = values.to_numpy()
        return whole
    numbers: Array = values.cast("float64", safe=False).to_numpy(zero_copy_only=False)
    return numbers


def _array(values: list[str], kind: Any) -> Any:
    return arrow("lib").array(values, type=kind)
