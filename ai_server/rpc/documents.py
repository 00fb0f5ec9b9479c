"""DocumentsService: keeps the index equal to the declared folders, and shows passages to those who may read them."""

from __future__ import annotations

from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ai_server.clients import Scope
from ai_server.knowledge.contract import FileLine, FileStatus, Spending, SyncProgress, SyncSummary
from ai_server.knowledge.managed import ManagedDocument
from ai_server.rpc import caller
from ai_server.rpc.offer import Offer
from shared.errors import BodyTooLarge, InvalidRequest, NotFound
from shared.ids import new_id
from shared.pb.passeur.v1 import common_pb2, documents_pb2, documents_pb2_grpc
from shared.text import text_violation

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Mapping

    from ai_server.knowledge.contract import Chunk, DocumentEntry, SyncEvent
    from ai_server.services import Services

PATH_LIMIT: Final = 4_096
VALUE_LIMIT: Final = 200
VALUES_LIMIT: Final = 100
PAGE_DEFAULT, PAGE_LIMIT = 100, 1_000
EXTRACT_BYTES: Final = 20 * 1024 * 1024
QUESTIONS_LIMIT: Final = 2_000
QUESTION_LIMIT: Final = 2_000
KEYS_SHOWN, KEY_SHOWN = 20, 100
"""How many undeclared keys of a file are named, and how many characters of each."""
STATUSES: Final = {status: getattr(documents_pb2, f"FILE_STATUS_{status.name}") for status in FileStatus}


