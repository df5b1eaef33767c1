"""One look at all rows of some files: the states of each column, missing cells, weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

import numpy as np

from counterpane.counts.arrow_codes import ArrowCodes, as_numbers
from counterpane.counts.database import plain
from counterpane.counts.file_readers import FileReader, arrow, family
from counterpane.data.columns import Column, Labels, Numbers, from_objects, make_labels
from counterpane.data.schema import MAX_STATES, Schema, Variable, code_dtype
from counterpane.data.states import infer_schema
from counterpane.data.texts import text_column
from counterpane.errors import DataError, DiscretizeError, ParameterError, WeightError
from counterpane.progress import Control
from counterpane.typing import Array, Floats, State


class Survey:
    """What one scan over the columns `names` finds; `known` columns have their variable already.

    `schema` is in the order of `names`; `has_missing` says which of them have missing cells.
    `whole` says whether weights are whole numbers whose sum is exact.
    """

    def __init__(
        self,
        files: FileReader,
        names: Sequence[str],
        known: Mapping[str, Variable],
        weights: str | None,
        *,
        max_states: int,
        ctl: Control | None = None,
    ) -> None:
        columns = [_Known(known[name], files.texts) if name in known else
                   _Observed(name, files, max_states) for name in names]  # fmt: skip
        self.n_rows, self.total_weight, self.whole = 0, 0.0, True
        asked = [*names, *([] if weights is None else [weights])]
        with closing(files.blocks(asked)) as blocks:
            for block in blocks:
                for column, values in zip(columns, block, strict=False):  # the weight is left over
                    column.add(values)
                self.n_rows += len(block[0])
                if weights is not None:
                    self._weigh(weights_of(block[-1], weights))
                if ctl is not None:
                    ctl.report("reading states", self.n_rows, None)
        if self.n_rows == 0:
            raise DataError(f"{_named(files)} no rows; at least one is needed.")
        if weights is None:
            self.total_weight = float(self.n_rows)
        elif self.total_weight == 0:
            raise WeightError("all weights are zero; at least one row needs a positive weight.")
        self.whole &= self.total_weight < 2**53
        self.schema = Schema(column.variable() for column in columns)
        self.has_missing = np.array([
            column.missing(variable) for column, variable in zip(columns, self.schema, strict=True)
        ])  # fmt: skip

    def _weigh(self, weights: Floats) -> None:
        self.total_weight += float(weights.sum())
        self.whole &= bool((weights == np.floor(weights)).all())


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


def declared_variables(
    files: FileReader,
    names: Sequence[str],
    states: Mapping[str, Sequence[State]],
    cuts: Mapping[str, Sequence[float]] | None,
) -> Iterator[Variable]:
    """The variables of the columns whose states or cuts are given."""
    if cuts is not None and not isinstance(cuts, Mapping):
        raise ParameterError(
            f"discretize={cuts!r}; files are cut by {{column: [cuts, …]}} only: find the cuts on "
            "a sample of the rows, which Table.from_frame does."
        )
    files.check([*states, *(cuts or {})])
    for name in names:
        if name in states:
            yield Variable(name, tuple(states[name]))
        elif name in (cuts or {}):
            numeric = files.texts or family(files.types[name]) == "number"
            column = Numbers(name, np.zeros(1), np.zeros(1, dtype=bool)) if numeric else Labels(
                name, ("",), np.zeros(1))  # fmt: skip
            schema = infer_schema({name: column}, {}, {name: (cuts or {})[name]}, None, np.ones(1),
                                  max_states=1, n_bins=1)  # fmt: skip
            yield schema[0]


class _Known:
    """A column whose variable is given: only its missing cells are looked for."""

    def __init__(self, variable: Variable, texts: bool) -> None:
        self._codes = ArrowCodes(variable, texts=texts)
        self._dtype = code_dtype(np.array([variable.card]))
        self._missing = False

    def add(self, values: Any) -> None:
        codes = np.empty(len(values), dtype=self._dtype)
        self._codes.encode(values, codes)
        self._missing |= bool((codes == self._codes.variable.card).any())

    def variable(self) -> Variable:
        return self._codes.variable

    def missing(self, variable: Variable) -> bool:
        return self._missing


class _Observed:
    """A column whose states are the values that it holds, or the categories that it declares."""

    def __init__(self, name: str, files: FileReader, max_states: int) -> None:
        kind = files.types[name]
        self.name = name
        self._max_states = max_states
        self._texts = files.texts
        self._family = family(kind)
        self._declared = arrow("types").is_dictionary(kind)
        self._values: dict[Any, None] = {}
        self._gap = False
        self._span = range(0)  # whole numbers that were all seen

    def add(self, values: Any) -> None:
        compute, types = arrow("compute"), arrow("types")
        self._gap |= values.null_count > 0
        if types.is_integer(values.type):
            ends = compute.min_max(values).as_py()
            if ends["min"] is None or (ends["min"] in self._span and ends["max"] in self._span):
                return
        elif types.is_string_view(values.type):
            values = values.cast("large_string")
        if self._declared and types.is_dictionary(values.type):
            found = values.dictionary
        else:
            found = compute.unique(values)
        self._values.update(dict.fromkeys(map(plain, found.to_pylist())))
        if len(self._values) > MAX_STATES + 1:
            raise self._too_many()
        if types.is_integer(values.type):
            seen = sorted(v for v in self._values if v is not None)
            if seen[-1] - seen[0] == len(seen) - 1:
                self._span = range(seen[0], seen[-1] + 1)

    def variable(self) -> Variable:
        column = self._column()
        if isinstance(column, Numbers):
            whole = column.distinct.dtype.kind in "iu" and len(column.distinct) <= self._max_states
            if not whole and len(column.distinct) > 1:
                raise self._too_many()
        return infer_schema({self.name: column}, {}, None, None, np.ones(1),
                            max_states=self._max_states, n_bins=1)[0]  # fmt: skip

    def missing(self, variable: Variable) -> bool:
        codes = ArrowCodes(variable, texts=self._texts)
        return self._gap or variable.card in map(codes.code, self._values)

    def _column(self) -> Column:
        values = list(self._values)
        places: Array = np.arange(len(values))
        if self._family == "truth":
            return Labels(self.name, (False, True), np.zeros(0, dtype=np.int8), declared=True)
        if self._texts:
            return text_column(self.name, values, places)
        if self._declared:
            return make_labels(self.name, values, places, declared=True)
        return from_objects(self.name, values)

    def _too_many(self) -> DataError:
        if self._family == "number" or (self._texts and len(self._values) <= MAX_STATES):
            return DiscretizeError(
                f"column {self.name!r} holds numbers that are not whole, or more than "
                f"max_states={self._max_states} different ones; pass discretize={{{self.name!r}: "
                "[cuts, …]}, or leave it out by columns=…."
            )
        return DataError(
            f"column {self.name!r} has more than {MAX_STATES} different values; leave it out by "
            "columns=… if it names the rows, or cut it by discretize=… if it holds numbers."
        )


def _named(files: FileReader) -> str:
    many = len(files.paths) > 1
    return f"{len(files.paths)} files have" if many else f"file {str(files.paths[0])!r} has"
