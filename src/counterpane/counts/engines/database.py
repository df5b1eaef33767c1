"""A table in a database: statements out and blocks of columns back, by the driver's session."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from itertools import count
from operator import itemgetter
from typing import Any

import numpy as np

from counterpane.data.columns import Labels
from counterpane.data.number_formats import plain_scalar
from counterpane.data.readers.blocks import BLOCK_ROWS, Block, usable_columns
from counterpane.errors import DataError, ParameterError, library_errors, shown_type
from counterpane.typing import State


def session_of(connection: Any) -> Session:
    """The session for the driver of a connection."""
    drivers = {kind.__module__.partition(".")[0] for kind in type(connection).__mro__}
    if hasattr(type(connection), "__aenter__"):
        raise ParameterError(
            f"{shown_type(connection)} is awaited; pass a connection that answers at once."
        )
    if drivers & {"psycopg", "psycopg2"}:
        return PostgresSession(connection)
    if "sqlite3" in drivers:
        return SqliteSession(connection)
    if "adbc_driver_manager" in drivers:
        return AdbcSession(connection)
    return DuckSession(connection) if hasattr(connection, "sql") else Session(connection)


class Session:
    """Statements over any DB-API connection; transactions are left to its driver."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._depth = 0
        self.n_queries = 0  # statements sent, transactions and cursors not counted

    @contextmanager
    def reading(self) -> Iterator[None]:
        """A context in which all statements share one transaction."""
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            if not self._depth:
                with suppress(Exception):  # a lost connection has ended it already
                    self._end()

    def has_table(self, parts: tuple[str, ...]) -> bool:
        """Whether the catalogue has a table; True where only it is searched for a name.

        DuckDB also takes the path of a file, or a variable of Python, for a name.
        """
        return True

    def columns(self, statement: str) -> dict[str, Any]:
        """The names that a statement selects, and their types as the driver tells them."""
        with closing(self._sent(statement)) as cursor:
            return {str(name): kind for name, kind, *_ in cursor.description}

    def declared(self, types: Mapping[str, Any]) -> dict[str, list[State]]:
        """The states of the columns whose types name them, in their order."""
        return {}

    def exact(self, column: str, kind: Any) -> str:
        """A quoted column without a collation under which different texts are equal."""
        return column

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """All rows of an answer."""
        with closing(self._sent(statement)) as cursor:
            return list(cursor.fetchall())

    def blocks(self, statement: str, *, few: bool) -> Generator[list[Any]]:
        """The columns of an answer, block by block; `few` promises an answer of one block."""
        with closing(self._sent(statement)) as cursor:  # an open answer may hold a lock
            while rows := cursor.fetchmany(BLOCK_ROWS):
                yield _columns(rows)

    def _sent(self, statement: str) -> Any:
        """The cursor or relation of the answer."""
        self.n_queries += 1
        cursor = self._cursor()
        try:
            cursor.execute(statement)
        except BaseException:
            cursor.close()
            raise
        return cursor

    def _cursor(self) -> Any:
        cursor = self._connection.cursor()
        if getattr(cursor, "row_factory", None) is not None:  # of SQLite: rows are tuples here
            cursor.row_factory = None
        return cursor

    def _end(self) -> None:
        """End what the first statement began, if it began a transaction."""


class SqliteSession(Session):
    """SQLite, whose columns may be declared case-insensitive."""

    def exact(self, column: str, kind: Any) -> str:
        return f"{column} COLLATE BINARY"


class DuckSession(Session):
    """DuckDB by relations, which leave the pending result of the connection; Arrow if installed."""

    def has_table(self, parts: tuple[str, ...]) -> bool:
        names = "table_name", "table_schema", "table_catalog"
        query = f"SELECT {', '.join(names)} FROM information_schema.tables"
        name, *above = (part.lower() for part in reversed(parts))
        return any(
            table.lower() == name and set(above) <= {schema.lower(), catalog.lower()}
            for table, schema, catalog in self._connection.sql(query).fetchall()
        )

    def columns(self, statement: str) -> dict[str, Any]:
        relation = self._sent(statement)
        return dict(zip(relation.columns, relation.types, strict=True))

    def declared(self, types: Mapping[str, Any]) -> dict[str, list[State]]:
        enums = {name: kind for name, kind in types.items() if kind.id == "enum"}
        return {name: list(dict(kind.children)["values"]) for name, kind in enums.items()}

    def exact(self, column: str, kind: Any) -> str:
        return exact_text(column, kind)

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        return list(self._sent(statement).fetchall())

    def blocks(self, statement: str, *, few: bool) -> Generator[list[Any]]:
        relation = self._sent(statement)
        if importlib.util.find_spec("pyarrow") is None:
            while rows := relation.fetchmany(BLOCK_ROWS):
                yield _columns(rows)
            return
        with closing(arrow_reader(relation, BLOCK_ROWS)) as batches:
            for batch in batches:  # no Python object per cell
                yield batch.columns

    def _sent(self, statement: str) -> Any:
        self.n_queries += 1
        return self._connection.sql(statement)


