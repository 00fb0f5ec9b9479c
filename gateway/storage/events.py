"""Event streams: append-only rows whose offsets are taken under the stream's row lock.

The lock is held until the transaction ends, so commit order is offset order and a stream never has a hole.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Final

import sqlalchemy as sa

from gateway.storage.connection import Connection, one
from gateway.storage.records import NewEvent, StoredEvent, StreamPosition
from gateway.storage.tables import events, streams

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from shared.clock import Clock

EPOCH_BYTES: Final = 6
KEPT_EVENTS: Final = 2_000
"""Events of one stream that can be replayed; a reader further behind is told `resync`."""
TRIM_EVERY: Final = 64
TRIMMED_AT_ONCE: Final = 1_000
ERASED: Final = "erased"
"""The channel of emptied events, which no reader takes."""


STREAM: Final = sa.select(streams).where(streams.c.id == sa.bindparam("of_id"))
TAKE_OFFSETS: Final = (
    sa.update(streams)
    .where(streams.c.id == sa.bindparam("of_id"))
    .values(head=streams.c.head + sa.bindparam("count"))
    .returning(streams)
)
ADD: Final = sa.insert(events)

AFTER: Final = (
    sa.select(events, streams.c.epoch)
    .join(streams, streams.c.id == events.c.stream_id)
    .where(events.c.stream_id == sa.bindparam("of_id"), events.c.offset > sa.bindparam("after_offset"))
    .order_by(events.c.offset)
    .limit(sa.bindparam("at_most", type_=sa.Integer))
)


class Events:
    """The room of streams and events."""

    def __init__(self, connection: Connection, clock: Clock) -> None:
        """Take the transaction's connection."""
        self._connection = connection
        self._clock = clock
        self.appended: list[StoredEvent] = []

    async def append(self, stream_id: str, *new: NewEvent) -> Sequence[StoredEvent]:
        """Write events at the end of a stream, in their order; it is made when it does not exist."""
        head = {"of_id": stream_id, "count": len(new)}
        taken = await one(self._connection, TAKE_OFFSETS, head)
        if taken is None:
            await self._create(stream_id)
            taken = await one(self._connection, TAKE_OFFSETS, head)
            assert taken is not None
        last, now = int(taken["head"]), self._clock.now()
        stored = [
            StoredEvent(
                stream_id=stream_id,
                epoch=taken["epoch"],
                offset=offset,
                type=event.type,
                data=event.data,
                channel=event.channel,
                conversation_id=event.conversation_id,
                turn_id=event.turn_id,
                created_at=now,
            )
            for offset, event in enumerate(new, last - len(new) + 1)
        ]
        await self._connection.run(ADD, [_row(each) for each in stored])
        self.appended += stored
        if last % TRIM_EVERY < len(new):
            await self._trim(stream_id, last - last % TRIM_EVERY - KEPT_EVENTS)
        return stored

    async def position(self, stream_id: str) -> StreamPosition:
        """Tell how far a stream goes; one that does not exist is made, so that its epoch is fixed."""
        found = await one(self._connection, STREAM, {"of_id": stream_id})
        if found is None:
            await self._create(stream_id)
            found = await one(self._connection, STREAM, {"of_id": stream_id})
            assert found is not None
        return StreamPosition(found["epoch"], found["head"], found["trimmed"])

    async def heads(self, stream_ids: Sequence[str]) -> Mapping[str, int]:
        """Tell how far those of the streams go that exist."""
        query = sa.select(streams.c.id, streams.c.head).where(streams.c.id.in_(stream_ids))
        return {row["id"]: int(row["head"]) for row in await self._connection.rows(query)}

    async def after(self, stream_id: str, offset: int, limit: int) -> Sequence[StoredEvent]:
        """Read at most `limit` events that follow `offset`, in order."""
        where = {"of_id": stream_id, "after_offset": offset, "at_most": limit}
        return [_event(row) for row in await self._connection.rows(AFTER, where)]

    async def first_of_turn(self, stream_id: str, turn_id: str) -> int | None:
        """Tell the offset of a turn's first event; None when it was trimmed or never was."""
        query = sa.select(sa.func.min(events.c.offset).label("first"))
        found = await one(self._connection, query.where(events.c.stream_id == stream_id, events.c.turn_id == turn_id))
        return None if found is None or found["first"] is None else int(found["first"])

    async def erase(self, stream_id: str, conversation_id: str) -> int:
        """Empty the events of a conversation that was deleted; their offsets stay, so that no cursor breaks."""
        where = (events.c.stream_id == stream_id, events.c.conversation_id == conversation_id)
        return await self._connection.run(sa.update(events).where(*where).values(data={}, channel=ERASED))

    async def erase_mentions(self, stream_id: str, person_id: str) -> int:
        """Empty the events of a shared stream that name a person who was deleted; their offsets stay."""
        named = sa.type_coerce(events.c.data, sa.Text).contains(person_id, autoescape=True)
        statement = sa.update(events).where(events.c.stream_id == stream_id, named)
        return await self._connection.run(statement.values(data={}, channel=ERASED))

    async def forget_stream(self, stream_id: str) -> None:
        """Remove a stream with all its events; whoever still reads it is told that it begins anew."""
        await self._connection.run(sa.delete(streams).where(streams.c.id == stream_id))

    async def trim_before(self, instant: datetime) -> int:
        """Forget events older than `instant`, in at most `TRIMMED_AT_ONCE` streams; tells how many went."""
        old = (
            sa.select(events.c.stream_id, sa.func.max(events.c.offset).label("last"))
            .where(events.c.created_at < instant)
            .group_by(events.c.stream_id)
            .limit(TRIMMED_AT_ONCE)
        )
        last = {row["stream_id"]: row["last"] for row in await self._connection.rows(old)}
        # A stream that someone writes to now is left for the next time: nobody waits for a tidying of everything.
        free = sa.select(streams.c.id).where(streams.c.id.in_(last)).with_for_update(skip_locked=True)
        gone = 0
        for row in await self._connection.rows(free):
            gone += await self._trim(row["id"], last[row["id"]])
        return gone

    async def _trim(self, stream_id: str, up_to: int) -> int:
        if up_to <= 0:
            return 0
        higher = sa.update(streams).where(streams.c.id == stream_id, streams.c.trimmed < up_to)
        await self._connection.run(higher.values(trimmed=up_to))
        return await self._connection.run(
            sa.delete(events).where(events.c.stream_id == stream_id, events.c.offset <= up_to)
        )

    async def _create(self, stream_id: str) -> None:
        row = {"id": stream_id, "epoch": secrets.token_hex(EPOCH_BYTES), "head": 0, "trimmed": 0}
        await self._connection.run(self._connection.insert_new(streams), row)


def _row(event: StoredEvent) -> Mapping[str, object]:
    names = ("stream_id", "offset", "type", "data", "channel", "conversation_id", "turn_id", "created_at")
    return {name: getattr(event, name) for name in names}


def _event(row: Mapping[str, object]) -> StoredEvent:
    return StoredEvent(**row)  # type: ignore[arg-type]  # the query selects exactly its fields
