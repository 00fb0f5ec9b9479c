"""Connecting to PostgreSQL safely: schema, instance lock, time-outs; and what its errors mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import asyncpg

from ai_server.storage.statements import additions, numbered, schema
from shared.errors import NotReady
from shared.postgres_faults import Causes, reason

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SCHEMA_VERSION: Final = 1
CONNECT_SECONDS: Final = 5
STATEMENT_SECONDS: Final = 30.0

NAME: Final = "passeur-ai"

SESSION: Final = {
    "synchronous_commit": "on",
    "lock_timeout": "15s",
    "idle_in_transaction_session_timeout": "10s",
    "default_transaction_isolation": "read committed",
    "search_path": "public",
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
    "tcp_user_timeout": "25s",
}
"""The database notices within 25 s that a server's machine is gone (the system's own default is two hours), ends its
session, and so tells the others that it does not live. Over a unix socket these four mean nothing.

A server that freezes inside a transaction loses its session, and with it the ledger's lock, after 10 s. So
another that waits for the lock outlasts it, and gives up only after 15 s, when the database is hopelessly behind.
All are set by statements, because a pooler refuses a session that asks for them as it begins.
"""

OWN: Final[Causes] = (
    (asyncpg.LockNotAvailableError, "another server keeps the ledger locked"),
    (asyncpg.IdleInTransactionSessionTimeoutError, "this server was frozen for too long"),
)
"""What two errors mean here and not for everybody."""

FAULTS: Final = (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError, ValueError)
"""What connecting or running can end with that is about the database, not about one operation."""


async def execute(
    connection: asyncpg.Connection, name: str, values: Mapping[str, object]
) -> Sequence[Mapping[str, Any]]:
    """Run one named query."""
    query = numbered("postgres", name)
    return await connection.fetch(query.sql, *(values[each] for each in query.parameters))


async def connect(dsn: str, instance: int) -> asyncpg.Connection:
    """Open a connection, create the schema in an empty database, and show that server `instance` lives.

    Raises:
        NotReady: with the cause and what to do.
    """
    try:
        connection: asyncpg.Connection = await asyncpg.connect(
            dsn, timeout=CONNECT_SECONDS, command_timeout=STATEMENT_SECONDS, server_settings={"application_name": NAME}
        )
    except FAULTS as error:
        raise not_ready(error) from error
    try:
        await connection.execute("".join(f"SET {name} = '{value}';" for name, value in SESSION.items()))
        await _check_safety(connection)
        await _migrate(connection)
        await _take_instance(connection, instance)
    except FAULTS as error:
        connection.terminate()
        raise not_ready(error) from error
    except BaseException:
        connection.terminate()
        raise
    return connection


async def _take_instance(connection: asyncpg.Connection, instance: int) -> None:
    [row] = await execute(connection, "take_instance", {"instance": instance})
    if not row["taken"]:
        raise NotReady("The database still knows an earlier connection of this server: it ends in a moment.")


async def _check_safety(connection: asyncpg.Connection) -> None:
    [row] = await execute(connection, "safety", {})
    if row["fsync"] != "on":
        raise NotReady("The database server runs with fsync off and can lose what it acknowledged: turn it on.")
    if row["read_only"] == "on":
        raise NotReady("The database is read-only: connect to the primary.")


async def _migrate(connection: asyncpg.Connection) -> None:
    """Create the schema once, however many servers start together."""
    await execute(connection, "lock_schema", {})
    try:
        [there] = await execute(connection, "schema_there", {})
        if there["there"]:
            [row] = await execute(connection, "schema_version", {})
            if row["version"] != SCHEMA_VERSION:
                raise NotReady(
                    f"The state store has schema {row['version']}, and this release knows {SCHEMA_VERSION}: "
                    "upgrade Passeur."
                )
        else:
            async with connection.transaction():
                await connection.execute(schema("postgres"))
                await execute(connection, "set_schema_version", {"version": SCHEMA_VERSION})
        await connection.execute(additions())
    finally:
        await execute(connection, "unlock_schema", {})


def not_ready(error: Exception) -> NotReady:
    """Say what a failing database means."""
    return NotReady(f"The state store cannot be used: {reason(error, OWN)}.")