def exact_text(column: str, kind: Any) -> str:
    """A quoted column of DuckDB, without the collation that its texts may have."""
    return f"{column} COLLATE C" if str(kind) == "VARCHAR" else column


def arrow_reader(relation: Any, rows: int) -> Any:
    """A reader that runs a DuckDB relation; its Arrow batches have about `rows` rows."""
    read = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader
    return read(rows)


class AdbcSession(Session):
    """An ADBC connection, which hands over Arrow batches; SQLite's own collations are left out.

    Its transaction is rolled back at the end, unless the connection commits by itself.
    """

    def exact(self, column: str, kind: Any) -> str:
        vendor = str(self._connection.adbc_get_info().get("vendor_name", ""))
        return f"{column} COLLATE BINARY" if vendor.lower() == "sqlite" else column

    def blocks(self, statement: str, *, few: bool) -> Generator[list[Any]]:
        with closing(self._sent(statement)) as cursor, closing(cursor.fetch_record_batch()) as rows:
            for batch in rows:  # no Python object per cell
                for start in range(0, batch.num_rows, BLOCK_ROWS):
                    yield batch.slice(start, BLOCK_ROWS).columns

    def _end(self) -> None:
        if not getattr(self._connection, "_autocommit", False):
            self._connection.rollback()


class PostgresSession(Session):
    """PostgreSQL by psycopg, 2 or 3: read-only transactions, and cursors on the server.

    In a transaction that the caller has open, a savepoint is set and returned to instead, so that
    neither a refused statement nor its end touches what the caller did.
    """

    _names = count()  # of cursors: a driver that prepares statements must see each name once
    _ending: str | None = None

    def declared(self, types: Mapping[str, Any]) -> dict[str, list[State]]:
        custom = {str(int(kind)) for kind in types.values() if kind >= 16_384}  # not built in
        if not custom:
            return {}
        labels: dict[int, list[State]] = {}
        for kind, label in self.rows(
            "SELECT enumtypid::bigint, enumlabel::text FROM pg_catalog.pg_enum "
            f"WHERE enumtypid IN ({', '.join(sorted(custom))}) ORDER BY enumsortorder"
        ):
            labels.setdefault(kind, []).append(label)
        return {name: labels[kind] for name, kind in types.items() if kind in labels}

    def blocks(self, statement: str, *, few: bool) -> Generator[list[Any]]:
        if few:  # without a cursor, for which PostgreSQL plans no parallel scan
            yield from super().blocks(statement, few=few)
            return
        name = f"counterpane_{next(self._names)}"
        declared = f"DECLARE {name} NO SCROLL CURSOR FOR {statement}"
        with closing(self._sent(declared)) as cursor:
            cursor.execute(f"FETCH {BLOCK_ROWS} FROM {name}")
            while rows := cursor.fetchall():
                yield _columns(rows)
                cursor.execute(f"FETCH {BLOCK_ROWS} FROM {name}")
            cursor.execute(f"CLOSE {name}")

    def _cursor(self) -> Any:
        """A cursor whose rows are tuples, whatever the connection's are, in a transaction."""
        if hasattr(self._connection, "row_factory"):
            rows = importlib.import_module("psycopg.rows")
            cursor = self._connection.cursor(row_factory=rows.tuple_row)
        else:
            plain = importlib.import_module("psycopg2.extensions").cursor
            cursor = self._connection.cursor(cursor_factory=plain)
        if self._ending is None:
            self._begin(cursor)
        return cursor

    def _begin(self, cursor: Any) -> None:
        mode = "ISOLATION LEVEL REPEATABLE READ, READ ONLY"  # a call sees one state of the rows
        if self._connection.info.transaction_status != 0:  # the caller's own
            cursor.execute("SAVEPOINT counterpane")
            self._ending = "ROLLBACK TO SAVEPOINT counterpane; RELEASE SAVEPOINT counterpane"
            cursor.execute("SET LOCAL transaction_read_only = on")  # until the savepoint's end
        elif self._connection.autocommit:
            cursor.execute(f"BEGIN {mode}")
            self._ending = "ROLLBACK"
        else:
            self._ending = ""  # the driver begins and ends it
            cursor.execute(f"SET TRANSACTION {mode}")

    def _end(self) -> None:
        ending, self._ending = self._ending, None
        if ending == "":
            self._connection.rollback()
        elif ending is not None:
            with closing(self._connection.cursor()) as cursor:
                cursor.execute(ending)


