"""The events of a conversation, language-neutral: what is shown is made for each reader when it is sent."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from gateway.storage.contract import NewEvent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateway.conversation.model import Message
    from gateway.storage.contract import TurnRecord

MESSAGE_CREATED: Final = "message.created"
TURN_STEP: Final = "turn.step"
READ: Final = "read"


def message_created(message: Message, project_id: str) -> NewEvent:
    """Tell that a message is there, whole. The project decides what of it is shown."""
    data = {"project_id": project_id, **asdict(message)}
    data["created_at"] = message.created_at.isoformat()
    return NewEvent(MESSAGE_CREATED, data, conversation_id=message.conversation_id, turn_id=message.turn_id)


def turn_done(turn: TurnRecord, outcome: str, problem: Mapping[str, Any] | None) -> NewEvent:
    """Tell that a turn is over: always its last event, whatever happened."""
    return NewEvent(TURN_STEP, done_data(turn, outcome, problem), "support", turn.conversation_id, turn.id)


def done_data(turn: TurnRecord, outcome: str, problem: Mapping[str, Any] | None) -> dict[str, Any]:
    """Write a turn's last event as plain data."""
    data: dict[str, Any] = {
        "conversation_id": turn.conversation_id,
        "turn_id": turn.id,
        "message_id": turn.ai_message_id,
        "step": "done",
        "outcome": outcome,
    }
    if problem is not None:
        data["problem"] = dict(problem)
    return data


def read(conversation_id: str, reader: str, position: int, message_id: str) -> NewEvent:
    """Tell how far someone has read."""
    who = reader.partition(":")[0]
    data = {"conversation_id": conversation_id, "by": who, "message_id": message_id, "position": position}
    return NewEvent(READ, data, conversation_id=conversation_id)
