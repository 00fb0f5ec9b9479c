"""Brings the index in line with one folder: what changed, in batches that are whole or undone, a line for each file.

The order inside a batch makes a death at any point harmless: vectors into the cache, passages into the index, rows
into the registry (the truth), and only then obsolete passages out of the index. Passages that the registry does not
name are ignored at the next start; files that it does not know as done are done by the next sync.
"""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from ai_server.knowledge import chunking, documents, folder, snapshot
from ai_server.knowledge.contract import FileLine, FileStatus, Spending, SyncProgress
from ai_server.knowledge.loaders.model import Rejected
from ai_server.knowledge.managed import ManagedFolder
from ai_server.knowledge.passages import embed_missing
from ai_server.knowledge.records import to_records
from ai_server.knowledge.rights import rights_keys
from ai_server.storage.index_contract import DocumentRow
from shared.errors import InvalidRequest, PasseurError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence

    from ai_server.knowledge.columns import Entry
    from ai_server.knowledge.contract import Embedder, ProjectKnowledge, SourceSpec
    from ai_server.knowledge.documents import Prepared
    from ai_server.knowledge.durable import DurableIndex
    from ai_server.knowledge.parsing import Parser
    from ai_server.storage.index_contract import IndexRegistry
    from shared.clock import Clock

BATCH: Final = 96
"""Passages from which a batch is written; one document is never split over two batches."""


@dataclass(frozen=True, slots=True)
class SyncTools:
    """What a sync works with."""

    index: DurableIndex
    registry: IndexRegistry
    embedder: Embedder
    parser: Parser
    clock: Clock
    check: Callable[[], None] = lambda: None
    """Called before each write: raises when another server may be writing."""


@dataclass(slots=True)
class Outcome:
    """What a sync has done so far; the service publishes it."""

    entries: dict[str, Entry] = field(default_factory=dict)
    removed: set[str] = field(default_factory=set)
    files: dict[FileStatus, int] = field(default_factory=dict)
    chunks_embedded: int = 0
    chunks_reused: int = 0
    chunks_total: int = 0
    stamps: dict[str, tuple[bytes, bytes, str]] = field(default_factory=dict)
    """What is registered now of each document that was done, by `source_id/path`; see `library.stamp`."""

    @property
    def changed(self) -> bool:
        """Whether the index differs from what it was."""
        return bool(self.entries or self.removed)


@dataclass(frozen=True, slots=True)
class _Pending:
    prepared: Prepared
    content: bytes
    settings: bytes
    status: FileStatus
    moved_from: str


