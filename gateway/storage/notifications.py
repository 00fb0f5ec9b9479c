"""The room of notifications: what a person should know when they come back."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa

from gateway.conversation.model import ServerText
from gateway.storage.connection import Connection, number, one
from gateway.storage.support_tables import notifications

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

KEPT: Final = 200
"""Notifications kept for one person; the oldest go first."""


@dataclass(frozen=True, slots=True)
class Notification:
    """One notice. `person` is `visitor:<id>` or `staff:<id>`; `target` says what it is about, as plain ids."""

    id: str
    person: str
    project_id: str
    kind: str
    target: Mapping[str, str]
    server_text: ServerText
    conversation_id: str | None
    created_at: datetime
    read_at: datetime | None = None


FIELDS: Final = tuple(each.name for each in fields(Notification))


class Notifications:
    """Notifications by person."""

    def __init__(self, connection: Connection) -> None:
        """Take the transaction's connection."""
        self._connection = connection

    async def add(self, notification: Notification) -> None:
        """Keep a new one, and no more than `KEPT` for this person."""
        said = notification.server_text
        row = {name: getattr(notification, name) for name in FIELDS}
        row["target"] = dict(notification.target)
        row["server_text"] = {"key": said.key, "parameters": dict(said.parameters)}
        await self._connection.run(sa.insert(notifications).values(**row))
        mine = sa.select(notifications.c.id).where(notifications.c.person == notification.person)
        newest_first = mine.order_by(notifications.c.created_at.desc(), notifications.c.id.desc())
        surplus = [each["id"] for each in await self._connection.rows(newest_first.offset(KEPT))]
        if surplus:
            await self._connection.run(sa.delete(notifications).where(notifications.c.id.in_(surplus)))

    async def page(self, person: str, limit: int, *, unread_only: bool = False) -> Sequence[Notification]:
        """Read a person's notifications, newest first."""
        query = sa.select(notifications).where(notifications.c.person == person)
        if unread_only:
            query = query.where(notifications.c.read_at.is_(None))
        query = query.order_by(notifications.c.created_at.desc(), notifications.c.id.desc()).limit(limit)
        return [_notification(row) for row in await self._connection.rows(query)]

    async def is_waiting(self, person: str, kind: str, conversation_id: str) -> bool:
        """Tell whether a person has an unread notification of this kind about a conversation."""
        query = sa.select(notifications.c.id).where(
            notifications.c.person == person,
            notifications.c.kind == kind,
            notifications.c.conversation_id == conversation_id,
            notifications.c.read_at.is_(None),
        )
        return await one(self._connection, query.limit(1)) is not None

    async def mark_conversation_read(self, person: str, conversation_id: str, now: datetime) -> int:
        """Mark all of a person's notifications about a conversation as read: they have seen it."""
        statement = sa.update(notifications).where(
            notifications.c.person == person,
            notifications.c.conversation_id == conversation_id,
            notifications.c.read_at.is_(None),
        )
        return await self._connection.run(statement.values(read_at=now))

    async def unread_count(self, person: str) -> int:
        """Count what a person has not read."""
        query = sa.select(sa.func.count()).select_from(notifications)
        unread = notifications.c.read_at.is_(None)
        return await number(self._connection, query.where(notifications.c.person == person, unread))

    async def mark_read(self, person: str, notification_id: str, now: datetime) -> Notification | None:
        """Mark one as read, once; None when this person has no such notification."""
        mine = (notifications.c.id == notification_id) & (notifications.c.person == person)
        first = sa.update(notifications).where(mine, notifications.c.read_at.is_(None))
        await self._connection.run(first.values(read_at=now))
        found = await one(self._connection, sa.select(notifications).where(mine))
        return None if found is None else _notification(found)

    async def forget(self, person: str) -> int:
        """Remove all of a person's notifications."""
        return await self._connection.run(sa.delete(notifications).where(notifications.c.person == person))


def _notification(row: Mapping[str, Any]) -> Notification:
    return Notification(**{**row, "server_text": ServerText(**row["server_text"])})
