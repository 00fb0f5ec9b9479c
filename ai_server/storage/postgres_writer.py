"""One connection to PostgreSQL, and the task that owns it.

Ledger programs that are queued together become one transaction under the ledger's advisory lock, which servers take in
turn: admission is serial over all of them, and there is nothing to deadlock on. Other programs run one by one.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

import asyncpg

from ai_server.storage.constraints import domain_error
from ai_server.storage.postgres_connection import connect, execute, not_ready
from shared import logs
from shared.errors import InvalidRequest, NotReady, PasseurError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ai_server.storage.statements import Program, Statement

T = TypeVar("T")

MAX_QUEUED: Final = 10_000
MAX_BATCH: Final = 256
FAULTS: Final = (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError)
LOCK: Final = "lock_ledger"

log = logs.logger(__name__)


@dataclass(slots=True)
class Operation:
    """A program with the caller who waits for it."""

    program: Callable[[], Program[Any]]
    future: asyncio.Future[Any]

    def tell(self, outcome: object) -> None:
        """Hand the outcome over; nobody listens any more when it was cancelled."""
        if self.future.done():
            return
        if isinstance(outcome, Failure):
            self.future.set_exception(outcome.error)
        else:
            self.future.set_result(outcome)


@dataclass(frozen=True, slots=True)
class Failure:
    """An operation that failed by itself."""

    error: Exception


class _Retry(Exception):
    """One of a group failed: run each alone."""


class PostgresWriter:
    """Runs programs over one connection. A `Runner`."""

    def __init__(self, dsn: str, instance: int) -> None:
        """Talk to the database at `dsn`, not connected yet, as server `instance`."""
        self._dsn = dsn
        self._instance = instance
        self._queue: asyncio.Queue[Operation | None] = asyncio.Queue()
        self._connection: asyncpg.Connection | None = None
        self._task: asyncio.Task[None] | None = None
        self.batches = 0
        """Transactions committed so far."""

    async def start(self) -> None:
        """Connect and prepare the schema.

        Raises:
            NotReady: with the cause; `start` may be called again.
        """
        if self._task is None:
            self._connection = self._connection or await connect(self._dsn, self._instance)
            self._task = asyncio.create_task(self._work(), name="state-store")

    def run(self, program: Callable[[], Program[T]]) -> asyncio.Future[T]:
        """Begin a program, to be run to its end and committed whatever becomes of the caller."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        if self._task is None:
            future.set_exception(NotReady("The state store is not open."))
        elif self._queue.qsize() >= MAX_QUEUED:
            future.set_exception(NotReady("The state store has too much waiting: try again in a moment."))
        else:
            self._queue.put_nowait(Operation(program, future))
        return future

    async def stop(self) -> None:
        """Finish what is queued, then close."""
        task, self._task = self._task, None
        if task is not None:
            self._queue.put_nowait(None)
            await task
        await self._depart()
        await self._drop()

    async def _work(self) -> None:
        last = False
        while not last:
            batch, last = await self._next_batch()
            ledger = [each for each in batch if self._is_ledger(each)]
            for operation in batch:
                if operation not in ledger:
                    await self._alone(operation)
            await self._together(ledger)

    async def _next_batch(self) -> tuple[list[Operation], bool]:
        batch: list[Operation] = []
        item = await self._queue.get()
        while item is not None:
            batch.append(item)
            if len(batch) >= MAX_BATCH or self._queue.empty():
                return batch, False
            item = self._queue.get_nowait()
        return batch, True

    @staticmethod
    def _is_ledger(operation: Operation) -> bool:
        """A program says by its first statement that it needs the ledger's lock; looking runs nothing."""
        try:
            program = operation.program()
            first = next(program, None)
            program.close()
        except Exception:  # noqa: BLE001 - it fails again where its caller hears of it
            return False
        return first is not None and first.name == LOCK

    async def _together(self, batch: Sequence[Operation]) -> None:
        if len(batch) == 1:
            await self._alone(batch[0])
            return
        if not batch:
            return
        try:
            outcomes = await self._transaction(batch)
        except _Retry:
            for operation in batch:
                await self._alone(operation)
        except FAULTS as error:
            await self._fault(batch, error)
        except NotReady as error:
            _tell_all(batch, error)
        else:
            for operation, outcome in zip(batch, outcomes, strict=True):
                operation.tell(outcome)

    async def _transaction(self, batch: Sequence[Operation]) -> list[object]:
        connection = await self._connected()
        async with connection.transaction():
            await execute(connection, LOCK, {})
            outcomes: list[object] = []
            for operation in batch:
                try:
                    outcomes.append(await self._drive(connection, operation.program(), locked=True))
                except asyncpg.IntegrityConstraintViolationError as error:
                    raise _Retry from error
                except FAULTS:
                    raise
                except Exception as error:
                    raise _Retry from error
        self.batches += 1
        return outcomes

    async def _alone(self, operation: Operation) -> None:
        try:
            connection = await self._connected()
            async with connection.transaction():
                outcome = await self._drive(connection, operation.program(), locked=False)
            self.batches += 1
        except (asyncpg.IntegrityConstraintViolationError, asyncpg.DataError) as error:
            operation.tell(Failure(_domain(error)))
        except FAULTS as error:
            await self._fault([operation], error)
        except Exception as error:  # noqa: BLE001 - the worker's boundary: the caller gets it, the worker goes on
            operation.tell(Failure(error))
        else:
            operation.tell(outcome)

    async def _drive(self, connection: asyncpg.Connection, program: Program[T], *, locked: bool) -> T:
        try:
            statement: Statement = next(program)
            while True:
                if locked and statement.name == LOCK:
                    statement = program.send([])
                    continue
                rows = await execute(connection, statement.name, statement.values)
                statement = program.send(rows)
        except StopIteration as end:
            return end.value
        finally:
            program.close()

    async def _connected(self) -> asyncpg.Connection:
        if self._connection is None or self._connection.is_closed():
            self._connection = await connect(self._dsn, self._instance)
        return self._connection

    async def _fault(self, batch: Sequence[Operation], error: Exception) -> None:
        """Tell nobody «done», and begin again with a new connection."""
        await self._drop()
        fault = not_ready(error)
        log.warning("state store fault", reason=fault.message)
        _tell_all(batch, fault)

    async def _depart(self) -> None:
        """Show at once that this server is gone: the database notices a closed connection only a moment later."""
        if self._connection is not None and not self._connection.is_closed():
            with contextlib.suppress(*FAULTS):
                await execute(self._connection, "release_instance", {"instance": self._instance})

    async def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None and not connection.is_closed():
            connection.terminate()


def _tell_all(batch: Sequence[Operation], fault: NotReady) -> None:
    for operation in batch:
        operation.tell(Failure(NotReady(fault.message)))


def _domain(error: asyncpg.PostgresError) -> PasseurError:
    if isinstance(error, asyncpg.ForeignKeyViolationError):
        name = "foreign_key"
    else:
        name = getattr(error, "constraint_name", None) or ""
    return domain_error(name) or InvalidRequest.of(
        "value", f"is refused by the database ({getattr(error, 'sqlstate', '?')})"
    )
