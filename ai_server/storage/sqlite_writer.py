"""The one thread that owns the SQLite connection.

Whatever is queued when it wakes becomes one transaction and one sync (group commit, no timer). When one of a group
fails, the group is run again with each operation in its own savepoint, so that a failure undoes itself alone. The
thread never asks whether the caller still waits:
a cancelled caller's operation completes, and no transaction stays open.
"""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ai_server.storage.sqlite_connection import Tuning, connect, not_ready, operation_error
from ai_server.storage.statements import queries
from shared.errors import NotReady

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from ai_server.storage.statements import Program

T = TypeVar("T")

MAX_QUEUED: Final = 10_000
"""Operations that may wait for the writer; more are refused as NotReady."""

LOCK: Final = "lock_ledger"


@dataclass(slots=True)
class Operation:
    """A program with the caller who waits for it."""

    program: Callable[[], Program[Any]]
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    outcome: Any = None
    error: BaseException | None = None

    def tell(self) -> None:
        """Hand the outcome over, on the caller's loop; nobody listens any more when it was cancelled."""
        if self.future.done():
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.outcome)


class SqliteWriter:
    """Runs programs in the order they came. A `Runner`."""

    def __init__(self, path: Path, tuning: Tuning) -> None:
        """Write the file at `path`, not opened yet."""
        self._path = path
        self._tuning = tuning
        self._queries = queries("sqlite")
        self._queue: queue.SimpleQueue[Operation | None] = queue.SimpleQueue()
        self._connection: sqlite3.Connection | None = None
        self._thread: threading.Thread | None = None
        self.batches = 0
        """Transactions committed so far."""

    async def start(self) -> None:
        """Open the connection in the thread.

        Raises:
            NotReady: it cannot be opened; `start` may be called again.
        """
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="state-store", daemon=True)
            self._thread.start()
        await self.run(_nothing)

    async def run(self, program: Callable[[], Program[T]]) -> T:
        """Run a program to its end and commit it, whatever becomes of the caller."""
        if self._thread is None:
            raise NotReady("The state store is not open.")
        if self._queue.qsize() >= MAX_QUEUED:
            raise NotReady("The state store has too much waiting: try again in a moment.")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._queue.put(Operation(program, loop, future))
        return await future

    async def stop(self) -> None:
        """Finish what is queued, then close."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._queue.put(None)
            await asyncio.to_thread(thread.join)

    def _work(self) -> None:
        while True:
            batch, last = self._next_batch()
            if batch:
                self._commit(batch)
                self._tell(batch)
            if last:
                break
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _next_batch(self) -> tuple[list[Operation], bool]:
        """Wait for one operation, then take what is queued already."""
        batch: list[Operation] = []
        item = self._queue.get()
        while item is not None:
            batch.append(item)
            if len(batch) >= self._tuning.max_batch:
                return batch, False
            try:
                item = self._queue.get_nowait()
            except queue.Empty:
                return batch, False
        return batch, True

    def _commit(self, batch: Sequence[Operation]) -> None:
        """Run a batch in one transaction; on a fault of the database nobody in it is told «done»."""
        try:
            connection = self._connection = self._connection or connect(self._path, self._tuning)
            connection.execute("BEGIN IMMEDIATE")
            if not self._run_plain(connection, batch):
                connection.execute("ROLLBACK")
                connection.execute("BEGIN IMMEDIATE")
                for operation in batch:
                    self._run_guarded(connection, operation)
            connection.execute("COMMIT")
            self.batches += 1
        except (sqlite3.Error, NotReady, OSError) as error:
            fault = error if isinstance(error, NotReady) else not_ready(error)
            self._drop_connection()
            for operation in batch:
                operation.outcome, operation.error = None, NotReady(fault.message)

    def _run_plain(self, connection: sqlite3.Connection, batch: Sequence[Operation]) -> bool:
        """Run all without savepoints; False when one failed by itself and the work must be undone."""
        try:
            for operation in batch:
                operation.outcome = self._drive(connection, operation.program())
        except Exception as error:
            if _is_fault(error):
                raise
            return False
        return True

    def _run_guarded(self, connection: sqlite3.Connection, operation: Operation) -> None:
        connection.execute("SAVEPOINT operation")
        try:
            operation.outcome = self._drive(connection, operation.program())
        except Exception as error:  # the thread's boundary: the caller gets it, the thread goes on
            if _is_fault(error):
                raise
            operation.outcome, operation.error = None, operation_error(error) or error
            connection.execute("ROLLBACK TO operation")
        connection.execute("RELEASE operation")

    def _drive(self, connection: sqlite3.Connection, program: Program[T]) -> T:
        try:
            statement = next(program)
            while True:
                if statement.name == LOCK:  # the transaction is exclusive already
                    statement = program.send(())
                    continue
                rows = connection.execute(self._queries[statement.name], statement.values).fetchall()
                statement = program.send(rows)
        except StopIteration as end:
            return end.value
        finally:
            program.close()

    def _drop_connection(self) -> None:
        """Close after a fault: the next batch opens anew, and SQLite recovers the file from its log."""
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                connection.close()
            except sqlite3.Error:
                return

    @staticmethod
    def _tell(batch: Sequence[Operation]) -> None:
        by_loop: dict[asyncio.AbstractEventLoop, list[Operation]] = {}
        for operation in batch:
            by_loop.setdefault(operation.loop, []).append(operation)
        for loop, operations in by_loop.items():
            try:
                loop.call_soon_threadsafe(_tell_all, operations)
            except RuntimeError:  # the loop was closed: its callers are gone
                continue


def _is_fault(error: Exception) -> bool:
    """Tell an error of the database, which ends the whole transaction, from one of the operation."""
    if operation_error(error) is not None:
        return False
    return isinstance(error, sqlite3.Error) and not isinstance(error, sqlite3.ProgrammingError)


def _tell_all(operations: Sequence[Operation]) -> None:
    for operation in operations:
        operation.tell()


def _nothing() -> Program[None]:
    yield from ()
