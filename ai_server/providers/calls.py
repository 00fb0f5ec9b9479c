"""One call to a provider over the network: its deadline, its silence, and what its failures mean.

Used by every folder around its SDK, so that a raw transport exception never leaves and no wait is unbounded.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from ai_server.providers.contract import Finished, TextDelta, UsageReport
from ai_server.providers.failures import HUNG_UP
from shared.errors import ProviderError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable

    from ai_server.providers.contract import FinishReason, GenerationEvent
    from ai_server.providers.failures import Failures
    from shared.usage import Usage

T = TypeVar("T")

STALL_S: Final = 45.0
"""Longest silence inside a stream; reasoning models think before their first word, so it is generous."""

AFTER_FINISH_S: Final = 5.0
"""Longest wait for usage once the answer itself is complete."""

ASKED_AT_MOST: Final = 3
"""Most kept connections that one request is given to, when each turns out to be closed before it is written."""

CLOSE_S: Final = 2.0
"""Longest wait for a connection to close."""


class Reader(Protocol):
    """Turns one provider's chunks into normal events; a fresh one for each call."""

    @property
    def finish(self) -> FinishReason | None:
        """Why the model stopped; None while it has not said."""
        ...

    @property
    def usage(self) -> Usage | None:
        """Final usage; None while absent or not believable."""
        ...

    @property
    def service_tier(self) -> str:
        """The tier that the provider says it served, "" when it does not say."""
        ...

    def read(self, chunk: object) -> Iterable[GenerationEvent]:
        """Give the text and the complete calls that one chunk brings."""
        ...

    def rest(self) -> Iterable[GenerationEvent]:
        """Give what was held until the end, such as calls that came in fragments."""
        ...


class Call:
    """Bounds and classifies one call. `classify` turns a foreign exception into ours, given whether it had begun."""

    def __init__(
        self,
        failures: Failures,
        classify: Callable[[Exception, bool], Exception],
        deadline_s: float,
        stall_s: float = STALL_S,
    ) -> None:
        """Start the clock of the deadline now."""
        self._failures = failures
        self._classify = classify
        self._ends = asyncio.get_running_loop().time() + deadline_s
        self._stall_s = stall_s

    async def whole(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Wait for an answer that comes in one piece, or for a stream to open.

        `ask` is called again at once where the kept connection was closed before a byte of the request was written.
        """
        for _ in range(ASKED_AT_MOST - 1):
            try:
                return await self._bounded(ask(), self._left(), begun=False)
            except ProviderError as exc:
                if exc.error_class != HUNG_UP:
                    raise
        return await self._bounded(ask(), self._left(), begun=False)

    async def events(self, stream: AsyncIterator[object], reader: Reader) -> AsyncGenerator[GenerationEvent, None]:
        """Read a stream to its end, and close with usage, if any, then `Finished`.

        A stream that breaks before the model said why it stopped is a failure; after that only its usage is lost.
        """
        begun = False
        while True:
            seconds = min(self._left(), AFTER_FINISH_S if reader.finish else self._stall_s)
            try:
                chunk = await self._bounded(anext(stream, None), seconds, begun=begun)
            except Exception:
                if reader.finish is None:
                    raise
                break
            if chunk is None:
                break
            begun = True
            for event in self.read(reader, chunk):
                yield event
        for event in closing(reader, self._failures):
            yield event

    def read(self, reader: Reader, chunk: object) -> list[GenerationEvent]:
        """Read one chunk, or a whole answer.

        Raises:
            ProviderCut: it has a shape that the format does not have.
        """
        try:
            return list(reader.read(chunk))
        except (AttributeError, TypeError, ValueError, LookupError) as exc:
            # SDKs build objects without checking them, so a chunk may have any shape.
            cause = self._failures.foreign(exc)
        raise self._failures.malformed() from cause

    def _left(self) -> float:
        return max(0.0, self._ends - asyncio.get_running_loop().time())

    async def _bounded(self, work: Awaitable[T], seconds: float, *, begun: bool) -> T:
        """Await within `seconds`; our error is raised outside the handler, so that no foreign one hangs on to it."""
        scope = asyncio.timeout(seconds)
        try:
            async with scope:
                return await work
        except Exception as exc:  # noqa: BLE001 - the boundary to an SDK: whatever it raises becomes ours here
            failure = self._silence(begun=begun) if scope.expired() else self._classify(exc, begun)
            cause = self._failures.foreign(exc)
        raise failure from cause

    def _silence(self, *, begun: bool) -> Exception:
        return self._failures.stalled() if begun else self._failures.timeout(started=True)


def closing(reader: Reader, failures: Failures) -> Iterable[GenerationEvent]:
    """Give what ends every round: held calls, usage where it came, the reason.

    Raises:
        ProviderCut: the model never said why it stopped, so the answer is not whole.
    """
    if reader.finish is None:
        raise failures.cut("the answer ended without saying that it was complete")
    yield from reader.rest()
    usage = reader.usage
    if usage is not None:
        yield UsageReport(usage, reader.service_tier)
    yield Finished(reader.finish)


async def close_quietly(close: Callable[[], Awaitable[object]]) -> None:
    """Close a stream or client; that it fails or hangs changes nothing for the caller."""
    try:
        async with asyncio.timeout(CLOSE_S):
            await close()
    except Exception:  # noqa: BLE001 - closing a foreign connection: nothing is left to do about it
        return


def texts(text: str | None) -> Iterable[GenerationEvent]:
    """Give a delta for text that is there."""
    if text:
        yield TextDelta(text)


def is_object(text: str) -> bool:
    """Say whether a text is a JSON object."""
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False
