"""The room of pending actions: at most one is open in a conversation, and it is claimed at most once at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import sqlalchemy as sa

from gateway.storage.connection import Connection, one
from gateway.storage.pending_tables import pending_actions

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

Kind = Literal["clarify_connector", "clarify_search", "confirmation", "browser_tool"]
Ending = Literal["answered", "passed", "expired", "replaced", "cancelled"]

OPEN_IN: Final = (
    sa.select(pending_actions)
    .where(pending_actions.c.conversation_id == sa.bindparam("of_conversation"), pending_actions.c.state == "open")
    .limit(1)
)
CLAIMED_BY: Final = (
    sa.select(pending_actions)
    .where(pending_actions.c.claimed_by == sa.bindparam("of_turn"), pending_actions.c.state == "claimed")
    .limit(1)
)


@dataclass(frozen=True, slots=True)
class PendingRecord:
    """Something that a conversation waits on. `claimed_by` is the turn that an answer started."""

    id: str
    conversation_id: str
    kind: Kind
    payload: Mapping[str, Any]
    asked_at: datetime
    expires_at: datetime
    state: str = "open"
    claimed_by: str | None = None


class PendingActions:
    """Pending actions by conversation and by turn."""

    def __init__(self, connection: Connection) -> None:
        """Take the transaction's connection."""
        self._connection = connection

    async def open(self, record: PendingRecord) -> None:
        """Keep a new one; what the conversation waited on before is replaced."""
        await self.end_in(record.conversation_id, "replaced")
        row = {name: getattr(record, name) for name in record.__slots__}
        await self._connection.run(sa.insert(pending_actions).values(**{**row, "payload": dict(record.payload)}))

    async def open_in(self, conversation_id: str) -> PendingRecord | None:
        """Read what the conversation waits on."""
        found = await one(self._connection, OPEN_IN, {"of_conversation": conversation_id})
        return None if found is None else PendingRecord(**found)

    async def claimed_by(self, turn_id: str) -> PendingRecord | None:
        """Read what a turn claimed."""
        found = await one(self._connection, CLAIMED_BY, {"of_turn": turn_id})
        return None if found is None else PendingRecord(**found)

    async def claim(self, pending_id: str, turn_id: str) -> bool:
        """Give it to a turn; False when another has it, or it is over. One winner, whoever races."""
        return await self._change(pending_id, "open", state="claimed", claimed_by=turn_id)

    async def settle(self, turn_id: str, ending: Ending) -> None:
        """End what a turn claimed."""
        claimed = sa.update(pending_actions).where(
            pending_actions.c.claimed_by == turn_id, pending_actions.c.state == "claimed"
        )
        await self._connection.run(claimed.values(state=ending))

    async def end(self, pending_id: str, ending: Ending) -> bool:
        """End an open one; False when it is not open."""
        return await self._change(pending_id, "open", state=ending)

    async def change_payload(self, pending_id: str, payload: Mapping[str, Any]) -> None:
        """Note something down in an open one; its deadline stays."""
        await self._change(pending_id, "open", payload=dict(payload))

    async def end_in(self, conversation_id: str, ending: Ending) -> int:
        """End whatever is open or claimed in a conversation; tells how many."""
        statement = sa.update(pending_actions).where(
            pending_actions.c.conversation_id == conversation_id, pending_actions.c.state.in_(("open", "claimed"))
        )
        return await self._connection.run(statement.values(state=ending))

    async def forget_before(self, instant: datetime) -> int:
        """Remove those that expired before `instant`."""
        return await self._connection.run(sa.delete(pending_actions).where(pending_actions.c.expires_at < instant))

    async def _change(self, pending_id: str, was: str, **values: Any) -> bool:
        statement = sa.update(pending_actions).where(pending_actions.c.id == pending_id, pending_actions.c.state == was)
        return await self._connection.run(statement.values(**values)) == 1
