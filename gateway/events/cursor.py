"""Where a reader stopped: `epoch.offset`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from gateway.storage.contract import StreamPosition

SHAPE: Final = re.compile(r"([0-9a-f]{1,32})\.(0|[1-9][0-9]{0,17})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Resumption:
    """From which offset to read on, and why that is not where the reader stopped (None when it is)."""

    offset: int
    resync: str | None = None


def resume(cursor: str | None, position: StreamPosition) -> Resumption:
    """Decide where a reader goes on in its own stream.

    Without a cursor, from now. A cursor of another life of the stream, of another stream, malformed, or older than
    what is kept cannot be resumed; all but the last are told alike, so that a foreign cursor discloses nothing.
    """
    if cursor is None or cursor == "":
        return Resumption(position.head)
    match = SHAPE.fullmatch(cursor)
    if match is None or match[1] != position.epoch or int(match[2]) > position.head:
        return Resumption(position.head, "unknown-cursor")
    offset = int(match[2])
    if offset < position.trimmed:
        return Resumption(position.head, "cursor-too-old")
    return Resumption(offset)
