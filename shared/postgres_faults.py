"""What keeps PostgreSQL from being used, in words for the person who runs it. Needs the `postgres` extra."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

import asyncpg

Causes: TypeAlias = Sequence[tuple[type[BaseException], str]]
"""What each kind of error means; the first that fits is said."""

CAUSES: Final[Causes] = (
    (asyncpg.InvalidPasswordError, "the user or password is wrong"),
    (asyncpg.InvalidAuthorizationSpecificationError, "the user is not allowed in"),
    (asyncpg.InvalidCatalogNameError, "the database does not exist: create it"),
    (asyncpg.InsufficientPrivilegeError, "the user lacks rights on the schema: grant them"),
    (asyncpg.DiskFullError, "the disk of the database server is full"),
    (asyncpg.ReadOnlySQLTransactionError, "the database is read-only: connect to the primary"),
    (asyncpg.TooManyConnectionsError, "the database has no connection left"),
    (asyncpg.CannotConnectNowError, "the database server is starting or stopping"),
    (asyncpg.QueryCanceledError, "a statement took too long"),
    (asyncpg.PostgresConnectionError, "the connection was lost"),
    (asyncpg.InterfaceError, "the connection was lost"),
    (TimeoutError, "the database server does not answer in time"),
    (OSError, "the database server cannot be reached"),
)


def reason(error: BaseException, own: Causes = ()) -> str:
    """Say why the database cannot be used: a clause, and the code to look up, in parentheses.

    Args:
        error: what the driver or the network raised, not what wraps it.
        own: what some errors mean for the caller in particular; they go before what they mean for everybody.
    """
    text = next((text for kind, text in (*own, *CAUSES) if isinstance(error, kind)), "the database reports an error")
    return f"{text} ({code(error)})"


def code(error: BaseException) -> str:
    """Name an error shortly: PostgreSQL's code, or its class."""
    return getattr(error, "sqlstate", None) or type(error).__name__
