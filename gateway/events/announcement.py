"""The events of a conversation, language-neutral: what is shown is made for each reader when it is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gateway.conversation.model import fields_of
from gateway.storage.contract import NewEvent

if TYPE_CHECKING:
    from gateway.conversation.model import Message

MESSAGE_CREATED: Final = "message.created"
READ: Final = "read"


def message_created(message: Message, project_id: str) -> NewEvent:
    """Tell that a message is there, whole. The project decides what of it is shown."""
    server_text, facts, author = message.server_text, message.facts, message.author
    data = {
        "project_id": project_id,
        **fields_of(message),
        "created_at": message.created_at.isoformat(),
        "server_text": None if server_text is None else fields_of(server_text),
        "citations": [fields_of(each) for each in message.citations],
        "facts": None if facts is None else fields_of(facts),
        "author": None if author is None else fields_of(author),
        "attachments": [fields_of(each) for each in message.attachments],
    }
    return NewEvent(MESSAGE_CREATED, data, conversation_id=message.conversation_id, turn_id=message.turn_id)


def read(conversation_id: str, reader: str, position: int, message_id: str) -> NewEvent:
    """Tell how far someone has read. Who of the staff it was is told too, so that their other pages follow."""
    who, _, reader_id = reader.partition(":")
    data = {"conversation_id": conversation_id, "by": who, "message_id": message_id, "position": position}
    if who == "staff":
        data["staff_id"] = reader_id
    return NewEvent(READ, data, conversation_id=conversation_id)
