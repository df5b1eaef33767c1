"""Counts of a table in PostgreSQL: the conformance suite, types, transactions, accidents."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from functools import cache
from itertools import count
from typing import Any

import numpy as np
import pytest

import counterpane as cp
from contract import postgres_server
from contract.count_source_suite import CountSourceSuite, Reports
from counterpane.counts.engines.database import sql_name
from counterpane.data import Table
from counterpane.errors import DataError, ParameterError, StateError, WeightError
from counterpane.progress import Control, Stopped
from error_checks import raises

psycopg = pytest.importorskip(
    "psycopg", reason="psycopg is not installed: extra [test]", exc_type=ImportError
)


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """How to connect to a server of this process."""
    programs = postgres_server.binaries()
    if programs is None:
        pytest.skip("PostgreSQL is not installed: Debian's package postgresql")
    with postgres_server.server(programs) as dsn:
        yield dsn


@pytest.fixture(scope="session")
def shared(server: str) -> Iterator[Any]:
    """A connection of the whole session, for what is only read."""
    with psycopg.connect(server, autocommit=True) as connection:
        yield connection


@pytest.fixture
def connection(server: str) -> Iterator[Any]:
    """A fresh connection that begins transactions by itself, as psycopg's do."""
    with psycopg.connect(server) as connection:
        connection.execute("SET lock_timeout = '5s'")
        connection.commit()
        yield connection
        connection.close()


@pytest.fixture
def other(server: str) -> Iterator[Any]:
    """Somebody else, who does not wait for locks."""
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("SET lock_timeout = '1s'")
        yield connection


WEIGHT = "How many"  # a name that must be quoted, and keeps its case


@pytest.fixture(scope="session")
def make(shared: Any) -> Callable[[Table], cp.SqlSource]:
    """A backend's factory for the conformance suite: one table in the database a case."""
    numbers = count()

    @cache
    def made(table: Table) -> cp.SqlSource:
        name = ("public", f"Rows {next(numbers)}")
        columns = [f"{sql_name(n)} integer" for n in table.schema.names]
        texts = [np.array([*map(str, range(card)), r"\N"], object) for card in table.schema.cards]
        cells = [text[codes].tolist() for text, codes in zip(texts, table.codes, strict=True)]
        if table.weights is not None:
            columns.append(f"{sql_name(WEIGHT)} numeric")
            cells.append(map(str, table.weights.tolist()))
        place = ".".join(map(sql_name, name))
        shared.execute(f"CREATE UNLOGGED TABLE {place} ({', '.join(columns)})")
        with shared.cursor() as cursor, cursor.copy(f"COPY {place} FROM STDIN") as copy:
            copy.write("\n".join(map("\t".join, zip(*cells, strict=True))) + "\n")
        weights = None if table.weights is None else WEIGHT
        return cp.SqlSource(shared, name, schema=table.schema, weights=weights, keep_distinct=0)

    return made


class TestPostgresSource(CountSourceSuite):
    """Every promise, for PostgreSQL."""


def filled(connection: Any, name: str, columns: str, *rows: str) -> None:
    """Make a table and commit."""
    connection.execute(f"DROP TABLE IF EXISTS {name}")
    connection.execute(f"CREATE TABLE {name} ({columns})")
    if rows:
        connection.execute(f"INSERT INTO {name} VALUES {', '.join(rows)}")
    connection.commit()


def status(connection: Any) -> str:
    return str(connection.info.transaction_status.name)


# ---- names, states, weights ----------------------------------------------------------------------


def test_types(connection):
    connection.execute("DROP TYPE IF EXISTS grade CASCADE")
    connection.execute("CREATE TYPE grade AS ENUM ('mid', 'high', 'low')")
    filled(
        connection, '"Mixed"',
        '"É t" text, "É T" boolean, "i" smallint, "n" numeric, "r" real, "g" grade, "c" char(3), '
        '"big" numeric, "d" date',
        """('ß''"%s', true, 3, 1.0, 'NaN', 'low', 'a', 9007199254740993, '2024-02-29')""",
        """('日本', NULL, 1, 'NaN', 2, 'high', 'b', 9007199254740992, '2024-02-29')""",
        """(E'\\\\', false, NULL, 2, 7, NULL, NULL, NULL, NULL)""",
    )  # fmt: skip
    names = ["É t", "É T", "i", "n", "r", "g", "c", "big"]
    source = cp.SqlSource(connection, "Mixed", columns=names)
    assert [v.states for v in source.schema] == [
        ("\\", "ß'\"%s", "日本"), (False, True), (1, 3), (1, 2), (2, 7),
        ("mid", "high", "low"), ("a  ", "b  "), (9007199254740992, 9007199254740993),
    ]  # fmt: skip
    assert source.has_missing.tolist() == [False, True, True, True, True, True, True, True]
    assert source.counts([["g", "n"]])[0].tolist() == [[0, 0], [0, 0], [1, 0]]
    assert source.counts([["big"], ["É T"]])[0].tolist() == [1, 1]
    assert source.counts([["r"]], missing="state")[0].tolist() == [1, 1, 1]
    day = datetime.date(2024, 2, 29)
    found = cp.SqlSource(connection, "Mixed", columns=["d"]).schema
    assert found == cp.Table.from_frame({"d": [day, day, None]}).schema


