"""One project's documents as they are served: its snapshot, its gate, and how it was loaded and is published."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ai_server.knowledge import gate, rights, snapshot
from ai_server.knowledge.contract import IndexAudit
from ai_server.knowledge.records import to_chunks
from ai_server.knowledge.snapshot import Snapshot
from ai_server.knowledge.vectors import without_sentences
from ai_server.storage.contract import IndexRow
from shared.errors import NotReady

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from ai_server.knowledge.contract import Chunk, Embedder, ProjectKnowledge, RetrievalContext
    from ai_server.knowledge.durable import DurableIndex
    from ai_server.knowledge.snapshot import Entry
    from ai_server.knowledge.sync import Outcome
    from ai_server.knowledge.vectors import PassageVectors
    from ai_server.storage.contract import IndexRegistry


AUDITED_AT_ONCE: Final = 100
AUDIT_NEIGHBOURS: Final = 5
"""How many rows are asked for: passages of the same text have the same vector, and any of them may come first."""


TWIN_GAP: Final = 1e-5


def _has_twin(snapshot: Snapshot, vector: NDArray[np.float32], ids: Sequence[str]) -> bool:
    """Whether a row that came first has the very vector that was asked with."""
    row = snapshot.rows.get(ids[0]) if ids else None
    return row is not None and float(snapshot.vectors[row] @ vector) > 1 - TWIN_GAP


class Library:
    """A project's documents. `snapshot` is None until it is loaded; `problem` says why it cannot be."""

    def __init__(
        self, project: ProjectKnowledge, embedder: Embedder, index: DurableIndex, registry: IndexRegistry
    ) -> None:
        """Take what it stands on; nothing is read yet."""
        self.project = project
        self.embedder = embedder
        self.snapshot: Snapshot | None = None
        self.problem = ""
        self.lost: set[str] = set()
        self.running: list[Outcome] = []
        self._index = index
        self._registry = registry
        self._row: IndexRow | None = None
        self._publishing = asyncio.Lock()

    @property
    def row(self) -> IndexRow:
        """The index row that serves.

        Raises:
            NotReady: not loaded yet.
        """
        if self._row is None:
            raise NotReady(self.problem or "The documents are still being loaded.")
        return self._row

    @property
    def gate(self) -> gate.Gate:
        """The gate as it is calibrated for this collection."""
        return gate.load(self.row.calibration, self.row.fingerprint)

    def ready(self) -> Snapshot:
        """Give the snapshot to search in.

        Raises:
            NotReady: there is none, with the reason.
        """
        if self.snapshot is None:
            raise NotReady(self.problem or "The documents are still being loaded.")
        return self.snapshot

    def readable(self, chunk: Chunk, contexts: Sequence[RetrievalContext]) -> Chunk | None:
        """Check a passage again, by what running syncs already made of it; None when it may not be shown."""
        for outcome in self.running:
            if chunk.chunk_id in outcome.removed:
                return None
            changed = outcome.entries.get(chunk.chunk_id)
            chunk = changed.chunk if changed is not None else chunk
        usable = rights.usable(contexts, self.project.keys)
        return chunk if rights.may_read(chunk.metadata, usable, rights.rights_keys(self.project.keys)) else None

    async def load(self) -> None:
        """Read the index into a snapshot; what the registry does not name is removed, what is missing is counted.

        Raises:
            NotReady: the index cannot be read, or was built by another embedding model.
        """
        row = await self._row_to_serve()
        wanted = await self._wanted()
        await self._index.prepare(row.collection)
        entries: list[Entry] = []
        orphans: list[str] = []
        async for records in self._index.rows(row.collection):
            orphans += [chunk_id for chunk_id in records.ids if chunk_id not in wanted]
            pairs = [pair for pair in to_chunks(records) if pair[0].chunk_id in wanted]
            entries += await self._with_vectors(pairs, dict(zip(records.ids, records.vectors, strict=True)))
        await self._index.remove(row.collection, orphans)
        self.lost = wanted - {each.chunk.chunk_id for each in entries}
        self.snapshot = await asyncio.to_thread(
            Snapshot, entries, self.project.keys, self.embedder.dimension, row.generation
        )
        self._row = row
        self.problem = ""

    async def check(self) -> None:
        """Compare the durable index with the registry: what it lost is noted, what it should not hold is removed."""
        wanted = await self._wanted()
        held: set[str] = set()
        await self._index.prepare(self.row.collection)
        async for records in self._index.rows(self.row.collection):
            held.update(records.ids)
        await self._index.remove(self.row.collection, sorted(held - wanted))
        self.lost = wanted - held

    async def audit(self) -> IndexAudit:
        """Ask the durable index for every passage by its own vector, and for every one that it should not hold."""
        wanted = await self._wanted()
        snapshot = self.ready()
        held: set[str] = set()
        async for records in self._index.rows(self.row.collection):
            held.update(records.ids)
        unreachable = wanted - held
        ghosts = held - wanted
        for start in range(0, len(snapshot), AUDITED_AT_ONCE):
            part = snapshot.entries[start : start + AUDITED_AT_ONCE]
            vectors = snapshot.vectors[start : start + AUDITED_AT_ONCE]
            found = await self._index.nearest(self.row.collection, vectors, AUDIT_NEIGHBOURS)
            for entry, vector, ids in zip(part, vectors, found, strict=True):
                ghosts.update(each for each in ids if each not in wanted)
                if entry.chunk.chunk_id not in ids and not _has_twin(snapshot, vector, ids):
                    unreachable.add(entry.chunk.chunk_id)
        return IndexAudit(len(wanted), tuple(sorted(unreachable)), tuple(sorted(ghosts)))

    async def calibrate(self, gate_text: str) -> None:
        """Store a gate with the collection."""
        async with self._publishing:
            self._row = replace(self.row, calibration=gate_text)
            await self._registry.put_index(self._row)

    async def _wanted(self) -> set[str]:
        rows = await self._registry.documents(self.project.project_id, "")
        return {chunk_id for document in rows.values() for chunk_id in document.chunk_ids}

    async def publish(self, outcome: Outcome) -> int:
        """Serve what a sync did, under the next generation; gives the generation that serves."""
        async with self._publishing:
            before = self.ready()
            if not outcome.changed:
                return self.row.generation
            kept = [
                each
                for each in before.entries
                if each.chunk.chunk_id not in outcome.removed and each.chunk.chunk_id not in outcome.entries
            ]
            fresh = replace(self.row, generation=self.row.generation + 1)
            await self._registry.put_index(fresh)
            self.lost -= outcome.removed | outcome.entries.keys()
            self.snapshot = await asyncio.to_thread(
                Snapshot,
                [*kept, *outcome.entries.values()],
                self.project.keys,
                self.embedder.dimension,
                fresh.generation,
            )
            self._row = fresh
            return fresh.generation

    async def _row_to_serve(self) -> IndexRow:
        project_id = self.project.project_id
        row = await self._registry.index(project_id)
        if row is None:
            row = IndexRow(project_id, f"passeur-{project_id}-1", self.embedder.fingerprint, 0, "", "")
            await self._registry.put_index(row)
        if row.fingerprint != self.embedder.fingerprint:
            self.problem = (
                f"The index of project `{project_id}` was built with {row.fingerprint}, but its settings say "
                f"{self.embedder.fingerprint}: set the model back; building an index anew with another model is not in "
                "this release."
            )
            raise NotReady(self.problem)
        return row

    async def _with_vectors(
        self, pairs: Sequence[tuple[Chunk, str]], whole: Mapping[str, NDArray[np.float32]]
    ) -> list[Entry]:
        """Join passages with their cached sentence vectors; without the cache, the passage's own must do."""
        cached = await self._index.recall(self.embedder.fingerprint, list({text_hash for _, text_hash in pairs}))
        return await asyncio.to_thread(self._entries, pairs, whole, cached)

    @staticmethod
    def _entries(
        pairs: Sequence[tuple[Chunk, str]],
        whole: Mapping[str, NDArray[np.float32]],
        cached: Mapping[str, PassageVectors],
    ) -> list[Entry]:
        return [
            snapshot.entry(chunk, cached.get(text_hash) or without_sentences(whole[chunk.chunk_id]))
            for chunk, text_hash in pairs
        ]
