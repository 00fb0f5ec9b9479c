"""Time comes from a `Clock` that is handed in, so that tests can move it. Instants are aware and UTC."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """What tells time; its movable twin is `tests.fakes.clock.ManualClock`."""

    def now(self) -> datetime:
        """Tell the wall-clock instant, aware, UTC. It can jump, also backwards."""
        ...

    def monotonic(self) -> float:
        """Tell seconds that never go back; only differences mean something."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait at least `seconds` (≥ 0)."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        """Tell the wall-clock instant in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Tell the kernel's monotonic seconds."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait on the running loop."""
        await asyncio.sleep(seconds)
