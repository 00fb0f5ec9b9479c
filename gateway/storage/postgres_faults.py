"""What PostgreSQL's and the network's errors mean for the gateway."""

from __future__ import annotations

from typing import Final

import asyncpg
from sqlalchemy.exc import DBAPIError

from gateway.storage.contract import Undone
from shared.errors import NotReady

FOREIGN: Final = (DBAPIError, asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError)
"""What a statement or a connection can end with that is about the database."""

MET_ANOTHER: Final[tuple[type[BaseException], ...]] = (
    asyncpg.SerializationError,
    asyncpg.DeadlockDetectedError,
    # Two racers made the same thing, or one removed what the other hangs on: read anew, the loser sees it.
    asyncpg.UniqueViolationError,
    asyncpg.ForeignKeyViolationError,
)

LOST: Final[tuple[type[BaseException], ...]] = (
    asyncpg.PostgresConnectionError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.InterfaceError,
    # What the driver says of a connection that ended while it lay idle, when it has not yet seen the end of it.
    asyncpg.InternalClientError,
    ConnectionError,
)

UNSENT: Final = asyncpg.InterfaceError
"""What the driver says before it sends anything: a statement that ended so never reached the database."""

CAUSES: Final[tuple[tuple[type[BaseException], str], ...]] = (
    (asyncpg.InvalidPasswordError, "the user or password is wrong"),
    (asyncpg.InvalidAuthorizationSpecificationError, "the user is not allowed in"),
    (asyncpg.InvalidCatalogNameError, "the database does not exist: create it"),
    (asyncpg.InsufficientPrivilegeError, "the user lacks rights on the schema: grant them"),
    (asyncpg.DiskFullError, "the disk of the database server is full"),
    (asyncpg.ReadOnlySQLTransactionError, "the database is read-only: connect to the primary"),
    (asyncpg.TooManyConnectionsError, "the database has no connection left"),
    (asyncpg.CannotConnectNowError, "the database server is starting or stopping"),
    (asyncpg.LockNotAvailableError, "another transaction keeps what this one needs"),
    (asyncpg.QueryCanceledError, "a statement took too long"),
    (asyncpg.PostgresConnectionError, "the connection was lost"),
    (asyncpg.InterfaceError, "the connection was lost"),
    (TimeoutError, "the database server does not answer in time"),
    (OSError, "the database server cannot be reached"),
)


def told(error: BaseException) -> NotReady:
    """Say what an error of a statement before the end of its transaction means."""
    cause = root(error)
    if isinstance(cause, MET_ANOTHER):
        return Undone("Two acts met in the gateway's database, and one was taken back: try again.")
    if isinstance(cause, LOST):
        return Undone(f"The gateway's database cannot be used: the connection was lost ({code(cause)}).")
    return unusable(cause)


def unusable(error: BaseException) -> NotReady:
    """Say why the database cannot be used at all."""
    cause = root(error)
    text = next((text for kind, text in CAUSES if isinstance(cause, kind)), "it reports an error")
    return NotReady(f"The gateway's database cannot be used: {text} ({code(cause)}).")


def root(error: BaseException) -> BaseException:
    """Find the driver's own error below SQLAlchemy's."""
    while isinstance(error, DBAPIError) or not isinstance(error, asyncpg.PostgresError | OSError):
        below = (error.orig if isinstance(error, DBAPIError) else None) or error.__cause__
        if below is None:
            return error
        error = below
    return error


def code(error: BaseException) -> str:
    """Name an error shortly: PostgreSQL's code, or its class."""
    return getattr(error, "sqlstate", None) or type(error).__name__
