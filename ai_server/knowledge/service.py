"""Documents as the turn and the operators use them: search, passages, sync, and the truth about the index."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from contextlib import aclosing
from dataclasses import replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

import numpy as np
import structlog

from ai_server.knowledge import chunking, documents, gate, given, ranking
from ai_server.knowledge import language as languages
from ai_server.knowledge.changes import Changes, Means
from ai_server.knowledge.contract import (
    DocumentEntry,
    FileStatus,
    KnowledgeState,
    Retrieval,
    SourceEntry,
)
from ai_server.knowledge.index import ChromaIndex
from ai_server.knowledge.leases import SyncLeases
from ai_server.knowledge.lexical import terms
from ai_server.knowledge.library import Library
from ai_server.knowledge.loaders.model import Rejected
from ai_server.knowledge.parsing import ChildParser
from ai_server.knowledge.remodelling import Remodeller
from ai_server.knowledge.sources import SourceBook
from ai_server.knowledge.upkeep import Upkeep
from ai_server.knowledge.writing import Writer
from shared.errors import (
    InvalidRequest,
    NotFound,
    NotReady,
    PasseurError,
    UnsupportedMedia,
    Violation,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from ai_server.knowledge.changes import MakeEmbedder
    from ai_server.knowledge.contract import (
        Chunk,
        Embedder,
        FileLine,
        IndexAudit,
        ProjectKnowledge,
        RetrievalContext,
        SourceSpec,
        Spending,
        SyncEvent,
    )
    from ai_server.knowledge.durable import DurableIndex
    from ai_server.knowledge.loaders.model import Loaded
    from ai_server.knowledge.managed import ManagedDocument
    from ai_server.knowledge.parsing import Parser
    from ai_server.storage.index_contract import DocumentRow, IndexRegistry, IndexRow
    from shared.clock import Clock

HITS_LIMIT: Final = 50
PAGE_LIMIT: Final = 1_000
QUERY_VECTORS_KEPT: Final = 1_024
"""Vectors of the questions asked last; a repeated question costs no embedding."""
EXTRACT_LIMIT: Final = 200_000
"""Most characters of an uploaded document that are given back."""
CALIBRATION_HITS: Final = 8

log = structlog.get_logger(__name__)


class KnowledgeService:
    """Implements `Knowledge`. Search is served from snapshots in this process, and goes on without the index child."""

    def __init__(
        self,
        projects: Sequence[ProjectKnowledge],
        embedders: Mapping[str, Embedder],
        registry: IndexRegistry,
        data_dir: Path,
        clock: Clock,
        *,
        index: DurableIndex | None = None,
        parser: Parser | None = None,
        make_embedder: MakeEmbedder | None = None,
        shared: bool = False,
    ) -> None:
        """Wire up; nothing runs until `start`.

        Args:
            projects: what the settings say, one for each project.
            embedders: by project id; already metered.
            registry: the truth that the index is compared with.
            data_dir: the AI server's own folder; the index goes to `index/`, managed sources to `managed/`.
            clock: time.
            index: the durable index; None: Chroma in a child process, in `index/`.
            parser: reads files; None: in a child process with limits.
            make_embedder: for changes of the embedding model while the server runs; None: settings decide alone.
            shared: other servers use the same registry and change what it says.
        """
        self._index: DurableIndex = index or ChromaIndex(data_dir / "index")
        self._registry = registry
        self._clock = clock
        self._parser: Parser = parser or ChildParser()
        self._libraries = {
            project.project_id: Library(project, embedders[project.project_id], self._index, registry)
            for project in projects
        }
        self._query_vectors: OrderedDict[tuple[str, str], NDArray[np.float32]] = OrderedDict()
        leases = SyncLeases(registry, clock, shared=shared)
        self._upkeep = Upkeep(self._index, self._libraries, leases, clock)
        means = Means(self._index, registry, leases, clock, make_embedder or _settings_alone)
        self._changes = Changes(self._libraries, means)
        self._book = SourceBook(registry, data_dir / "index" / "sources.json")
        self._writer = Writer(self._changes, self._parser, self._book, self._upkeep)
        self._remodeller = Remodeller(self._changes, self._upkeep)
        self._shared = shared
        self._started = False
        self._starting = asyncio.Lock()

    async def start(self) -> None:
        """Open the index and load every project; may be called again after it failed, and does nothing once done.

        Raises:
            NotReady: the index cannot be opened or read; the state says the same.
        """
        async with self._starting:
            if self._started:
                return
            try:
                await self._book.take_over()
                await self._upkeep.load_all()
            except NotReady as exc:
                self._upkeep.set("down", exc.message)
                raise
            self._started = True
            self._upkeep.settle()
            self._upkeep.watch(self._writer.put_back, self._changes.refresh if self._shared else None)

    async def close(self) -> None:
        """Stop watching and end the child; idempotent."""
        await self._writer.close()
        await self._upkeep.close()
        await self._index.close()
        await self._parser.close()

    def state(self) -> KnowledgeState:
        """Tell readiness now; never blocks."""
        return self._upkeep.state

    # ---------------------------------------------------------------- reading

    async def search(
        self,
        project_id: str,
        query: str,
        contexts: Sequence[RetrievalContext],
        *,
        limit: int,
        language: str,
        spending: Spending,
    ) -> Retrieval:
        """Find passages; see `Knowledge.search`."""
        if not 1 <= limit <= HITS_LIMIT:
            raise InvalidRequest.of("limit", f"must be 1 to {HITS_LIMIT}")
        library = self._library(project_id)
        snapshot = library.ready()
        known = library.project.languages
        hint = language if language in known or not known else known[0]
        spoken = languages.detect_message(query, known, hint) if known else hint
        rows = snapshot.readable(contexts)
        if library.project.language_filters:
            rows = snapshot.in_language(rows, spoken)
        if not len(rows) or not query.strip():
            _check_whole(library, contexts)
            return Retrieval((), False, {})
        vector = await self._query_vector_if_possible(library, query, spending)
        words = ranking.lexical_weight(library.row.fingerprint)
        found = await asyncio.to_thread(
            ranking.retrieve,
            snapshot,
            rows,
            vector,
            query,
            language=spoken,
            limit=limit,
            gate=library.gate,
            words=words,
        )
        hits = tuple(hit for hit in found.hits if library.readable(hit.chunk, contexts) is not None)
        sufficient = any(hit.kept for hit in hits)
        if not sufficient:
            _check_whole(library, contexts)
        return replace(found, hits=hits, sufficient=sufficient)

    async def passage(self, project_id: str, chunk_id: str, contexts: Sequence[RetrievalContext]) -> Chunk | None:
        """Give a passage that may be shown; see `Knowledge.passage`."""
        library = self._library(project_id)
        chunk = library.ready().chunk(chunk_id)
        readable = None if chunk is None else library.readable(chunk, contexts)
        return readable if readable is not None and readable.quotable else None

    async def given(
        self, project_id: str, source_id: str, root: Path, defaults: Mapping[str, tuple[str, ...]]
    ) -> SourceSpec:
        """Make the source of a folder that no settings declare; see `given.given`."""
        project = self._library(project_id).project
        remembered = await self._book.of(project_id)
        return await given.given(project, remembered, source_id=source_id, root=root, defaults=defaults)

    async def source(self, project_id: str, source_id: str) -> SourceSpec:
        """Find a source that was declared, or given with an earlier sync.

        Raises:
            NotFound: neither.
        """
        return await self._writer.source(project_id, source_id)

    async def sources(self, project_id: str) -> Sequence[SourceEntry]:
        """List sources with counts, by id. One that is neither declared nor remembered any more has an empty root."""
        rows = await self._registry.documents(self._library(project_id).project.project_id, "")
        known = await self._writer.sources(project_id)
        entries: list[SourceEntry] = []
        for source_id in sorted(known.keys() | {row.source_id for row in rows.values()}):
            source = known.get(source_id)
            own = [row for row in rows.values() if row.source_id == source_id]
            indexed = [row for row in own if row.status == FileStatus.INDEXED]
            count = sum(len(row.chunk_ids) for row in indexed)
            root, managed = (str(source.root), source.managed) if source is not None else ("", False)
            entries.append(SourceEntry(source_id, root, managed, len(indexed), count))
        return entries

    async def documents(self, project_id: str, source_id: str, limit: int, after: str) -> Sequence[DocumentEntry]:
        """List documents by page; see `Knowledge.documents`."""
        if not 1 <= limit <= PAGE_LIMIT:
            raise InvalidRequest.of("page_size", f"must be 1 to {PAGE_LIMIT:,}")
        rows = await self._registry.documents(self._library(project_id).project.project_id, source_id)
        named = sorted((f"{row.source_id}/{row.path}", row) for row in rows.values())
        return [_entry(row) for name, row in named if name > after][:limit]

    async def explain(self, project_id: str, source_id: str, path: str) -> tuple[DocumentEntry, Sequence[Chunk]]:
        """Say what the index holds of a document; see `Knowledge.explain`."""
        library = self._library(project_id)
        row = (await self._registry.documents(project_id, source_id)).get(path)
        if row is None:
            raise NotFound(
                f"No sync of source `{source_id}` took or rejected `{path}`: it is not there, or it was skipped; "
                "`ingest` names what it skips, with the reason."
            )
        snapshot = library.ready()
        chunks = [chunk for chunk_id in row.chunk_ids if (chunk := snapshot.chunk(chunk_id)) is not None]
        return _entry(row), chunks

    # ---------------------------------------------------------------- writing

    async def sync(self, project_id: str, source: SourceSpec) -> AsyncGenerator[SyncEvent, None]:
        """Bring the index in line with a folder; see `Knowledge.sync`."""
        async with aclosing(self._writer.sync(project_id, source)) as events:
            async for event in events:
                yield event

    async def upsert(self, project_id: str, source_id: str, sent: Sequence[ManagedDocument]) -> Sequence[FileLine]:
        """Write documents to a managed source and index them; see `Writer.upsert`."""
        return await self._writer.upsert(project_id, source_id, sent)

    async def delete(self, project_id: str, source_id: str, paths: Sequence[str]) -> Sequence[FileLine]:
        """Remove documents from a managed source; see `Writer.delete`."""
        return await self._writer.delete(project_id, source_id, paths)

    async def extract(self, name: str, mime_type: str, data: bytes) -> tuple[Loaded, str, bool]:
        """Read an uploaded document in the parsing child; nothing is stored. Its media type counts before its name.

        Returns:
            What its loader gave, its text cut at 200,000 characters, and whether it was cut.

        Raises:
            UnsupportedMedia: not a type that is read here.
            InvalidRequest: it cannot be read; says why.
        """
        name = documents.name_for(name, mime_type)
        if PurePosixPath(name).suffix.lower() not in documents.SUFFIXES:
            kinds = ", ".join(sorted(documents.SUFFIXES))
            raise UnsupportedMedia([Violation("name", f"`{name}` is not a type that is read here: {kinds}")])
        try:
            loaded = await self._parser.load(name, data)
        except Rejected as exc:
            raise InvalidRequest.of("data", str(exc)) from exc
        text = "\n".join(chunking.shown(block) for block in loaded.blocks)
        return loaded, text[:EXTRACT_LIMIT], len(text) > EXTRACT_LIMIT

    async def forget(self, project_id: str, source_id: str) -> tuple[int, int]:
        """Forget a source that no settings declare, with its documents; see `Writer.forget`."""
        return await self._writer.forget(project_id, source_id)

    async def audit(self, project_id: str) -> IndexAudit:
        """Query every passage by its own vector; changes nothing but the readiness that it finds wrong."""
        library = self._library(project_id)
        found = await library.audit()
        library.lost |= set(found.unreachable)
        self._upkeep.settle()
        return found

    async def rebuild(self, project_id: str) -> AsyncGenerator[SyncEvent, None]:
        """Build the durable index anew from the documents; see `Writer.rebuild`."""
        async with aclosing(self._writer.rebuild(project_id)) as events:
            async for event in events:
                yield event

    async def reindex(self, project_id: str, provider: str, model: str) -> AsyncGenerator[SyncEvent, None]:
        """Build with another embedding model beside, and swap; see `Remodeller.reindex`."""
        async with aclosing(self._remodeller.reindex(project_id, provider, model)) as events:
            async for event in events:
                yield event

    async def rollback(self, project_id: str) -> IndexRow:
        """Return to what the last change of model kept; see `Remodeller.rollback`."""
        return await self._remodeller.rollback(project_id)

    async def calibrate(
        self, project_id: str, questions: Sequence[tuple[str, bool]], max_lost_share: float, spending: Spending
    ) -> gate.Calibrated:
        """Learn the gate's thresholds from labelled questions (answerable or not) and store them.

        Raises:
            InvalidRequest: too few questions of a kind, or a share out of bounds.
        """
        library = self._library(project_id)
        snapshot = library.ready()
        fingerprint = library.row.fingerprint
        rows = np.arange(len(snapshot))
        asked: dict[bool, list[list[gate.Signals]]] = {True: [], False: []}
        for number, (text, answerable) in enumerate(questions):
            own = replace(spending, key=f"{spending.key}/{number}")
            vector = await self._query_vector(library, text, own)
            spoken = languages.detect_message(text, library.project.languages, library.project.languages[0])
            ranked = await asyncio.to_thread(
                ranking.rank,
                snapshot,
                rows,
                vector,
                terms(text, spoken),
                spoken,
                words=ranking.lexical_weight(fingerprint),
            )
            kept = range(min(CALIBRATION_HITS, len(ranked.rows)))
            asked[answerable].append([ranked.signals(place) for place in kept])
        found = gate.calibrate(library.gate, asked[True], asked[False], max_lost_share)
        if library.row.fingerprint != fingerprint:
            raise NotReady("The embedding model was changed meanwhile: calibrate again.")
        await self._changes.calibrated(project_id, found.gate.dump())
        return found

    # ---------------------------------------------------------------- inside

    def _library(self, project_id: str) -> Library:
        return self._changes.library(project_id)

    async def _query_vector_if_possible(
        self, library: Library, query: str, spending: Spending
    ) -> NDArray[np.float32] | None:
        """Give the vector; None, and words must do, when its provider fails or the budget has no room for it."""
        try:
            return await self._query_vector(library, query, spending)
        except PasseurError as exc:
            log.warning("question not embedded: searching by words alone", reason=exc.reason)
            return None

    async def _query_vector(self, library: Library, query: str, spending: Spending) -> NDArray[np.float32]:
        key = (library.embedder.fingerprint, query)
        vector = self._query_vectors.get(key)
        if vector is None:
            vector = await library.embedder.embed_query(query, spending)
            self._query_vectors[key] = vector
            if len(self._query_vectors) > QUERY_VECTORS_KEPT:
                self._query_vectors.popitem(last=False)
        else:
            self._query_vectors.move_to_end(key)
        return vector


def _check_whole(library: Library, contexts: Sequence[RetrievalContext]) -> None:
    """Refuse to say that the documents hold nothing while some of them are missing and about to come back."""
    if contexts and library.being_restored():
        raise NotReady("The documents are being indexed again: ask again in a few minutes.")


def _entry(row: DocumentRow) -> DocumentEntry:
    return DocumentEntry(
        source_id=row.source_id,
        path=row.path,
        status=FileStatus(row.status),
        reason=row.reason,
        chunk_count=len(row.chunk_ids),
        title=row.title,
        language=row.language,
        metadata={key: tuple(values) for key, values in row.metadata.items()},
        synced_at=row.synced_at,
        content_sha256=row.content_sha256,
    )


async def _settings_alone(provider: str, model: str) -> Embedder:
    """Make no other model than the one of the settings."""
    raise InvalidRequest.of("embedding_model", f"`{provider}/{model}` cannot be made here: set it in the settings")
