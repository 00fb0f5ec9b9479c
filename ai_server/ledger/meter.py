"""The only maker of permits: reserve on entry, end on exit, whatever becomes of the client in between."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ai_server.ledger import model
from ai_server.ledger.contract import Payer, Permit, Quote
from shared import logs
from shared.errors import IdempotencyConflict, NotFound, NotReady, PasseurError
from shared.ids import new_id

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine

    from ai_server.ledger.model import Ending
    from ai_server.ledger.service import Ledger
    from ai_server.storage.ledger_contract import Reservation
    from shared.clock import Clock
    from shared.usage import Usage

T = TypeVar("T")

RETRY_SECONDS: Final = (1.0, 2.0, 5.0, 10.0, 30.0)
"""Waits between attempts to end a call while the store cannot write; the last one repeats. A process that dies
meanwhile leaves the reservation pending, and the next start holds it.
"""

MAX_ENDING: Final = 1_000
"""Calls that may wait for the store to admit or end them; with more, no new call is taken."""

log = logs.logger(__name__)


class OneCall:
    """A paid call under way. The last word said before the exit counts."""

    def __init__(self, permit: Permit) -> None:
        """Begin silent: silence is charged at the ceiling."""
        self.permit = permit
        self.ending: Ending = model.ending(permit.quote, None, None)

    def complete(self, usage: Usage | None, cost_nanousd: int | None) -> None:
        """The call ended; what is None is unknown."""
        self.ending = model.ending(self.permit.quote, usage, cost_nanousd)

    def failed(self, *, started: bool, usage: Usage | None = None, cost_nanousd: int | None = None) -> None:
        """The call failed; only one that surely did not start costs nothing."""
        if started:
            self.ending = model.ending(self.permit.quote, usage, cost_nanousd)
        else:
            self.ending = model.Ending(None, estimated=False, usage=None)


class LedgerMeter:
    """`Meter` over a `Ledger`."""

    def __init__(self, ledger: Ledger, clock: Clock) -> None:
        """Admit through `ledger`."""
        self._ledger = ledger
        self._clock = clock
        self._ending: set[asyncio.Task[Any]] = set()

    @asynccontextmanager
    async def call(self, key: str, payer: Payer, quote: Quote) -> AsyncIterator[OneCall]:
        """Hold the ceiling while the body makes the call, then settle or void."""
        permit = await self._admit(key, payer, quote)
        call = OneCall(permit)
        try:
            yield call
        finally:
            await self._close(call)

    async def lowered_cap(
        self, payer: Payer, ceiling_of: Callable[[int], int], *, asked: int, least: int
    ) -> int | None:
        """Find the largest output cap that fits the payer's budgets now."""
        return await self._ledger.lowered_cap(payer, ceiling_of, asked=asked, least=least)

    async def drain(self, timeout_s: float) -> int:
        """Wait for calls that are being ended; tells how many are left, to be held at the next start."""
        if self._ending:
            await asyncio.wait(set(self._ending), timeout=timeout_s)
        return len(self._ending)

    async def _admit(self, key: str, payer: Payer, quote: Quote) -> Permit:
        if len(self._ending) >= MAX_ENDING:
            raise NotReady("Too many calls wait to be admitted or settled: try again in a moment.")
        reservation_id = new_id(self._clock.now())
        admission = self._spawn(self._ledger.reserve(key, payer, quote, reservation_id))
        try:
            reservation: Reservation = await asyncio.shield(admission)
        except (asyncio.CancelledError, NotReady):
            self._spawn(self._undo(admission, reservation_id))
            raise
        if reservation.new.reservation_id != reservation_id:
            raise IdempotencyConflict(f"The key {key} already paid for a call: it does not pay for another.")
        return Permit(reservation_id, key, quote)

    async def _undo(self, admission: asyncio.Task[Reservation], reservation_id: str) -> None:
        """Void what may have been written for a caller who never got leave to start."""
        await asyncio.wait({admission})
        if not admission.cancelled() and isinstance(admission.exception(), (NotReady, type(None))):
            await self._end(reservation_id, model.Ending(None, estimated=False, usage=None))

    async def _close(self, call: OneCall) -> None:
        """End the call in a task of its own, so that a cancelled caller cannot stop it. A store that cannot write
        is tried again behind the caller's back: the work is done, and its answer must not be lost for that.
        """
        first_try: asyncio.Event = asyncio.Event()
        self._spawn(self._end(call.permit.reservation_id, call.ending, first_try))
        await first_try.wait()

    async def _end(self, reservation_id: str, ending: Ending, tried: asyncio.Event | None = None) -> None:
        attempt = 0
        while True:
            try:
                await self._resolve(reservation_id, ending)
            except NotReady as error:
                log.warning("settlement waits for the store", reservation_id=reservation_id, reason=error.message)
            except NotFound:
                return  # only after an admission that was never written
            except PasseurError:
                log.exception("settlement refused", reservation_id=reservation_id)
                return
            else:
                return
            finally:
                if tried is not None:
                    tried.set()
            await self._clock.sleep(RETRY_SECONDS[min(attempt, len(RETRY_SECONDS) - 1)])
            attempt += 1

    async def _resolve(self, reservation_id: str, ending: Ending) -> None:
        if ending.cost_nanousd is None:
            await self._ledger.void(reservation_id, model.NOT_STARTED)
        else:
            await self._ledger.settle(
                reservation_id, ending.cost_nanousd, estimated=ending.estimated, usage=ending.usage
            )

    def _spawn(self, work: Coroutine[object, object, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(work)
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)
        return task
