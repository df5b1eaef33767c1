"""A table in a database as statements see it: quoted names out, blocks of columns in."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, closing
from decimal import Decimal
from typing import Any

import numpy as np

from counterpane.counts.engines.sessions import session_of
from counterpane.data.schema import Variable
from counterpane.errors import DataError, ParameterError, StateError
from counterpane.typing import Array, State


class DatabaseTable:
    """A table or view of a DB-API connection; statements sent and rows looked at are counted."""

    def __init__(self, connection: Any, table: str | Sequence[str]) -> None:
        parts = tuple(table) if isinstance(table, tuple | list) else (table,)
        self.name = ".".join(map(quoted, parts))
        self.rows_scanned = 0
        self.n_rows = 0  # until it is measured
        self._session = session_of(connection)
        nothing = f"SELECT * FROM {self.name} WHERE 1 = 0"
        with self.reading():
            self.types: dict[str, Any] = self._guarded(nothing, self._session.columns, nothing)

    @property
    def n_queries(self) -> int:
        """The number of statements sent so far."""
        return self._session.n_queries

    def reading(self) -> AbstractContextManager[None]:
        """Statements inside see the same rows where the database can; nothing stays open after."""
        return self._session.reading()

    def declared(self, columns: Sequence[str]) -> dict[str, list[State]]:
        """The states of those columns whose types declare them: enums do."""
        types = {name: self.types[name] for name in columns}
        return dict(self._guarded("types", self._session.declared, types))

    def key(self, column: str) -> str:
        """A column as statements select it and group by it."""
        return self._session.exact(quoted(column), self.types[column])

    def row(self, *wanted: str) -> tuple[Any, ...]:
        """The one row of a statement that aggregates all rows."""
        statement = f"SELECT {', '.join(wanted)} FROM {self.name}"
        return self._sent(statement, self.n_rows)

    def blocks(
        self, wanted: Sequence[str], tail: str = "", *, few: bool = False
    ) -> Generator[list[Any]]:
        """The wanted expressions, block by block of rows: each a tuple or an Arrow array.

        `few` promises an answer of one block.
        """
        statement = f"SELECT {', '.join(wanted)} FROM {self.name}{tail}"
        self.rows_scanned += self.n_rows
        with closing(self._session.blocks(statement, few=few)) as blocks:
            while (block := self._guarded(statement, next, blocks, None)) is not None:
                yield block

    def distinct_in_head(self, names: Sequence[str], rows: int) -> int:
        """How many of the first `rows` rows differ in some columns, named as they are quoted."""
        listed = ", ".join(names)
        head = f"SELECT {listed} FROM {self.name} LIMIT {rows}"
        found = f"SELECT DISTINCT {listed} FROM ({head}) AS head"
        (n,) = self._sent(f"SELECT COUNT(*) FROM ({found}) AS found", min(rows, self.n_rows))
        return int(n)

    def _sent(self, statement: str, rows: int) -> tuple[Any, ...]:
        self.rows_scanned += rows
        (answer,) = self._guarded(statement, self._session.rows, statement)
        return tuple(answer)

    def _guarded(self, statement: str, run: Callable[..., Any], *given: Any) -> Any:
        try:
            return run(*given)
        except Exception as error:  # the drivers' own, which share no base class
            words = " ".join(str(error).split())
            raise DataError(
                f"the database refused a statement on {self.name}: {words} ({statement}); check "
                "the connection, the table's name, a schema apart as (schema, name), and the "
                "right to read it."
            ) from error


class StateCodes(dict[Any, int]):
    """The code of each value of a variable, found once; NULL and NaN are missing."""

    def __init__(self, variable: Variable) -> None:
        self.variable = variable
        absent = variable.find(None)  # missing may be a state of its own
        self[None] = variable.card if absent is None else absent

    def __missing__(self, value: Any) -> int:
        if value != value:
            return self[None]
        code = self.variable.find(plain(value))
        if code is None:
            raise StateError(
                f"column {self.variable.name!r}: {self.variable.not_a_state(value)}; make the "
                "source again if rows were added, or declare it with states=…."
            )
        self[value] = code
        return code

    def encode(self, values: Any, out: Array) -> None:
        """Write the codes of a tuple or an Arrow array to `out`."""
        if isinstance(values, tuple):
            out[:] = np.fromiter(map(self.__getitem__, values), dtype=np.int64, count=len(values))
            return
        coded = values if hasattr(values, "dictionary") else values.dictionary_encode()
        listed = [*coded.dictionary.to_pylist(), None]
        places = coded.indices.cast("int64").fill_null(len(listed) - 1).to_numpy()
        lookup = np.zeros(len(listed), dtype=np.int64)
        for i in np.flatnonzero(np.bincount(places)):  # an enum may list more than rows hold
            lookup[i] = self[listed[i]]
        out[:] = lookup[places]


def plain(value: Any) -> Any:
    """A value of the database as the states of a schema are: decimals become plain numbers."""
    if not isinstance(value, Decimal):
        return value
    return int(value) if value.is_finite() and value == int(value) else float(value)


def objects(values: Any) -> list[Any]:
    """A tuple or an Arrow array as plain Python objects."""
    return list(map(plain, values if isinstance(values, tuple) else values.to_pylist()))


def quoted(name: str) -> str:
    """A name as standard SQL quotes it.

    >>> quoted('size "L"')
    '"size ""L\"""'
    """
    if not isinstance(name, str) or not name or "\0" in name:
        raise ParameterError(f"{name!r} cannot name a table or column; a text is needed.")
    return '"' + name.replace('"', '""') + '"'
