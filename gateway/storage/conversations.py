"""The room of conversations."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Final

import sqlalchemy as sa

from gateway.conversation.model import Conversation
from gateway.storage.connection import Connection, one
from gateway.storage.tables import conversations

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from typing import Any


BY_ID: Final = sa.select(conversations).where(conversations.c.id == sa.bindparam("of_id"))
HELD: Final = BY_ID.with_for_update()
NEXT_POSITION: Final = (
    sa.update(conversations)
    .where(conversations.c.id == sa.bindparam("of_id"))
    .values(last_position=conversations.c.last_position + 1)
    .returning(conversations.c.last_position)
)


class Conversations:
    """Conversations by id and by visitor."""

    def __init__(self, connection: Connection) -> None:
        """Take the transaction's connection."""
        self._connection = connection

    async def add(self, conversation: Conversation) -> None:
        """Keep a new conversation."""
        await self._connection.run(sa.insert(conversations).values(**asdict(conversation)))

    async def get(self, conversation_id: str) -> Conversation | None:
        """Read one, whoever it belongs to."""
        found = await one(self._connection, BY_ID, {"of_id": conversation_id})
        return None if found is None else Conversation(**found)

    async def owned(self, conversation_id: str, visitor_id: str) -> Conversation | None:
        """Read one if it is this visitor's."""
        conversation = await self.get(conversation_id)
        return conversation if conversation is not None and conversation.visitor_id == visitor_id else None

    async def page(
        self, visitor_id: str, limit: int, before: tuple[datetime, str] | None = None
    ) -> Sequence[Conversation]:
        """Read a visitor's conversations, newest activity first, from just after `before` (its instant and id)."""
        key = sa.tuple_(conversations.c.updated_at, conversations.c.id)
        query = sa.select(conversations).where(conversations.c.visitor_id == visitor_id)
        if before is not None:
            instant = sa.literal(before[0], conversations.c.updated_at.type)
            query = query.where(key < sa.tuple_(instant, sa.literal(before[1])))
        query = query.order_by(conversations.c.updated_at.desc(), conversations.c.id.desc()).limit(limit)
        return [Conversation(**row) for row in await self._connection.rows(query)]

    async def hold(self, conversation_id: str) -> Conversation | None:
        """Read one and hold it against others until the transaction ends, so that what is decided on it stays true."""
        found = await one(self._connection, HELD, {"of_id": conversation_id})
        return None if found is None else Conversation(**found)

    async def escalate(self, conversation_id: str) -> bool:
        """Turn `escalated` from false to true; False when it was true already: of two racers one wins."""
        still_calm = (conversations.c.id == conversation_id) & ~conversations.c.escalated
        return await self._connection.run(sa.update(conversations).where(still_calm).values(escalated=True)) == 1

    async def take_position(self, conversation_id: str, now: datetime) -> int:
        """Take the next message position under the conversation's row lock."""
        taken = await one(self._connection, NEXT_POSITION, {"of_id": conversation_id, "updated_at": now})
        assert taken is not None
        return int(taken["last_position"])

    async def change(self, conversation_id: str, **values: Any) -> None:
        """Set some columns."""
        await self._connection.run(
            sa.update(conversations).where(conversations.c.id == conversation_id).values(**values)
        )

    async def delete(self, conversation_id: str) -> None:
        """Remove a conversation with its messages, turns and markers."""
        await self._connection.run(sa.delete(conversations).where(conversations.c.id == conversation_id))
