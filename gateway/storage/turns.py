"""The room of turns: at most one runs in a conversation, and each has an owner while it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa

from gateway.storage.connection import Connection, one
from gateway.storage.records import TurnRecord
from gateway.storage.tables import turns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

RUNNING: Final = turns.c.outcome.is_(None)
BY_ID: Final = sa.select(turns).where(turns.c.id == sa.bindparam("of_id"))
RUNNING_IN: Final = sa.select(turns).where(turns.c.conversation_id == sa.bindparam("of_conversation"), RUNNING)
END: Final = sa.update(turns).where(
    turns.c.id == sa.bindparam("of_id"), turns.c.owner == sa.bindparam("of_owner"), RUNNING
)

OF_IDS: Final = turns.c.id.in_(sa.bindparam("of_ids", expanding=True))
RENEW: Final = sa.update(turns).where(OF_IDS, turns.c.owner == sa.bindparam("of_owner"), RUNNING)
NOT_HELD: Final = (
    sa.select(turns.c.id)
    .where(RUNNING, turns.c.id.not_in(sa.bindparam("held", expanding=True)))
    .order_by(turns.c.started_at)
    .limit(sa.bindparam("at_most", type_=sa.Integer))
    .with_for_update(skip_locked=True)
)
EXPIRED: Final = NOT_HELD.where(turns.c.lease_until < sa.bindparam("expired_at"))
TAKE: Final = sa.update(turns).where(OF_IDS, RUNNING).returning(turns)


class Turns:
    """Turns by id and by conversation."""

    def __init__(self, connection: Connection) -> None:
        """Take the transaction's connection."""
        self._connection = connection

    async def start(self, turn: TurnRecord) -> bool:
        """Keep a new running turn; False (and nothing kept) when the conversation already has one."""
        row = {name: getattr(turn, name) for name in TurnRecord.__slots__}
        return await self._connection.run(self._connection.insert_new(turns), row) == 1

    async def get(self, turn_id: str) -> TurnRecord | None:
        """Read one."""
        found = await one(self._connection, BY_ID, {"of_id": turn_id})
        return None if found is None else TurnRecord(**found)

    async def running_in(self, conversation_id: str) -> TurnRecord | None:
        """Read the conversation's running turn, if there is one."""
        found = await one(self._connection, RUNNING_IN, {"of_conversation": conversation_id})
        return None if found is None else TurnRecord(**found)

    async def end(
        self, turn_id: str, owner: str, outcome: str, problem: Mapping[str, Any] | None, now: datetime
    ) -> bool:
        """End a turn that `owner` still runs; False when it ended before or belongs to another by now."""
        values = {"outcome": outcome, "problem": problem, "ended_at": now}
        return await self._connection.run(END, {"of_id": turn_id, "of_owner": owner, **values}) == 1

    async def renew(self, owner: str, ids: Sequence[str], until: datetime) -> int:
        """Lengthen the leases of turns that `owner` still runs; tells how many."""
        if not ids:
            return 0
        return await self._connection.run(RENEW, {"of_ids": list(ids), "of_owner": owner, "lease_until": until})

    async def claim(
        self, owner: str, held: Sequence[str], expired_at: datetime | None, until: datetime, limit: int
    ) -> Sequence[TurnRecord]:
        """Take over running turns whose lease ended before `expired_at`, except those `held`; None takes all."""
        wanted = {"held": list(held), "at_most": limit}
        if expired_at is None:
            due = await self._connection.rows(NOT_HELD, wanted)
        else:
            due = await self._connection.rows(EXPIRED, {**wanted, "expired_at": expired_at})
        if not due:
            return ()
        taken = {"of_ids": [row["id"] for row in due], "owner": owner, "lease_until": until}
        return [TurnRecord(**row) for row in await self._connection.rows(TAKE, taken)]
