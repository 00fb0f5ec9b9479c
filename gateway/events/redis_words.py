"""How what goes between gateways is written in Redis.

For each stream a channel, whose messages say only that there is something: a new head, messages that are being written
or are over, passing words. For each message that is being written a Redis stream with everything told of it, so that
whoever comes later reads all of it in order; and for each of our streams a set of those messages.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final

from gateway.events.contract import Running
from gateway.events.exchange import Whisper

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FIELD: Final = "w"
TEXT_LIFE_S: Final = 900
"""How long a text is kept after its last word, for gateways that died before they could take it back."""


@dataclass(frozen=True, slots=True)
class Keys:
    """The names of one installation, which may share its Redis with others."""

    prefix: str

    def channel(self, stream_id: str) -> str:
        """Where a stream's messages are published."""
        return f"{self.prefix}:stream:{stream_id}"

    def written(self, stream_id: str) -> str:
        """The set of messages that are being written in a stream."""
        return f"{self.prefix}:written:{stream_id}"

    def text(self, message_id: str) -> str:
        """The stream of everything told of a message."""
        return f"{self.prefix}:text:{message_id}"

    def own(self, member: str) -> str:
        """A channel of one gateway, so that it always has one."""
        return f"{self.prefix}:gateway:{member}"


@dataclass(slots=True)
class Notice:
    """What is published at once for one stream."""

    head: int = 0
    texts: dict[str, None] = field(default_factory=dict)
    over: dict[str, None] = field(default_factory=dict)
    whispers: list[Whisper] = field(default_factory=list)

    def encode(self, member: str) -> str:
        """Write it; `member` is the gateway that says it."""
        whispers = [asdict(each) for each in self.whispers]
        return write({"by": member, "head": self.head, "texts": [*self.texts], "over": [*self.over], "said": whispers})


def read_notice(data: str | bytes) -> tuple[str, Notice]:
    """Read who said what."""
    plain = json.loads(data)
    whispers = [Whisper(**each) for each in plain["said"]]
    return plain["by"], Notice(plain["head"], dict.fromkeys(plain["texts"]), dict.fromkeys(plain["over"]), whispers)


def begin_entry(member: str, running: Running) -> str:
    """Write the entry with which a text begins."""
    return write({"by": member, "begin": asdict(running)})


def words_entry(member: str, words: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    """Write an entry of steps and deltas."""
    return write({"by": member, "words": words})


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a text: its beginning, or words."""

    member: str
    begin: Running | None
    words: tuple[tuple[str, Mapping[str, Any]], ...]


def read_entry(data: str | bytes) -> Entry:
    """Read an entry."""
    plain = json.loads(data)
    begin = plain.get("begin")
    running = None if begin is None else Running(**{**begin, "streams": tuple(begin["streams"])})
    return Entry(plain["by"], running, tuple((kind, words) for kind, words in plain.get("words", ())))


def write(plain: Any) -> str:
    """Write plain data as compact JSON that is ASCII, so that any text survives."""
    return json.dumps(plain, ensure_ascii=True, separators=(",", ":"))
