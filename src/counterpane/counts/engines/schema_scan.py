"""One scan of all rows: the states of each column, missing cells, total weight."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Literal, TypedDict

import numpy as np

from counterpane.counts.engines.arrow_cells import (
    ArrowCodes,
    Block,
    ColumnTypes,
    RowEncoder,
    arrow_numbers,
    arrow_weights,
    family,
    family_of,
    is_null,
    pyarrow_module,
)
from counterpane.counts.source import columns_to_count
from counterpane.data.clean import text_column
from counterpane.data.columns import Column, Labels, Numbers, from_objects, make_labels
from counterpane.data.encoder import check_total_weight
from counterpane.data.number_formats import NO_NUMBER, NUMBER, plain_scalar
from counterpane.data.schema import MAX_STATES, Schema, Variable, code_dtype
from counterpane.data.schema_inference import infer_schema
from counterpane.errors import DataError, DiscretizeError, ParameterError
from counterpane.typing import Array, State

BlockDiscretize = Mapping[str, Sequence[float]] | Literal["quantile", "mdl"] | None
"""How numbers that are read block by block become states."""


class SchemaOptions(TypedDict, total=False):
    """The options of a source that describe its columns; see `FileSource`."""

    columns: Sequence[str] | None
    states: Mapping[str, Sequence[State]] | None
    schema: Schema | None
    weights: str | None
    discretize: BlockDiscretize
    max_states: int


class SchemaScan:
    """The states of the columns `names` in the rows added so far; `known` ones have their variable.

    Blocks of rows are added one by one, and scans of other rows by `+`, in the order of the rows.
    `whole` says whether weights are whole numbers whose sum is exact. With `cuts`, numbers that are
    no states as they are may be any; the columns `uncut` then need variables from elsewhere.
    """

    def __init__(
        self,
        table: ColumnTypes,
        names: Sequence[str],
        known: Mapping[str, Variable],
        weights: str | None,
        *,
        max_states: int,
        cuts: bool = False,
    ) -> None:
        self.names = [*names, *([] if weights is None else [weights])]
        self.n_rows, self.total_weight, self.whole = 0, 0.0, True
        self._weights, self._texts = weights, table.texts
        self._columns = [_Known(known[name], table.texts) if name in known else
                         _Observed(name, table, max_states, cuts) for name in names]  # fmt: skip

    def add(self, block: Block) -> None:
        """Add a block of the columns `names`."""
        for column, values in zip(self._columns, block, strict=False):  # without the weights
            column.add(values)
        rows = len(block[0])
        self.n_rows += rows
        if self._weights is None:
            self.total_weight += rows
        else:
            weights = arrow_weights(block[-1], self._weights)
            with np.errstate(over="ignore"):
                self.total_weight += float(weights.sum())
            self.whole &= bool((weights == np.floor(weights)).all())

    def __add__(self, other: SchemaScan) -> SchemaScan:
        both = copy.deepcopy(self)
        for column, same in zip(both._columns, other._columns, strict=True):
            column.merge(same)  # type: ignore[arg-type]  # both are of the same plan
        both.n_rows += other.n_rows
        both.total_weight += other.total_weight
        both.whole &= other.whole
        return both

    @property
    def uncut(self) -> list[str]:
        """The columns of numbers whose cuts are to be found."""
        return [column.name for column in self._columns if column.uncut]

    def variable(self, name: str) -> Variable:
        """The variable of a column that needs no cuts."""
        return self._columns[self.names.index(name)].variable()

    def encoder(self, cut: Mapping[str, Variable] = MappingProxyType({})) -> RowEncoder:
        """The encoder of the rows, with the variables `cut` for the columns `uncut`."""
        check_total_weight(self.total_weight)
        columns = self._columns
        schema = Schema(cut[c.name] if c.name in cut else c.variable() for c in columns)
        has_missing = np.array([c.missing(v) for c, v in zip(columns, schema, strict=True)])
        whole = self.whole and self.total_weight < 2**53
        return RowEncoder(schema, has_missing, self._weights, whole=whole, texts=self._texts)


def plan_schema_scan(
    table: ColumnTypes,
    *,
    columns: Sequence[str] | None = None,
    states: Mapping[str, Sequence[State]] | None = None,
    schema: Schema | None = None,
    weights: str | None = None,
    discretize: BlockDiscretize = None,
    max_states: int = 20,
    cuts: bool = False,
) -> SchemaScan:
    """An empty scan that will find what the options of a source leave open."""
    names = columns_to_count(columns, table.types if schema is None else schema.names, weights)
    table.check([*names, *([] if weights is None else [weights])])
    if schema is None:
        known = {v.name: v for v in variables_from_options(table, names, states or {}, discretize)}
    else:
        known = {name: schema[name] for name in names}
    return SchemaScan(table, names, known, weights, max_states=max_states, cuts=cuts)


def variables_from_options(
    table: ColumnTypes,
    names: Sequence[str],
    states: Mapping[str, Sequence[State]],
    cuts: BlockDiscretize,
) -> Iterator[Variable]:
    """The variables of the columns whose states or cuts are given."""
    if cuts is not None and not isinstance(cuts, Mapping):
        raise ParameterError(
            f"discretize={cuts!r}; what a cluster counts is cut by {{column: [cuts, …]}} only: "
            "find the cuts on a sample of the rows, which Table.from_frame does."
        )
    table.check([*states, *(cuts or {})])
    for name in names:
        if name in states:
            yield Variable(name, tuple(states[name]))
        elif name in (cuts or {}):
            numeric = table.texts or family(table.types[name]) == "number"
            column = Numbers(name, np.zeros(1), np.zeros(1, dtype=bool)) if numeric else Labels(
                name, ("",), np.zeros(1))  # fmt: skip
            schema = infer_schema({name: column}, {}, {name: (cuts or {})[name]}, None, np.ones(1),
                                  max_states=1, n_bins=1)  # fmt: skip
            yield replace(schema[0], quantiles=None, step=None)  # those of the column of zeros


class _Known:
    """A column whose variable is known: the scan only looks for missing cells."""

    uncut = False

    def __init__(self, variable: Variable, texts: bool) -> None:
        self.name = variable.name
        self._codes = ArrowCodes(variable, texts=texts)
        self._dtype = code_dtype(np.array([variable.card]))
        self._missing = False

    def add(self, values: Any) -> None:
        codes = np.empty(len(values), dtype=self._dtype)
        self._codes.encode(values, codes)
        self._missing |= bool((codes == self._codes.variable.card).any())

    def merge(self, other: _Known) -> None:
        self._missing |= other._missing

    def variable(self) -> Variable:
        return self._codes.variable

    def missing(self, variable: Variable) -> bool:
        return self._missing


class _Observed:
    """A column whose states are the values that it holds, or the categories that it declares."""

    def __init__(self, name: str, table: ColumnTypes, max_states: int, cuts: bool) -> None:
        self.name = name
        self._cuts = cuts
        self._many = False  # more numbers than states are allowed
        self._max_states = max_states
        self._texts = table.texts
        self._kind = table.types[name]
        self._values: dict[Any, None] = {}
        self._gap = False
        self._span = range(0)  # a range of integers that have all been seen

    def add(self, values: Any) -> None:
        compute, types = pyarrow_module("compute"), pyarrow_module("types")
        self._gap |= values.null_count > 0
        if not self._agree(values.type):
            self._values[None] = None
            return
        if self._many:
            self._check_numbers(values)
            return
        if types.is_integer(values.type):
            ends = compute.min_max(values).as_py()
            if ends["min"] is None or (ends["min"] in self._span and ends["max"] in self._span):
                return
        elif types.is_string_view(values.type):
            values = values.cast("large_string")
        if self._declared and types.is_dictionary(values.type):
            listed = values.dictionary
        else:
            listed = compute.unique(values)
        if self._keep(map(plain_scalar, listed.to_pylist())):
            self._check_numbers(values)
        elif types.is_integer(values.type):
            seen = [v for v in self._values if v is not None]
            if all(isinstance(v, int) for v in seen) and max(seen) - min(seen) == len(seen) - 1:
                self._span = range(min(seen), max(seen) + 1)

    def merge(self, other: _Observed) -> None:
        self._agree(other._kind)
        self._gap |= other._gap
        self._many |= other._many
        self._keep(other._values)

    def _agree(self, kind: Any) -> bool:
        """Whether cells of a type hold values; a type of another family than before raises."""
        if is_null(kind):
            return False
        if is_null(self._kind):
            self._kind = kind
        if family_of(self.name, kind) != self._family:
            raise DataError(
                f"column {self.name!r} holds {self._kind} in some rows and {kind} in others; write "
                "it as one type."
            )
        return True

    def _keep(self, values: Iterable[Any]) -> bool:
        """Add values; True if they are numbers, and more than states are allowed."""
        self._values.update((None if v != v else v, None) for v in values)  # NaN != NaN
        self._many |= len(self._values) > MAX_STATES + 1
        if self._many and not (self._cuts and isinstance(self._column(), Numbers)):
            raise self._too_many()
        return self._many

    @property
    def _family(self) -> str | None:
        return family(self._kind)

    @property
    def _declared(self) -> bool:
        return bool(pyarrow_module("types").is_dictionary(self._kind))

    @property
    def uncut(self) -> bool:
        """Whether cuts are to be found."""
        return self._cuts and (self._many or self._wide(self._column()))

    def variable(self) -> Variable:
        column = self._column()
        if self._wide(column):
            raise self._too_many()
        return infer_schema({self.name: column}, {}, None, None, np.ones(1),
                            max_states=self._max_states, n_bins=1)[0]  # fmt: skip

    def _wide(self, column: Column) -> bool:
        """Whether a column holds numbers that must be cut into states."""
        if not isinstance(column, Numbers):
            return False
        whole = column.distinct.dtype.kind in "iu" and len(column.distinct) <= self._max_states
        return not whole and len(column.distinct) > 1

    def _check_numbers(self, values: Any) -> None:
        """Look for missing cells in a block of a column of many numbers; other texts raise."""
        compute = pyarrow_module("compute")
        if self._texts:
            bare = compute.utf8_trim_whitespace(compute.unique(values))
            known = pyarrow_module("lib").array(sorted(NO_NUMBER), bare.type)
            figures = compute.match_substring_regex(bare, f"^(?:{NUMBER.pattern})$")
            if not compute.all(compute.or_(figures, compute.is_in(bare, value_set=known))).as_py():
                raise self._too_many()
        self._gap |= bool(np.isnan(arrow_numbers(values, self.name)).any())

    def missing(self, variable: Variable) -> bool:
        codes = ArrowCodes(variable, texts=self._texts)
        return self._gap or variable.card in map(codes.by_value.__getitem__, self._values)

    def _column(self) -> Column:
        values = list(self._values)
        places: Array = np.arange(len(values))
        if self._family == "truth" and not self._declared:
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
                "[cuts, …]}, or 'quantile', or 'mdl' with target=…, or leave it out by columns=…."
            )
        return DataError(
            f"column {self.name!r} has more than {MAX_STATES} different values; leave it out by "
            "columns=… if it names the rows, or cut it by discretize=… if it holds numbers."
        )
