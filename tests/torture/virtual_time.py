"""A loop whose clock jumps to whatever is due next: hours of timers in milliseconds, the same each time."""

from __future__ import annotations

import asyncio
import selectors
from datetime import UTC, datetime, timedelta
from typing import Any

START = datetime(2026, 11, 30, 8, 0, tzinfo=UTC)


class _Leaping(selectors.SelectSelector):
    """Never waits: what a loop would wait for its next timer is added to its time instead."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None:
            raise AssertionError("the simulated world waits for something outside of it")
        self.now += timeout
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop in simulated time."""

    def __init__(self) -> None:
        self.leaping = _Leaping()
        super().__init__(self.leaping)

    def time(self) -> float:
        """Tell the simulated seconds since the beginning."""
        return self.leaping.now


class VirtualClock:
    """`shared.clock.Clock` in the time of the running loop."""

    def now(self) -> datetime:
        return START + timedelta(seconds=self.monotonic())

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