class DocumentsServicer(documents_pb2_grpc.DocumentsServiceServicer):
    """Converts, and checks what a message cannot say of itself."""

    def __init__(self, services: Services) -> None:
        """Take the doors; documents and projects are used."""
        self._services = services

    async def Sync(self, request: Any, context: Any) -> AsyncIterator[documents_pb2.SyncResponse]:
        """Sync one source, a message for each file and step."""
        client = caller.client_for(request.project_id)
        if request.root:
            client.require(Scope.ADMIN)
        knowledge = await self._services.knowledge()
        if request.root:
            source = await knowledge.given(request.project_id, *_given(request))
        else:
            source = await knowledge.source(request.project_id, request.source_id)
        async with aclosing(knowledge.sync(request.project_id, source)) as events:
            async for event in events:
                yield _sync_response(event)

    async def List(self, request: Any, context: Any) -> documents_pb2.ListResponse:
        """List sources, and documents by page."""
        caller.client_for(request.project_id)
        size = request.page_size or PAGE_DEFAULT
        if not 1 <= size <= PAGE_LIMIT:
            raise InvalidRequest.of("page_size", f"must be 1 to {PAGE_LIMIT:,}")
        knowledge = await self._services.knowledge()
        found = await knowledge.documents(request.project_id, request.source_id, size, request.page_token)
        response = documents_pb2.ListResponse(documents=[_document(each) for each in found])
        for each in await knowledge.sources(request.project_id):
            response.sources.add(
                source_id=each.source_id,
                root=each.root,
                managed=each.managed,
                document_count=each.document_count,
                chunk_count=each.chunk_count,
            )
        if len(found) == size:
            response.next_page_token = f"{found[-1].source_id}/{found[-1].path}"
        return response

    async def Explain(self, request: Any, context: Any) -> documents_pb2.ExplainResponse:
        """Say what the index holds of one document."""
        caller.client_for(request.project_id)
        knowledge = await self._services.knowledge()
        entry, chunks = await knowledge.explain(request.project_id, request.source_id, request.path)
        return documents_pb2.ExplainResponse(document=_document(entry), chunks=[_chunk(each) for each in chunks])

    async def GetPassage(self, request: Any, context: Any) -> documents_pb2.GetPassageResponse:
        """Give a passage to those who may read it."""
        caller.client_for(request.project_id)
        contexts = [
            {key: frozenset(values.values) for key, values in each.allowed.items()}
            for each in request.retrieval_contexts
        ]
        knowledge = await self._services.knowledge()
        chunk = await knowledge.passage(request.project_id, request.chunk_id, contexts)
        if chunk is None:
            raise NotFound("No such passage, or it is not yours to read.")
        response = documents_pb2.GetPassageResponse(
            chunk_id=chunk.chunk_id,
            title=chunk.title,
            heading=chunk.heading,
            text=chunk.text,
            language=chunk.language,
        )
        if chunk.url is not None:
            response.url = chunk.url
        return response

    async def Upsert(self, request: Any, context: Any) -> documents_pb2.UpsertResponse:
        """Write documents to a managed source and index them."""
        caller.client_for(request.project_id)
        knowledge = await self._services.knowledge()
        sent = [
            ManagedDocument(
                path=each.path,
                content=each.content,
                metadata={key: tuple(values.values) for key, values in each.metadata.items()},
            )
            for each in request.documents
        ]
        lines = await knowledge.upsert(request.project_id, request.source_id, sent)
        return documents_pb2.UpsertResponse(files=[_file(each) for each in lines])

    async def Delete(self, request: Any, context: Any) -> documents_pb2.DeleteResponse:
        """Remove documents from a managed source."""
        caller.client_for(request.project_id)
        knowledge = await self._services.knowledge()
        lines = await knowledge.delete(request.project_id, request.source_id, list(request.paths))
        return documents_pb2.DeleteResponse(files=[_file(each) for each in lines])

    async def ForgetSource(self, request: Any, context: Any) -> documents_pb2.ForgetSourceResponse:
        """Forget a source that no settings declare."""
        caller.client_for(request.project_id).require(Scope.ADMIN)
        knowledge = await self._services.knowledge()
        documents, passages = await knowledge.forget(request.project_id, request.source_id)
        return documents_pb2.ForgetSourceResponse(document_count=documents, chunk_count=passages)

    async def Extract(self, request_iterator: Any, context: Any) -> documents_pb2.ExtractResponse:
        """Give the text of an uploaded document; nothing is stored."""
        header: Any = None
        data = bytearray()
        async for request in request_iterator:
            part = request.WhichOneof("part")
            if (part == "header") is not (header is None):
                raise InvalidRequest.of("header", "comes first, and once; then the data")
            if part == "header":
                header = request.header
                caller.client_for(header.project_id)
            else:
                data += request.data
            if len(data) > EXTRACT_BYTES:
                raise BodyTooLarge(f"The document is larger than {EXTRACT_BYTES // 1024 // 1024} MiB: split it.")
        if header is None:
            raise InvalidRequest.of("header", "is missing")
        knowledge = await self._services.knowledge()
        loaded, text, truncated = await knowledge.extract(header.name, header.mime_type, bytes(data))
        return documents_pb2.ExtractResponse(
            text=text,
            truncated=truncated,
            page_count=loaded.page_count,
            skipped_image_count=loaded.skipped_image_count,
            encoding=loaded.encoding,
        )

    async def Audit(self, request: Any, context: Any) -> documents_pb2.DocumentsServiceAuditResponse:
        """Query every passage by its own vector."""
        caller.client_for(request.project_id)
        found = await (await self._services.knowledge()).audit(request.project_id)
        return documents_pb2.DocumentsServiceAuditResponse(
            chunk_count=found.chunk_count,
            unreachable_chunk_ids=found.unreachable,
            ghost_chunk_ids=found.ghosts,
            clean=found.clean,
        )

    async def Rebuild(self, request: Any, context: Any) -> AsyncIterator[documents_pb2.RebuildResponse]:
        """Build the index anew from the documents."""
        caller.client_for(request.project_id)
        knowledge = await self._services.knowledge()
        async with aclosing(knowledge.rebuild(request.project_id)) as events:
            async for event in events:
                sent = _sync_response(event)
                kind = sent.WhichOneof("event")
                yield documents_pb2.RebuildResponse(**{kind: getattr(sent, kind)})

    async def Reindex(self, request: Any, context: Any) -> AsyncIterator[documents_pb2.ReindexResponse]:
        """Build with another embedding model beside, and swap."""
        caller.client_for(request.project_id)
        provider, model = request.embedding_provider, request.embedding_model
        if bool(provider) is not bool(model):
            raise InvalidRequest.of("embedding_model", "goes with `embedding_provider`: give both, or neither")
        knowledge = await self._services.knowledge()
        async with aclosing(knowledge.reindex(request.project_id, provider, model)) as events:
            async for event in events:
                sent = _sync_response(event)
                kind = sent.WhichOneof("event")
                yield documents_pb2.ReindexResponse(**{kind: getattr(sent, kind)})

    async def Rollback(self, request: Any, context: Any) -> documents_pb2.RollbackResponse:
        """Return to what the last change of model kept."""
        caller.client_for(request.project_id)
        row = await (await self._services.knowledge()).rollback(request.project_id)
        provider, _, rest = row.fingerprint.partition("/")
        return documents_pb2.RollbackResponse(
            embedding_provider=provider,
            embedding_model=rest.rpartition("/")[0],
            index_generation=row.generation,
        )

    async def Calibrate(self, request: Any, context: Any) -> documents_pb2.CalibrateResponse:
        """Learn the gate's thresholds from labelled questions."""
        client = caller.client_for(request.project_id)
        if len(request.questions) > QUESTIONS_LIMIT:
            raise InvalidRequest.of("questions", f"at most {QUESTIONS_LIMIT:,}")
        faults = [text_violation("questions", each.question, limit=QUESTION_LIMIT) for each in request.questions]
        if any(faults):
            raise InvalidRequest([fault for fault in faults if fault is not None])
        knowledge = await self._services.knowledge()
        spending = Spending(request.project_id, "", client.name, f"calibrate/{new_id(self._services.clock.now())}")
        questions = [(each.question, each.answerable) for each in request.questions]
        found = await knowledge.calibrate(request.project_id, questions, request.max_lost_share, spending)
        return documents_pb2.CalibrateResponse(
            thresholds=found.gate.thresholds(),
            lost_share=found.lost_share,
            false_answer_share=found.false_answer_share,
        )


