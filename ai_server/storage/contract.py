"""What the rest of the AI server asks of its state store: four stores in one database, and their life cycle.

Two implementations stand behind these protocols and pass one suite: `sqlite` (one process, one connection, one
writer that drains what is queued into one synced transaction) and `postgres` (several servers, each with its own
connection and writer). Every method is atomic and durable when it returns; a cancelled caller never leaves a
transaction open.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ai_server.storage.index_contract import IndexRegistry
    from ai_server.storage.journal_contract import JournalStore
    from ai_server.storage.ledger_contract import LedgerStore
    from ai_server.storage.requests_contract import RequestStore


class StateStore(Protocol):
    """All of it, with its life cycle. `ledger`, `requests`, `journal` and `index` share one database."""

    @property
    def ledger(self) -> LedgerStore:
        """Money."""
        ...

    @property
    def requests(self) -> RequestStore:
        """Requests by key."""
        ...

    @property
    def journal(self) -> JournalStore:
        """Turn by turn."""
        ...

    @property
    def index(self) -> IndexRegistry:
        """Documents and collections."""
        ...

    async def open(self) -> None:
        """Create or migrate the schema and take the instance lock.

        Raises:
            NotReady: unreachable, unwritable, locked by another process, or a newer schema; says which and what to do.
        """
        ...

    async def probe(self) -> None:
        """Write and sync something small; cheap enough for once a second.

        Raises:
            NotReady: the store cannot write now, with the cause.
        """
        ...

    async def departed(self) -> frozenset[int]:
        """Name other openings of this store that left work behind and do not live now: they crashed, or were cut off
        for a moment. Always empty where one process has the store to itself.
        """
        ...

    async def close(self) -> None:
        """Finish what is queued and release the lock; idempotent."""
        ...
