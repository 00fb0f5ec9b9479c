"""The SQLite store: one file, one process, one connection.

WAL mode with several connections can lose commits before SQLite 3.51.3 (https://www.sqlite.org/wal.html#walresetbug);
with one connection per file it cannot, so a lock file keeps a second gateway away and one transaction follows the
other. A change begins with BEGIN IMMEDIATE and ends with COMMIT and a FULL sync; what only reads needs neither, because
nobody can write meanwhile. What waits for the disk or may touch many rows (COMMIT, ROLLBACK, DELETE) runs in a thread;
the rest is over in microseconds and runs where it is asked for, because crossing into a thread and back costs a busy
loop far more. A cancelled caller never leaves a transaction open: what the thread has begun runs to its end, and the
rollback queues behind it.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import sqlite3
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager, nullcontext
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite as dialect
from sqlalchemy.exc import DatabaseError
from sqlalchemy.pool import StaticPool

from gateway.storage import migrate
from gateway.storage.connection import plain
from gateway.storage.prepared import PreparedStatements
from gateway.storage.transaction import Transaction
from gateway.storage.unbroken import ended
from shared.errors import NotReady, SettingsError
from shared.logs import logger

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Sequence
    from concurrent.futures import Future
    from pathlib import Path
    from typing import TypeVar

    from gateway.storage.connection import Parameters
    from gateway.storage.contract import EventSink
    from shared.clock import Clock

    T = TypeVar("T")

log = logger(__name__)

BUSY_TIMEOUT_S: Final = 10.0
FILE_NAME: Final = "gateway.sqlite"
LOCK_NAME: Final = "gateway.lock"
PRAGMAS: Final = ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON", "busy_timeout = 0")


@cache
def insert_new(table: sa.Table) -> sa.Executable:
    """Make the INSERT that leaves a row that is kept."""
    return dialect.insert(table).on_conflict_do_nothing()


class SqliteConnection:
    """The one connection, for one transaction at a time."""

    def __init__(self, connection: sa.Connection, thread: ThreadPoolExecutor) -> None:
        """Take the connection and the thread for what takes its time."""
        self._connection = connection
        self._driver: sqlite3.Connection = connection.connection.driver_connection  # pyright: ignore[reportAttributeAccessIssue]
        self._prepared = PreparedStatements(connection.dialect)
        self._thread = thread

    async def rows(self, statement: sa.Executable, parameters: Parameters | None = None) -> Sequence[Mapping[str, Any]]:
        """Run a statement and read all its rows."""
        if statement.is_dml:
            self._begin()
        if parameters is not None and (prepared := self._prepared.of(statement, parameters)) is not None:
            return prepared.plain(self._driver.execute(prepared.sql, prepared.values(parameters)).fetchall())
        return plain(self._connection.execute(statement, parameters))

    async def run(self, statement: sa.Executable, parameters: Parameters | Sequence[Parameters] | None = None) -> int:
        """Run a statement, once for each of several parameters, and tell how many rows it changed where it ran once."""
        if statement.is_dml:
            self._begin()
        if statement.is_delete:
            return await self.aside(lambda: self._connection.execute(statement, parameters).rowcount)
        if parameters is None:
            return self._connection.execute(statement).rowcount
        several = [parameters] if isinstance(parameters, Mapping) else parameters
        prepared = self._prepared.of(statement, several[0])
        if prepared is None:
            return self._connection.execute(statement, parameters).rowcount
        return self._driver.executemany(prepared.sql, map(prepared.values, several)).rowcount

    def insert(self, table: sa.Table) -> Any:
        """Start an INSERT that knows conflicts."""
        return dialect.insert(table)

    def insert_new(self, table: sa.Table) -> sa.Executable:
        """Give the INSERT that leaves a row that is kept."""
        return insert_new(table)

    def commit(self) -> asyncio.Future[Any] | None:
        """Commit in the thread, with its sync; None where nothing was changed."""
        return self.aside(self._driver.execute, "COMMIT") if self._driver.in_transaction else None

    def roll_back(self) -> asyncio.Future[Any] | None:
        """Take the transaction back, after what the thread has begun; None where nothing was changed."""
        return self.aside(self._driver.execute, "ROLLBACK") if self._driver.in_transaction else None

    def aside(self, work: Callable[..., T], *arguments: Any) -> asyncio.Future[T]:
        """Run `work` in the thread; it finishes there even when the caller is cancelled."""
        loop = asyncio.get_running_loop()
        # `run_in_executor` would take back what still waits for the thread when the caller is cancelled.
        done: asyncio.Future[T] = loop.create_future()
        submitted = self._thread.submit(work, *arguments)
        submitted.add_done_callback(lambda over: loop.is_closed() or loop.call_soon_threadsafe(_settle, done, over))
        return done

    def _begin(self) -> None:
        if not self._driver.in_transaction:
            with _told():
                self._driver.execute("BEGIN IMMEDIATE")


class SqliteStore:
    """The embedded store. Open it with `open_sqlite`."""

    def __init__(
        self, connection: SqliteConnection, release: Callable[[], None], clock: Clock, sink: EventSink
    ) -> None:
        """Take an open, migrated connection, how to give up file and lock, and who hears of committed events."""
        self._connection = connection
        self._release = release
        self._clock = clock
        self._sink = sink
        self._turn = asyncio.Lock()
        self._closed = False

    @property
    def exclusive(self) -> bool:
        """The lock file keeps every other process away."""
        return True

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Transaction]:
        """Open a unit of work; see `gateway.storage.contract.Store`."""
        await self._acquire()
        try:
            transaction = Transaction(self._connection, self._clock)
            try:
                yield transaction
                cancelled = await self._commit()
            except BaseException:
                await self._roll_back()
                raise
            if events := transaction.events.appended:
                self._sink.committed(tuple(events))
            if cancelled is not None:
                raise cancelled
        finally:
            self._turn.release()

    async def close(self) -> None:
        """Wait for the transaction under way, then close file, thread and lock."""
        if self._closed:
            return
        async with self._turn:
            self._closed = True
            await self._connection.aside(self._release)

    async def _acquire(self) -> None:
        try:
            async with asyncio.timeout(BUSY_TIMEOUT_S) if self._turn.locked() else nullcontext():
                await self._turn.acquire()
        except TimeoutError as exc:
            raise NotReady(f"The gateway's store stayed busy for {BUSY_TIMEOUT_S:g} s: try again.") from exc
        if self._closed:
            self._turn.release()
            raise NotReady("The gateway is stopping: try again in a moment.")

    async def _commit(self) -> asyncio.CancelledError | None:
        """Commit what was changed; hands over a cancellation that came meanwhile."""
        committing = self._connection.commit()
        if committing is None:
            return None
        with _told():
            return (await ended(committing))[1]

    async def _roll_back(self) -> None:
        """Take the transaction back; what made it necessary is what the caller must hear, also a cancellation."""
        rolling_back = self._connection.roll_back()
        if rolling_back is None:  # nothing was changed, or SQLite itself took back what it could not write
            return
        try:
            await ended(rolling_back)
        except sqlite3.OperationalError as exc:
            log.warning("rollback_refused", reason=str(exc))


def _settle(done: asyncio.Future[T], work: Future[T]) -> None:
    """Tell what came of work in the thread to whoever still waits for it."""
    if done.done():
        return
    if fault := work.exception():
        done.set_exception(fault)
    else:
        done.set_result(work.result())


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except sqlite3.OperationalError as exc:
        raise NotReady(f"The gateway's store cannot be written: {exc}.") from exc


async def open_sqlite(folder: Path, clock: Clock, sink: EventSink) -> SqliteStore:
    """Open (and create or migrate) `gateway.sqlite` in `folder`.

    Raises:
        SettingsError: the folder cannot be written, another gateway uses it, or the file is of a newer release.
    """
    thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="gateway-store")
    try:
        return await asyncio.get_running_loop().run_in_executor(thread, lambda: _open(folder, thread, clock, sink))
    except BaseException:
        thread.shutdown(wait=False)
        raise


def _open(folder: Path, thread: ThreadPoolExecutor, clock: Clock, sink: EventSink) -> SqliteStore:
    lock = _lock(folder)
    try:
        engine = sa.create_engine(
            f"sqlite+pysqlite:///{folder / FILE_NAME}",
            poolclass=StaticPool,
            isolation_level="AUTOCOMMIT",
            connect_args={"check_same_thread": False},  # whoever holds the transaction's turn, and the thread for it
        )
        connection = engine.connect()
        for pragma in PRAGMAS:
            connection.execute(sa.text(f"PRAGMA {pragma}"))
        migrate.upgrade(connection)
    except DatabaseError as exc:
        os.close(lock)
        raise SettingsError([f"PASSEUR_DATA_DIR: {folder / FILE_NAME} cannot be opened: {exc.orig}"]) from exc
    except BaseException:
        os.close(lock)
        raise

    def release() -> None:
        connection.close()
        engine.dispose()
        os.close(lock)
        thread.shutdown(wait=False)

    return SqliteStore(SqliteConnection(connection, thread), release, clock, sink)


def _lock(folder: Path) -> int:
    path = folder / LOCK_NAME
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as exc:
        raise SettingsError([f"PASSEUR_DATA_DIR: {folder} cannot be written ({exc.strerror}): choose another"]) from exc
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as exc:
        os.close(handle)
        raise SettingsError([f"PASSEUR_DATA_DIR: another gateway uses {folder}: stop it or choose another"]) from exc
    return handle
