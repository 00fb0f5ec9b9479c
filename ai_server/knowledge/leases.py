"""Several AI servers may share one registry and one index; one at a time changes a project's part of it."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from shared.errors import NotReady, PasseurError, SyncRunning
from shared.ids import new_id

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from ai_server.storage.index_contract import IndexRegistry
    from shared.clock import Clock

LEASE_SECONDS: Final = 30.0
"""How long a server that went silent keeps the others from syncing."""
RENEW_SECONDS: Final = 10.0
SURE_SECONDS: Final = 25.0
"""How long after its last renewal a server relies on a lease: clocks and waits may be a little off."""


class SyncLeases:
    """This server's leases, a project each; several syncs of one project here share one."""

    def __init__(self, registry: IndexRegistry, clock: Clock, *, shared: bool) -> None:
        """Hold none yet. Where no other server can be (`shared` false), what a killed one held is ours at once."""
        self._registry = registry
        self._clock = clock
        self._owner = new_id(clock.now()) if shared else "the only one"
        self._users: Counter[str] = Counter()
        self._sure_until: dict[str, float] = {}
        self._renewing: dict[str, asyncio.Task[None]] = {}
        self._changing = asyncio.Lock()

    @asynccontextmanager
    async def held(self, project_id: str) -> AsyncIterator[None]:
        """Hold a project's lease for a while.

        Raises:
            SyncRunning: another server has it.
        """
        async with self._changing:
            if not self._users[project_id]:
                if not await self._take(project_id):
                    raise SyncRunning(f"Another server changes the documents of `{project_id}`: wait until it ends.")
                self._renewing[project_id] = asyncio.create_task(self._renew(project_id), name="sync-lease")
            self._users[project_id] += 1
        try:
            yield
        finally:
            async with self._changing:
                self._users[project_id] -= 1
                if not self._users[project_id]:
                    await self._give_back(project_id)

    def check(self, project_id: str) -> None:
        """Make sure that the lease is still ours, before something is written under it.

        Raises:
            NotReady: it could not be renewed in time; another server may have it.
        """
        if self._clock.monotonic() >= self._sure_until.get(project_id, 0.0):
            raise NotReady("The lease for changing these documents was lost: another server may change them.")

    async def _take(self, project_id: str) -> bool:
        asked, now = self._clock.monotonic(), self._clock.now()
        until = now + timedelta(seconds=LEASE_SECONDS)
        taken = await self._registry.take_lease(_name(project_id), self._owner, now, until)
        if taken:
            self._sure_until[project_id] = asked + SURE_SECONDS
        return taken

    async def _renew(self, project_id: str) -> None:
        while True:
            await self._clock.sleep(RENEW_SECONDS)
            with suppress(PasseurError):  # What could not be renewed runs out, and `check` says so.
                if not await self._take(project_id):
                    self._sure_until.pop(project_id, None)

    async def _give_back(self, project_id: str) -> None:
        renewing = self._renewing.pop(project_id)
        renewing.cancel()
        await asyncio.gather(renewing, return_exceptions=True)
        self._sure_until.pop(project_id, None)
        with suppress(PasseurError):  # It runs out by itself.
            await self._registry.drop_lease(_name(project_id), self._owner)


def _name(project_id: str) -> str:
    return f"sync/{project_id}"
