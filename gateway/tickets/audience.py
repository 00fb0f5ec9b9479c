"""What one of the staff sees of the stream that all staff share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gateway.conversation.unread import staff_reader
from gateway.tickets.telling import CONVERSATION_CLOSED, CONVERSATION_OPENED, NOTIFICATION_CREATED

if TYPE_CHECKING:
    from gateway.storage.contract import StoredEvent

OF_CONVERSATIONS: Final = frozenset({"message.created", "turn.step", "read"})


class StaffAudience:
    """Ticket views for all; what is said, only in conversations that this person opened; notices, only their own."""

    def __init__(self, staff_id: str, opened: frozenset[str]) -> None:
        """Begin with the conversations that the person has open."""
        self._staff_id = staff_id
        self._opened = set(opened)

    def sees(self, event: StoredEvent) -> bool:
        """Tell whether an event is for this person; see `gateway.events.contract.Audience`."""
        if event.type in {CONVERSATION_OPENED, CONVERSATION_CLOSED}:
            self._look(event)
            return False
        if event.type == NOTIFICATION_CREATED:
            return event.data.get("person") == staff_reader(self._staff_id)
        if event.type == "read" and event.data.get("staff_id") == self._staff_id:
            return True
        return event.type not in OF_CONVERSATIONS or event.conversation_id in self._opened

    def follows(self, conversation_id: str) -> bool:
        """Tell whether the person has the conversation open."""
        return conversation_id in self._opened

    def hears(self, conversation_id: str, sender: str) -> bool:
        """Tell whether a word of someone else reaches this person."""
        return sender != staff_reader(self._staff_id) and conversation_id in self._opened

    def _look(self, event: StoredEvent) -> None:
        if event.data.get("staff_id") != self._staff_id:
            return
        if event.type == CONVERSATION_OPENED:
            self._opened.add(event.data["conversation_id"])
        else:
            self._opened.discard(event.data["conversation_id"])
