"""The paid door to generating models: a call is counted, admitted, made, and settled, whatever becomes of its reader.

A generation runs in a task of its own, so that a reader who leaves neither cuts the settlement nor loses the usage, nor
waits for it: what the model still sends is read for up to `DRAIN_SECONDS`, then the call is closed.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ai_server.ledger.contract import Quote
from ai_server.providers.account import Account, turn_of
from ai_server.providers.contract import Finished, UsageReport
from shared import logs
from shared.errors import InputTooLarge, NotReady, ProviderError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable

    from ai_server.ledger.contract import Meter, MeteredCall, Payer
    from ai_server.providers.account import CallRecord
    from ai_server.providers.contract import GenerationEvent, GenerationProvider, GenerationRequest
    from ai_server.providers.registry import ProviderBundle
    from shared.clock import Clock

DRAIN_SECONDS: Final = 5.0
CLOSE_SECONDS: Final = 10.0
"""Longest that a leaving reader waits for its call to be settled; the call's own task goes on by itself."""

EVENTS_AHEAD: Final = 64
"""Events that a call may be ahead of its reader; past that the model is read no faster than the reader reads."""


LOG = logs.logger(__name__)


class MeteredGenerator:
    """One model behind the ledger."""

    def __init__(
        self,
        bundle: ProviderBundle,
        *,
        model: str,
        window: int,
        max_output: int,
        meter: Meter,
        clock: Clock,
        observe: Callable[[CallRecord], None],
    ) -> None:
        """Take a bundle that generates. `window` and `max_output` are the model's, in tokens; 0: no limit."""
        assert bundle.generation is not None
        self.provider: GenerationProvider = bundle.generation
        self.model = model
        self.max_output = max_output
        self._window = window
        self._tokenizer = bundle.tokenizer
        self._pricing = bundle.pricing
        self._meter = meter
        self._clock = clock
        self._observe = observe
        self._running: dict[str, set[asyncio.Task[None]]] = {}
        self._left: set[asyncio.Task[None]] = set()

    async def generate(
        self, request: GenerationRequest, *, key: str, payer: Payer, operation: str
    ) -> AsyncGenerator[GenerationEvent, None]:
        """Stream one admitted round. Closing the iterator drains and settles; a reader who is cancelled leaves at once,
        and the call does so behind them. `settled` tells when the settlement is durable.

        Raises:
            InputTooLarge, BudgetExhausted, NotReady: before anything was paid.
            ProviderRefused, ProviderOverloaded, ProviderCut: from the provider; already settled or voided.
        """
        request, quote, lowered = await self._fitted(request, operation, payer)
        flight = _Flight()
        task = asyncio.create_task(self._fly(flight, request, key, payer, quote, lowered), name=f"call {key}")
        self._running.setdefault(turn_of(key), set()).add(task)
        try:
            while (event := await flight.next()) is not None:
                yield event
        finally:
            if not flight.over:
                flight.leave()
                if not task.done():
                    self._left.add(task)
                    task.add_done_callback(self._left.discard)
                if not _is_cancelled():
                    await asyncio.wait({task}, timeout=CLOSE_SECONDS)

    def left(self, turn_id: str) -> bool:
        """Tell whether a call of a turn goes on without its reader: what it costs is not known yet."""
        return not self._left.isdisjoint(self._running.get(turn_id, ()))

    async def settled(self, turn_id: str, within_s: float = CLOSE_SECONDS) -> bool:
        """Wait until every call of a turn was settled; False where one was not in time."""
        calls = self._running.get(turn_id)
        if not calls:
            return True
        _, pending = await asyncio.wait(set(calls), timeout=within_s)
        return not pending

    async def settle_all(self, timeout_s: float) -> int:
        """Wait for calls whose readers left; tells how many did not end in time."""
        running = set().union(*self._running.values())
        if not running:
            return 0
        _, pending = await asyncio.wait(running, timeout=timeout_s)
        return len(pending)

    async def _fitted(
        self, request: GenerationRequest, operation: str, payer: Payer
    ) -> tuple[GenerationRequest, Quote, int | None]:
        """Count and quote; where the assistant allows it, with a lower output cap rather than a refusal."""
        counted = await self._tokenizer.count(request)
        if self._window and counted.tokens + request.max_output_tokens > self._window:
            raise InputTooLarge(
                f"The question with its context is {counted.tokens:,} tokens; {self.model} takes {self._window:,} "
                f"with the answer: shorten the history or the question."
            )
        lowered = await self._lowered(request, counted.tokens, payer)
        if lowered is not None:
            request = replace(request, max_output_tokens=lowered)
        quote = Quote(
            operation=operation,
            provider=self.provider.name,
            model=self.model,
            service_tier="",
            price_version=self._pricing.price_version,
            ceiling_nanousd=self._pricing.ceiling(counted.tokens, request.max_output_tokens),
            metered=self._pricing.metered,
        )
        return request, quote, lowered

    async def _lowered(self, request: GenerationRequest, tokens: int, payer: Payer) -> int | None:
        """Tell the lower cap to ask for; None where it may not be lowered, need not be, or would not help."""
        asked, least = request.max_output_tokens, request.least_output_tokens
        if not self._pricing.metered or not 0 < least < asked:
            return None
        cap = await self._meter.lowered_cap(
            payer, lambda cap: self._pricing.ceiling(tokens, cap), asked=asked, least=least
        )
        if cap is None or cap == asked:
            return None
        LOG.info("output cap lowered to fit the budget", model=self.model, asked=asked, cap=cap)
        return cap

    async def _fly(
        self,
        flight: _Flight,
        request: GenerationRequest,
        key: str,
        payer: Payer,
        quote: Quote,
        lowered: int | None,
    ) -> None:
        """Make the call from admission to settlement; every end reaches the reader through the flight. A good end is
        told before it is settled, so that the reader's own bookkeeping shares the settlement's sync.
        """
        try:
            async with self._meter.call(key, payer, quote) as call:
                account = Account(key, quote, self._clock, lowered)
                try:
                    await self._read(flight, request, call, account)
                finally:
                    self._observe(account.record())
                flight.end(None)
        except Exception as error:  # noqa: BLE001 - handed to the reader, who raises it
            flight.end(error)
        except asyncio.CancelledError:
            flight.end(NotReady("The server is stopping."))
            raise
        finally:
            self._landed(key)

    def _landed(self, key: str) -> None:
        """Forget the call, which the running task made."""
        turn_id = turn_of(key)
        calls = self._running[turn_id]
        calls.discard(asyncio.current_task())
        if not calls:
            del self._running[turn_id]

    async def _read(self, flight: _Flight, request: GenerationRequest, call: MeteredCall, account: Account) -> None:
        events = self.provider.generate(request, call.permit)
        usage, tier, whole = None, "", False
        try:
            async with flight.cutoff():
                async for event in events:
                    if isinstance(event, UsageReport):
                        usage, tier = event.usage, event.service_tier
                    whole = whole or isinstance(event, Finished)
                    await flight.put(event)
                whole = True
        except TimeoutError:
            account.error_class = "left"
        except ProviderError as error:
            account.failed(call, error)
            raise
        finally:
            close = getattr(events, "aclose", None)
            if close is not None:
                await close()
        if whole and usage is not None:
            account.complete(call, usage, self._pricing.cost(usage, tier))
        else:
            account.complete(call, None, None)