def test_names_keep_their_case_and_schemas_stand_apart(connection):
    connection.execute('CREATE SCHEMA IF NOT EXISTS "Far. away"')
    filled(connection, '"Far. away"."Visits"', '"A" integer, a integer', "(1, 2)", "(1, 3)")
    source = cp.SqlSource(connection, ("Far. away", "Visits"))
    assert [v.states for v in source.schema] == [(1,), (2, 3)]
    for wrong in ("Visits", "Far. away.Visits", ("far. away", "visits")):
        with raises(DataError, about="(schema, name)"):
            cp.SqlSource(connection, wrong)
        assert status(connection) == "IDLE"


@pytest.mark.parametrize("kind", ["real", "numeric", "double precision", "numeric(9, 1)"])
def test_weights_are_added_up_in_full(connection, kind):
    filled(connection, "w", f"a integer, w {kind}", "(0, 0.1)", "(0, 16777216)", "(0, 1)", "(1, 3)")
    source = cp.SqlSource(connection, "w", weights="w")
    assert source.counts([["a"]])[0].dtype == np.float64
    tenth = float(np.float32(0.1)) if kind == "real" else 0.1
    assert source.counts([["a"]])[0].tolist() == [tenth + 16777216 + 1, 3.0]
    assert source.total_weight == tenth + 16777216 + 1 + 3
    connection.execute("DELETE FROM w WHERE w < 1")
    connection.commit()
    whole = cp.SqlSource(connection, "w", weights="w")
    assert whole.counts([["a"]])[0].dtype == np.int64
    assert whole.counts([["a"]])[0].tolist() == [16777217, 3]


def test_weights_that_are_none(connection):
    for kind, value in (("text", "'1'"), ("numeric", "'NaN'"), ("real", "'Infinity'")):
        filled(connection, "w", f"a integer, w {kind}", f"(0, {value})")
        with pytest.raises((WeightError, DataError)):
            cp.SqlSource(connection, "w", weights="w")
        assert status(connection) == "IDLE"


def test_rows_of_any_shape(server, connection):
    filled(connection, "t", "a integer, b integer", "(0, 1)", "(1, 1)")
    for factory in (psycopg.rows.dict_row, psycopg.rows.namedtuple_row, psycopg.rows.scalar_row):
        with psycopg.connect(server, row_factory=factory) as shaped:
            source = cp.SqlSource(shaped, "t", keep_distinct=0)
            assert source.pair_counts(["a"], against=["a", "b"]).counts.shape == (2, 3)
            assert shaped.row_factory is factory


# ---- transactions --------------------------------------------------------------------------------


@pytest.mark.parametrize("autocommit", [True, False])
def test_each_call_ends_its_read_only_transaction(server, connection, other, autocommit):
    filled(connection, "t", "a integer, b integer", "(0, 1)", "(1, 1)")
    connection.autocommit = autocommit
    modes = []

    def look(codes, weights):
        with connection.cursor() as cursor:
            modes.append([
                cursor.execute(f"SHOW transaction_{what}").fetchone()[0]
                for what in ("read_only", "isolation")
            ])  # fmt: skip
        return 0

    source = cp.SqlSource(connection, "t", keep_distinct=0)
    for ask in (
        lambda: source.counts([["a"], ["b"]]),
        lambda: source.counts([["a", "b"]], max_cells=1),
        lambda: source.pair_counts(),
        lambda: source.distinct(["b"]),
        lambda: source.map_reduce(look, [0]),
    ):
        for _ in range(7):  # psycopg prepares what it sees often
            ask()
            assert status(connection) == "IDLE"
    assert modes == [["on", "repeatable read"]] * 7
    other.execute("DROP TABLE t")  # would time out if a lock were left


def test_an_open_transaction_stays_as_it_was(connection, other):
    filled(connection, "t", "a integer", "(0)", "(1)")
    connection.execute("INSERT INTO t VALUES (1)")
    mine = connection.cursor(name="mine")
    mine.execute("SELECT a FROM t ORDER BY a")
    assert mine.fetchone() == (0,)
    source = cp.SqlSource(connection, "t", keep_distinct=0)
    assert source.counts([["a"]])[0].tolist() == [1, 2]
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        source.map_reduce(lambda *_: connection.execute("INSERT INTO t VALUES (7)"), [0])
    with raises(DataError, about='"nowhere"'):
        cp.SqlSource(connection, "nowhere")
    assert status(connection) == "INTRANS"
    assert mine.fetchall() == [(1,), (1,)]
    mine.close()
    connection.execute("INSERT INTO t VALUES (5)")
    connection.commit()
    assert other.execute("SELECT a FROM t ORDER BY a").fetchall() == [(0,), (1,), (1,), (5,)]


