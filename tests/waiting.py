"""Waiting for something to become true, with a bound."""

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

WAIT_S = 60.0
POLL_S = 0.01


async def eventually(condition: Callable[[], Any], within_s: float = WAIT_S, *, every_s: float = POLL_S) -> Any:
    """Wait until `condition` (plain or awaitable) is true, and return what it was; ask seldom where asking costs."""
    async with asyncio.timeout(within_s):
        while True:
            value = condition()
            if inspect.isawaitable(value):
                value = await value
            if value:
                return value
            await asyncio.sleep(every_s)  # what is waited for happens behind a socket, without an event to wait on
