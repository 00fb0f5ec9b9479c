"""Forgets what has had its time."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from shared.errors import NotReady
from shared.logs import logger

if TYPE_CHECKING:
    from gateway.storage.contract import Store
    from shared.clock import Clock

EVERY_S: Final = 3_600.0
EVENTS_KEPT: Final = timedelta(days=7)
KEYS_KEPT: Final = timedelta(hours=24)
PENDING_KEPT: Final = timedelta(days=7)
SESSIONS_KEPT_AFTER_END: Final = timedelta(days=60)
"""As long as a session can be renewed."""

log = logger(__name__)


async def tidy(store: Store, clock: Clock) -> None:
    """Remove events, idempotency keys, sessions and stream tickets that are past their time.

    Raises:
        NotReady: the store is busy or cannot be written.
    """
    now = clock.now()
    async with store.transaction() as tx:
        counts = {
            "events": await tx.events.trim_before(now - EVENTS_KEPT),
            "keys": await tx.keys.forget_before(now - KEYS_KEPT),
            "sessions": await tx.sessions.forget_before(now - SESSIONS_KEPT_AFTER_END),
            "stream_tickets": await tx.stream_tickets.forget_before(now),
            "pending": await tx.pending.forget_before(now - PENDING_KEPT),
        }
    if any(counts.values()):
        log.info("tidied", **counts)


async def tidy_for_ever(store: Store, clock: Clock) -> None:
    """Tidy at once and then every `EVERY_S`."""
    while True:
        try:
            await tidy(store, clock)
        except NotReady as exc:
            log.warning("not_tidied", reason=exc.message)
        await clock.sleep(EVERY_S)
