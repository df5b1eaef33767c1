"""A table of state codes: schema, column-major codes, optional weights. Read-only."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from counterpane.checks import CHOICE, INTEGER, MAPPING, NONE, STRING, accepts, instance_of
from counterpane.data.columns import UNKNOWN, Column, Labels, known_columns
from counterpane.data.encoding import Unseen, encode_frame
from counterpane.data.export import Exportable, column_array, frame_kind_of, numbers_column
from counterpane.data.intervals import draw_numbers
from counterpane.data.ranges import Range
from counterpane.data.schema import Schema, state_text
from counterpane.data.schema import code_dtype as code_dtype
from counterpane.data.schema_inference import CutRule, Discretize, cut_rule_of
from counterpane.data.weights import check_weights as check_weights
from counterpane.errors import DataError, ParameterError, Setting
from counterpane.lazy import lazy
from counterpane.plotting import draw_plot
from counterpane.present.table import LISTED, TextTable
from counterpane.seeds import random_generator
from counterpane.typing import Array, Bools, Codes, Floats, Ints, State

if TYPE_CHECKING:
    from counterpane.data import prepare
    from counterpane.data import table_texts as texts
else:
    prepare = lazy("counterpane.data.prepare")
    texts = lazy("counterpane.data.table_texts")

Missing = Literal["state", "drop", "error"]


class Table(Exportable):
    """A read-only table of state codes, made by `Table.from_frame`, `read` or `load_dataset`.

    `to_pandas`, `to_polars` and `to_arrow` make a frame (without the weights), and `to_frame` a
    frame of the kind that was read. `table["name"]` is a column as an array.

    Parameters
    ----------
    schema : Schema
        The variables.
    codes : array of int, shape (n_columns, n_rows)
        The code of each cell; a missing cell has the number of states as its code.
    weights : array of shape (n_rows,), optional
        Weights of the rows, by default 1.
    numbers : mapping of str to array, optional
        Numbers of discretized columns, NaN if missing: those that were read, or sampled from a
        model.

    Attributes
    ----------
    preparation : dict
        What `counterpane.read` did to the columns; `notes` has a sentence for each change.
    has_missing : array of bool, shape (n_columns,)
        Whether a column has missing cells.

    Examples
    --------
    >>> table = Table(Schema.from_cards([2, 3]), [[0, 1, 1], [2, 0, 3]])
    >>> len(table), table.has_missing.tolist(), table["x0"].tolist()
    (3, [False, True], [0, 1, 1])
    """

    def __init__(
        self,
        schema: Schema,
        codes: npt.ArrayLike,
        weights: npt.ArrayLike | None = None,
        *,
        numbers: Mapping[str, Floats] | None = None,
    ) -> None:
        array = np.asarray(codes)
        if len(schema) == 0:
            raise DataError("the table has no columns; at least one is needed.")
        if array.ndim != 2 or array.shape[0] != len(schema):
            raise DataError(
                f"codes have shape {array.shape}; ({len(schema)}, rows) is needed: variable by row."
            )
        if array.shape[1] == 0:
            raise DataError("the table has no rows; at least one is needed.")
        largest, smallest = array.max(axis=1), array.min(axis=1)
        for i in np.flatnonzero((largest > schema.cards) | (smallest < 0)):
            raise DataError(
                f"column {schema.names[i]!r} holds a code outside 0 … {schema.cards[i]} "
                f"({schema.cards[i]} marks a missing cell)."
            )
        self.schema = schema
        dtype = code_dtype(schema.cards)
        self.codes: Codes = np.require(array, dtype, ("C", "A")).view(dtype)
        self.codes.flags.writeable = False  # of the view: the caller's array stays as it is
        self.weights = None if weights is None else check_weights(weights, array.shape[1])
        self.has_missing: Bools = largest == schema.cards
        self.has_missing.flags.writeable = False
        self.preparation: dict[str, Any] = {}
        self.cut_rule: CutRule | None = None  # of the numbers that were read
        self.numbers = dict(numbers or {})
        for name, values in self.numbers.items():
            if schema[name].cuts is None or values.shape != (array.shape[1],):
                raise DataError(
                    f"column {name!r} was not cut, or its numbers have shape {values.shape}; "
                    f"{array.shape[1]} numbers of a cut column are needed."
                )

    @classmethod
    @accepts(
        schema=instance_of(Schema) | NONE,
        states=MAPPING | NONE,
        target=STRING | NONE,
        unseen=CHOICE,
        max_states=INTEGER,
        n_bins=INTEGER,
    )
    def from_frame(
        cls,
        frame: Any,
        *,
        schema: Schema | None = None,
        states: Mapping[str, Sequence[State]] | None = None,
        weights: str | npt.ArrayLike | None = None,
        discretize: Discretize = None,
        target: str | None = None,
        unseen: Unseen = "error",
        max_states: int = 20,
        n_bins: int = 4,
    ) -> Table:
        """The table of a pandas, polars or pyarrow frame, 2-D array or mapping of columns.

        Texts, booleans, categories and whole numbers of few values are states; categories keep
        their declared order and unobserved states. Other numbers are cut into intervals.

        Parameters
        ----------
        frame : frame, array or mapping
            The columns.
        schema : Schema, optional
            Encodes new data like an older table: columns are found by name, others are ignored.
        states : mapping of str to sequence, optional
            The states of columns, in order.
        weights : str or array, optional
            Weights of the rows, or the name of the column that holds them.
        discretize : "auto", "mdl", "quantile", mapping, object or None
            How numbers are cut: "mdl" by Fayyad–Irani against `target`, "quantile" into `n_bins` of
            equal weight and one for each frequent value, "auto" by "mdl" if there is a discrete
            target, otherwise by "quantile", {column: cuts} with "auto" for other columns, or an
            object whose `fit` sets `cuts_` or `bin_edges_`. None refuses numbers.
        target : str, optional
            The class column.
        unseen : "error", "missing" or "unknown"
            What a value is that is not a state; "unknown" has the code `card` even if missing is a
            state.
        max_states : int
            Whole numbers of at most so many values are states.
        n_bins : int
            Intervals of a column that is cut by quantiles.

        Returns
        -------
        Table
            The encoded rows.

        Examples
        --------
        >>> frame = {"smoke": ["no", "yes", None], "packs": [0, 2, 1]}
        >>> table = Table.from_frame(frame, states={"smoke": ("yes", "no", "rarely")})
        >>> table.schema["smoke"].states, table.codes.tolist()
        (('yes', 'no', 'rarely'), [[1, 0, 3], [0, 2, 1]])
        """
        if isinstance(frame, Table):
            if states is None and schema in (None, frame.schema):
                return frame if weights is None else frame.reweighted(weights)
            weights = frame.weights if weights is None else weights
            frame = frame.labels() if schema is None else frame.to_columns(unknown=True)
        found, codes, checked, numbers = encode_frame(
            frame,
            schema=schema,
            states=states or {},
            weights=weights,
            discretize=discretize,
            target=target,
            unseen=unseen,
            max_states=max_states,
            n_bins=n_bins,
        )
        table = cls(found, codes, checked, numbers=numbers)
        table.frame_kind = frame_kind_of(frame)
        if schema is None:
            table.cut_rule = cut_rule_of(found, states or {}, discretize, target, n_bins)
        return table

    def labels(self, *, unknown: bool = False) -> list[Labels]:
        """The columns by their states, intervals where they were cut.

        A cell that is none of the states is missing. Where missing is a state of its own, it is
        none of them either: with `unknown`, such cells have the state `UNKNOWN`.
        """
        places = np.where(self.codes == self.schema.cards[:, None], -1, self.codes.astype(np.int64))
        columns = [
            Labels(v.name, v.states, p, declared=True, cut=None if v.cuts is None else v)
            for v, p in zip(self.schema, places, strict=True)
        ]
        if unknown:
            for i in np.flatnonzero(self.has_missing):
                c, v = columns[i], self.schema[int(i)]
                if v.missing_code != v.card:
                    codes = np.where(c.codes < 0, v.card, c.codes)
                    columns[i] = replace(c, states=(*v.states, UNKNOWN), codes=codes)
        return columns

    def to_columns(self, *, unknown: bool = False) -> list[Column]:
        """The columns of a frame: numbers if they are known, otherwise labels; see `labels`."""
        return [
            numbers_column(c.name, self.numbers[c.name], v.step, dated=v.dated)
            if c.name in self.numbers
            else c
            for c, v in zip(self.labels(unknown=unknown), self.schema, strict=True)
        ]

    def with_numbers(
        self,
        random_state: int | np.random.Generator | None = None,
        within: Mapping[str, Range] | None = None,
    ) -> Table:
        """The same rows with a number drawn in each interval, by the quantiles of the column.

        Whole numbers stay whole, dates stay dates, and numbers keep their decimals. `within`
        limits the numbers of some columns. A column whose quantiles are not known (of a model saved
        by an older release, or learned from counts of a database) keeps its intervals.
        """
        rng = random_generator(random_state)
        numbers = {
            v.name: draw_numbers(v, codes, rng, (within or {}).get(v.name))
            for v, codes in zip(self.schema, self.codes, strict=True)
            if v.quantiles is not None
        }
        return self._kin(self.schema, self.codes, self.weights, numbers)

    def without_numbers(self) -> Table:
        """The same rows with intervals alone."""
        return self._kin(self.schema, self.codes, self.weights, {})

    def _kin(
        self,
        schema: Schema,
        codes: Codes,
        weights: npt.ArrayLike | None,
        numbers: Mapping[str, Floats],
    ) -> Table:
        """Another table of these data, which goes back as a frame of the same kind."""
        table = Table(schema, codes, weights, numbers=numbers)
        table.frame_kind, table.preparation = self.frame_kind, self.preparation
        table.cut_rule = self.cut_rule
        return table

    def __len__(self) -> int:
        return self.n_rows

    def __iter__(self) -> Iterator[str]:
        return iter(self.schema.names)

    def __getitem__(self, name: str) -> Array:
        """A column as an array: numbers and dates where there are any, else states, None missing.

        Whole numbers with missing cells are floats.
        """
        return column_array(self.to_columns()[self.schema.index(name)])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """The cells, shape (n_rows, n_columns): numbers if all columns are, else objects."""
        columns = [column_array(c) for c in self.to_columns()]
        kinds = {c.dtype.kind for c in columns}
        common = None if kinds <= set("iuf") or len(kinds) == 1 else object
        cells: Array = np.empty(
            (self.n_rows, len(columns)), dtype=common or np.result_type(*columns)
        )
        for i, column in enumerate(columns):
            cells[:, i] = column
        return cells if dtype is None else cells.astype(dtype)

    @property
    def notes(self) -> list[str]:
        """A sentence for each change that was made to the columns when they were read."""
        return prepare.preparation_notes(self.preparation, self.schema)

    @property
    def n_rows(self) -> int:
        """Rows stored, whatever their weights."""
        return int(self.codes.shape[1])

    @property
    def n_columns(self) -> int:
        """Number of variables."""
        return len(self.schema)

    @cached_property
    def total_weight(self) -> float:
        """Sum of the weights; the number of rows where there are none."""
        return float(self.n_rows if self.weights is None else self.weights.sum())

    def table(self) -> TextTable:
        """Return the rows of a small table as texts, else a line for each column."""
        weighted = "" if self.weights is None else f", weight {self.total_weight:g}"
        title = f"Table: {self.n_rows:,} rows × {self.n_columns:,} columns{weighted}"
        return (texts.row_table if self._is_small else texts.column_table)(self, title)

    @property
    def _is_small(self) -> bool:
        return max(self.n_rows, self.n_columns) <= LISTED

    def __repr__(self) -> str:
        if self._is_small:
            return self.table().to_text()
        weighted = "" if self.weights is None else f", weight {self.total_weight:g}"
        return f"Table({self.n_rows} rows × {self.n_columns} columns{weighted}: {self.schema!r})"

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    def plot(self, **options: Any) -> Any:
        """The shares of the states of each column; see `counterpane.plots.marginals`."""
        return draw_plot("marginals", self, **options)

    def shares(self, name: str) -> Floats:
        """The share of each state of a column among all its cells, by weight.

        >>> Table(Schema.from_cards([2]), [[0, 1, 1, 2]]).shares("x0").tolist()
        [0.25, 0.5]
        """
        variable, codes = self.schema[name], self.codes[self.schema.index(name)]
        counts = np.bincount(codes, self.weights, minlength=variable.card + 1)
        shares: Floats = counts[:-1] / self.total_weight
        return shares

    def column(self, name: str) -> Array:
        """The labels of one column, as an object array; a missing cell is None."""
        variable = self.schema[name]
        labels = np.empty(variable.card + 1, dtype=object)
        labels[:-1] = variable.states
        values: Array = labels[self.codes[self.schema.index(name)]]
        return values

    def select(self, columns: Sequence[str | int]) -> Table:
        """The table of some columns, in the order given."""
        where = [c if isinstance(c, int) else self.schema.index(c) for c in columns]
        schema = self.schema.select(where)
        numbers = {n: self.numbers[n] for n in schema.names if n in self.numbers}
        return self._kin(schema, self.codes[where], self.weights, numbers)

    def take(self, rows: npt.ArrayLike) -> Table:
        """The table of some rows: positions or a mask."""
        rows = np.asarray(rows)
        weights = None if self.weights is None else self.weights[rows]
        numbers = {name: values[rows] for name, values in self.numbers.items()}
        return self._kin(self.schema, self.codes[:, rows], weights, numbers)

    def reweighted(self, weights: npt.ArrayLike | None) -> Table:
        """The same rows with other weights."""
        return self._kin(self.schema, self.codes, weights, self.numbers)

    def distinct(self, columns: Sequence[str | int] | None = None) -> Table:
        """Distinct rows over some columns, sorted, each with the weight of its copies.

        Whole weights stay whole, so that every count is unchanged to the last bit.
        """
        part = self if columns is None else self.select(columns)
        return Table(part.schema, *distinct_rows(part.codes, part.weights, part.schema.cards))

    def resolve_missing(self, policy: Missing) -> Table:
        """A table without missing codes.

        `"state"` makes missing a last state (None) of each column that has such cells, `"drop"`
        keeps the complete rows, `"error"` raises if there is any.
        """
        if policy not in ("state", "drop", "error"):
            raise ParameterError(
                Setting("missing", policy), "; 'state', 'drop' or 'error' is allowed."
            )
        if not self.has_missing.any():
            return self
        if policy == "state":
            schema = with_missing_state(self.schema, self.has_missing)
            return self._kin(schema, self.codes, self.weights, self.numbers)
        incomplete = (self.codes == self.schema.cards[:, None]).any(axis=0)
        if policy == "drop":
            if incomplete.all():
                raise DataError(
                    f"each of {self.n_rows} rows has a missing cell; pass ",
                    Setting("missing", "state"),
                    ".",
                )
            return self.take(~incomplete)
        name = self.schema.names[int(np.argmax(self.has_missing))]
        raise DataError(
            f"column {name!r} has missing cells ({int(incomplete.sum())} of {self.n_rows} rows are "
            "incomplete); pass ",
            Setting("missing", "state"),
            " or ",
            Setting("missing", "drop"),
            ".",
        )


def distinct_rows(codes: Codes, weights: Array | None, cards: Ints) -> tuple[Codes, Array]:
    """The distinct rows of positive weight in lexicographic order, and their summed weights."""
    if weights is not None:
        codes, weights = codes[:, weights > 0], weights[weights > 0]
    radix = cards + 1
    if math.prod(radix.tolist()) < 2**62:  # one integer a row sorts several times faster
        keys = np.zeros(codes.shape[1], dtype=np.int64)
        for column, r in zip(codes, radix, strict=True):
            keys *= r
            keys += column
        order = np.argsort(keys, kind="stable")
        fresh = np.diff(keys[order], prepend=-1) != 0
    else:  # rows as strings of bytes sort far faster than by one column after the other
        rows = np.packbits(codes, axis=0) if codes.max(initial=0) < 2 else codes
        rows = np.ascontiguousarray(rows.T, dtype=rows.dtype.newbyteorder(">"))
        strings = rows.view(f"V{rows.shape[1] * rows.itemsize}").ravel()
        order = np.argsort(strings, kind="stable")
        fresh = np.ones(codes.shape[1], dtype=bool)
        fresh[1:] = strings[order[1:]] != strings[order[:-1]]
    starts = np.flatnonzero(fresh)
    if weights is None:
        summed: Array = np.diff(np.append(starts, codes.shape[1]))
    else:
        summed = np.add.reduceat(weights[order], starts) if starts.size else weights
    return codes[:, order[starts]], summed


def with_missing_state(schema: Schema, columns: Iterable[bool]) -> Schema:
    """`schema` with one more state, None, for the columns flagged."""
    return Schema(
        replace(v, states=(*v.states, None)) if flag else v
        for v, flag in zip(schema, columns, strict=True)
    )


def in_text_order(table: Table) -> Table:
    """The same rows, sorted by the texts of their states, columns taken by name.

    What is drawn from rows in this order is the same for equal cells, whatever the order of rows,
    columns and states.

    >>> rows = Table.from_frame({"b": ["y", "x", "x"], "a": [1, 1, 0]})
    >>> in_text_order(rows).column("b").tolist()
    ['x', 'x', 'y']
    """
    columns = sorted(range(table.n_columns), key=table.schema.names.__getitem__)
    ranks = [_ranks(table, c)[table.codes[c]] for c in columns]
    return table.take(np.lexsort(ranks[::-1]))


def _ranks(table: Table, column: int) -> Ints:
    """The place of each code among the sorted texts of its states; missing cells come last."""
    states = table.schema[column].states
    texts = sorted((s is None, state_text(s), type(s).__name__, c) for c, s in enumerate(states))
    ranks: Ints = np.empty(len(states) + 1, dtype=np.int64)
    ranks[[code for *_, code in texts]] = np.arange(len(states))
    ranks[-1] = len(states)
    return ranks


def columns_for(frame: Any, schema: Schema) -> list[Column]:
    """The columns of a table or frame for a schema; unknown cells of a table stay unknown."""
    table = isinstance(frame, Table)
    return list(frame.labels(unknown=True)) if table else known_columns(frame, schema)
