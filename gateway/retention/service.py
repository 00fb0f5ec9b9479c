"""Exports conversations and deletes what is kept of a visitor: rows, events, and the bytes of files."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final, Protocol

from gateway.conversation.model import staff_stream_id, visitor_stream_id
from gateway.conversation.texts import render
from gateway.conversation.unread import visitor_reader
from gateway.storage.again import again
from gateway.storage.contract import NewEvent
from shared.errors import NotFound
from shared.logs import logger

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateway.conversation.model import Conversation, Message
    from gateway.storage.contract import Store
    from gateway.storage.transaction import Transaction
    from shared.clock import Clock

FORMAT: Final = "passeur-conversation/1"
PAGE: Final = 200
FILES_LIMIT: Final = 10_000
CONVERSATIONS_LIMIT: Final = 10_000

log = logger(__name__)


class Files(Protocol):
    """Where the bytes of attachments lie; `gateway.attachments.shelf` is one."""

    async def drop(self, attachment_ids: Sequence[str]) -> None:
        """Remove bytes; those that are gone already are no error."""
        ...


class Hush(Protocol):
    """Stops what runs in a conversation; the turns' service is one."""

    async def silence(self, conversation_id: str) -> None:
        """Stop the running turn, if any."""
        ...


class RecordsService:
    """The records of every project."""

    def __init__(self, store: Store, files: Files, clock: Clock) -> None:
        """Take the seams. `hush` is set once the turns' service exists; without it a running turn ends in nothing."""
        self._store = store
        self._files = files
        self._clock = clock
        self.hush: Hush | None = None

    async def export_conversation(self, conversation_id: str) -> dict[str, Any]:
        """Hand out one conversation whole, as plain data.

        Raises:
            NotFound: there is no such conversation.
        """
        async with self._store.transaction() as tx:
            conversation = await tx.conversations.get(conversation_id)
            if conversation is None:
                raise NotFound("There is no such conversation.")
            return await self._export(tx, conversation)

    async def export_visitor(self, visitor_id: str, project_id: str | None = None) -> dict[str, Any]:
        """Hand out everything that is kept of a visitor, as plain data.

        Raises:
            NotFound: there is no such visitor (in this project).
        """
        async with self._store.transaction() as tx:
            visitor = await tx.visitors.get(visitor_id)
            if visitor is None or project_id not in {None, visitor.project_id}:
                raise NotFound("There is no such visitor.")
            found = await tx.conversations.page(visitor_id, CONVERSATIONS_LIMIT)
            reader = visitor_reader(visitor_id)
            presence = await tx.presence.get(reader)
            notices = await tx.notifications.page(reader, PAGE)
            return {
                "format": "passeur-visitor/1",
                "exported_at": self._clock.now().isoformat(),
                "visitor": {
                    "id": visitor.id,
                    "project_id": visitor.project_id,
                    "subject": visitor.subject,
                    "language": visitor.language,
                    "created_at": visitor.created_at.isoformat(),
                },
                "presence": None if presence is None else _plain(asdict(presence)),
                "notifications": [
                    {"kind": each.kind, "text": render(each.server_text, visitor.language), "target": dict(each.target)}
                    for each in notices
                ],
                "conversations": [await self._export(tx, each) for each in found],
            }

    async def delete_conversation(self, conversation_id: str) -> None:
        """Remove a conversation with all that was said and sent in it, also from the streams.

        Raises:
            NotFound: there is no such conversation.
        """
        if self.hush is not None:
            await self.hush.silence(conversation_id)

        async def act() -> list[str]:
            async with self._store.transaction() as tx:
                conversation = await tx.conversations.hold(conversation_id)
                if conversation is None:
                    raise NotFound("There is no such conversation.")
                theirs = await tx.attachments.of_visitor(conversation.visitor_id, FILES_LIMIT)
                await _forget(tx, conversation)
                return [each.id for each in theirs if each.conversation_id == conversation_id]

        files = await again(act, self._clock)
        await self._files.drop(files)

    async def delete_visitor(self, visitor_id: str, project_id: str | None = None) -> dict[str, int]:
        """Remove everything that is kept of a visitor; tells how much it was. Their session ends with it.

        Raises:
            NotFound: there is no such visitor (in this project).
        """
        async with self._store.transaction() as tx:
            visitor = await tx.visitors.get(visitor_id)
            if visitor is None or project_id not in {None, visitor.project_id}:
                raise NotFound("There is no such visitor.")
            found = await tx.conversations.page(visitor_id, CONVERSATIONS_LIMIT)
        if self.hush is not None:
            for each in found:
                await self.hush.silence(each.id)

        async def act() -> tuple[int, list[str], int]:
            async with self._store.transaction() as tx:
                found = await tx.conversations.page(visitor_id, CONVERSATIONS_LIMIT)
                files = [each.id for each in await tx.attachments.of_visitor(visitor_id, FILES_LIMIT)]
                for each in found:
                    await _forget(tx, each)
                await tx.presence.forget(visitor_reader(visitor_id))
                notices = await tx.notifications.forget(visitor_reader(visitor_id))
                await tx.keys.forget_scope(visitor_id)
                await tx.events.forget_stream(visitor_stream_id(visitor_id))
                await tx.events.erase_mentions(staff_stream_id(visitor.project_id), visitor_id)
                await tx.visitors.delete(visitor_id)
                return len(found), files, notices

        conversation_count, files, notices = await again(act, self._clock)
        await self._files.drop(files)
        log.info("visitor_deleted", visitor_id=visitor_id, conversations=conversation_count, files=len(files))
        return {
            "conversation_count": conversation_count,
            "attachment_count": len(files),
            "notification_count": notices,
        }

    async def _export(self, tx: Transaction, conversation: Conversation) -> dict[str, Any]:
        messages: list[Message] = []
        while page := await tx.messages.after(conversation.id, messages[-1].position if messages else 0, PAGE):
            messages.extend(page)
        tickets = await tx.tickets.of_conversation(conversation.id)
        return {
            "format": FORMAT,
            "conversation": _plain(asdict(conversation)),
            "messages": [_message(each, conversation.language) for each in messages],
            "tickets": [_plain(asdict(each)) for each in tickets],
        }


async def _forget(tx: Transaction, conversation: Conversation) -> None:
    tickets = await tx.tickets.of_conversation(conversation.id)
    await tx.conversations.delete(conversation.id)
    await tx.events.erase(visitor_stream_id(conversation.visitor_id), conversation.id)
    staff = staff_stream_id(conversation.project_id)
    await tx.events.erase(staff, conversation.id)
    for each in tickets:
        gone = {"ticket": {"id": each.id, "conversation_id": conversation.id, "deleted": True}}
        await tx.events.append(staff, NewEvent("ticket.updated", gone))


def _message(message: Message, language: str) -> dict[str, Any]:
    plain = _plain(asdict(message))
    if message.server_text is not None:
        plain["server_said"] = render(message.server_text, message.server_text.spoken or language)
    return plain


def _plain(data: dict[str, Any]) -> dict[str, Any]:
    return {name: _instant(value) for name, value in data.items()}


def _instant(value: Any) -> Any:
    isoformat = getattr(value, "isoformat", None)
    return value if isoformat is None else isoformat()
