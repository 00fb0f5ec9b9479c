"""Finds where readers begin in their streams, by one read for all who come to the same stream at once.

When a gateway starts anew, all tabs of a visitor or all the staff of a project come back within a second, each with
its cursor. A read that begins after a reader has joined serves that reader, whoever asked for it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gateway.events.cursor import resume
from gateway.events.told import ToldEvent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateway.events.cursor import Resumption
    from gateway.storage.contract import Store, StreamPosition

BATCH: Final = 200
"""Events that are read at a time."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """Where a reader begins in its stream, and the first events that follow, at most `BATCH`."""

    position: StreamPosition
    start: Resumption
    events: Sequence[ToldEvent]


@dataclass(frozen=True, slots=True)
class _Read:
    """What was read for several readers; `events` follow the cursor of the one that is furthest behind."""

    position: StreamPosition
    events: Sequence[ToldEvent]


class _Asked:
    """A read that has not begun: whoever comes now is served by it too."""

    def __init__(self) -> None:
        self.cursors: set[str | None] = set()
        self.task: asyncio.Task[_Read] | None = None


class Beginnings:
    """The reads that are asked for and those under way."""

    def __init__(self) -> None:
        """Begin with none; bind a store before the first reader comes."""
        self._store: Store | None = None
        self._asked: dict[str, _Asked] = {}
        self._reading: set[asyncio.Task[_Read]] = set()

    def bind(self, store: Store) -> None:
        """Name the store that is read."""
        self._store = store

    async def look(self, stream_id: str, cursor: str | None) -> Beginning:
        """Read where a reader begins that has joined its stream.

        Raises:
            NotReady: the store cannot be read.
        """
        asked = self._asked.get(stream_id)
        if asked is None:
            asked = self._asked[stream_id] = _Asked()
            asked.task = asyncio.create_task(self._read(stream_id, asked), name=f"beginnings {stream_id}")
            self._reading.add(asked.task)
            asked.task.add_done_callback(self._done)
        asked.cursors.add(cursor)
        assert asked.task is not None
        read = await asyncio.shield(asked.task)  # one that leaves takes nothing from the others
        start = resume(cursor, read.position)
        return Beginning(read.position, start, [each for each in read.events if each.event.offset > start.offset])

    async def _read(self, stream_id: str, asked: _Asked) -> _Read:
        assert self._store is not None
        try:
            async with self._store.transaction() as tx:
                del self._asked[stream_id]  # whoever joins from now on may have missed what this reads
                position = await tx.events.position(stream_id)
                least = min(resume(cursor, position).offset for cursor in asked.cursors)
                events = await tx.events.after(stream_id, least, BATCH) if least < position.head else ()
            return _Read(position, [ToldEvent(event) for event in events])
        finally:
            if self._asked.get(stream_id) is asked:  # refused before it began
                del self._asked[stream_id]

    def _done(self, task: asyncio.Task[_Read]) -> None:
        self._reading.discard(task)
        if not task.cancelled():
            task.exception()  # told to those who wait, if anyone still does