def test_an_aborted_transaction_is_the_callers(connection):
    filled(connection, "t", "a integer", "(0)", "(1)")
    source = cp.SqlSource(connection, "t")
    with pytest.raises(psycopg.Error):
        connection.execute("SELECT nothing FROM nowhere")
    with raises(DataError, about='"t"'):
        source.counts([["a"]])
    connection.rollback()
    assert source.counts([["a"]])[0].tolist() == [1, 1]


def test_errors_and_stops_leave_nothing_open(connection, other):
    filled(connection, "t", "a integer", "(0)", "(1)")
    source = cp.SqlSource(connection, "t", keep_distinct=0)
    other.execute("INSERT INTO t VALUES (2)")
    with raises(StateError, parameter="a", value=2):
        source.counts([["a"]])
    assert status(connection) == "IDLE"
    cut = Reports()
    cut.control = Control(cut)
    other.execute("DELETE FROM t WHERE a = 2")
    with pytest.raises(Stopped):
        source.map_reduce(lambda codes, weights: 0, [0], ctl=cut.control)
    assert status(connection) == "IDLE"
    other.execute("ALTER TABLE t ALTER a TYPE text")
    with pytest.raises(ZeroDivisionError):
        source.map_reduce(lambda codes, weights: 1 / 0, [0])
    other.execute("DROP TABLE t")
    with raises(DataError, about='"t"'):
        source.counts([["a"]])
    assert status(connection) == "IDLE"


def test_a_call_sees_one_state_of_the_rows(connection, other):
    filled(connection, "t", "a integer, b integer", "(0, 0)", "(1, 1)")
    source = cp.SqlSource(connection, "t", keep_distinct=0)

    def add_a_row(what, done, total):
        other.execute("INSERT INTO t VALUES (0, 1)")

    with raises(DataError, about='"t"'):
        source.counts([["a"], ["b"]], ctl=Control(add_a_row))
    again = cp.SqlSource(connection, "t", keep_distinct=0)
    batch = again.counts([["a"], ["b"]])
    assert batch[0].sum() == batch[1].sum() == again.total_weight > 2


def test_a_connection_lost_on_the_way(connection, other):
    filled(connection, "t", "a integer", "(0)", "(1)")
    source = cp.SqlSource(connection, "t", keep_distinct=0)

    def kill(codes, weights):
        other.execute(f"SELECT pg_terminate_backend({connection.info.backend_pid}, 5000)")
        return 0

    with raises(DataError, about='"t"'):
        source.map_reduce(kill, [0])
    with raises(DataError, about="refused"):
        source.counts([["a"]])


def test_large_answers_come_block_by_block(connection, monkeypatch):
    monkeypatch.setattr("counterpane.counts.engines.database.BLOCK_ROWS", 1000)
    filled(connection, "t", "a integer")
    connection.execute("INSERT INTO t SELECT i % 3 FROM generate_series(0, 9999) AS i")
    connection.commit()
    source = cp.SqlSource(connection, "t", keep_distinct=0)
    sent = source.n_queries
    sizes = []
    source.map_reduce(lambda codes, weights: sizes.append(codes.shape[1]) or 0, [0])
    assert sizes == [1000] * 10
    assert source.n_queries == sent + 1


def test_connections_that_are_awaited_are_refused():
    with raises(ParameterError, about="AsyncConnection"):
        cp.SqlSource(object.__new__(psycopg.AsyncConnection), "t")


# ---- learners ------------------------------------------------------------------------------------


def test_markov_networks_from_few_statements(connection):
    table = cp.load_dataset("titanic")
    filled(connection, "titanic", ", ".join(f"{sql_name(n)} text" for n in table.schema.names))
    with connection.cursor() as cursor, cursor.copy("COPY titanic FROM STDIN") as copy:
        for row in zip(*map(table.column, table.schema.names), strict=True):
            copy.write_row(row)
    connection.commit()
    sent = {}
    for learner in (
        cp.GSIMN("bayesian", variant="paper"),
        cp.ParticleFilterMN(n_particles=50, random_state=0),
        cp.GSMN(),
    ):
        expected = learner.set_params(potentials=False).fit(table).undirected_.edges
        for limit in (0, 1000):
            source = cp.SqlSource(connection, "titanic", schema=table.schema, keep_distinct=limit)
            before, scanned = source.n_queries, source.rows_scanned
            assert learner.fit(source).undirected_.edges == expected
            sent[type(learner).__name__, limit] = queries = source.n_queries - before
            assert source.rows_scanned - scanned == queries * table.n_rows
    assert 4 < sent["ParticleFilterMN", 0] < sent["GSIMN", 0]
    assert sent["ParticleFilterMN", 1000] == sent["GSIMN", 1000] == 1
    assert sent["GSMN", 0] == 5  # each column, and one shared table for all tests
