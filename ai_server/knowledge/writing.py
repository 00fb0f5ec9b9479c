"""Documents into the index and out of it: syncs, managed documents, rebuilding."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Final

import structlog

from ai_server.knowledge.contract import FileLine, FileStatus, SyncSummary
from ai_server.knowledge.durable import IndexLost
from ai_server.knowledge.managed import ManagedFolder, check_paths, violations
from ai_server.knowledge.sync import SourceSync, SyncTools
from shared.errors import FolderSource, InvalidRequest, NotFound, SyncRunning
from shared.ids import new_id

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Mapping, Sequence
    from typing import Any

    from ai_server.knowledge.changes import Changes
    from ai_server.knowledge.contract import SourceSpec, SyncEvent
    from ai_server.knowledge.managed import ManagedDocument
    from ai_server.knowledge.parsing import Parser
    from ai_server.knowledge.sources import SourceBook
    from ai_server.knowledge.upkeep import Upkeep

WAITING_LIMIT: Final = 64
"""Most calls that may wait to write to one managed source."""
CLOSE_SECONDS: Final = 10.0
"""Longest that the end of the process waits for documents that are being written."""

log = structlog.get_logger(__name__)


class Writer:
    """Changes what the index holds of documents; each change is published when it is whole."""

    def __init__(self, changes: Changes, parser: Parser, book: SourceBook, upkeep: Upkeep) -> None:
        """Take what it works with; nothing is changed yet."""
        self._changes = changes
        self._means = changes.means
        self._parser = parser
        self._book = book
        self._upkeep = upkeep
        self._turns: dict[tuple[str, str], asyncio.Lock] = {}
        self._waiting: Counter[tuple[str, str]] = Counter()
        self._running: set[asyncio.Future[Sequence[FileLine]]] = set()

    def sources(self, project_id: str) -> Mapping[str, SourceSpec]:
        """Sources by id: those of the settings, then those that were given with a sync."""
        declared = {source.source_id: source for source in self._changes.library(project_id).project.sources}
        return {**{source.source_id: source for source in self._book.of(project_id)}, **declared}

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
        self._changes.library(project_id).ready()
        async with (
            self._changes.held(project_id, source.source_id),
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
        self._changes.library(project_id).ready()
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
        self._changes.library(project_id).ready()
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
        library = self._changes.library(project_id)
        snapshot = library.ready()
        async with self._changes.held(project_id):
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
        for project_id, library in self._changes.libraries.items():
            if not library.lost:
                continue
            for source in self.sources(project_id).values():
                try:
                    async for _ in self.sync(project_id, source):
                        pass
                except (SyncRunning, InvalidRequest) as exc:
                    log.warning("source not put back", source=source.source_id, reason=exc.message)
        self._upkeep.settle()

    # ---------------------------------------------------------------- inside

    async def _sync(
        self, project_id: str, source: SourceSpec, only: frozenset[str] | None
    ) -> AsyncGenerator[SyncEvent, None]:
        library, means = self._changes.library(project_id), self._means
        started = means.clock.monotonic()
        if source.managed and not await means.registry.documents(project_id, source.source_id):
            # It begins empty. One that had documents and is gone is a fault, as for any folder.
            await asyncio.to_thread(source.root.mkdir, parents=True, exist_ok=True)
        run = SourceSync(
            SyncTools(
                means.index,
                means.registry,
                library.embedder,
                self._parser,
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
            await asyncio.to_thread(self._book.remember, project_id, source)
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
            async with self._turns.setdefault(slot, asyncio.Lock()), self._changes.held(project_id, source_id):
                yield
        finally:
            self._waiting[slot] -= 1