class SourceSync:
    """One sync of one source; use it once."""

    def __init__(
        self,
        tools: SyncTools,
        project: ProjectKnowledge,
        source: SourceSpec,
        collection: str,
        *,
        sync_id: str,
        indexed: Collection[str],
        only: frozenset[str] | None = None,
    ) -> None:
        """`indexed` are the ids that the index really holds: a document that lacks one is done again.

        `only` leaves all but these paths as they are; None: the whole folder.
        """
        self._only = only
        self.outcome = Outcome()
        self._tools = tools
        self._project = project
        self._source = source
        self._collection = collection
        self._indexed = indexed
        self._needed = rights_keys(project.keys)
        self._known: Mapping[str, DocumentRow] = {}
        self._gone: dict[bytes, str] = {}
        self._dropped: set[str] = set()
        self._spending = Spending(project.project_id, "", "", f"sync/{sync_id}")
        self._calls = 0
        self._managed = ManagedFolder(source.root) if source.managed else None
        self._done = 0
        self._total = 0

    async def run(self) -> AsyncIterator[FileLine | SyncProgress]:
        """Do it, giving a line for each file as its fate is settled, and progress between.

        Raises:
            InvalidRequest: the folder is missing, or vanished half way; nothing more is changed.
            PasseurError: the index, the registry or the embedding failed; every file left gets its line first.
        """
        found = await asyncio.to_thread(folder.scan, self._source.root, documents.SUFFIXES)
        self._known = await self._tools.registry.documents(self._project.project_id, self._source.source_id)
        if self._only is None:
            self._gone = {row.content_sha256: path for path, row in self._known.items() if path not in found.documents}
        else:
            found = found.only(self._only)
            self._known = {path: row for path, row in self._known.items() if path in self._only}
        self._total = len(found.documents) + len(found.skipped) + len(found.rejected)
        yield self._progress()
        for path, reason in found.skipped.items():
            yield self._line(FileLine(path, FileStatus.SKIPPED, reason=reason))
        for path, reason in found.rejected.items():
            yield self._line(FileLine(path, FileStatus.REJECTED, reason=reason))
        waiting: list[_Pending] = []
        left = dict.fromkeys(found.documents)
        try:
            async for event in self._documents(found, waiting, left):
                yield event
        except PasseurError as exc:
            for path in [pending.prepared.path for pending in waiting] + list(left):
                yield self._line(FileLine(path, FileStatus.REJECTED, reason=f"not done: {exc.message} Sync again."))
            raise
        await self._check_root()
        async for line in self._remove_gone(found):
            yield line

    async def _check_root(self) -> None:
        if not await asyncio.to_thread(self._source.root.is_dir):
            raise InvalidRequest.of("root", f"`{self._source.root}` vanished while it was read: nothing was removed")

    async def _documents(
        self, found: folder.Scan, waiting: list[_Pending], left: dict[str, None]
    ) -> AsyncIterator[FileLine | SyncProgress]:
        for path, file in found.documents.items():
            inherited = found.inherited(path)
            taken = await self._take(path, file, inherited)
            left.pop(path)
            if isinstance(taken, FileLine):
                yield self._line(taken)
                continue
            waiting.append(taken)
            if sum(len(pending.prepared.chunks) for pending in waiting) >= BATCH:
                async for event in self._commit(waiting):
                    yield event
        async for event in self._commit(waiting):
            yield event

    async def _take(
        self,
        path: str,
        file: folder.Path,
        inherited: Sequence[Mapping[str, tuple[str, ...]]],
    ) -> _Pending | FileLine:
        """Read and prepare one file, unless nothing about it changed."""
        content = settings = b""
        try:
            data = await asyncio.to_thread(folder.read, file)
            content = hashlib.sha256(data).digest()
            own = self._managed.metadata(path, content) if self._managed is not None else {}
            settings = documents.settings_digest(self._source, self._project, inherited, own)
            known = self._known.get(path)
            if known is not None and (known.content_sha256, known.settings_sha256) == (content, settings):
                line = self._as_known(known)
                if line is not None:
                    return line
            loaded = await self._tools.parser.load(path, data)
            prepared = await asyncio.to_thread(
                documents.prepare, path, loaded, inherited, self._source, self._project, own=own
            )
        except Rejected as exc:
            await self._check_root()
            return await self._reject(path, str(exc), content, settings)
        moved_from = self._gone.pop(content, "") if path not in self._known else ""
        status = FileStatus.MOVED if moved_from else FileStatus.INDEXED
        return _Pending(prepared, content, settings, status, moved_from)

    def _as_known(self, known: DocumentRow) -> FileLine | None:
        """Say again what is known of an unchanged file; None when the index lost some of it."""
        if known.status == FileStatus.REJECTED:
            return FileLine(known.path, FileStatus.REJECTED, reason=known.reason)
        if all(chunk_id in self._indexed for chunk_id in known.chunk_ids):
            return FileLine(known.path, FileStatus.UNCHANGED, chunk_count=len(known.chunk_ids))
        return None

    async def _reject(self, path: str, reason: str, content: bytes, settings: bytes) -> FileLine:
        """Keep why a file was not taken; what the index held of an earlier version goes."""
        known = self._known.get(path)
        row = DocumentRow(
            project_id=self._project.project_id,
            source_id=self._source.source_id,
            path=path,
            status=FileStatus.REJECTED,
            reason=reason,
            content_sha256=content,
            settings_sha256=settings,
            title="",
            language="",
            metadata={},
            chunk_ids=(),
            synced_at=self._tools.clock.now(),
        )
        self._tools.check()
        await self._tools.registry.put_documents([row], [])
        self._stamp(row)
        await self._forget(known.chunk_ids if known else ())
        return FileLine(path, FileStatus.REJECTED, reason=reason)

    async def _commit(self, waiting: list[_Pending]) -> AsyncIterator[FileLine | SyncProgress]:
        """Embed and write what waits; empties `waiting` once it is durable."""
        if not waiting:
            return
        items = [
            (chunk, chunking.text_hash(text), text)
            for pending in waiting
            for chunk, text in zip(pending.prepared.chunks, pending.prepared.embedded_texts, strict=True)
        ]
        self.outcome.chunks_total += len(items)
        vectors = await self._tools.index.recall(self._tools.embedder.fingerprint, list({name for _, name, _ in items}))
        self.outcome.chunks_reused += sum(name in vectors for _, name, _ in items)
        wanted = {name: (text, chunk.text) for chunk, name, text in items}
        self._calls += 1
        spending = replace(self._spending, key=f"{self._spending.key}/{self._calls}")
        async for made in embed_missing(self._tools.index, self._tools.embedder, wanted, vectors, spending):
            self.outcome.chunks_embedded += made
            yield self._progress()
        known_ids = {chunk_id for row in self._known.values() for chunk_id in row.chunk_ids}
        fresh = [chunk.chunk_id for chunk, _, _ in items if chunk.chunk_id not in known_ids]
        try:
            rows = to_records(((chunk, name, vectors[name]) for chunk, name, _ in items), self._needed)
            self._tools.check()
            await self._tools.index.put(self._collection, rows)
            registered = [self._row(pending) for pending in waiting]
            await self._tools.registry.put_documents(registered, [])
        except BaseException:
            await self._undo(fresh)
            raise
        entries = await asyncio.to_thread(
            lambda: {chunk.chunk_id: snapshot.entry(chunk, vectors[name]) for chunk, name, _ in items}
        )
        for row in registered:
            self._stamp(row)
        done = list(waiting)
        waiting.clear()
        self.outcome.removed -= entries.keys()
        self.outcome.entries |= entries
        for pending in done:
            known = self._known.get(pending.prepared.path)
            kept = {chunk.chunk_id for chunk in pending.prepared.chunks}
            await self._forget([chunk_id for chunk_id in (known.chunk_ids if known else ()) if chunk_id not in kept])
            if pending.moved_from:
                await self._drop_rows([pending.moved_from])
            yield self._line(self._indexed_line(pending))
        yield self._progress()

    async def _undo(self, fresh: list[str]) -> None:
        """Take a failed batch's new passages out again, as far as the index lets us; a start would ignore them."""
        try:
            await self._tools.index.remove(self._collection, fresh)
        except PasseurError:
            return

    async def _remove_gone(self, found: folder.Scan) -> AsyncIterator[FileLine]:
        gone = sorted(path for path in self._known if path not in found.documents and path not in self._dropped)
        if gone:
            await self._drop_rows(gone)
        for path in gone:
            yield self._line(FileLine(path, FileStatus.REMOVED, chunk_count=len(self._known[path].chunk_ids)))

    async def _drop_rows(self, paths: Sequence[str]) -> None:
        """Remove documents from the registry, then their passages from the index."""
        self._dropped.update(paths)
        for path in paths:
            self.outcome.stamps[f"{self._source.source_id}/{path}"] = (b"", b"", "")
        keys = [(self._project.project_id, self._source.source_id, path) for path in paths]
        self._tools.check()
        await self._tools.registry.put_documents([], keys)
        await self._forget([chunk_id for path in paths for chunk_id in self._known[path].chunk_ids])

    async def _forget(self, ids: Sequence[str]) -> None:
        if ids:
            self.outcome.removed.update(ids)
            for chunk_id in ids:
                self.outcome.entries.pop(chunk_id, None)
            await self._tools.index.remove(self._collection, ids)

    def _row(self, pending: _Pending) -> DocumentRow:
        prepared = pending.prepared
        return DocumentRow(
            project_id=self._project.project_id,
            source_id=self._source.source_id,
            path=prepared.path,
            status=FileStatus.INDEXED,
            reason="",
            content_sha256=pending.content,
            settings_sha256=pending.settings,
            title=prepared.title,
            language=prepared.language,
            metadata=prepared.values,
            chunk_ids=tuple(chunk.chunk_id for chunk in prepared.chunks),
            synced_at=self._tools.clock.now(),
        )

    def _indexed_line(self, pending: _Pending) -> FileLine:
        prepared = pending.prepared
        return FileLine(
            prepared.path,
            pending.status,
            chunk_count=len(prepared.chunks),
            undeclared_keys=prepared.undeclared_keys,
            moved_from=pending.moved_from,
        )

    def _line(self, line: FileLine) -> FileLine:
        self._done += 1
        self.outcome.files[line.status] = self.outcome.files.get(line.status, 0) + 1
        return line

    def _stamp(self, row: DocumentRow) -> None:
        stamp = (row.content_sha256, row.settings_sha256, row.status)
        self.outcome.stamps[f"{row.source_id}/{row.path}"] = stamp

    def _progress(self) -> SyncProgress:
        return SyncProgress(self._done, self._total, self.outcome.chunks_embedded, self.outcome.chunks_total)
