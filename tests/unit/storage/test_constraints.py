"""Each rule of the schema has a domain error, and the schema enforces it without any Python in between."""

from __future__ import annotations

import re
import sqlite3

import pytest

from ai_server.storage.constraints import RULES, UNIQUE_COLUMNS, domain_error, sqlite_constraint
from ai_server.storage.statements import additions, numbered, queries, schema
from shared.errors import AlreadyResolved, Conflict, IdempotencyConflict, InvalidRequest, PasseurError

DIALECTS = ("sqlite", "postgres")


@pytest.fixture
def connection():
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute("PRAGMA foreign_keys = ON")
    connection.executescript(schema("sqlite") + additions())
    connection.execute("INSERT INTO budgets VALUES (1, 'project', 'p', '', '', 'daily', 100, 'UTC', 0.8, NULL, 0)")
    connection.execute("INSERT INTO windows VALUES (1, 1, 0, 10, 0, 0, 0, 0)")
    reservation = "INSERT INTO reservations VALUES (1, 'r', 'k', 'p', '', '', 'answer', 'f', 'm', '', '', 10, 0)"
    connection.execute(reservation)
    connection.execute("INSERT INTO entries VALUES (1, 1, 'reserve', 10, 0, 0, NULL, '', 0, x'00')")
    connection.execute("INSERT INTO entries VALUES (2, 1, 'settle', 10, 0, 0, NULL, '', 0, x'00')")
    connection.execute("INSERT INTO leases VALUES ('sync/p', 'a', 10)")
    yield connection
    connection.close()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_named_rule_of_a_schema_has_a_domain_error(dialect):
    text = schema(dialect) + additions()
    named = set(re.findall(r"CONSTRAINT (\w+)", text)) | set(re.findall(r"CREATE UNIQUE INDEX (\w+)", text))
    assert named
    assert named - RULES.keys() == set()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_domain_error_belongs_to_a_rule_of_the_schema(dialect):
    text = schema(dialect) + additions()
    assert {name for name in RULES if name not in text} - {"foreign_key"} == set()


@pytest.mark.parametrize(
    ("sql", "error"),
    [
        ("INSERT INTO entries VALUES (3, 1, 'void', 0, 0, 0, NULL, '', 0, x'00')", AlreadyResolved),
        ("INSERT INTO entries VALUES (3, 1, 'settle', 1, 0, 0, NULL, '', 0, x'00')", AlreadyResolved),
        ("INSERT INTO entries VALUES (3, 1, 'hold', -1, 0, 0, NULL, '', 0, x'00')", InvalidRequest),
        ("INSERT INTO entries VALUES (3, 9, 'hold', 1, 0, 0, NULL, '', 0, x'00')", PasseurError),
        ("UPDATE entries SET amount_nanousd = 0", Conflict),
        ("DELETE FROM entries", Conflict),
        ("UPDATE reservations SET ceiling_nanousd = 0", Conflict),
        ("DELETE FROM reservations", Conflict),
        ("UPDATE windows SET open_nanousd = -1", InvalidRequest),
        ("UPDATE windows SET held_nanousd = 1", InvalidRequest),
        ("UPDATE windows SET settled_nanousd = 4611686018427387905", InvalidRequest),
        ("UPDATE budgets SET limit_nanousd = -1", InvalidRequest),
        (
            "INSERT INTO reservations VALUES (2, 'r2', 'k', 'p', '', '', 'answer', 'f', 'm', '', '', 10, 0)",
            IdempotencyConflict,
        ),
        ("INSERT INTO leases VALUES ('sync/p', 'b', 20)", Conflict),
    ],
)
def test_a_row_that_breaks_a_rule_is_refused_as_our_error(connection, sql, error):
    with pytest.raises(sqlite3.IntegrityError) as refused:
        connection.execute(sql)
    assert isinstance(domain_error(sqlite_constraint(str(refused.value))), error)


def test_unique_rules_are_found_by_their_columns(connection):
    listed = {
        ", ".join(f"{table}.{column[2]}" for column in connection.execute(f"PRAGMA index_info({index[1]})"))
        for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for index in connection.execute(f"PRAGMA index_list({table})")
        if index[2]
    }
    assert listed == UNIQUE_COLUMNS.keys()


def test_an_unknown_rule_is_no_domain_error():
    assert domain_error("somebody_elses") is None


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_query_can_be_numbered(dialect):
    for name in queries(dialect):
        query = numbered(dialect, name)
        assert len(set(query.parameters)) == len(query.parameters)
        assert (f"${len(query.parameters)}" in query.sql) == bool(query.parameters)


def test_every_shared_query_compiles(connection):
    for name, sql in queries("sqlite").items():
        values = dict.fromkeys(numbered("sqlite", name).parameters, 1)
        connection.execute(f"EXPLAIN {sql}", values)
