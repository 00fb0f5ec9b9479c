"""The PostgreSQL store: several gateways on one database.

Transactions are READ COMMITTED with row locks: a conversation is held before what is decided on it, and an event's
offset is taken under its stream's lock, which is kept to the end, so commit order is offset order over all gateways.
A cancelled caller never leaves a transaction open: the statement under way ends, the transaction is taken back, and
only then is the cancellation told.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypeVar

import asyncpg
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine

from gateway.storage import migrate
from gateway.storage.again import note_change
from gateway.storage.connection import plain
from gateway.storage.contract import Undone
from gateway.storage.postgres_faults import FOREIGN, UNSENT, root, told, unusable
from gateway.storage.transaction import Transaction
from gateway.storage.unbroken import ended, unbroken
from shared.errors import NotReady, SettingsError
from shared.logs import logger

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from sqlalchemy.ext.asyncio import AsyncEngine

    from gateway.storage.connection import Parameters
    from gateway.storage.contract import EventSink
    from shared.clock import Clock

T = TypeVar("T")

ENGINE: Final = "postgresql+asyncpg://"
CONNECTIONS: Final = 10
"""Connections of one gateway, and so transactions at the same time; the others wait their turn."""
BUSY_TIMEOUT_S: Final = 10.0
CLOSE_S: Final = 10.0
CONNECT_S: Final = 3
STATEMENT_S: Final = 10.0
BEGIN_ATTEMPTS: Final = 3
"""A connection may have died unnoticed while it lay idle: beginning is tried on another one."""
MIGRATION_LOCK: Final = 1_885_434_741
"""Names the advisory lock under which one gateway migrates while others that start with it wait."""
SESSION: Final = {
    "application_name": "passeur-gateway",
    "synchronous_commit": "on",
    "lock_timeout": "5s",
    "statement_timeout": "10s",
    # A gateway that freezes inside a transaction gives its locks back before others that wait for them give up.
    "idle_in_transaction_session_timeout": "4s",
    "search_path": "public",
}

log = logger(__name__)


@cache
def insert_new(table: sa.Table) -> sa.Executable:
    """Make the INSERT that leaves a row that is kept."""
    return postgresql.insert(table).on_conflict_do_nothing()


class PostgresConnection:
    """One connection inside a transaction; see `gateway.storage.connection`."""

    def __init__(self, connection: AsyncConnection) -> None:
        """Take a connection on which BEGIN was said."""
        self._connection = connection
        self.changed = False

    async def rows(self, statement: sa.Executable, parameters: Parameters | None = None) -> Sequence[Mapping[str, Any]]:
        """Run a statement and read all its rows."""
        return plain(await self._execute(statement, parameters))

    async def run(self, statement: sa.Executable, parameters: Parameters | Sequence[Parameters] | None = None) -> int:
        """Run a statement, once for each of several parameters, and tell how many rows it changed where it ran once."""
        return (await self._execute(statement, parameters)).rowcount

    def insert(self, table: sa.Table) -> Any:
        """Start an INSERT that knows conflicts."""
        return postgresql.insert(table)

    def insert_new(self, table: sa.Table) -> sa.Executable:
        """Give the INSERT that leaves a row that is kept."""
        return insert_new(table)

    async def _execute(
        self, statement: sa.Executable, parameters: Parameters | Sequence[Parameters] | None
    ) -> sa.CursorResult[Any]:
        self.changed |= statement.is_dml
        try:
            return await unbroken(self._connection.execute(statement, parameters))
        except FOREIGN as exc:
            raise told(exc) from exc


class PostgresStore:
    """The store of the scale-out. Open it with `open_postgres`."""

    def __init__(self, engine: AsyncEngine, connections: int, clock: Clock, sink: EventSink) -> None:
        """Take an engine on a migrated database, and who hears of committed events."""
        self._engine = engine
        self._places = asyncio.Semaphore(connections)
        self._clock = clock
        self._sink = sink
        self._under_way = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._closed = False

    @property
    def exclusive(self) -> bool:
        """Other gateways work on the same database."""
        return False

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Transaction]:
        """Open a unit of work; see `gateway.storage.contract.Store`."""
        await self._enter()
        try:
            connection = await self._begun()
            try:
                begun = PostgresConnection(connection)
                transaction = Transaction(begun, self._clock)
                yield transaction
                _, cancelled = await ended(self._commit(connection))
                if begun.changed:
                    note_change()
            except BaseException:
                await ended(_take_back(connection))
                raise
            await ended(connection.close())
            if events := transaction.events.appended:
                self._sink.committed(tuple(events))
            if cancelled is not None:
                raise cancelled
        finally:
            self._leave()

    async def close(self) -> None:
        """Wait for what is under way, for `CLOSE_S` at most, then close every connection."""
        if self._closed:
            return
        self._closed = True
        try:
            async with asyncio.timeout(CLOSE_S):
                await self._idle.wait()
        except TimeoutError:
            log.warning("store_closed_over_transactions", under_way=self._under_way)
        await self._engine.dispose()

    async def _enter(self) -> None:
        if self._closed:
            raise NotReady("The gateway is stopping: try again in a moment.")
        try:
            async with asyncio.timeout(BUSY_TIMEOUT_S):
                await self._places.acquire()
        except TimeoutError as exc:
            raise NotReady(f"The gateway's store stayed busy for {BUSY_TIMEOUT_S:g} s: try again.") from exc
        self._under_way += 1
        self._idle.clear()

    def _leave(self) -> None:
        self._places.release()
        self._under_way -= 1
        if self._under_way == 0:
            self._idle.set()

    async def _begun(self) -> AsyncConnection:
        connection, cancelled = await ended(self._begin())
        if cancelled is not None:
            await ended(_take_back(connection))
            raise cancelled
        return connection

    async def _begin(self) -> AsyncConnection:
        for attempt in range(1, BEGIN_ATTEMPTS + 1):
            try:
                return await self._begin_once()
            except Undone as exc:
                if attempt == BEGIN_ATTEMPTS:
                    raise
                log.info("connection_replaced", reason=exc.message)
        raise AssertionError("the last attempt returns or raises")

    async def _begin_once(self) -> AsyncConnection:
        try:
            connection = await self._engine.connect()
        except FOREIGN as exc:
            raise unusable(exc) from exc
        try:
            await connection.execute(sa.text("BEGIN"))
        except FOREIGN as exc:
            await _drop(connection)
            raise told(exc) from exc
        return connection

    async def _commit(self, connection: AsyncConnection) -> None:
        try:
            await connection.execute(sa.text("COMMIT"))
        except FOREIGN as exc:
            if isinstance(root(exc), UNSENT):
                raise told(exc) from exc
            # Whether it committed nobody knows, so that nothing may begin again by itself.
            raise unusable(exc) from exc


async def _take_back(connection: AsyncConnection) -> None:
    if connection.invalidated:  # lost, and with it the transaction
        await connection.close()
        return
    try:
        await connection.execute(sa.text("ROLLBACK"))
    except FOREIGN:
        # What broke the transaction is told; the database takes back by itself what has no connection.
        await _drop(connection)
    else:
        await connection.close()


async def _drop(connection: AsyncConnection) -> None:
    if not connection.invalidated:
        await connection.invalidate()
    await connection.close()


async def open_postgres(url: str, clock: Clock, sink: EventSink, *, connections: int = CONNECTIONS) -> PostgresStore:
    """Connect to `postgresql://user:password@host/name` and bring the database to this release's schema.

    The address is libpq's, with `sslmode` and several hosts where wanted.

    Raises:
        NotReady: the database cannot be reached or used now.
        SettingsError: the address is wrong, or the database is of a newer release.
    """
    await _migrate(url)
    engine = create_async_engine(
        ENGINE,
        async_creator=lambda: _connect(url, SESSION, STATEMENT_S),
        isolation_level="AUTOCOMMIT",
        pool_size=connections,
        max_overflow=0,
    )
    return PostgresStore(engine, connections, clock, sink)


async def _connect(url: str, session: Mapping[str, str], statement_s: float | None) -> asyncpg.Connection:
    try:
        return await asyncpg.connect(url, timeout=CONNECT_S, command_timeout=statement_s, server_settings=dict(session))
    except ValueError as exc:  # what the driver says of an address that it cannot read
        raise SettingsError([f"PASSEUR_GATEWAY_DATABASE_URL: {exc}"]) from exc


async def _migrate(url: str) -> None:
    """Migrate in one transaction, under a lock that ends with it, however many gateways start together."""
    session = {"application_name": f"{SESSION['application_name']} migration", "search_path": SESSION["search_path"]}
    engine = create_async_engine(ENGINE, async_creator=lambda: _connect(url, session, None), poolclass=sa.NullPool)
    try:
        async with engine.begin() as connection:
            await connection.execute(sa.select(sa.func.pg_advisory_xact_lock(MIGRATION_LOCK)))
            await connection.run_sync(migrate.upgrade)
    except FOREIGN as exc:
        raise unusable(exc) from exc
    finally:
        await engine.dispose()
