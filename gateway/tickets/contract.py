"""What the tickets' service asks of its neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from gateway.storage.transaction import Transaction


class Silencer(Protocol):
    """Stops the AI in a conversation; the turns' service is one."""

    async def silence(self, conversation_id: str) -> None:
        """Stop the running turn, if any. Nothing of it would be published anyway: this saves its cost."""
        ...


class PendingQuestions(Protocol):
    """Forgets what a conversation waits on: when a person takes over, no question of the AI is open any more."""

    async def cancel_all(self, tx: Transaction, conversation_id: str) -> None:
        """Cancel every open pending action of a conversation, in the same transaction."""
        ...
