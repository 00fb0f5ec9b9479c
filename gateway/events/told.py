"""What live readers are told, in the form that waits for its turn: stored events, running text, passing words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateway.events.contract import Encoder, Running
    from gateway.events.reader import Reader
    from gateway.storage.contract import StoredEvent


SLICE_BYTES: Final = 16 * 1024
"""What is written at once to a reader before it is asked again whether it lags; one thing alone may be more."""


class Told(Protocol):
    """Something that a stream's live readers are to hear. `event` is None for what is not stored."""

    @property
    def event(self) -> StoredEvent | None:
        """The stored event, whose offset must be the reader's next one."""
        ...

    def wanted_by(self, reader: Reader) -> bool:
        """Tell whether it concerns a reader; asked once of a reader that has an audience."""
        ...

    def encoded(self, encoder: Encoder, language: str) -> bytes:
        """Make its bytes, once for each language."""
        ...


class ToldEvent:
    """A stored event."""

    __slots__ = ("_encoded", "event")

    def __init__(self, event: StoredEvent) -> None:
        """Take an event that is committed."""
        self.event = event
        self._encoded: dict[str, bytes] = {}

    def wanted_by(self, reader: Reader) -> bool:
        """Ask the reader."""
        return reader.wants(self.event)

    def encoded(self, encoder: Encoder, language: str) -> bytes:
        """Encode it as a reader of a language sees it."""
        data = self._encoded.get(language)
        if data is None:
            data = self._encoded[language] = encoder.event(self.event, language)
        return data


class _Passing:
    """What is not stored, and the same in every language."""

    __slots__ = ("_data", "_encoded", "_type", "event")

    def __init__(self, event_type: str, data: Mapping[str, Any]) -> None:
        self.event = None
        self._type = event_type
        self._data = data
        self._encoded: bytes | None = None

    def encoded(self, encoder: Encoder, language: str) -> bytes:  # noqa: ARG002 - it is the same in all
        """Encode it."""
        if self._encoded is None:
            self._encoded = encoder.passing(self._type, self._data)
        return self._encoded


class ToldText(_Passing):
    """Running text or a step of a message that is being written."""

    __slots__ = ("_running",)

    def __init__(self, running: Running, event_type: str, data: Mapping[str, Any]) -> None:
        """Take what goes on in a message."""
        super().__init__(event_type, data)
        self._running = running

    def wanted_by(self, reader: Reader) -> bool:
        """Ask the reader."""
        return reader.wants_running(self._running)


class ToldWord(_Passing):
    """A passing word of someone about a conversation."""

    __slots__ = ("_conversation_id", "_sender")

    def __init__(self, event_type: str, data: Mapping[str, Any], conversation_id: str, sender: str) -> None:
        """Take a word."""
        super().__init__(event_type, data)
        self._conversation_id = conversation_id
        self._sender = sender

    def wanted_by(self, reader: Reader) -> bool:
        """Ask the reader."""
        return reader.wants_whisper(self._conversation_id, self._sender)
