"""The one thread that owns the SQLite connection.

What is begun in one round of the loop is handed over together, and whatever is queued when the thread wakes becomes one
transaction and one sync (group commit, no timer). When one of a group fails, the group is run again with each operation
in its own savepoint, so that a failure undoes itself alone. The thread never asks whether the caller still waits: a
cancelled caller's operation completes, and no transaction stays open.
"""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
from collections import deque
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
        self._begun: list[Operation] = []
        self._untold = 0
        self._queue: queue.SimpleQueue[list[Operation] | None] = queue.SimpleQueue()
        self._loop: asyncio.AbstractEventLoop | None = None
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
            self._loop = asyncio.get_running_loop()
            self._thread = threading.Thread(target=self._work, name="state-store", daemon=True)
            self._thread.start()
        await self.run(_nothing)

    def run(self, program: Callable[[], Program[T]]) -> asyncio.Future[T]:
        """Begin a program, to be run to its end and committed whatever becomes of the caller; called on the loop that
        started the writer.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        if self._thread is None:
            future.set_exception(NotReady("The state store is not open."))
        elif self._untold >= MAX_QUEUED:
            future.set_exception(NotReady("The state store has too much waiting: try again in a moment."))
        else:
            self._untold += 1
            self._begun.append(Operation(program, future))
            if len(self._begun) == 1:
                loop.call_soon(self._hand_over)
        return future

    def _hand_over(self) -> None:
        """Give the thread everything that was begun in this round of the loop."""
        if self._begun:
            self._queue.put(self._begun)
            self._begun = []

    async def stop(self) -> None:
        """Finish what is queued, then close."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._hand_over()
            self._queue.put(None)
            await asyncio.to_thread(thread.join)

    def _work(self) -> None:
        waiting: deque[Operation] = deque()
        last = False
        while waiting or not last:
            last = last or self._take(waiting)
            batch = [waiting.popleft() for _ in range(min(len(waiting), self._tuning.max_batch))]
            if batch:
                self._commit(batch)
                self._tell(batch)
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _take(self, waiting: deque[Operation]) -> bool:
        """Wait until there is something to do, then take what is queued already; True: nothing more will come."""
        while not waiting or not self._queue.empty():
            given = self._queue.get()
            if given is None:
                return True
            waiting.extend(given)
        return False

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

    def _tell(self, batch: Sequence[Operation]) -> None:
        assert self._loop is not None
        try:
            self._loop.call_soon_threadsafe(self._tell_all, batch)
        except RuntimeError:  # the loop was closed: its callers are gone
            return

    def _tell_all(self, batch: Sequence[Operation]) -> None:
        self._untold -= len(batch)
        for operation in batch:
            operation.tell()


def _is_fault(error: Exception) -> bool:
    """Tell an error of the database, which ends the whole transaction, from one of the operation."""
    if operation_error(error) is not None:
        return False
    return isinstance(error, sqlite3.Error) and not isinstance(error, sqlite3.ProgrammingError)


def _nothing() -> Program[None]:
    yield from ()
