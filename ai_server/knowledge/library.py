"""One project's documents as they are served: its snapshot, its gate, and how it was loaded and is published."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from ai_server.knowledge import gate, rights, snapshot
from ai_server.knowledge.records import to_chunks
from ai_server.knowledge.snapshot import Snapshot
from ai_server.knowledge.truth import untrue
from ai_server.knowledge.vectors import without_sentences
from ai_server.storage.index_contract import IndexRow
from shared.errors import NotReady

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from ai_server.knowledge.columns import Entry
    from ai_server.knowledge.contract import Chunk, Embedder, IndexAudit, ProjectKnowledge, RetrievalContext
    from ai_server.knowledge.durable import DurableIndex
    from ai_server.knowledge.sync import Outcome
    from ai_server.knowledge.vectors import PassageVectors
    from ai_server.storage.index_contract import DocumentRow, IndexRegistry

Stamp: TypeAlias = tuple[bytes, bytes, str]
"""What tells two states of a document apart: digests of its content and of what else decides, and its status."""


def stamp(row: DocumentRow) -> Stamp:
    """Give a registered document's stamp."""
    return (row.content_sha256, row.settings_sha256, row.status)


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
        self.hindrance = ""
        """Why what is lost cannot be put back; empty while it is being."""
        self.running: list[Outcome] = []
        self._index = index
        self._registry = registry
        self._row: IndexRow | None = None
        self._stamps: dict[str, Stamp] = {}
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

    def being_restored(self) -> bool:
        """Whether documents are missing from what is served and are about to come back."""
        served = () if self.snapshot is None else self.snapshot.rows
        return bool(self.lost) and not self.hindrance and any(each not in served for each in self.lost)

    def readable(self, chunk: Chunk, contexts: Sequence[RetrievalContext]) -> Chunk | None:
        """Check a passage again, by what running syncs already made of it; None when it may not be shown."""
        for outcome in self.running:
            if chunk.chunk_id in outcome.removed:
                return None
            changed = outcome.entries.get(chunk.chunk_id)
            chunk = changed.chunk if changed is not None else chunk
        usable = rights.usable(contexts, self.project.keys)
        return chunk if rights.may_read(chunk.metadata, usable, rights.rights_keys(self.project.keys)) else None

    async def load(self, *, alone: bool, embedder: Embedder | None = None) -> None:
        """Read the index into a snapshot; what is missing, or not as the registry has it, is counted as lost.

        With `alone` (nobody else may write meanwhile) what the registry does not name is removed, and so are
        collections that a change of model left unfinished. `embedder` None: the one that serves.

        Raises:
            NotReady: the index cannot be read, or was built by another embedding model.
        """
        embedder = embedder or self.embedder
        row = await self._row_to_serve(embedder)
        documents = await self._registry.documents(self.project.project_id, "")
        wanted = {chunk_id: each for each in documents.values() for chunk_id in each.chunk_ids}
        await self._index.prepare(row.collection)
        entries: list[Entry] = []
        orphans: list[str] = []
        async for records in self._index.rows(row.collection):
            orphans += [chunk_id for chunk_id in records.ids if chunk_id not in wanted]
            # A death between index and registry can leave a row with metadata, rights included, that never counted.
            pairs = [
                (chunk, text_hash)
                for chunk, text_hash in to_chunks(records)
                if chunk.chunk_id in wanted and chunk.metadata == wanted[chunk.chunk_id].metadata
            ]
            entries += await self._with_vectors(
                pairs, dict(zip(records.ids, records.vectors, strict=True)), row.fingerprint
            )
        if alone:
            await self._index.remove(row.collection, orphans)
            await self._drop_unfinished(row)
        made = await asyncio.to_thread(Snapshot, entries, self.project.keys, embedder.dimension, row.generation)
        self._stamps = {name: stamp(each) for name, each in documents.items()}
        self.lost = wanted.keys() - {each.chunk.chunk_id for each in entries}
        self.snapshot, self._row, self.embedder = made, row, embedder
        self.problem = ""

    async def check(self, *, alone: bool) -> None:
        """Compare the durable index with the registry: what it lost is noted; `alone`, strangers are removed too."""
        wanted = await self._wanted()
        held: set[str] = set()
        await self._index.prepare(self.row.collection)
        async for records in self._index.rows(self.row.collection):
            held.update(records.ids)
        if alone:
            await self._index.remove(self.row.collection, sorted(held - wanted))
        self.lost = wanted - held

    async def audit(self) -> IndexAudit:
        """Ask the durable index for every passage by its own vector, and for every one that it should not hold."""
        return await untrue(self._index, self.row.collection, self.ready(), await self._wanted())

    async def calibrate(self, gate_text: str) -> None:
        """Store a gate with the collection."""
        async with self._publishing:
            self._row = replace(self.row, calibration=gate_text)
            await self._registry.put_index(self._row)

    async def _wanted(self) -> set[str]:
        return _ids_of(await self._registry.documents(self.project.project_id, ""))

    async def _drop_unfinished(self, row: IndexRow) -> None:
        ours = re.compile(rf"passeur-{re.escape(self.project.project_id)}-\d+")
        kept = {row.collection, row.kept.collection if row.kept else ""}
        for name in await self._index.names():
            if ours.fullmatch(name) and name not in kept:
                await self._index.drop(name)

    async def refresh(self, embedder_of: Callable[[str], Awaitable[Embedder]]) -> bool:
        """Take over what another server published; tells whether there was anything.

        Only documents that changed are read again. `embedder_of` gives the embedder of a fingerprint, for the case
        that the other one changed the model.

        Raises:
            NotReady: the index cannot be read now; what was served goes on being served.
        """
        row = await self._registry.index(self.project.project_id)
        if row is None or self._row is None or row == self._row:
            return False
        if row.collection != self._row.collection:
            await self.load(alone=False, embedder=await embedder_of(row.fingerprint))
            return True
        async with self._publishing:
            await self._catch_up(row)
        return True

    async def _catch_up(self, row: IndexRow) -> None:
        before = self.ready()
        documents = await self._registry.documents(self.project.project_id, "")
        wanted = _ids_of(documents)
        stamps = {name: stamp(each) for name, each in documents.items()}
        fresh = {
            chunk_id
            for name, each in documents.items()
            if stamps[name] != self._stamps.get(name)
            for chunk_id in each.chunk_ids
        }
        fresh |= wanted - before.rows.keys()
        records = await self._index.fetch(row.collection, sorted(fresh))
        whole = dict(zip(records.ids, records.vectors, strict=True))
        entries = await self._with_vectors(to_chunks(records), whole, row.fingerprint)
        gone = (before.rows.keys() - wanted) | fresh
        made = await self._remade(before, gone, entries, row.generation)
        self.lost = (self.lost & wanted) | (fresh - set(records.ids))
        self._stamps = stamps
        self.snapshot, self._row = made, row

    async def adopt(self, row: IndexRow, made: Snapshot, embedder: Embedder) -> None:
        """Serve another collection from now on; the row is durable before anything is served from it."""
        async with self._publishing:
            await self._registry.put_index(row)
            self._row, self.snapshot, self.embedder = row, made, embedder
            self.lost, self.problem = set(), ""
            self._stamps = {
                name: stamp(each)
                for name, each in (await self._registry.documents(self.project.project_id, "")).items()
            }

    async def publish(self, outcome: Outcome) -> int:
        """Serve what a sync did, under the next generation; gives the generation that serves."""
        async with self._publishing:
            before = self.ready()
            if not outcome.changed:
                return self.row.generation
            fresh = replace(self.row, generation=self.row.generation + 1)
            await self._registry.put_index(fresh)
            self._stamps.update(outcome.stamps)
            gone = outcome.removed | outcome.entries.keys()
            self.lost -= gone
            self.snapshot = await self._remade(before, gone, list(outcome.entries.values()), fresh.generation)
            self._row = fresh
            return fresh.generation

    async def _remade(
        self, before: Snapshot, gone: Collection[str], entries: Sequence[Entry], generation: int
    ) -> Snapshot:
        """Make the snapshot that follows, without the passages that are gone and with these."""
        return await asyncio.to_thread(
            Snapshot, entries, self.project.keys, self.embedder.dimension, generation, after=before, gone=gone
        )

    async def _row_to_serve(self, embedder: Embedder) -> IndexRow:
        project_id = self.project.project_id
        row = await self._registry.index(project_id)
        if row is None:
            row = IndexRow(project_id, f"passeur-{project_id}-1", embedder.fingerprint, 0, "")
            await self._registry.put_index(row)
        if row.fingerprint != embedder.fingerprint:
            self.problem = (
                f"The index of project `{project_id}` was built with {row.fingerprint}, but its settings say "
                f"{embedder.fingerprint}: run `python -m ai_server documents reindex --project {project_id}` to "
                "build it anew with that model, or set the model back."
            )
            raise NotReady(self.problem)
        return row

    async def _with_vectors(
        self, pairs: Sequence[tuple[Chunk, str]], whole: Mapping[str, NDArray[np.float32]], fingerprint: str
    ) -> list[Entry]:
        """Join passages with their cached sentence vectors; without the cache, the passage's own must do."""
        cached = await self._index.recall(fingerprint, list({text_hash for _, text_hash in pairs}))
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


def _ids_of(documents: Mapping[str, DocumentRow]) -> set[str]:
    return {chunk_id for document in documents.values() for chunk_id in document.chunk_ids}
