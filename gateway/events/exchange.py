"""What goes between gateways: that a stream has grown, the text of answers while they are written, passing words.

All of it may be lost without losing anything: the database is the truth, and gateways look there too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateway.events.contract import Running


@dataclass(frozen=True, slots=True)
class Whisper:
    """A passing word about a conversation; see `gateway.events.contract.Whisperer`."""

    event_type: str
    data: Mapping[str, Any]
    conversation_id: str
    sender: str


class Listener(Protocol):
    """Hears, in one gateway, what others tell. Nothing here may block or raise."""

    def woken(self, stream_id: str, head: int) -> None:
        """A stream that is followed here goes up to `head`."""
        ...

    def begun(self, running: Running) -> None:
        """Another gateway writes a message, or begins to tell of it anew: nothing was said yet."""
        ...

    def running(self, running: Running, event_type: str, data: Mapping[str, Any]) -> None:
        """A step or delta of such a message, in order."""
        ...

    def ended(self, message_id: str) -> None:
        """Such a message is written, or nothing more will be heard of it."""
        ...

    def whispered(self, stream_id: str, whisper: Whisper) -> None:
        """A passing word for the readers of a stream that is followed here."""
        ...

    def joined(self) -> None:
        """The others can be told again, and what was told meanwhile is lost: say what is still true."""
        ...


class Exchange(Protocol):
    """One gateway's place among the others. Nothing here blocks or raises; what cannot be told is lost."""

    @property
    def connected(self) -> bool:
        """Whether the others hear us and we them."""
        ...

    @property
    def broken(self) -> bool:
        """Whether there is a way to others that does not work now."""
        ...

    def join(self, listener: Listener) -> None:
        """Name who hears what others tell; once, before anything else."""
        ...

    def follow(self, stream_id: str) -> None:
        """Hear of a stream from now on, and first of the messages that are being written in it, from their start."""
        ...

    def unfollow(self, stream_id: str) -> None:
        """Hear of it no longer."""
        ...

    def wake(self, stream_id: str, head: int) -> None:
        """Tell that a stream goes up to `head`."""
        ...

    def begin(self, running: Running) -> None:
        """Tell that we write a message; whatever was told of it before, by anyone, is void."""
        ...

    def tell(self, running: Running, event_type: str, data: Mapping[str, Any]) -> None:
        """Tell a step or a delta; whoever follows later hears all of them, in order."""
        ...

    def end(self, running: Running) -> None:
        """Tell that the message is written."""
        ...

    def whisper(self, stream_ids: tuple[str, ...], whisper: Whisper) -> None:
        """Tell a passing word to the readers of streams that others hold."""
        ...

    async def serve(self) -> None:
        """Keep in touch for ever."""
        ...

    async def close(self) -> None:
        """Say what is still to be said, and leave; idempotent."""
        ...
