"""The room of read markers: how far each person has read each conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa

from gateway.storage.connection import Connection, number
from gateway.storage.tables import read_markers

if TYPE_CHECKING:
    from datetime import datetime


class ReadMarkers:
    """Markers by conversation and reader (`visitor:<id>`, `staff:<id>`)."""

    def __init__(self, connection: Connection) -> None:
        """Take the transaction's connection."""
        self._connection = connection

    async def position(self, conversation_id: str, reader: str) -> int:
        """Tell how far a reader has read; 0 when never."""
        query = sa.select(read_markers.c.position).where(
            read_markers.c.conversation_id == conversation_id, read_markers.c.reader == reader
        )
        return await number(self._connection, query)

    async def advance(self, conversation_id: str, reader: str, position: int, now: datetime) -> bool:
        """Move a marker forward; False when it was there already. It never goes back."""
        insert = self._connection.insert(read_markers).values(
            conversation_id=conversation_id, reader=reader, position=position, read_at=now
        )
        upsert = insert.on_conflict_do_update(
            index_elements=[read_markers.c.conversation_id, read_markers.c.reader],
            set_={"position": position, "read_at": now},
            where=read_markers.c.position < position,
        )
        return await self._connection.run(upsert) == 1
