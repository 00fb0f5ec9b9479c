"""Documents into the index and out of it: syncs, managed documents, rebuilding."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Final

import structlog

from ai_server.knowledge.contract import FileLine, FileStatus, SyncSummary
from ai_server.knowledge.durable import IndexLost
from ai_server.knowledge.forgetting import Forgetter
from ai_server.knowledge.managed import ManagedFolder, check_paths, violations
from ai_server.knowledge.sync import SourceSync, SyncTools
from shared.errors import FolderSource, InvalidRequest, NotFound, SyncRunning, Violation
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
        self._forgetter = Forgetter(changes, book)
        self._upkeep = upkeep
        self._turns: dict[tuple[str, str], asyncio.Lock] = {}
        self._waiting: Counter[tuple[str, str]] = Counter()
        self._running: set[asyncio.Future[Sequence[FileLine]]] = set()

    async def sources(self, project_id: str) -> Mapping[str, SourceSpec]:
        """Sources by id: those of the settings, then those that were given with a sync."""
        declared = {source.source_id: source for source in self._changes.library(project_id).project.sources}
        return {**{source.source_id: source for source in await self._book.of(project_id)}, **declared}

    async def source(self, project_id: str, source_id: str) -> SourceSpec:
        """Find a source that was declared, or given with an earlier sync.

        Raises:
            NotFound: neither.
        """
        found = (await self.sources(project_id)).get(source_id)
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
        source = await self._managed(project_id, source_id)
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
        source = await self._managed(project_id, source_id)
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
        """Build the durable index anew from the documents, source by source; answers go on from the snapshot.

        Documents of sources that are known no more are dropped: nothing is left to build them from.

        Raises:
            InvalidRequest: folders are missing; each is named, and nothing was changed.
            SyncRunning, NotReady, PasseurError: as for `sync`.
        """
        library = self._changes.library(project_id)
        snapshot = library.ready()
        known = await self.sources(project_id)
        await self._check_folders(project_id, known)
        async with self._changes.held(project_id):
            await self._means.index.drop(library.row.collection)
            await self._means.index.prepare(library.row.collection)
            library.lost |= set(snapshot.rows)
            await self._forgetter.give_up(project_id, known, held=True)
            for source in known.values():
                async with aclosing(self._sync(project_id, source, None)) as events:
                    async for event in events:
                        yield event
            library.hindrance = ""
        self._upkeep.settle()

    async def put_back(self) -> None:
        """Index again what the durable index lost, from the documents; vectors come from the cache."""
        for project_id, library in self._changes.libraries.items():
            if not library.lost:
                continue
            hindrances: list[str] = []
            known = await self.sources(project_id)
            for source in known.values():
                try:
                    async for _ in self.sync(project_id, source):
                        pass
                except SyncRunning as exc:
                    log.info("source not put back yet", source=source.source_id, reason=exc.message)
                except InvalidRequest as exc:
                    hindrances.append(f"source `{source.source_id}`: {exc.message}")
                    log.warning("source not put back", source=source.source_id, reason=exc.message)
            await self._forgetter.give_up(project_id, known)
            library.hindrance = "; ".join(hindrances) if library.lost else ""
        self._upkeep.settle()

    async def forget(self, project_id: str, source_id: str) -> tuple[int, int]:
        """Forget a source that no settings declare; see `Forgetter.forget`."""
        forgotten = await self._forgetter.forget(project_id, source_id)
        self._upkeep.settle()
        return forgotten

    # ---------------------------------------------------------------- inside

    async def _check_folders(self, project_id: str, known: Mapping[str, SourceSpec]) -> None:
        """Refuse to drop an index that could not be built again whole."""
        missing: list[Violation] = []
        for source_id, source in known.items():
            begins_empty = source.managed and not await self._means.registry.documents(project_id, source_id)
            if not begins_empty and not await asyncio.to_thread(source.root.is_dir):
                problem = f"its folder {source.root} is missing: bring it back, or end the source"
                missing.append(Violation(f"source `{source_id}`", f"{problem} (`documents forget-source`)"))
        if missing:
            raise InvalidRequest(missing)

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
        declared = {each.source_id for each in library.project.sources}
        if source.source_id not in declared and await asyncio.to_thread(source.root.is_dir):
            await self._book.remember(project_id, source)
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

    async def _managed(self, project_id: str, source_id: str) -> SourceSpec:
        source = await self.source(project_id, source_id)
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