def _is_cancelled() -> bool:
    """Tell whether the running task was told to end: somebody pressed stop, or its time is over."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


class _Flight:
    """The bounded way from a call's task to its reader."""

    def __init__(self) -> None:
        self._events: deque[GenerationEvent] = deque()
        self._moved = asyncio.Event()
        self._left = self._ended = False
        self._error: BaseException | None = None
        self._cutoff: asyncio.Timeout | None = None

    @property
    def over(self) -> bool:
        """Whether the reader took everything up to a good end."""
        return self._ended and self._error is None and not self._events

    @asynccontextmanager
    async def cutoff(self) -> AsyncIterator[None]:
        """Bound the reading that goes on after the reader left; raises TimeoutError past it."""
        async with asyncio.timeout(DRAIN_SECONDS if self._left else None) as timer:
            self._cutoff = timer
            try:
                yield
            finally:
                self._cutoff = None

    async def put(self, event: GenerationEvent) -> None:
        """Hand an event over, waiting while the reader is far behind; dropped once it left."""
        while len(self._events) >= EVENTS_AHEAD and not self._left:
            await self._wait()
        if not self._left:
            self._events.append(event)
            self._moved.set()

    def end(self, error: BaseException | None) -> None:
        """Say that no more comes, and why."""
        self._ended, self._error = True, error
        self._moved.set()

    async def next(self) -> GenerationEvent | None:
        """Take the next event; None at a good end, the error at a bad one."""
        while True:
            if self._events:
                self._moved.set()
                return self._events.popleft()
            if self._ended:
                if self._error is not None:
                    raise self._error
                return None
            await self._wait()

    def leave(self) -> None:
        """The reader is gone: let a waiting `put` through, and start the clock of the drain."""
        self._left = True
        self._events.clear()
        self._moved.set()
        if self._cutoff is not None:
            self._cutoff.reschedule(asyncio.get_running_loop().time() + DRAIN_SECONDS)

    async def _wait(self) -> None:
        """Wait for the other side to move: only one side can be waiting at a time."""
        self._moved.clear()
        await self._moved.wait()
