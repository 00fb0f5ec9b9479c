"""The events of a conversation, language-neutral: what is shown is made for each reader when it is sent."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from gateway.storage.contract import NewEvent

if TYPE_CHECKING:
    from gateway.conversation.model import Message

MESSAGE_CREATED: Final = "message.created"
READ: Final = "read"


def message_created(message: Message, project_id: str) -> NewEvent:
    """Tell that a message is there, whole. The project decides what of it is shown."""
    data = {"project_id": project_id, **asdict(message)}
    data["created_at"] = message.created_at.isoformat()
    return NewEvent(MESSAGE_CREATED, data, conversation_id=message.conversation_id, turn_id=message.turn_id)


def read(conversation_id: str, reader: str, position: int, message_id: str) -> NewEvent:
    """Tell how far someone has read. Who of the staff it was is told too, so that their other pages follow."""
    who, _, reader_id = reader.partition(":")
    data = {"conversation_id": conversation_id, "by": who, "message_id": message_id, "position": position}
    if who == "staff":
        data["staff_id"] = reader_id
    return NewEvent(READ, data, conversation_id=conversation_id)
