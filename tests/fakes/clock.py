"""A clock that moves only when told."""

from __future__ import annotations

import asyncio
import heapq
from datetime import UTC, datetime, timedelta


class ManualClock:
    """Stands still until `advance`; sleepers wake in the order of their deadlines."""

    def __init__(self, start: datetime = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)) -> None:
        """Begin at `start`, aware."""
        self._now = start
        self._monotonic = 0.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._count = 0

    def now(self) -> datetime:
        """Tell the hand-set instant."""
        return self._now

    def monotonic(self) -> float:
        """Tell the seconds advanced so far."""
        return self._monotonic

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock was advanced by `seconds`."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._count += 1
        heapq.heappush(self._sleepers, (self._monotonic + seconds, self._count, waiter))
        await waiter

    def advance(self, seconds: float) -> None:
        """Move both clocks forward and wake whoever is due."""
        self._now += timedelta(seconds=seconds)
        self._monotonic += seconds
        while self._sleepers and self._sleepers[0][0] <= self._monotonic:
            _, _, waiter = heapq.heappop(self._sleepers)
            if not waiter.done():
                waiter.set_result(None)

    def jump(self, now: datetime) -> None:
        """Set the wall clock alone, also backwards: what a badly kept machine does."""
        self._now = now


class HurriedClock(ManualClock):
    """Jumps over every wait at once and keeps how long each was."""

    def __init__(self) -> None:
        """Begin with no wait."""
        super().__init__()
        self.waits: list[float] = []

    async def sleep(self, seconds: float) -> None:
        """Move to the end of the wait."""
        self.waits.append(seconds)
        self.advance(seconds)
        await asyncio.sleep(0)
