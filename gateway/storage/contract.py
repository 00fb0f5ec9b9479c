"""What the rest of the gateway asks of storage, without a database in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from gateway.storage.records import KeyRecord, NewEvent, StoredEvent, StreamPosition, TurnRecord
from shared.errors import NotReady

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from gateway.storage.transaction import Transaction

__all__ = ["EventSink", "KeyRecord", "NewEvent", "Store", "StoredEvent", "StreamPosition", "TurnRecord", "Undone"]


class Undone(NotReady):
    """The database took the transaction back, because it met another or lost its connection before the end.

    Nothing of it happened, so the act may begin again; see `gateway.storage.again`.
    """


class Store(Protocol):
    """The gateway's memory."""

    @property
    def exclusive(self) -> bool:
        """Whether this process is the only one that can use the store, so that every other owner is dead."""
        ...

    def transaction(self) -> AbstractAsyncContextManager[Transaction]:
        """Open a unit of work: all of it commits at the end of the block, or none when the block raises.

        Nothing but the transaction may be awaited inside the block. Leaving by cancellation rolls back.

        Raises:
            NotReady: the store stayed busy for `BUSY_TIMEOUT_S`, cannot be reached or cannot write.
            Undone: nothing happened, and the same may be tried again.
        """
        ...

    async def close(self) -> None:
        """Finish what is under way and close; idempotent."""
        ...


class EventSink(Protocol):
    """Told of events once they are committed, in the order of their offsets."""

    def committed(self, events: tuple[StoredEvent, ...]) -> None:
        """Take the events of one transaction. Must return at once and never raise."""
        ...
