"""The events of a conversation, language-neutral: what is shown is made for each reader when it is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from gateway.events.announcement import MESSAGE_CREATED, READ, message_created, read
from gateway.storage.contract import NewEvent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateway.storage.contract import TurnRecord

TURN_STEP: Final = "turn.step"

__all__ = ["MESSAGE_CREATED", "READ", "TURN_STEP", "clarifying", "done_data", "message_created", "read", "turn_done"]


def turn_done(turn: TurnRecord, outcome: str, problem: Mapping[str, Any] | None) -> NewEvent:
    """Tell that a turn is over: always its last event, whatever happened."""
    return NewEvent(TURN_STEP, done_data(turn, outcome, problem), "support", turn.conversation_id, turn.id)


def clarifying(turn: TurnRecord) -> NewEvent:
    """Tell that a turn asks back: the message that follows is a question, and nothing more comes until a reply."""
    return NewEvent(TURN_STEP, clarify_data(turn), "support", turn.conversation_id, turn.id)


def clarify_data(turn: TurnRecord) -> dict[str, Any]:
    """Write that step as plain data."""
    return {
        "conversation_id": turn.conversation_id,
        "turn_id": turn.id,
        "message_id": turn.ai_message_id,
        "step": "clarify",
        "detail": "",
    }


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
