"""What a turn asks of its neighbours: those who look after open tickets, and those who keep files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from gateway.assistant.contract import Question
    from gateway.conversation.model import Conversation, Message
    from gateway.storage.contract import TurnRecord
    from gateway.storage.transaction import Transaction


class Desk(Protocol):
    """Where people sit; the tickets' service is one."""

    async def heard(self, tx: Transaction, conversation: Conversation, message: Message) -> None:
        """Take note, in the same transaction, that the visitor wrote while a ticket is open."""
        ...


class Enclosures(Protocol):
    """Where files are kept; the attachments' service is one."""

    async def enclose(self, turn: TurnRecord, question: Question) -> Question:
        """Put the turn's image and the conversation's documents with its question, the same each time it is asked.

        Raises:
            NotReady: the store stayed busy.
        """
        ...