def _columns(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The columns of some rows; `zip(*rows)` takes twice as long."""
    return [tuple(map(itemgetter(i), rows)) for i in range(len(rows[0]))]


def relation_of(connection: Any, table: str | Sequence[str]) -> Any | None:
    """Return a table or view of a DuckDB connection as a relation; None for other databases."""
    if not isinstance(session_of(connection), DuckSession):
        return None
    return connection.table(DatabaseTable(connection, table).name)


class DatabaseTable:
    """A table or view of a DB-API connection; it counts statements and the rows they scan."""

    def __init__(self, connection: Any, table: str | Sequence[str]) -> None:
        parts = tuple(table) if isinstance(table, tuple | list) else (table,)
        self.name = ".".join(map(sql_name, parts))
        self.rows_scanned = 0
        self.n_rows = 0  # until it is measured
        self._session = session_of(connection)
        nothing = f"SELECT * FROM {self.name} WHERE 1 = 0"
        with self.reading():
            with self._errors("the catalogue"):
                found = self._session.has_table(parts)
            if not found:
                raise ParameterError(
                    f"{'.'.join(parts)!r} is no table or view of the connection; name one of its "
                    "catalogue, or make a view of a file first: CREATE VIEW visits AS SELECT * "
                    "FROM 'visits.csv'."
                )
            with self._errors(nothing):
                self.types: dict[str, Any] = self._session.columns(nothing)

    @property
    def n_queries(self) -> int:
        """The number of statements sent so far."""
        return self._session.n_queries

    def reading(self) -> AbstractContextManager[None]:
        """A context in which statements see the same rows, if the database supports it."""
        return self._session.reading()

    def declared(self, columns: Sequence[str]) -> dict[str, list[State]]:
        """The states of those columns whose types declare them: enums do."""
        types = {name: self.types[name] for name in columns}
        with self._errors("types"):
            return self._session.declared(types)

    def key(self, column: str) -> str:
        """A column as statements select it and group by it."""
        return self._session.exact(sql_name(column), self.types[column])

    def row(self, *expressions: str) -> tuple[Any, ...]:
        """The one row of a statement that aggregates all rows."""
        statement = f"SELECT {', '.join(expressions)} FROM {self.name}"
        return self._sent(statement, self.n_rows)

    def blocks(
        self, expressions: Sequence[str], tail: str = "", *, few: bool = False
    ) -> Generator[list[Any]]:
        """The expressions, block by block of rows: each a tuple or an Arrow array.

        `few` promises an answer of one block.
        """
        statement = f"SELECT {', '.join(expressions)} FROM {self.name}{tail}"
        self.rows_scanned += self.n_rows
        with self._errors(statement), closing(self._session.blocks(statement, few=few)) as blocks:
            yield from blocks

    def distinct_in_head(self, names: Sequence[str], rows: int) -> int:
        """The number of distinct rows among the first `rows` rows, of columns by quoted names."""
        listed = ", ".join(names)
        head = f"SELECT {listed} FROM {self.name} LIMIT {rows}"
        distinct = f"SELECT DISTINCT {listed} FROM ({head}) AS head"
        (n,) = self._sent(f"SELECT COUNT(*) FROM ({distinct}) AS found", min(rows, self.n_rows))
        return int(n)

    def _sent(self, statement: str, rows: int) -> tuple[Any, ...]:
        self.rows_scanned += rows
        with self._errors(statement):
            (answer,) = self._session.rows(statement)
        return tuple(answer)

    def _errors(self, statement: str) -> AbstractContextManager[None]:
        """Make one message of what a driver raises."""
        return library_errors(
            lambda words: DataError(
                f"the database refused a statement on {self.name}: {words} ({statement}); check "
                "the connection, the table's name, a schema apart as (schema, name), and the "
                "right to read it."
            )
        )


def block_of(
    names: Sequence[str], arrays: Sequence[Any], declared: Mapping[str, Sequence[State]]
) -> Block:
    """The columns of a block of an answer: tuples, or Arrow arrays; enums with all their states."""
    cells = {
        name: [plain_scalar(value) for value in values]
        if isinstance(values, tuple)
        else importlib.import_module("pyarrow").chunked_array([values])
        for name, values in zip(names, arrays, strict=True)
    }
    found = usable_columns(cells, len(arrays[0]) if arrays else 0)
    for name, states in declared.items():
        column = found.get(name)
        if isinstance(column, Labels) and not column.declared:
            place = np.array([*map(states.index, column.states), -1])
            found[name] = Labels(name, tuple(states), place[column.codes], declared=True)
    return [found[name] for name in names]


def sql_name(name: str) -> str:
    """A name as standard SQL quotes it.

    >>> sql_name('size "L"')
    '"size ""L\"""'
    """
    if not isinstance(name, str) or not name or "\0" in name:
        raise ParameterError(f"{name!r} cannot name a table or column; a text is needed.")
    return '"' + name.replace('"', '""') + '"'
