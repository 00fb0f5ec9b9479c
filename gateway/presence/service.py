"""Counts the streams that people hold, and tells those concerned when someone comes, goes away or leaves."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from gateway.conversation.model import staff_stream_id, visitor_stream_id
from gateway.conversation.presence import Presence, Status, absent, declare, settle
from gateway.conversation.unread import STAFF, id_of, kind_of
from gateway.storage.again import again
from gateway.storage.contract import NewEvent
from shared.errors import NotReady
from shared.ids import new_id
from shared.logs import logger

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateway.storage.contract import Store
    from gateway.storage.transaction import Transaction
    from shared.clock import Clock

LEASE: Final = timedelta(seconds=30)
RENEW_S: Final = 10.0
GRACE_S: Final = 5.0
"""How long someone without a stream still counts as there: a page that reloads is no departure."""
LAPSE_LIMIT: Final = 500

log = logger(__name__)


class PresenceService:
    """The presence of the people whose streams this process holds."""

    def __init__(self, store: Store, clock: Clock) -> None:
        """Take the seams; nothing runs until `serve`."""
        self._store = store
        self._clock = clock
        self._owner = new_id(clock.now())
        self._held: dict[str, int] = {}
        self._leaving: set[asyncio.Task[None]] = set()

    async def enter(self, person: str, project_id: str) -> None:
        """Count one more stream. Never raises: a stream is worth more than knowing of it."""
        self._held[person] = self._held.get(person, 0) + 1
        if self._held[person] == 1:
            await self._count(person, project_id)

    def leave(self, person: str, project_id: str) -> None:
        """Count one stream less; after `GRACE_S` without any the person is gone."""
        self._held[person] -= 1
        if self._held[person] == 0:
            task = asyncio.create_task(self._leave(person, project_id), name=f"leave {person}")
            self._leaving.add(task)
            task.add_done_callback(self._leaving.discard)

    async def declare(
        self,
        person: str,
        project_id: str,
        *,
        chosen: Status,
        product: str | None,
        consent: bool,
        telemetry: Mapping[str, Any] | None,
    ) -> Presence:
        """Take what a person says of themself, whole. Consent that is withdrawn erases the telemetry at once.

        Raises:
            NotReady: the store stayed busy.
        """
        now = self._clock.now()

        async def act() -> Presence:
            async with self._store.transaction() as tx:
                before = await tx.presence.get(person) or absent(person, project_id, now)
                said = declare(before, chosen=chosen, product=product, consent=consent, telemetry=telemetry, now=now)
                return await self._settle(tx, before, said)

        return await again(act, self._clock)

    async def of(self, people: tuple[str, ...]) -> dict[str, Presence]:
        """Read the presence of some people; those who were never here are absent from the answer.

        Raises:
            NotReady: the store stayed busy.
        """
        async with self._store.transaction() as tx:
            return {each.person: each for each in await tx.presence.of(people)}

    async def serve(self) -> None:
        """Keep our leases for ever, and notice whose gateway died."""
        everyone = self._store.exclusive
        while True:
            try:
                await self._keep_leases(everyone=everyone)
                everyone = False
            except NotReady as exc:
                log.warning("presence_not_kept", reason=exc.message)
            await self._clock.sleep(RENEW_S)

    async def close(self) -> None:
        """Stop waiting for people to come back."""
        for task in tuple(self._leaving):
            task.cancel()
        await asyncio.gather(*self._leaving, return_exceptions=True)

    # ------------------------------------------------------------------ inside

    async def _leave(self, person: str, project_id: str) -> None:
        await self._clock.sleep(GRACE_S)
        if self._held.get(person) == 0:
            del self._held[person]
            await self._count(person, project_id)

    async def _count(self, person: str, project_id: str) -> None:
        now = self._clock.now()

        async def act() -> None:
            async with self._store.transaction() as tx:
                await tx.presence.set_streams(person, self._owner, self._held.get(person, 0), now + LEASE)
                before = await tx.presence.get(person) or absent(person, project_id, now)
                await self._settle(tx, before, before)

        try:
            await again(act, self._clock)
        except NotReady as exc:
            log.warning("presence_not_counted", reason=exc.message)

    async def _keep_leases(self, *, everyone: bool) -> None:
        now = self._clock.now()
        async with self._store.transaction() as tx:
            await tx.presence.renew(self._owner, now + LEASE)
            for person in await tx.presence.lapse(self._owner, None if everyone else now, LAPSE_LIMIT):
                known = await tx.presence.get(person)
                if known is not None:
                    await self._settle(tx, known, known)

    async def _settle(self, tx: Transaction, before: Presence, said: Presence) -> Presence:
        now = self._clock.now()
        after = settle(said, await tx.presence.stream_count(said.person, now), now)
        await tx.presence.put(after)
        if kind_of(after.person) == STAFF:
            await _tell_of_staff(tx, before, after)
        else:
            await _tell_of_visitor(tx, before, after)
        return after


async def _tell_of_staff(tx: Transaction, before: Presence, after: Presence) -> None:
    """Tell colleagues, and the visitors whose tickets this person has."""
    if after.seen is before.seen:
        return
    staff_id = id_of(after.person)
    event = NewEvent("admin.status", {"staff_id": staff_id, "status": after.seen.value}, "account")
    # In the order in which every act takes streams, so that no two wait for each other: visitors', then the staff's.
    for visitor_id in sorted(await tx.tickets.visitors_of(staff_id)):
        await tx.events.append(visitor_stream_id(visitor_id), event)
    await tx.events.append(staff_stream_id(after.project_id), event)


async def _tell_of_visitor(tx: Transaction, before: Presence, after: Presence) -> None:
    """Tell the staff, while they work for this visitor; nobody else has any business with it."""
    visitor_id = id_of(after.person)
    status_changed = after.seen is not before.seen
    rest_changed = (after.product, after.telemetry) != (before.product, before.telemetry)
    if not (status_changed or rest_changed) or not await tx.tickets.has_open(visitor_id):
        return
    stream_id = staff_stream_id(after.project_id)
    if status_changed:
        data = {"visitor_id": visitor_id, "status": after.seen.value}
        await tx.events.append(stream_id, NewEvent("user.status", data, "account"))
    if rest_changed:
        # Telemetry is read where it is kept, never copied into a stream: withdrawing consent must reach every copy.
        facts = {"visitor_id": visitor_id, "product": after.product, "has_telemetry": after.telemetry is not None}
        await tx.events.append(stream_id, NewEvent("user.presence", facts, "account"))
