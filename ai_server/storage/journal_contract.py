"""What the rest of the AI server asks of the journal: what each turn did."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable
    from datetime import datetime


@dataclass(frozen=True, slots=True)
class JournalLine:
    """What one turn did. `body` is JSON text, at most 256 KiB, without prompts or secrets."""

    turn_id: str
    project_id: str
    client: str
    key: str
    started_at: datetime
    ended_at: datetime
    body: str


class JournalStore(Protocol):
    """One line a turn, append-only."""

    def append(self, line: JournalLine) -> Awaitable[None]:
        """Begin to write the line, and tell when it is durable; the same turn id again changes nothing."""
        ...

    async def line(self, project_id: str, *, turn_id: str = "", client: str = "", key: str = "") -> JournalLine | None:
        """Find a line by turn id, or by client and idempotency key (the newest)."""
        ...
