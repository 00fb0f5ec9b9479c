"""What the hub asks of those who hand it readers, and what it offers to those who have something to tell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateway.storage.contract import StoredEvent


@dataclass(frozen=True, slots=True)
class Running:
    """Names a message that is being written, and the streams whose readers watch it."""

    streams: tuple[str, ...]
    conversation_id: str
    turn_id: str
    message_id: str


class Encoder(Protocol):
    """Makes the bytes that go on the wire, ready to be written to any reader's transport."""

    @property
    def ping(self) -> bytes:
        """A comment that keeps the connection open."""
        ...

    def event(self, event: StoredEvent, language: str) -> bytes:
        """Encode a stored event as a reader of `language` sees it."""
        ...

    def passing(self, event_type: str, data: Mapping[str, Any]) -> bytes:
        """Encode something that is not stored and has no id."""
        ...

    def opening(self, cursor: str | None) -> bytes:
        """Encode what a stream begins with; a cursor becomes the reader's last event id."""
        ...

    def resync(self, cursor: str, reason: str) -> bytes:
        """Encode that events are missing: the reader must fetch the state anew, and goes on from `cursor`."""
        ...


class Sink(Protocol):
    """Where a reader's bytes go. Nothing here may block or raise for a reader that left."""

    def write(self, data: bytes) -> None:
        """Hand bytes to the transport."""
        ...

    def buffered(self) -> int:
        """Tell how many bytes the transport still holds because the reader has not taken them."""
        ...

    def closed(self) -> bool:
        """Tell whether the reader has left."""
        ...

    async def drained(self) -> None:
        """Wait until the transport has given its bytes away, or the reader left."""
        ...

    def end(self) -> None:
        """Finish: the reader has heard all that it is going to hear. Idempotent."""
        ...

    def abort(self) -> None:
        """Cut the connection at once."""
        ...


class Watcher(Protocol):
    """Told of what concerns other gateways: which streams have readers here, and what running text they were sent."""

    def followed(self, stream_id: str) -> None:
        """A stream has its first reader here."""
        ...

    def left(self, stream_id: str) -> None:
        """A stream's last reader here has left."""
        ...

    def told(self, running: Running, event_type: str, data: Mapping[str, Any]) -> None:
        """Running text or a step went to the readers here, coalesced as they had it."""
        ...


class Audience(Protocol):
    """Chooses, for one reader of a stream that many share, what they see of it."""

    def sees(self, event: StoredEvent) -> bool:
        """Tell whether a stored event is for this reader. Asked of every event once, in order."""
        ...

    def follows(self, conversation_id: str) -> bool:
        """Tell whether running text of a conversation is for this reader."""
        ...

    def hears(self, conversation_id: str, sender: str) -> bool:
        """Tell whether a passing word about a conversation, from `sender`, is for this reader."""
        ...


class Whisperer(Protocol):
    """The hub as those see it who tell what is not worth keeping, such as that someone is typing."""

    def whisper(
        self,
        stream_ids: tuple[str, ...],
        event_type: str,
        data: Mapping[str, Any],
        *,
        conversation_id: str,
        sender: str,
    ) -> None:
        """Tell whoever is live now; a reader that lags hears nothing."""
        ...


class Announcer(Protocol):
    """The hub as a turn sees it: running text and steps, which are told but not stored."""

    def begin(self, running: Running) -> None:
        """Announce that a message is being written."""
        ...

    def step(self, running: Running, step: str, detail: str) -> None:
        """Tell what the turn is doing."""
        ...

    def delta(self, running: Running, start: int, text: str) -> None:
        """Tell that the text from code point `start` on is now `text`."""
        ...

    def flush(self, running: Running) -> None:
        """Send what is still held back."""
        ...

    def end(self, running: Running) -> None:
        """Forget the running message; its stored form has been told."""
        ...
