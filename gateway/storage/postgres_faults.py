"""What PostgreSQL's and the network's errors mean for the gateway."""

from __future__ import annotations

from typing import Final

import asyncpg
from sqlalchemy.exc import DBAPIError

from gateway.storage.contract import Undone
from shared.errors import NotReady
from shared.postgres_faults import Causes, code, reason

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

OWN: Final[Causes] = ((asyncpg.LockNotAvailableError, "another transaction keeps what this one needs"),)
"""What an error means here and not for everybody."""


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
    return NotReady(f"The gateway's database cannot be used: {reason(root(error), OWN)}.")


def root(error: BaseException) -> BaseException:
    """Find the driver's own error below SQLAlchemy's."""
    while isinstance(error, DBAPIError) or not isinstance(error, asyncpg.PostgresError | OSError):
        below = (error.orig if isinstance(error, DBAPIError) else None) or error.__cause__
        if below is None:
            return error
        error = below
    return error
