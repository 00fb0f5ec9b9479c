"""Everything that changes what the index holds of a project: one change at a time, each published when it is whole."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import structlog

from ai_server.knowledge.contract import FileLine, FileStatus, Spending, SyncSummary
from ai_server.knowledge.durable import IndexLost
from ai_server.knowledge.managed import ManagedFolder, check_paths, violations
from ai_server.knowledge.reindexing import Copy, Plan
from ai_server.knowledge.sync import SourceSync, SyncTools
from ai_server.storage.contract import IndexRow, KeptIndex
from shared.errors import FolderSource, InvalidRequest, NotFound, NothingKept, NotReady, SyncRunning
from shared.ids import new_id

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
    from typing import Any

    from ai_server.knowledge.contract import Embedder, SourceSpec, SyncEvent
    from ai_server.knowledge.durable import DurableIndex
    from ai_server.knowledge.leases import SyncLeases
    from ai_server.knowledge.library import Library
    from ai_server.knowledge.managed import ManagedDocument
    from ai_server.knowledge.parsing import Parser
    from ai_server.knowledge.sources import SourceBook
    from ai_server.knowledge.upkeep import Upkeep
    from ai_server.storage.contract import IndexRegistry
    from shared.clock import Clock

WAITING_LIMIT: Final = 64
"""Most calls that may wait to write to one managed source."""
CLOSE_SECONDS: Final = 10.0
"""Longest that the end of the process waits for documents that are being written."""

MakeEmbedder: TypeAlias = "Callable[[str, str], Awaitable[Embedder]]"
"""Makes the metered embedder of another model: (provider, model)."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Means:
    """What changes are made with."""

    index: DurableIndex
    registry: IndexRegistry
    parser: Parser
    book: SourceBook
    leases: SyncLeases
    clock: Clock
    make_embedder: MakeEmbedder


