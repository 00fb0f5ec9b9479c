"""What a turn asks of those who look after open tickets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from gateway.conversation.model import Conversation, Message
    from gateway.storage.transaction import Transaction


class Desk(Protocol):
    """Where people sit; the tickets' service is one."""

    async def heard(self, tx: Transaction, conversation: Conversation, message: Message) -> None:
        """Take note, in the same transaction, that the visitor wrote while a ticket is open."""
        ...