def _given(request: Any) -> tuple[str, Path, dict[str, tuple[str, ...]]]:
    """Read the source that a request describes, a folder that no settings declare: its id or none, root, defaults.

    Raises:
        InvalidRequest: every field that is wrong.
    """
    faults = [
        *_value_faults(request.defaults),
        fault if (fault := text_violation("root", request.root, limit=PATH_LIMIT)) is not None else None,
    ]
    root = Path(request.root)
    if not root.is_absolute():
        raise InvalidRequest.of("root", "must be an absolute path")
    kept = [fault for fault in faults if fault is not None]
    if kept:
        raise InvalidRequest(kept)
    return request.source_id, root, {key: tuple(values.values) for key, values in request.defaults.items()}


def _value_faults(defaults: Mapping[str, Any]) -> Iterable[Any]:
    for key, values in defaults.items():
        yield text_violation("defaults", key, limit=VALUE_LIMIT)
        for value in values.values[: VALUES_LIMIT + 1]:
            yield text_violation(f"defaults.{key}", value, limit=VALUE_LIMIT)


def _sync_response(event: SyncEvent) -> documents_pb2.SyncResponse:
    if isinstance(event, FileLine):
        return documents_pb2.SyncResponse(file=_file(event))
    if isinstance(event, SyncProgress):
        return documents_pb2.SyncResponse(progress=_progress(event))
    return documents_pb2.SyncResponse(summary=_summary(event))


def _file(line: FileLine) -> documents_pb2.FileLine:
    return documents_pb2.FileLine(
        path=line.path,
        status=STATUSES[line.status],
        chunk_count=line.chunk_count,
        reason=line.reason,
        undeclared_key_count=len(line.undeclared_keys),
        undeclared_keys=[key[:KEY_SHOWN] for key in line.undeclared_keys[:KEYS_SHOWN]],
        moved_from=line.moved_from,
    )


def _progress(event: SyncProgress) -> documents_pb2.SyncProgress:
    return documents_pb2.SyncProgress(
        files_done_count=event.files_done,
        files_total_count=event.files_total,
        chunks_embedded_count=event.chunks_embedded,
        chunks_total_count=event.chunks_total,
    )


def _summary(event: SyncSummary) -> documents_pb2.SyncSummary:
    counts = {f"{status.value}_count": event.files.get(status, 0) for status in FileStatus}
    return documents_pb2.SyncSummary(
        **counts,
        chunks_embedded_count=event.chunks_embedded,
        chunks_reused_count=event.chunks_reused,
        chunks_removed_count=event.chunks_removed,
        duration_ms=int(event.duration_s * 1000),
        cost_nanousd=event.cost_nanousd,
        index_generation=event.generation,
    )


def _document(entry: DocumentEntry) -> documents_pb2.DocumentEntry:
    made = documents_pb2.DocumentEntry(
        source_id=entry.source_id,
        path=entry.path,
        status=STATUSES[entry.status],
        reason=entry.reason,
        chunk_count=entry.chunk_count,
        title=entry.title,
        language=entry.language,
        metadata={key: common_pb2.Values(values=values) for key, values in entry.metadata.items()},
        content_sha256=entry.content_sha256,
    )
    made.synced_at.FromDatetime(entry.synced_at)
    return made


def _chunk(chunk: Chunk) -> documents_pb2.ChunkEntry:
    return documents_pb2.ChunkEntry(
        chunk_id=chunk.chunk_id, heading=chunk.heading, character_count=len(chunk.text), text=chunk.text
    )


OFFER: Final = Offer(
    descriptor=documents_pb2.DESCRIPTOR.services_by_name["DocumentsService"],
    servicer=DocumentsServicer,
    add=documents_pb2_grpc.add_DocumentsServiceServicer_to_server,
    scope=Scope.DOCUMENTS,
    exceptions={"GetPassage": Scope.ANSWER, "Extract": Scope.ANSWER},
)