class Writer:
    """Syncs, managed documents, rebuilding, and changes of the embedding model."""

    def __init__(self, libraries: Mapping[str, Library], means: Means, upkeep: Upkeep) -> None:
        """Take what it works on; nothing is changed yet."""
        self._libraries = libraries
        self._means = means
        self._upkeep = upkeep
        self._settled = {project_id: library.embedder for project_id, library in libraries.items()}
        self._syncing: set[tuple[str, str]] = set()
        self._whole: set[str] = set()
        self._turns: dict[tuple[str, str], asyncio.Lock] = {}
        self._waiting: Counter[tuple[str, str]] = Counter()
        self._running: set[asyncio.Future[Sequence[FileLine]]] = set()

    def library(self, project_id: str) -> Library:
        """Find a project.

        Raises:
            NotFound: there is none.
        """
        library = self._libraries.get(project_id)
        if library is None:
            raise NotFound(f"No project `{project_id}` here.")
        return library

    def sources(self, project_id: str) -> Mapping[str, SourceSpec]:
        """Sources by id: those of the settings, then those that were given with a sync."""
        declared = {source.source_id: source for source in self.library(project_id).project.sources}
        return {**{source.source_id: source for source in self._means.book.of(project_id)}, **declared}

    def source(self, project_id: str, source_id: str) -> SourceSpec:
        """Find a source that was declared, or given with an earlier sync.

        Raises:
            NotFound: neither.
        """
        found = self.sources(project_id).get(source_id)
        if found is None:
            raise NotFound(f"No source `{source_id}` in project `{project_id}`: declare it, or give its folder.")
        return found

    # ---------------------------------------------------------------- documents

    async def sync(self, project_id: str, source: SourceSpec) -> AsyncGenerator[SyncEvent, None]:
        """Bring the index in line with a folder; see `Knowledge.sync`."""
        self.library(project_id).ready()
        async with (
            self._changing(project_id, source.source_id),
            aclosing(self._sync(project_id, source, None)) as events,
        ):
            async for event in events:
                yield event

    async def upsert(self, project_id: str, source_id: str, sent: Sequence[ManagedDocument]) -> Sequence[FileLine]:
        """Write documents to a managed source, durably, then index them; the same again changes nothing.

        Gives a line for each document, in their order. A document that was written but cannot be indexed (its line
        says why) replaces what was there.

        Raises:
            FolderSource: the source is a folder that somebody else writes.
            InvalidRequest: paths or metadata, all faults at once; nothing was written.
            SyncRunning: a sync of it runs, or too many calls wait; nothing was written.
            NotReady: the index, the registry or the disk does not take it.
        """
        source = self._managed(project_id, source_id)
        check_paths([each.path for each in sent], "documents")
        faults = violations(sent)
        if faults:
            raise InvalidRequest(faults)
        self.library(project_id).ready()
        folder = ManagedFolder(source.root)

        async def write() -> Sequence[FileLine]:
            async with self._in_turn(project_id, source_id):
                for each in sent:
                    await asyncio.to_thread(folder.put, each)
                return await self._lines(project_id, source, [each.path for each in sent])

        return await self._to_the_end(write())

    async def delete(self, project_id: str, source_id: str, paths: Sequence[str]) -> Sequence[FileLine]:
        """Remove documents from a managed source: the files first, then what the index holds of them.

        Gives a line for each path, in their order: removed, or skipped where there is no such document.

        Raises:
            FolderSource, InvalidRequest, SyncRunning, NotReady: as for `upsert`.
        """
        source = self._managed(project_id, source_id)
        check_paths(paths, "paths")
        self.library(project_id).ready()
        folder = ManagedFolder(source.root)

        async def remove() -> Sequence[FileLine]:
            async with self._in_turn(project_id, source_id):
                gone = {path: await asyncio.to_thread(folder.remove, path) for path in paths}
                lines = await self._lines(project_id, source, paths)
            unknown = FileStatus.SKIPPED
            return [
                line
                if line.status is not unknown
                else FileLine(line.path, FileStatus.REMOVED)
                if gone[line.path]
                else FileLine(line.path, unknown, reason="there is no such document")
                for line in lines
            ]

        return await self._to_the_end(remove())

    async def rebuild(self, project_id: str) -> AsyncGenerator[SyncEvent, None]:
        """Build the durable index anew from the documents, source by source; answers go on from the snapshot."""
        library = self.library(project_id)
        snapshot = library.ready()
        async with self._changing(project_id):
            await self._means.index.drop(library.row.collection)
            await self._means.index.prepare(library.row.collection)
            library.lost = set(snapshot.rows)
            for source in self.sources(project_id).values():
                async with aclosing(self._sync(project_id, source, None)) as events:
                    async for event in events:
                        yield event
        self._upkeep.settle()

    async def put_back(self) -> None:
        """Index again what the durable index lost, from the documents; vectors come from the cache."""
        for project_id, library in self._libraries.items():
            if not library.lost:
                continue
            for source in self.sources(project_id).values():
                try:
                    async for _ in self.sync(project_id, source):
                        pass
                except (SyncRunning, InvalidRequest) as exc:
                    log.warning("source not put back", source=source.source_id, reason=exc.message)
        self._upkeep.settle()

    # ---------------------------------------------------------------- models

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
        library = self.library(project_id)
        embedder = self._settled[project_id]
        if provider or model:
            embedder = await self._means.make_embedder(provider, model)
        started = self._means.clock.monotonic()
        async with self._changing(project_id):
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
        library = self.library(project_id)
        async with self._changing(project_id):
            row = await self._row(project_id)
            if row.kept is None:
                raise NothingKept(f"No earlier index of project `{project_id}` is kept: there was no reindex.")
            embedder = await self.embedder_of(project_id, row.kept.fingerprint)
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

    async def calibrated(self, project_id: str, gate_text: str) -> None:
        """Store a gate with the collection."""
        async with self._means.leases.held(project_id):
            await self.library(project_id).calibrate(gate_text)

    async def refresh(self) -> None:
        """Take over what other servers published."""
        for project_id, library in self._libraries.items():
            if await library.refresh(lambda fingerprint, who=project_id: self.embedder_of(who, fingerprint)):
                self._upkeep.settle()

    async def embedder_of(self, project_id: str, fingerprint: str) -> Embedder:
        """Give the embedder of a fingerprint: one that is at hand, or made for it.

        Raises:
            NotReady: the model gives another fingerprint now.
        """
        for each in (self.library(project_id).embedder, self._settled[project_id]):
            if each.fingerprint == fingerprint:
                return each
        provider, _, rest = fingerprint.partition("/")
        made = await self._means.make_embedder(provider, rest.rpartition("/")[0])
        if made.fingerprint != fingerprint:
            raise NotReady(f"The index was built with {fingerprint}, but that model is {made.fingerprint} now.")
        return made

    # ---------------------------------------------------------------- inside

    async def _sync(
        self, project_id: str, source: SourceSpec, only: frozenset[str] | None
    ) -> AsyncGenerator[SyncEvent, None]:
        library, means = self.library(project_id), self._means
        started = means.clock.monotonic()
        if source.managed and not await means.registry.documents(project_id, source.source_id):
            # It begins empty. One that had documents and is gone is a fault, as for any folder.
            await asyncio.to_thread(source.root.mkdir, parents=True, exist_ok=True)
        run = SourceSync(
            SyncTools(
                means.index,
                means.registry,
                library.embedder,
                means.parser,
                means.clock,
                lambda: means.leases.check(project_id),
            ),
            library.project,
            source,
            library.row.collection,
            sync_id=new_id(means.clock.now()),
            indexed=library.ready().rows.keys() - library.lost,
            only=only,
        )
        if source.source_id not in {each.source_id for each in library.project.sources}:
            await asyncio.to_thread(means.book.remember, project_id, source)
        library.running.append(run.outcome)
        try:
            async for event in run.run():
                yield event
        except IndexLost as exc:
            self._upkeep.set("degraded", exc.message)
            raise
        finally:
            generation = await library.publish(run.outcome)
            library.running.remove(run.outcome)
        yield SyncSummary(
            files=dict(run.outcome.files),
            chunks_embedded=run.outcome.chunks_embedded,
            chunks_reused=run.outcome.chunks_reused,
            chunks_removed=len(run.outcome.removed),
            duration_s=means.clock.monotonic() - started,
            cost_nanousd=None,
            generation=generation,
        )

    async def _to_the_end(self, work: Coroutine[Any, Any, Sequence[FileLine]]) -> Sequence[FileLine]:
        """Finish what was begun even when its caller leaves: files and index then agree without anybody's help."""
        task = asyncio.ensure_future(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return await asyncio.shield(task)

    async def close(self) -> None:
        """Wait for what was begun, at most `CLOSE_SECONDS`."""
        if self._running:
            await asyncio.wait(self._running, timeout=CLOSE_SECONDS)

    async def _lines(self, project_id: str, source: SourceSpec, paths: Sequence[str]) -> list[FileLine]:
        """Sync some paths of a managed source; a line for each, in their order."""
        lines: dict[str, FileLine] = {}
        async with aclosing(self._sync(project_id, source, frozenset(paths))) as events:
            async for event in events:
                if isinstance(event, FileLine):
                    lines[event.path] = event
        return [lines.get(path) or FileLine(path, FileStatus.SKIPPED) for path in paths]

    def _managed(self, project_id: str, source_id: str) -> SourceSpec:
        source = self.source(project_id, source_id)
        if not source.managed:
            raise FolderSource(
                f"Source `{source_id}` is the folder {source.root}: change its files and sync it. Only a source with "
                "`managed = true` takes documents from here."
            )
        return source

    @asynccontextmanager
    async def _in_turn(self, project_id: str, source_id: str) -> AsyncIterator[None]:
        """Let calls for one managed source wait for each other, up to a bound."""
        slot = (project_id, source_id)
        if self._waiting[slot] >= WAITING_LIMIT:
            raise SyncRunning(f"{WAITING_LIMIT} calls wait to change source `{source_id}`: try again in a moment.")
        self._waiting[slot] += 1
        try:
            async with self._turns.setdefault(slot, asyncio.Lock()), self._changing(project_id, source_id):
                yield
        finally:
            self._waiting[slot] -= 1

    @asynccontextmanager
    async def _changing(self, project_id: str, source_id: str = "") -> AsyncIterator[None]:
        """Hold a source, or with no id the whole project, against every other change, here and on other servers."""
        busy = {source for project, source in self._syncing if project == project_id}
        if project_id in self._whole:
            raise SyncRunning("The project's index is being built anew: wait until it ends.")
        if source_id in busy or (busy and not source_id):
            raise SyncRunning(f"Source `{source_id or min(busy)}` is being synced: wait until it ends.")
        slot = (project_id, source_id)
        holders: set[object] = self._syncing if source_id else self._whole  # pyright: ignore[reportAssignmentType]
        held: object = slot if source_id else project_id
        holders.add(held)
        try:
            async with self._means.leases.held(project_id):
                await self._take_over(project_id)
                yield
        finally:
            holders.discard(held)

    async def _take_over(self, project_id: str) -> None:
        """Begin from what another server published last; what cannot be read now fails where it is needed."""
        try:
            await self.library(project_id).refresh(lambda fingerprint: self.embedder_of(project_id, fingerprint))
        except NotReady as exc:
            log.warning("not refreshed", project=project_id, reason=exc.message)

    async def _row(self, project_id: str) -> IndexRow:
        row = await self._means.registry.index(project_id)
        if row is None:
            raise NotReady(f"Nothing of project `{project_id}` is indexed yet: sync a source first.")
        return row

    async def _copy(self, project_id: str, row: IndexRow, target: str, embedder: Embedder) -> Copy:
        documents = await self._means.registry.documents(project_id, "")
        plan = Plan(
            project=self.library(project_id).project,
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
