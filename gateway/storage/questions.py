"""The room of questions that found no answer, read from turns and tickets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from gateway.conversation.grouping import Asked
from gateway.conversation.model import Role
from gateway.storage.support_tables import tickets
from gateway.storage.tables import conversations, messages, turns

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from gateway.storage.connection import Connection

INSUFFICIENT = "insufficient_context"
ANSWERED = "answered"


class Questions:
    """Unanswered questions of a project."""

    def __init__(self, connection: Connection) -> None:
        """Take the transaction's connection."""
        self._connection = connection

    async def insufficient(self, project_id: str, since: datetime, limit: int) -> Sequence[Asked]:
        """Read questions that the documents could not answer, newest first."""
        query = (
            _columns(turns.c.id.label("turn_id"), turns.c.started_at.label("asked_at"))
            .join(turns, turns.c.user_message_id == messages.c.id)
            .join(conversations, conversations.c.id == messages.c.conversation_id)
            .where(turns.c.outcome == INSUFFICIENT, turns.c.started_at >= since)
            .where(conversations.c.project_id == project_id)
        )
        rows = await self._connection.rows(query.order_by(turns.c.started_at.desc()).limit(limit))
        return [Asked(cause="insufficient", **row) for row in rows]

    async def escalated(self, project_id: str, since: datetime, limit: int) -> Sequence[Asked]:
        """Read the last thing that was asked before each ticket and not answered, newest first.

        Who was answered and then wanted a person wanted something that no document can give.
        """
        earlier = messages.alias("earlier")
        last = (
            sa.select(sa.func.max(earlier.c.position))
            .where(earlier.c.conversation_id == tickets.c.conversation_id, earlier.c.role == Role.USER.value)
            .where(earlier.c.position < tickets.c.opened_position)
            .correlate(tickets)
            .scalar_subquery()
        )
        query = (
            _columns(messages.c.turn_id, tickets.c.opened_at.label("asked_at"))
            .join(tickets, tickets.c.conversation_id == messages.c.conversation_id)
            .join(conversations, conversations.c.id == messages.c.conversation_id)
            .join(turns, turns.c.id == messages.c.turn_id)
            .where(turns.c.outcome != ANSWERED)
            .where(messages.c.position == last, tickets.c.project_id == project_id, tickets.c.opened_at >= since)
        )
        rows = await self._connection.rows(query.order_by(tickets.c.opened_at.desc()).limit(limit))
        return [Asked(cause="escalated", **row) for row in rows]

    async def project_of_turn(self, turn_id: str) -> str | None:
        """Tell which project a turn belongs to."""
        query = sa.select(conversations.c.project_id).join(turns, turns.c.conversation_id == conversations.c.id)
        rows = await self._connection.rows(query.where(turns.c.id == turn_id))
        return None if not rows else rows[0]["project_id"]


def _columns(*more: Any) -> Any:
    return sa.select(messages.c.text, messages.c.conversation_id, conversations.c.language, *more).select_from(messages)
