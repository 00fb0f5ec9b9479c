"""Ends tasks where a cancellation may get lost.

Before Python 3.12 `asyncio.wait_for`, by which the Redis client sends, loses a cancellation that comes in the step in
which it ends (https://github.com/python/cpython/issues/86296).
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Coroutine

SAID_AGAIN_S: Final = 0.1


def heed_cancellation() -> None:
    """Go when told to, where being told was swallowed.

    Raises:
        CancelledError: the task was told to end, now or before.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


async def until_one_ends(*works: Coroutine[Any, Any, None]) -> None:
    """Run all until one breaks, end the others, and raise what broke; a cancellation that gets lost is said again."""
    tasks = {asyncio.create_task(work, name=work.__qualname__) for work in works}
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        while pending := {task for task in tasks if not task.done()}:
            for task in pending:
                task.cancel()
            await asyncio.wait(pending, timeout=SAID_AGAIN_S)
    for task in done:
        task.result()
