"""Waiting for work that must come to its end even when whoever waits is cancelled."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable

T = TypeVar("T")


async def ended(work: Awaitable[T]) -> tuple[T, asyncio.CancelledError | None]:
    """Wait until `work` has ended; a cancellation that came meanwhile is handed over beside its result.

    What `work` raises is raised at once, and comes before a cancellation.
    """
    ending = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not ending.done():
        try:
            await asyncio.wait({ending})
        except asyncio.CancelledError as exc:
            cancelled = exc
    return ending.result(), cancelled


async def unbroken(work: Awaitable[T]) -> T:
    """Wait until `work` has ended, and only then tell of a cancellation that came meanwhile."""
    result, cancelled = await ended(work)
    if cancelled is not None:
        raise cancelled
    return result
