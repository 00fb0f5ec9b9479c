"""Does an act again that the database took back, a bounded number of times."""

from __future__ import annotations

from contextvars import ContextVar
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
    return await _again(act, clock, lambda: True)


class _Changes:
    """Whether anything was changed for good, seen by every task that an act starts."""

    seen = False


_changes: ContextVar[_Changes | None] = ContextVar("changes", default=None)


def note_change() -> None:
    """Remember that a transaction which changed something was committed; called by the stores."""
    if (changes := _changes.get()) is not None:
        changes.seen = True


async def again_unless_changed(act: Callable[[], Awaitable[T]], clock: Clock) -> T:
    """Do `act`, which may be of several transactions, as `again` does while none of them changed anything.

    Raises:
        Undone: it met others each time, or after a part of it was committed.
    """
    changes = _Changes()
    token = _changes.set(changes)
    try:
        return await _again(act, clock, lambda: not changes.seen)
    finally:
        _changes.reset(token)


async def _again(act: Callable[[], Awaitable[T]], clock: Clock, may: Callable[[], bool]) -> T:
    for delay in DELAYS_S:
        try:
            return await act()
        except Undone as exc:
            if not may():
                raise
            log.info("act_undone", reason=exc.message)
        await clock.sleep(delay)
    return await act()
