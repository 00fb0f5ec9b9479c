"""One reader of one stream."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Mapping

    from gateway.events.contract import Audience, Running, Sink
    from gateway.storage.contract import StoredEvent


BUFFER_LIMIT: Final = 64 * 1024
"""Bytes that a reader's transport may hold before it lags."""


class State(Enum):
    """Whether live events reach a reader directly, or it reads the store until it has caught up."""

    CATCHING_UP = 1
    LIVE = 2
    GONE = 3


class Reader:
    """A reader's place in its stream. `sent` grows by one with each offset seen, whether or not it was of interest.

    `since` counts the things that its stream had told or had to tell when the reader became live: it knows them.
    """

    __slots__ = (
        "audience",
        "channels",
        "epoch",
        "language",
        "sent",
        "since",
        "sink",
        "state",
        "stream_id",
        "task",
        "turn_id",
    )

    def __init__(
        self,
        stream_id: str,
        sink: Sink,
        language: str,
        channels: frozenset[str],
        turn_id: str | None,
        audience: Audience | None = None,
    ) -> None:
        """Begin before the first event. With a `turn_id` only that turn is of interest; its end ends the reader."""
        self.stream_id = stream_id
        self.sink = sink
        self.language = language
        self.channels = channels
        self.turn_id = turn_id
        self.audience = audience
        self.epoch = ""
        self.sent = 0
        self.since = 0
        self.state = State.CATCHING_UP
        self.task: asyncio.Task[None] | None = None

    def wants(self, event: StoredEvent) -> bool:
        """Tell whether a stored event is of interest."""
        if self.audience is not None and not self.audience.sees(event):
            return False
        return event.channel in self.channels and (self.turn_id is None or self.turn_id == event.turn_id)

    def wants_running(self, running: Running) -> bool:
        """Tell whether running text of a turn is of interest."""
        if self.audience is not None and not self.audience.follows(running.conversation_id):
            return False
        return "support" in self.channels and (self.turn_id is None or self.turn_id == running.turn_id)

    def wants_whisper(self, conversation_id: str, sender: str) -> bool:
        """Tell whether a passing word of `sender` about a conversation is of interest."""
        if self.audience is not None and not self.audience.hears(conversation_id, sender):
            return False
        return "support" in self.channels and self.turn_id is None

    def lags(self) -> bool:
        """Tell whether the reader takes its bytes too slowly to be told more now."""
        return self.sink.buffered() > BUFFER_LIMIT

    def sees_end(self, event: StoredEvent) -> bool:
        """Tell whether a stored event is the last one this reader waits for."""
        return self.turn_id is not None and self.turn_id == event.turn_id and is_end(event.type, event.data)


def is_end(event_type: str, data: Mapping[str, Any]) -> bool:
    """Tell whether an event is a turn's last."""
    return event_type == "turn.step" and data.get("step") == "done"
