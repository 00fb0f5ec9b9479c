"""When a question dies: five minutes after it was asked, by the stored instant and by a clock that cannot be set.

The wall clock alone can be set back and would keep a question alive for ever; the monotonic one alone starts anew with
each process and stands still while a machine sleeps. Whichever says that the time is over is right.
"""

from __future__ import annotations

from collections import OrderedDict
from datetime import timedelta
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from gateway.storage.pending import PendingRecord
    from shared.clock import Clock

LIFETIME_S: Final = 300.0
LIFETIME: Final = timedelta(seconds=LIFETIME_S)
NOTED_LIMIT: Final = 100_000
"""Most questions whose monotonic deadline this process remembers; the wall clock judges older ones."""


class Deadlines:
    """The monotonic deadlines of the questions that this process asked or saw."""

    def __init__(self, clock: Clock) -> None:
        """Take the clock."""
        self._clock = clock
        self._ends: OrderedDict[str, float] = OrderedDict()

    def note(self, pending_id: str, left_s: float = LIFETIME_S) -> None:
        """Start counting; a question that is known keeps its deadline."""
        if pending_id not in self._ends:
            self._ends[pending_id] = self._clock.monotonic() + max(0.0, min(left_s, LIFETIME_S))
            while len(self._ends) > NOTED_LIMIT:
                self._ends.popitem(last=False)

    def passed(self, record: PendingRecord) -> bool:
        """Tell whether the question is dead. One seen for the first time, after a restart, keeps what the stored
        instants leave it, and never more than a whole life.
        """
        left = (record.expires_at - self._clock.now()).total_seconds()
        self.note(record.id, left)
        return left <= 0 or self._clock.monotonic() >= self._ends[record.id]

    def forget(self, pending_id: str) -> None:
        """Stop counting."""
        self._ends.pop(pending_id, None)
