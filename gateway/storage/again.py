"""Does an act again that the database took back, a bounded number of times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from gateway.storage.contract import Undone
from shared.logs import logger

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from shared.clock import Clock

T = TypeVar("T")

DELAYS_S: Final = (0.0, 0.05, 0.2)
"""Waits before each further attempt; the attempt after the last one tells the caller."""

log = logger(__name__)


async def again(act: Callable[[], Awaitable[T]], clock: Clock) -> T:
    """Do `act`, whose effects all lie in one transaction, until it is done or has been undone too often.

    Raises:
        Undone: it met others each time.
    """
    for delay in DELAYS_S:
        try:
            return await act()
        except Undone as exc:
            log.info("act_undone", reason=exc.message)
        await clock.sleep(delay)
    return await act()
