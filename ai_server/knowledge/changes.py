"""One change of a project's index at a time, here and on other servers that share it."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import structlog

from shared.errors import NotFound, NotReady, SyncRunning

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    from ai_server.knowledge.contract import Embedder
    from ai_server.knowledge.durable import DurableIndex
    from ai_server.knowledge.leases import SyncLeases
    from ai_server.knowledge.library import Library
    from ai_server.storage.index_contract import IndexRegistry
    from shared.clock import Clock

MakeEmbedder: TypeAlias = "Callable[[str, str], Awaitable[Embedder]]"
"""Makes the metered embedder of another model: (provider, model)."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Means:
    """What changes are made with."""

    index: DurableIndex
    registry: IndexRegistry
    leases: SyncLeases
    clock: Clock
    make_embedder: MakeEmbedder


class Changes:
    """Who may change a project's index now, and with what."""

    def __init__(self, libraries: Mapping[str, Library], means: Means) -> None:
        """Nothing is changed yet; each library's embedder is the one of the settings."""
        self.libraries = libraries
        self.means = means
        self.syncing: set[tuple[str, str]] = set()
        """Sources that are being changed."""
        self.whole: set[str] = set()
        """Projects whose index is being built anew."""
        self._settled = {project_id: library.embedder for project_id, library in libraries.items()}

    def library(self, project_id: str) -> Library:
        """Find a project.

        Raises:
            NotFound: there is none.
        """
        library = self.libraries.get(project_id)
        if library is None:
            raise NotFound(f"No project `{project_id}` here: check the name; a new project counts after a restart.")
        return library

    def settled(self, project_id: str) -> Embedder:
        """Give the embedder that the project's settings say."""
        return self._settled[project_id]

    async def embedder_of(self, project_id: str, fingerprint: str) -> Embedder:
        """Give the embedder of a fingerprint: one that is at hand, or made for it.

        Raises:
            NotReady: the model gives another fingerprint now.
        """
        for each in (self.library(project_id).embedder, self._settled[project_id]):
            if each.fingerprint == fingerprint:
                return each
        provider, _, rest = fingerprint.partition("/")
        made = await self.means.make_embedder(provider, rest.rpartition("/")[0])
        if made.fingerprint != fingerprint:
            raise NotReady(f"The index was built with {fingerprint}, but that model is {made.fingerprint} now.")
        return made

    async def calibrated(self, project_id: str, gate_text: str) -> None:
        """Store a gate with the collection; a sync may go on meanwhile."""
        async with self.means.leases.held(project_id):
            await self._take_over(project_id)
            await self.library(project_id).calibrate(gate_text)

    async def refresh(self) -> bool:
        """Take over what other servers published; tells whether there was anything."""
        found = [await self._refreshed(project_id) for project_id in self.libraries]
        return any(found)

    async def _refreshed(self, project_id: str) -> bool:
        return await self.library(project_id).refresh(lambda fingerprint: self.embedder_of(project_id, fingerprint))

    @asynccontextmanager
    async def held(self, project_id: str, source_id: str = "") -> AsyncIterator[None]:
        """Hold a source, or with no id the whole project, against every other change, here and on other servers."""
        busy = {source for project, source in self.syncing if project == project_id}
        if project_id in self.whole:
            raise SyncRunning("The project's index is being built anew: wait until it ends.")
        if source_id in busy or (busy and not source_id):
            raise SyncRunning(f"Source `{source_id or min(busy)}` is being synced: wait until it ends.")
        slot = (project_id, source_id)
        holders: set[object] = self.syncing if source_id else self.whole  # pyright: ignore[reportAssignmentType]
        held: object = slot if source_id else project_id
        holders.add(held)
        try:
            async with self.means.leases.held(project_id):
                await self._take_over(project_id)
                yield
        finally:
            holders.discard(held)

    async def _take_over(self, project_id: str) -> None:
        """Begin from what another server published last; what cannot be read now fails where it is needed."""
        try:
            await self._refreshed(project_id)
        except NotReady as exc:
            log.warning("not refreshed", project=project_id, reason=exc.message)
