"""A table in a database as statements see it: quoted names out, blocks of columns in."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from counterpane.counts.tasks import BLOCK_ROWS
from counterpane.data.schema import Variable
from counterpane.errors import DataError, ParameterError, StateError
from counterpane.typing import Array, State


class DatabaseTable:
    """A table or view of a DB-API connection; `n_queries` counts the statements sent."""

    def __init__(self, connection: Any, table: str | Sequence[str]) -> None:
        parts = tuple(table) if isinstance(table, tuple | list) else (table,)
        self.name = ".".join(map(quoted, parts))
        self.n_queries = 0
        self._connection = connection
        # DuckDB hands over Arrow blocks, which no Python object per cell has to pass through.
        self._arrow = hasattr(connection, "sql") and importlib.util.find_spec("pyarrow") is not None
        nothing = self._send(f"SELECT * FROM {self.name} WHERE 1 = 0")
        self.types: dict[str, Any] = {str(name): kind for name, kind, *_ in nothing.description}
        nothing.fetchall()  # DuckDB allows one open answer at a time

    def declared(self, column: str) -> list[State] | None:
        """The states that the type of a column declares: DuckDB's enums do."""
        kind = self.types[column]
        if getattr(kind, "id", None) != "enum":
            return None
        return list(dict(kind.children)["values"])

    def row(self, *wanted: str) -> tuple[Any, ...]:
        """The one row of a statement that aggregates all rows."""
        answer = self._send(f"SELECT {', '.join(wanted)} FROM {self.name}").fetchall()
        return tuple(answer[0])

    def blocks(self, wanted: Sequence[str], tail: str = "") -> Iterator[list[Any]]:
        """The wanted expressions, block by block of rows: each a tuple or an Arrow array."""
        statement = f"SELECT {', '.join(wanted)} FROM {self.name}{tail}"
        if self._arrow:
            self.n_queries += 1
            for batch in self._guarded(self._arrow_reader, statement):
                yield batch.columns
            return
        cursor = self._send(statement)
        while rows := cursor.fetchmany(BLOCK_ROWS):
            yield list(zip(*rows, strict=True))

    def _arrow_reader(self, statement: str) -> Any:
        relation = self._connection.sql(statement)
        read = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader
        return read(BLOCK_ROWS)

    def _send(self, statement: str) -> Any:
        """A cursor with the answer; connections without `execute` are asked for a cursor first."""
        self.n_queries += 1
        if hasattr(self._connection, "execute"):
            return self._guarded(self._connection.execute, statement)
        cursor = self._connection.cursor()
        self._guarded(cursor.execute, statement)
        return cursor

    def _guarded(self, run: Any, statement: str) -> Any:
        try:
            return run(statement)
        except Exception as error:  # the drivers' own, which share no base class
            words = " ".join(str(error).split())
            raise DataError(
                f"the database refused a statement on {self.name}: {words} ({statement}); check "
                "the connection, the table's name and the right to read it."
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
        lookup = np.array([*map(self.__getitem__, coded.dictionary.to_pylist()), self[None]])
        places = coded.indices.cast("int64").fill_null(len(lookup) - 1)
        out[:] = lookup[places.to_numpy(zero_copy_only=False)]


def plain(value: Any) -> Any:
    """A value of the database as the states of a schema are: exact decimals become numbers."""
    return float(value) if isinstance(value, Decimal) else value


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
