"""The room of idempotency keys: the same key and body mean the same thing was asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import sqlalchemy as sa

from gateway.storage.connection import Connection, one
from gateway.storage.records import KeyRecord
from gateway.storage.tables import idempotency

if TYPE_CHECKING:
    from datetime import datetime


BY_KEY: Final = sa.select(idempotency).where(
    idempotency.c.scope == sa.bindparam("of_scope"), idempotency.c.key == sa.bindparam("of_key")
)


class IdempotencyKeys:
    """Keys by scope, which says whose they are."""

    def __init__(self, connection: Connection) -> None:
        """Take the transaction's connection."""
        self._connection = connection

    async def find(self, scope: str, key: str) -> KeyRecord | None:
        """Read what a key stands for."""
        found = await one(self._connection, BY_KEY, {"of_scope": scope, "of_key": key})
        return None if found is None else KeyRecord(bytes(found["body_hash"]), found["created_id"])

    async def add(self, scope: str, key: str, record: KeyRecord, now: datetime) -> bool:
        """Bind a key; False when it was bound meanwhile."""
        row = {
            "scope": scope,
            "key": key,
            "body_hash": record.body_hash,
            "created_id": record.created_id,
            "created_at": now,
        }
        return await self._connection.run(self._connection.insert_new(idempotency), row) == 1

    async def forget_scope(self, scope: str) -> int:
        """Remove all keys of one person."""
        return await self._connection.run(sa.delete(idempotency).where(idempotency.c.scope == scope))

    async def forget_before(self, instant: datetime) -> int:
        """Remove keys made before `instant`."""
        return await self._connection.run(sa.delete(idempotency).where(idempotency.c.created_at < instant))
