"""The rooms of visitors, their sessions and their stream tickets. Secrets are kept as hashes only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa

from gateway.conversation.model import Visitor
from gateway.storage.connection import Connection, one
from gateway.storage.tables import sessions, stream_tickets, visitors

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime


VISITOR: Final = sa.select(visitors).where(visitors.c.id == sa.bindparam("of_id"))
HOLDER: Final = (
    sa.select(visitors, sessions.c.expires_at)
    .join(sessions, sessions.c.visitor_id == visitors.c.id)
    .where(sessions.c.token_hash == sa.bindparam("of_hash"))
)


class Visitors:
    """Visitors by id and by proven subject."""

    def __init__(self, connection: Connection) -> None:
        """Take the transaction's connection."""
        self._connection = connection

    async def add(self, visitor: Visitor) -> None:
        """Keep a new visitor."""
        row = {
            "id": visitor.id,
            "project_id": visitor.project_id,
            "subject": visitor.subject,
            "language": visitor.language,
            "contexts": None if visitor.subject is None else [_plain(each) for each in visitor.contexts],
            "created_at": visitor.created_at,
        }
        await self._connection.run(sa.insert(visitors).values(**row))

    async def get(self, visitor_id: str) -> Visitor | None:
        """Read one; an anonymous visitor has no contexts of their own."""
        found = await one(self._connection, VISITOR, {"of_id": visitor_id})
        return None if found is None else _visitor(found)

    async def by_subject(self, project_id: str, subject: str) -> Visitor | None:
        """Read the visitor who proved to be `subject`, which is never an anonymous one."""
        query = sa.select(visitors).where(visitors.c.project_id == project_id, visitors.c.subject == subject)
        found = await one(self._connection, query)
        return None if found is None else _visitor(found)

    async def set_contexts(self, visitor_id: str, contexts: tuple[Mapping[str, tuple[str, ...]], ...]) -> None:
        """Replace what a proven visitor may read."""
        values = {"contexts": [_plain(each) for each in contexts]}
        await self._connection.run(sa.update(visitors).where(visitors.c.id == visitor_id).values(**values))

    async def set_language(self, visitor_id: str, language: str) -> None:
        """Remember the language a visitor reads."""
        await self._connection.run(sa.update(visitors).where(visitors.c.id == visitor_id).values(language=language))

    async def delete(self, visitor_id: str) -> None:
        """Remove a visitor, with their sessions, conversations and what hangs on them."""
        await self._connection.run(sa.delete(visitors).where(visitors.c.id == visitor_id))


class Sessions:
    """Bearer sessions by the hash of their token."""

    def __init__(self, connection: Connection) -> None:
        """Take the transaction's connection."""
        self._connection = connection

    async def add(self, token_hash: bytes, visitor_id: str, now: datetime, expires_at: datetime) -> None:
        """Keep a new session."""
        row = {"token_hash": token_hash, "visitor_id": visitor_id, "created_at": now, "expires_at": expires_at}
        await self._connection.run(sa.insert(sessions).values(**row))

    async def find(self, token_hash: bytes) -> tuple[Visitor, datetime] | None:
        """Read whose session it is and the instant it ends or ended."""
        found = await one(self._connection, HOLDER, {"of_hash": token_hash})
        return None if found is None else (_visitor(found), found["expires_at"])

    async def shorten(self, token_hash: bytes, expires_at: datetime) -> None:
        """End a session at `expires_at` unless it ends before."""
        statement = sa.update(sessions).where(sessions.c.token_hash == token_hash, sessions.c.expires_at > expires_at)
        await self._connection.run(statement.values(expires_at=expires_at))

    async def forget_before(self, instant: datetime) -> int:
        """Remove sessions that ended before `instant`."""
        return await self._connection.run(sa.delete(sessions).where(sessions.c.expires_at < instant))


class StreamTickets:
    """Single-use tickets that open an event stream."""

    def __init__(self, connection: Connection) -> None:
        """Take the transaction's connection."""
        self._connection = connection

    async def add(self, ticket_hash: bytes, visitor_id: str, expires_at: datetime) -> None:
        """Keep a new ticket."""
        row = {"ticket_hash": ticket_hash, "visitor_id": visitor_id, "expires_at": expires_at}
        await self._connection.run(sa.insert(stream_tickets).values(**row))

    async def redeem(self, ticket_hash: bytes, now: datetime) -> str | None:
        """Use a ticket up and tell whose it was; None when it is unknown, used or past its time."""
        statement = sa.delete(stream_tickets).where(stream_tickets.c.ticket_hash == ticket_hash)
        found = await one(self._connection, statement.returning(stream_tickets))
        return found["visitor_id"] if found is not None and found["expires_at"] > now else None

    async def forget_before(self, instant: datetime) -> int:
        """Remove tickets that ended before `instant`."""
        return await self._connection.run(sa.delete(stream_tickets).where(stream_tickets.c.expires_at < instant))


def _plain(context: Mapping[str, tuple[str, ...]]) -> dict[str, list[str]]:
    return {key: list(values) for key, values in context.items()}


def _visitor(row: Mapping[str, Any]) -> Visitor:
    contexts = tuple({key: tuple(values) for key, values in each.items()} for each in row["contexts"] or ())
    return Visitor(
        id=row["id"],
        project_id=row["project_id"],
        subject=row["subject"],
        language=row["language"],
        contexts=contexts,
        created_at=row["created_at"],
    )
