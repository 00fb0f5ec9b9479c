"""The room of messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa

from gateway.conversation.model import (
    AnswerFacts,
    AttachedFile,
    Author,
    CitedPassage,
    Kind,
    Line,
    Message,
    Role,
    ServerText,
    fields_of,
)
from gateway.storage.connection import Connection, number, one
from gateway.storage.tables import messages

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


ADD: Final = sa.insert(messages)
BY_ID: Final = sa.select(messages).where(messages.c.id == sa.bindparam("of_id"))
OF_CONVERSATION: Final = sa.select(messages).where(messages.c.conversation_id == sa.bindparam("of_conversation"))
AFTER: Final = (
    OF_CONVERSATION.where(messages.c.position > sa.bindparam("of_position"))
    .order_by(messages.c.position)
    .limit(sa.bindparam("limit", type_=sa.Integer))
)
BEFORE: Final = (
    OF_CONVERSATION.where(messages.c.position < sa.bindparam("of_position"))
    .order_by(messages.c.position.desc())
    .limit(sa.bindparam("limit", type_=sa.Integer))
)
LINES_BEFORE: Final = BEFORE.with_only_columns(messages.c.position, messages.c.role, messages.c.kind, messages.c.text)


class Messages:
    """Messages by id, by place and by turn."""

    def __init__(self, connection: Connection) -> None:
        """Take the transaction's connection."""
        self._connection = connection

    async def add(self, message: Message) -> None:
        """Keep a new message; its position was taken from the conversation."""
        await self._connection.run(ADD, _row(message))

    async def get(self, message_id: str) -> Message | None:
        """Read one."""
        found = await one(self._connection, BY_ID, {"of_id": message_id})
        return None if found is None else message_from(found)

    async def after(self, conversation_id: str, position: int, limit: int) -> Sequence[Message]:
        """Read the first messages that follow `position`, oldest first."""
        near = {"of_conversation": conversation_id, "of_position": position, "limit": limit}
        return [message_from(row) for row in await self._connection.rows(AFTER, near)]

    async def before(self, conversation_id: str, position: int, limit: int) -> Sequence[Message]:
        """Read the last messages that precede `position`, oldest first."""
        near = {"of_conversation": conversation_id, "of_position": position, "limit": limit}
        return [message_from(row) for row in reversed(await self._connection.rows(BEFORE, near))]

    async def lines_before(self, conversation_id: str, position: int, limit: int) -> Sequence[Line]:
        """Read who said what in the last messages that precede `position`, oldest first.

        Every turn reads its history so: most of the price of a message is what comes with it.
        """
        near = {"of_conversation": conversation_id, "of_position": position, "limit": limit}
        return [_line(row) for row in reversed(await self._connection.rows(LINES_BEFORE, near))]

    async def unread(self, conversation_id: str, role: Role, after: int) -> int:
        """Count messages of a role that follow `after`."""
        query = (
            sa.select(sa.func.count())
            .select_from(messages)
            .where(messages.c.conversation_id == conversation_id, messages.c.role == role, messages.c.position > after)
        )
        return await number(self._connection, query)


def _row(message: Message) -> Mapping[str, Any]:
    server_text = message.server_text
    return {
        "id": message.id,
        "conversation_id": message.conversation_id,
        "position": message.position,
        "role": message.role.value,
        "kind": None if message.kind is None else message.kind.value,
        "text": message.text,
        "server_text": None if server_text is None else _text_row(server_text),
        "language": message.language,
        "turn_id": message.turn_id,
        "citations": [fields_of(each) for each in message.citations],
        "facts": None if message.facts is None else fields_of(message.facts),
        "author": None if message.author is None else fields_of(message.author),
        "attachments": [fields_of(each) for each in message.attachments],
        "created_at": message.created_at,
    }


def _text_row(text: ServerText) -> Mapping[str, Any]:
    row: dict[str, Any] = {"key": text.key, "parameters": dict(text.parameters)}
    if text.options:
        row["options"] = [dict(each) for each in text.options]
    return {**row, "spoken": text.spoken} if text.spoken else row


def server_text_from(plain: Mapping[str, Any]) -> ServerText:
    """Make a server text of plain data."""
    return ServerText(plain["key"], plain["parameters"], tuple(plain.get("options", ())), plain.get("spoken", ""))


def _line(row: Mapping[str, Any]) -> Line:
    kind = row["kind"]
    return Line(row["position"], Role(row["role"]), None if kind is None else Kind(kind), row["text"])


def message_from(row: Mapping[str, Any]) -> Message:
    """Make a message of its row."""
    server_text, facts, kind, author = row["server_text"], row["facts"], row["kind"], row["author"]
    return Message(
        id=row["id"],
        conversation_id=row["conversation_id"],
        position=row["position"],
        role=Role(row["role"]),
        kind=None if kind is None else Kind(kind),
        text=row["text"],
        created_at=row["created_at"],
        server_text=None if server_text is None else server_text_from(server_text),
        language=row["language"],
        turn_id=row["turn_id"],
        citations=tuple(CitedPassage(**each) for each in row["citations"]),
        facts=None if facts is None else AnswerFacts(**facts),
        author=None if author is None else Author(**author),
        attachments=tuple(AttachedFile(**each) for each in row["attachments"]),
    )
