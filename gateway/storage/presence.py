"""The room of presence: what people say of themselves, and how many streams each holds in each gateway."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa

from gateway.conversation.presence import Presence, Status
from gateway.storage.connection import Connection, number, one
from gateway.storage.support_tables import presence, presence_streams

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

FIELDS: Final = tuple(each.name for each in fields(Presence))


class PresenceRoom:
    """Presence by person (`visitor:<id>`, `staff:<id>`)."""

    def __init__(self, connection: Connection) -> None:
        """Take the transaction's connection."""
        self._connection = connection

    async def get(self, person: str) -> Presence | None:
        """Read one, and hold it against others until the transaction ends."""
        query = sa.select(presence).where(presence.c.person == person).with_for_update()
        found = await one(self._connection, query)
        return None if found is None else _presence(found)

    async def of(self, people: Sequence[str]) -> Sequence[Presence]:
        """Read those of `people` who were ever here."""
        query = sa.select(presence).where(presence.c.person.in_(people))
        return [_presence(row) for row in await self._connection.rows(query)]

    async def put(self, known: Presence) -> None:
        """Write a presence whole."""
        row = {**asdict(known), "chosen": known.chosen.value, "seen": known.seen.value}
        row["telemetry"] = None if known.telemetry is None else dict(known.telemetry)
        insert = self._connection.insert(presence).values(**row)
        del row["person"]
        await self._connection.run(
            insert.on_conflict_do_update(index_elements=[presence.c.person], set_=_as_columns(row))
        )

    async def forget(self, person: str) -> None:
        """Remove everything known of a person."""
        await self._connection.run(sa.delete(presence).where(presence.c.person == person))
        await self._connection.run(sa.delete(presence_streams).where(presence_streams.c.person == person))

    # ------------------------------------------------------------------ streams

    async def set_streams(self, person: str, owner: str, count: int, lease_until: datetime) -> None:
        """Note how many streams a person holds in one gateway."""
        mine = (presence_streams.c.person == person) & (presence_streams.c.owner == owner)
        if count == 0:
            await self._connection.run(sa.delete(presence_streams).where(mine))
            return
        row = {"person": person, "owner": owner, "stream_count": count, "lease_until": lease_until}
        insert = self._connection.insert(presence_streams).values(**row)
        keys = [presence_streams.c.person, presence_streams.c.owner]
        values = {"stream_count": count, "lease_until": lease_until}
        await self._connection.run(insert.on_conflict_do_update(index_elements=keys, set_=values))

    async def stream_count(self, person: str, now: datetime) -> int:
        """Count a person's streams in all gateways that live."""
        query = sa.select(sa.func.coalesce(sa.func.sum(presence_streams.c.stream_count), 0))
        live = presence_streams.c.lease_until > now
        return await number(self._connection, query.where(presence_streams.c.person == person, live))

    async def renew(self, owner: str, lease_until: datetime) -> None:
        """Lengthen the leases of one gateway."""
        statement = sa.update(presence_streams).where(presence_streams.c.owner == owner)
        await self._connection.run(statement.values(lease_until=lease_until))

    async def lapse(self, owner: str, now: datetime | None, limit: int) -> Sequence[str]:
        """Forget the streams of other gateways whose lease ended before `now` (None: all); names the people."""
        query = sa.select(presence_streams.c.person, presence_streams.c.owner)
        query = query.where(presence_streams.c.owner != owner)
        if now is not None:
            query = query.where(presence_streams.c.lease_until < now)
        lapsed = await self._connection.rows(query.limit(limit))
        for row in lapsed:
            gone = (presence_streams.c.person == row["person"]) & (presence_streams.c.owner == row["owner"])
            await self._connection.run(sa.delete(presence_streams).where(gone))
        return [row["person"] for row in lapsed]


def _as_columns(row: Mapping[str, Any]) -> dict[Any, Any]:
    return {presence.c[name]: value for name, value in row.items()}


def _presence(row: Mapping[str, Any]) -> Presence:
    values = {name: row[name] for name in FIELDS}
    return Presence(**{**values, "chosen": Status(row["chosen"]), "seen": Status(row["seen"])})
