"""The rows of storage as plain frozen data, for the rooms and for those who use them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime


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
