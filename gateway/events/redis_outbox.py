"""What one gateway has to tell the others, gathered until it is sent: one round trip for all of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from gateway.events.redis_words import FIELD, TEXT_LIFE_S, Keys, Notice, begin_entry, words_entry

if TYPE_CHECKING:
    from collections.abc import Mapping

    from redis.asyncio.client import Pipeline

    from gateway.events.contract import Running
    from gateway.events.exchange import Whisper

OUTBOX_LIMIT: Final = 20_000
"""Words held while Redis does not take them; past it all are dropped, and what is still true is told anew later."""


class Outbox:
    """Notices by stream, and what happened to texts, in order."""

    def __init__(self, keys: Keys, member: str) -> None:
        """Begin with nothing."""
        self._keys = keys
        self._member = member
        self._notices: dict[str, Notice] = {}
        self._begun: dict[str, Running] = {}
        self._words: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
        self._ended: dict[str, Running] = {}
        self.count = 0

    def full(self) -> bool:
        """Whether no more may be put in."""
        return self.count >= OUTBOX_LIMIT

    def notice(self, stream_id: str) -> Notice:
        """Find what is going to be published for a stream."""
        self.count += 1
        return self._notices.setdefault(stream_id, Notice())

    def begin(self, running: Running) -> None:
        """Begin a text anew."""
        self._ended.pop(running.message_id, None)
        self._begun[running.message_id] = running
        self._words[running.message_id] = []
        for stream_id in running.streams:
            self.notice(stream_id).texts[running.message_id] = None

    def tell(self, running: Running, event_type: str, data: Mapping[str, Any]) -> None:
        """Add words to a text."""
        self._words.setdefault(running.message_id, []).append((event_type, data))
        for stream_id in running.streams:
            self.notice(stream_id).texts[running.message_id] = None

    def end(self, running: Running) -> None:
        """Take a text back."""
        self._begun.pop(running.message_id, None)
        self._words.pop(running.message_id, None)
        self._ended[running.message_id] = running
        for stream_id in running.streams:
            notice = self.notice(stream_id)
            notice.texts.pop(running.message_id, None)
            notice.over[running.message_id] = None

    def whisper(self, stream_id: str, whisper: Whisper) -> None:
        """Add a passing word."""
        self.notice(stream_id).whispers.append(whisper)

    def empty_into(self, pipeline: Pipeline) -> None:
        """Move everything into a pipeline; notices last, so that whoever hears them finds what they speak of."""
        for message_id, running in self._ended.items():
            pipeline.delete(self._keys.text(message_id))
            for stream_id in running.streams:
                pipeline.srem(self._keys.written(stream_id), message_id)
        for message_id, running in self._begun.items():
            pipeline.delete(self._keys.text(message_id))
            pipeline.xadd(self._keys.text(message_id), {FIELD: begin_entry(self._member, running)})
            for stream_id in running.streams:
                pipeline.sadd(self._keys.written(stream_id), message_id)
                pipeline.expire(self._keys.written(stream_id), TEXT_LIFE_S)
        for message_id, words in self._words.items():
            if words:
                entry: dict[Any, Any] = {FIELD: words_entry(self._member, words)}
                pipeline.xadd(self._keys.text(message_id), entry, nomkstream=True)
            pipeline.expire(self._keys.text(message_id), TEXT_LIFE_S)
        for stream_id, notice in self._notices.items():
            pipeline.publish(self._keys.channel(stream_id), notice.encode(self._member))
        self._notices, self._begun, self._words, self._ended, self.count = {}, {}, {}, {}, 0
