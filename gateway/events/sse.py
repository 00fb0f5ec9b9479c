"""Server-sent events, exactly: https://html.spec.whatwg.org/multipage/server-sent-events.html (November 2026).

Any text survives: a line break of any of the three kinds becomes a further `data:` line (a reader joins them with LF,
so JSON, which escapes breaks, comes back identical), and nothing inside data can look like a field.
"""

from __future__ import annotations

import re
from typing import Final

LINE_BREAK: Final = re.compile(r"\r\n|\r|\n")
TYPE: Final = re.compile(r"[a-z]+(\.[a-z]+)*")
ID: Final = re.compile(r"[0-9A-Za-z._-]{1,64}")


def frame(event_type: str, data: str, event_id: str | None = None) -> bytes:
    """Write one event.

    Raises:
        ValueError: the type or id could be taken for something else.
        UnicodeEncodeError: the data holds half of a surrogate pair, which is not text.
    """
    if TYPE.fullmatch(event_type) is None:
        raise ValueError(f"{event_type!r} is not an event type")
    lines = [f"event: {event_type}\n"]
    if event_id is not None:
        lines.append(_id_line(event_id))
    lines.extend(f"data: {line}\n" for line in LINE_BREAK.split(data))
    lines.append("\n")
    return "".join(lines).encode("utf-8")


def opening(retry_ms: int, event_id: str | None) -> bytes:
    """Write what a stream begins with: how soon to come back, and from where.

    A block that has an id and no data sets the reader's last event id without an event (§9.2.6), so even a reader
    cut before its first event resumes exactly.
    """
    return f"retry: {retry_ms}\n{_id_line(event_id) if event_id is not None else ''}\n".encode()


def comment(text: str) -> bytes:
    """Write a line that readers ignore."""
    return f": {LINE_BREAK.sub(' ', text)}\n\n".encode()


def _id_line(event_id: str) -> str:
    if ID.fullmatch(event_id) is None:
        raise ValueError(f"{event_id!r} is not an event id")
    return f"id: {event_id}\n"
