"""The only maker of permits: reserve on entry, end on exit, whatever becomes of the client in between."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from itertools import chain, repeat
from typing import TYPE_CHECKING, Final

from ai_server.ledger import model
from ai_server.ledger.contract import Payer, Permit, Quote
from shared import logs
from shared.errors import IdempotencyConflict, NotFound, NotReady, PasseurError
from shared.ids import new_id

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from ai_server.ledger.model import Ending
    from ai_server.ledger.service import Ledger
    from shared.clock import Clock
    from shared.usage import Usage

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
        self._waiting = 0
        self._ending: set[asyncio.Task[None]] = set()

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
        """Wait for calls that are ended behind their callers; tells how many are left, to be held at the next start."""
        if self._ending:
            await asyncio.wait(set(self._ending), timeout=timeout_s)
        return len(self._ending)

    async def _admit(self, key: str, payer: Payer, quote: Quote) -> Permit:
        if self._waiting + len(self._ending) >= MAX_ENDING:
            raise NotReady("Too many calls wait to be admitted or settled: try again in a moment.")
        reservation_id = new_id(self._clock.now())
        self._waiting += 1
        try:
            reservation = await self._ledger.reserve(key, payer, quote, reservation_id)
        except (asyncio.CancelledError, NotReady):
            # What was asked may be written all the same, for a caller who never gets leave to start.
            self._see_through(reservation_id, model.Ending(None, estimated=False, usage=None))
            raise
        finally:
            self._waiting -= 1
        if reservation.new.reservation_id != reservation_id:
            raise IdempotencyConflict(f"The key {key} already paid for a call: it does not pay for another.")
        return Permit(reservation_id, key, quote)

    async def _close(self, call: OneCall) -> None:
        """End the call. A caller who is cancelled meanwhile cannot stop it, and a store that cannot write is tried
        again behind the caller's back: the work is done, and its answer must not be lost for that.
        """
        reservation_id, ending = call.permit.reservation_id, call.ending
        self._waiting += 1
        try:
            ended = await self._ended(reservation_id, ending)
        except asyncio.CancelledError:
            self._see_through(reservation_id, ending)
            raise
        finally:
            self._waiting -= 1
        if not ended:
            self._see_through(reservation_id, ending, tried=True)

    def _see_through(self, reservation_id: str, ending: Ending, *, tried: bool = False) -> None:
        """End a call in a task of its own, however often the store must be asked; `tried`: it was asked once."""
        task = asyncio.create_task(self._end(reservation_id, ending, tried=tried))
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def _end(self, reservation_id: str, ending: Ending, *, tried: bool) -> None:
        for wait in chain(RETRY_SECONDS, repeat(RETRY_SECONDS[-1])):
            if not tried and await self._ended(reservation_id, ending):
                return
            tried = False
            await self._clock.sleep(wait)

    async def _ended(self, reservation_id: str, ending: Ending) -> bool:
        """Ask the store once to end a call; False: it cannot write now."""
        try:
            await self._resolve(reservation_id, ending)
        except NotReady as error:
            log.warning("settlement waits for the store", reservation_id=reservation_id, reason=error.message)
            return False
        except NotFound:
            return True  # only after an admission that was never written
        except PasseurError:
            log.exception("settlement refused", reservation_id=reservation_id)
        return True

    async def _resolve(self, reservation_id: str, ending: Ending) -> None:
        if ending.cost_nanousd is None:
            await self._ledger.void(reservation_id, model.NOT_STARTED)
        else:
            await self._ledger.settle(
                reservation_id, ending.cost_nanousd, estimated=ending.estimated, usage=ending.usage
            )
