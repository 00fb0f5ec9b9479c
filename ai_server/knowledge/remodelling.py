"""Changes of the embedding model: another index built beside, swapped in when it proved true, and the way back."""

from __future__ import annotations

import re
from contextlib import aclosing
from typing import TYPE_CHECKING

from ai_server.knowledge.contract import Spending, SyncSummary
from ai_server.knowledge.reindexing import Copy, Plan
from ai_server.storage.index_contract import IndexRow, KeptIndex
from shared.errors import InvalidRequest, NothingKept, NotReady
from shared.ids import new_id

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from ai_server.knowledge.changes import Changes
    from ai_server.knowledge.contract import Embedder, SyncEvent
    from ai_server.knowledge.upkeep import Upkeep


class Remodeller:
    """Changes by which model a project's index is built."""

    def __init__(self, changes: Changes, upkeep: Upkeep) -> None:
        """Take what it works with; nothing is changed yet."""
        self._changes = changes
        self._means = changes.means
        self._upkeep = upkeep

    async def reindex(self, project_id: str, provider: str, model: str) -> AsyncGenerator[SyncEvent, None]:
        """Build with another embedding model beside, prove it, swap, and keep what served for `rollback`.

        Empty `provider` and `model`: the model that the project's settings say. Syncs are refused meanwhile; answers
        go on from what serves. A run that was killed is begun again, and embeds only what it had not.

        Raises:
            InvalidRequest: the index is built with that model.
            SyncRunning: something else changes the project's documents.
            NotReady: the serving index lacks passages, or the new one did not prove true.
            SettingsError, PasseurError: from the model.
        """
        library = self._changes.library(project_id)
        embedder = self._changes.settled(project_id)
        if provider or model:
            embedder = await self._means.make_embedder(provider, model)
        started = self._means.clock.monotonic()
        async with self._changes.held(project_id):
            row = await self._row(project_id)
            if row.fingerprint == embedder.fingerprint:
                raise InvalidRequest.of("embedding_model", f"the index is built with {row.fingerprint} already")
            target = _next_collection(project_id, row)
            await self._means.index.drop(target)
            copy = await self._copy(project_id, row, target, embedder)
            async with aclosing(copy.run(row.generation + 1)) as steps:
                async for step in steps:
                    yield step
            fresh = IndexRow(project_id, target, embedder.fingerprint, row.generation + 1, "", _kept(row))
            await library.adopt(fresh, copy.snapshot, embedder)
            if row.kept is not None:
                await self._means.index.drop(row.kept.collection)
        self._upkeep.settle()
        yield SyncSummary(
            files={},
            chunks_embedded=copy.embedded,
            chunks_reused=copy.reused,
            chunks_removed=0,
            duration_s=self._means.clock.monotonic() - started,
            cost_nanousd=None,
            generation=fresh.generation,
        )

    async def rollback(self, project_id: str) -> IndexRow:
        """Return to what the last change of model kept, after bringing it in line with the documents of now.

        What serves is kept in its place, so that a second rollback undoes the first.

        Raises:
            NothingKept: there was no change of model.
            SyncRunning, NotReady, PasseurError: as for `reindex`.
        """
        library = self._changes.library(project_id)
        async with self._changes.held(project_id):
            row = await self._row(project_id)
            if row.kept is None:
                raise NothingKept(f"No earlier index of project `{project_id}` is kept: there was no reindex.")
            embedder = await self._changes.embedder_of(project_id, row.kept.fingerprint)
            copy = await self._copy(project_id, row, row.kept.collection, embedder)
            async for _ in copy.run(row.generation + 1):
                pass
            fresh = IndexRow(
                project_id,
                row.kept.collection,
                row.kept.fingerprint,
                row.generation + 1,
                row.kept.calibration,
                _kept(row),
            )
            await library.adopt(fresh, copy.snapshot, embedder)
        self._upkeep.settle()
        return fresh

    async def _row(self, project_id: str) -> IndexRow:
        row = await self._means.registry.index(project_id)
        if row is None:
            raise NotReady(f"Nothing of project `{project_id}` is indexed yet: sync a source first.")
        return row

    async def _copy(self, project_id: str, row: IndexRow, target: str, embedder: Embedder) -> Copy:
        documents = await self._means.registry.documents(project_id, "")
        plan = Plan(
            project=self._changes.library(project_id).project,
            source=row.collection,
            target=target,
            embedder=embedder,
            wanted={chunk_id for each in documents.values() for chunk_id in each.chunk_ids},
            spending=Spending(project_id, "", "", f"reindex/{new_id(self._means.clock.now())}"),
        )
        return Copy(self._means.index, plan, lambda: self._means.leases.check(project_id))


def _kept(row: IndexRow) -> KeptIndex:
    return KeptIndex(row.collection, row.fingerprint, row.calibration)


def _next_collection(project_id: str, row: IndexRow) -> str:
    """Name a collection that neither serves nor is kept."""
    taken = [row.collection, row.kept.collection if row.kept else ""]
    numbers = [int(match[1]) for each in taken if (match := re.search(r"-(\d+)$", each))]
    return f"passeur-{project_id}-{max(numbers, default=0) + 1}"
