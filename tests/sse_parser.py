"""A strict event-stream parser written from the WHATWG text (§9.2.6, November 2026), the oracle for everything we send.

Bytes may come in any pieces. Only U+000D U+000A, U+000A and U+000D end a line (never `splitlines`, which knows more).
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, field

LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class Event:
    type: str
    data: str
    last_event_id: str


@dataclass(slots=True)
class SseParser:
    """Feed it bytes; it returns the events they complete."""

    last_event_id: str = ""
    retry_ms: int | None = None
    comments: int = 0
    _decoder: codecs.IncrementalDecoder = field(default_factory=lambda: codecs.getincrementaldecoder("utf-8")("strict"))
    _line: list[str] = field(default_factory=list)
    _after_cr: bool = False
    _started: bool = False
    _data: list[str] = field(default_factory=list)
    _type: str = ""
    _id: str | None = None

    def feed(self, chunk: bytes) -> list[Event]:
        events: list[Event] = []
        text = self._decoder.decode(chunk)
        if text and not self._started:
            self._started = True
            text = text.removeprefix("\ufeff")
        if text and self._after_cr:
            self._after_cr = False
            text = text.removeprefix("\n")
        first, *others = LINE_END.split(text)
        self._line.append(first)
        for line in others:  # each stands after an end of line
            self._end_line("".join(self._line), events)
            self._line = [line]
        self._after_cr = self._after_cr or text.endswith("\r")
        return events

    def _end_line(self, line: str, events: list[Event]) -> None:
        if not line:
            self._dispatch(events)
        elif line.startswith(":"):
            self.comments += 1
        else:
            name, _, value = line.partition(":")
            self._field(name, value.removeprefix(" "))

    def _field(self, name: str, value: str) -> None:
        if name == "event":
            self._type = value
        elif name == "data":
            self._data.append(value)
        elif name == "id":
            if "\0" not in value:
                self._id = value
        elif name == "retry":
            if value.isascii() and value.isdigit():
                self.retry_ms = int(value)
        else:
            raise AssertionError(f"a field that we never send: {name!r}")

    def _dispatch(self, events: list[Event]) -> None:
        if self._id is not None:
            self.last_event_id = self._id
        if self._data:
            events.append(Event(self._type or "message", "\n".join(self._data), self.last_event_id))
        self._data, self._type = [], ""


def parse(data: bytes) -> list[Event]:
    """Parse a whole stream."""
    return SseParser().feed(data)
