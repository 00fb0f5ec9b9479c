"""The room of attachments: what is known of a file that came with a message. Its bytes lie in a folder."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final, Literal

import sqlalchemy as sa

from gateway.storage.connection import Connection, one
from gateway.storage.support_tables import attachments
from gateway.storage.tables import conversations, messages

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

THIS, CARRIER = messages.alias("this"), messages.alias("carrier")
OF_MESSAGE: Final = (
    sa.select(attachments).where(attachments.c.message_id == sa.bindparam("of_message")).order_by(attachments.c.id)
)
ANY_IN: Final = (
    sa.select(attachments.c.id).where(attachments.c.conversation_id == sa.bindparam("of_conversation")).limit(1)
)
DOCUMENTS_UP_TO: Final = (
    sa.select(attachments)
    .join(CARRIER, CARRIER.c.id == attachments.c.message_id)
    .join(THIS, THIS.c.conversation_id == CARRIER.c.conversation_id)
    .join(conversations, conversations.c.id == THIS.c.conversation_id)
    .where(THIS.c.id == sa.bindparam("of_message"), attachments.c.kind == "document")
    .where(CARRIER.c.position <= THIS.c.position, CARRIER.c.position > conversations.c.boundary)
    .order_by(CARRIER.c.position.desc(), attachments.c.id.desc())
    .limit(sa.bindparam("limit", type_=sa.Integer))
)


@dataclass(frozen=True, slots=True)
class Attachment:
    """A stored file. `message_id` is None until a message carries it, which happens once."""

    id: str
    project_id: str
    visitor_id: str
    kind: Literal["image", "document"]
    name: str
    media_type: str
    size: int
    sha256: bytes
    created_at: datetime
    text: str = ""
    truncated: bool = False
    conversation_id: str | None = None
    message_id: str | None = None


class Attachments:
    """Attachments by id, by message and by conversation."""

    def __init__(self, connection: Connection) -> None:
        """Take the transaction's connection."""
        self._connection = connection

    async def add(self, attachment: Attachment) -> None:
        """Keep a new one."""
        await self._connection.run(sa.insert(attachments).values(**asdict(attachment)))

    async def get(self, attachment_id: str) -> Attachment | None:
        """Read one, whoever it belongs to."""
        found = await one(self._connection, sa.select(attachments).where(attachments.c.id == attachment_id))
        return None if found is None else Attachment(**found)

    async def carry(self, attachment_id: str, visitor_id: str, conversation_id: str, message_id: str) -> bool:
        """Bind a visitor's attachment to the message that carries it; False when it is not theirs, or was carried."""
        free = attachments.c.message_id.is_(None)
        mine = (attachments.c.id == attachment_id) & (attachments.c.visitor_id == visitor_id)
        statement = sa.update(attachments).where(mine, free)
        values = {"conversation_id": conversation_id, "message_id": message_id}
        return await self._connection.run(statement.values(**values)) == 1

    async def any_in(self, conversation_id: str) -> bool:
        """Tell whether a message of a conversation ever carried one."""
        return await one(self._connection, ANY_IN, {"of_conversation": conversation_id}) is not None

    async def of_message(self, message_id: str) -> Sequence[Attachment]:
        """Read what a message carries."""
        return [Attachment(**row) for row in await self._connection.rows(OF_MESSAGE, {"of_message": message_id})]

    async def documents_up_to(self, message_id: str, limit: int) -> Sequence[Attachment]:
        """Read the newest documents sent in a message's conversation, since its boundary, up to that message."""
        rows = await self._connection.rows(DOCUMENTS_UP_TO, {"of_message": message_id, "limit": limit})
        return [Attachment(**row) for row in rows]

    async def of_visitor(self, visitor_id: str, limit: int) -> Sequence[Attachment]:
        """Read a visitor's attachments."""
        query = sa.select(attachments).where(attachments.c.visitor_id == visitor_id).limit(limit)
        return [Attachment(**row) for row in await self._connection.rows(query)]

    async def forget_unused(self, before: datetime, limit: int) -> Sequence[str]:
        """Remove attachments that no message carried since `before`; names them, so that their bytes can go."""
        query = sa.select(attachments.c.id).where(attachments.c.message_id.is_(None), attachments.c.created_at < before)
        ids = [row["id"] for row in await self._connection.rows(query.limit(limit))]
        if ids:
            await self._connection.run(sa.delete(attachments).where(attachments.c.id.in_(ids)))
        return ids

    async def known(self, attachment_ids: Sequence[str]) -> frozenset[str]:
        """Tell which of these ids exist."""
        query = sa.select(attachments.c.id).where(attachments.c.id.in_(attachment_ids))
        return frozenset(row["id"] for row in await self._connection.rows(query))
