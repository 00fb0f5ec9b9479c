"""Brings a second collection in line with the one that serves, under another embedding model, and proves it.

Nothing that serves is touched: passages are read from the serving collection, embedded by the other model (what the
vector cache has of it is reused, so a run that was killed goes on where it was), and written beside. Only what every
passage finds by its own vector may be swapped in.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ai_server.knowledge import chunking, snapshot
from ai_server.knowledge.contract import SyncProgress
from ai_server.knowledge.passages import embed_missing
from ai_server.knowledge.records import to_chunks, to_records
from ai_server.knowledge.rights import rights_keys
from ai_server.knowledge.snapshot import Snapshot
from ai_server.knowledge.truth import untrue
from shared.errors import NotReady

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Collection

    from ai_server.knowledge.columns import Entry
    from ai_server.knowledge.contract import Chunk, Embedder, ProjectKnowledge, Spending
    from ai_server.knowledge.durable import DurableIndex


@dataclass(frozen=True, slots=True)
class Plan:
    """From which collection into which, for whom, and what it should hold in the end."""

    project: ProjectKnowledge
    source: str
    target: str
    embedder: Embedder
    wanted: Collection[str]
    spending: Spending


@dataclass
class Copy:
    """One run; `snapshot` is what it may be served from once `run` ended."""

    index: DurableIndex
    plan: Plan
    check: Callable[[], None]
    """Called before each write: raises when another server may write."""
    embedded: int = 0
    reused: int = 0
    _pages: int = 0
    _entries: list[Entry] = field(default_factory=list)

    async def run(self, generation: int) -> AsyncGenerator[SyncProgress, None]:
        """Fill the target and prove it; progress counts passages, since no file is read.

        Raises:
            NotReady: the serving collection lacks passages, or the new one does not tell the truth.
            PasseurError: the embedding failed, or the lease was lost.
        """
        plan = self.plan
        await self.index.prepare(plan.target)
        async for records in self.index.rows(plan.source):
            pairs = [pair for pair in to_chunks(records) if pair[0].chunk_id in plan.wanted]
            async for _ in self._carry(pairs):
                yield self._progress()
        missing = len(plan.wanted) - len(self._entries)
        if missing:
            raise NotReady(f"The index that serves lacks {missing:,} passages: run `documents rebuild` first.")
        await self._remove_strangers()
        self._snapshot = Snapshot(self._entries, plan.project.keys, plan.embedder.dimension, generation)
        found = await untrue(self.index, plan.target, self._snapshot, plan.wanted)
        if not found.clean:
            raise NotReady(
                f"The new index was not swapped in: {len(found.unreachable):,} passages are not found by their own "
                f"vector, {len(found.ghosts):,} should not be there. Run it again."
            )

    @property
    def snapshot(self) -> Snapshot:
        """What `run` built and proved."""
        return self._snapshot

    async def _carry(self, pairs: list[tuple[Chunk, str]]) -> AsyncGenerator[None, None]:
        plan = self.plan
        vectors = await self.index.recall(plan.embedder.fingerprint, list({name for _, name in pairs}))
        self.reused += sum(name in vectors for _, name in pairs)
        wanted = {name: (_embedded_text(chunk), chunk.text) for chunk, name in pairs}
        self._pages += 1
        spending = replace(plan.spending, key=f"{plan.spending.key}/{self._pages}")
        async for made in embed_missing(self.index, plan.embedder, wanted, vectors, spending):
            self.embedded += made
            yield
        self.check()
        rows = to_records(((chunk, name, vectors[name]) for chunk, name in pairs), rights_keys(plan.project.keys))
        if pairs:
            await self.index.put(plan.target, rows)
        self._entries += [snapshot.entry(chunk, vectors[name]) for chunk, name in pairs]
        yield

    async def _remove_strangers(self) -> None:
        """Take out what a kept collection still holds of documents that went meanwhile."""
        strangers: list[str] = []
        async for records in self.index.rows(self.plan.target):
            strangers += [each for each in records.ids if each not in self.plan.wanted]
        self.check()
        await self.index.remove(self.plan.target, strangers)

    def _progress(self) -> SyncProgress:
        return SyncProgress(0, 0, self.embedded, len(self.plan.wanted))


def _embedded_text(chunk: Chunk) -> str:
    return chunking.embedded_text(chunk.title, chunking.Piece(chunk.heading, chunk.text))
