"""What the rest of the gateway asks of storage, without a database in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractAsyncContextManager
    from datetime import datetime

    from gateway.storage.transaction import Transaction


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event to append. `data` is language-neutral plain data; what a reader sees is made when it is sent."""

    type: str
    data: Mapping[str, Any]
    channel: str = "support"
    conversation_id: str | None = None
    turn_id: str | None = None


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """An event with its place in its stream; offsets begin at 1 and have no holes."""

    stream_id: str
    epoch: str
    offset: int
    type: str
    data: Mapping[str, Any]
    channel: str
    conversation_id: str | None
    turn_id: str | None
    created_at: datetime

    @property
    def id(self) -> str:
        """The event's id on the wire."""
        return f"{self.epoch}.{self.offset}"


@dataclass(frozen=True, slots=True)
class StreamPosition:
    """How far a stream goes: events in (`trimmed`, `head`] can be read."""

    epoch: str
    head: int
    trimmed: int


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """A turn as stored; `outcome` is None while it runs."""

    id: str
    conversation_id: str
    visitor_id: str
    user_message_id: str
    ai_message_id: str
    question: Mapping[str, Any]
    owner: str
    lease_until: datetime
    started_at: datetime
    outcome: str | None = None
    problem: Mapping[str, Any] | None = None
    ended_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class KeyRecord:
    """What an idempotency key stands for."""

    body_hash: bytes
    created_id: str


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
            NotReady: the store stayed busy for `BUSY_TIMEOUT_S`, or cannot write.
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
