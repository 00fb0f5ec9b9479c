"""Documents over real gRPC, with the real service behind: sync, list, explain, passages by rights, audit."""

from __future__ import annotations

import grpc
import grpc.aio
import pytest

from shared.pb.passeur.v1 import common_pb2, documents_pb2, documents_pb2_grpc
from tests.fakes.ai_server import ai_server
from tests.fakes.library import Desk

OPEN = "---\nlanguage: en\n---\n# Hours\n\nThe desk opens at nine in the morning and closes at five.\n"
STAFF = "---\nlanguage: en\naudience: staff\n---\n# Safe\n\nThe key of the safe is kept by the head of the desk.\n"
SILENT = "---\nlanguage: en\naudience: public\nchatbot_only: true\n---\n# Tone\n\nAlways greet the visitor first.\n"
BROKEN = "---\nlanguage: tlh\n---\n# Nuqneh\n\nThis language is not one that the project declares.\n"


@pytest.fixture
async def rig(tmp_path):
    """A server whose documents are four files in a declared folder."""
    desk = Desk(tmp_path)
    for path, text in (("open.md", OPEN), ("staff.md", STAFF), ("silent.md", SILENT), ("broken.md", BROKEN)):
        desk.write(path, text)
    async with ai_server(knowledge=desk.service) as running:
        yield running


def stub(rig) -> documents_pb2_grpc.DocumentsServiceStub:
    return documents_pb2_grpc.DocumentsServiceStub(rig.channel())


async def sync(rig, **fields) -> list[documents_pb2.SyncResponse]:
    request = documents_pb2.SyncRequest(project_id="demo", **{"source_id": "handbook", **fields})
    return [event async for event in stub(rig).Sync(request, metadata=rig.metadata("operator"), timeout=30)]


async def chunk_of(rig, path: str) -> str:
    request = documents_pb2.ExplainRequest(project_id="demo", source_id="handbook", path=path)
    found = await stub(rig).Explain(request, metadata=rig.metadata("operator"), timeout=10)
    return found.chunks[0].chunk_id


def person(*audiences: str) -> common_pb2.RetrievalContext:
    return common_pb2.RetrievalContext(
        allowed={"scope": common_pb2.Values(values=["docs"]), "audience": common_pb2.Values(values=audiences)}
    )


async def passage(rig, chunk_id: str, *contexts: common_pb2.RetrievalContext) -> documents_pb2.GetPassageResponse:
    request = documents_pb2.GetPassageRequest(project_id="demo", chunk_id=chunk_id, retrieval_contexts=contexts)
    return await stub(rig).GetPassage(request, metadata=rig.metadata("gateway"), timeout=10)


async def test_a_sync_streams_a_line_for_each_file_and_the_summary_last(rig):
    events = await sync(rig)
    lines = {event.file.path: event.file for event in events if event.WhichOneof("event") == "file"}
    indexed, rejected = documents_pb2.FILE_STATUS_INDEXED, documents_pb2.FILE_STATUS_REJECTED
    assert {path: line.status for path, line in lines.items()} == {
        "open.md": indexed,
        "staff.md": indexed,
        "silent.md": indexed,
        "broken.md": rejected,
    }
    assert "language" in lines["broken.md"].reason
    assert [event.WhichOneof("event") for event in events].index("summary") == len(events) - 1
    summary = events[-1].summary
    assert (summary.indexed_count, summary.rejected_count, summary.chunks_embedded_count) == (3, 1, 3)
    again = (await sync(rig))[-1].summary
    assert (again.unchanged_count, again.rejected_count, again.chunks_embedded_count) == (3, 1, 0)


async def test_documents_are_listed_by_page_and_one_is_explained(rig):
    await sync(rig)
    seen, token = [], ""
    for _ in range(3):
        request = documents_pb2.ListRequest(project_id="demo", page_size=2, page_token=token)
        page = await stub(rig).List(request, metadata=rig.metadata("operator"), timeout=10)
        seen += [each.path for each in page.documents]
        token = page.next_page_token
        if not token:
            break
    assert seen == ["broken.md", "open.md", "silent.md", "staff.md"]
    assert [(each.source_id, each.document_count, each.chunk_count) for each in page.sources] == [
        ("handbook", 3, 3),
        ("sent", 0, 0),
    ]
    request = documents_pb2.ExplainRequest(project_id="demo", source_id="handbook", path="open.md")
    found = await stub(rig).Explain(request, metadata=rig.metadata("operator"), timeout=10)
    assert (found.document.title, found.document.language) == ("Hours", "en")
    assert list(found.document.metadata["audience"].values) == ["public"]
    assert "opens at nine" in found.chunks[0].text


async def test_a_passage_is_given_to_those_who_may_read_it_and_to_nobody_else(rig):
    await sync(rig)
    staff = await chunk_of(rig, "staff.md")
    assert "key of the safe" in (await passage(rig, staff, person("public"), person("staff"))).text
    for contexts in ([person("public")], [person()], []):
        with pytest.raises(grpc.aio.AioRpcError) as failure:
            await passage(rig, staff, *contexts)
        assert failure.value.code() is grpc.StatusCode.NOT_FOUND
        assert "safe" not in (failure.value.details() or "")
    silent = await chunk_of(rig, "silent.md")
    with pytest.raises(grpc.aio.AioRpcError) as failure:
        await passage(rig, silent, person("public", "staff"))
    assert failure.value.code() is grpc.StatusCode.NOT_FOUND


async def test_an_audit_finds_every_passage_and_names_the_one_that_the_index_lost(rig):
    await sync(rig)
    request = documents_pb2.DocumentsServiceAuditRequest(project_id="demo")
    audit = await stub(rig).Audit(request, metadata=rig.metadata("operator"), timeout=10)
    assert (audit.chunk_count, audit.clean) == (3, True)
    lost = await chunk_of(rig, "open.md")
    index = rig.knowledge._index
    for held in index.collections.values():
        held.pop(lost, None)
    audit = await stub(rig).Audit(request, metadata=rig.metadata("operator"), timeout=10)
    assert (audit.clean, list(audit.unreachable_chunk_ids), list(audit.ghost_chunk_ids)) == (False, [lost], [])


@pytest.mark.parametrize("name", ["Sync", "List", "Explain", "Audit"])
async def test_who_may_only_ask_questions_may_not_run_the_documents(rig, name):
    message = "DocumentsServiceAuditRequest" if name == "Audit" else f"{name}Request"
    call = getattr(stub(rig), name)(
        getattr(documents_pb2, message)(project_id="demo"), metadata=rig.metadata("gateway"), timeout=10
    )
    with pytest.raises(grpc.aio.AioRpcError) as failure:
        await (call.read() if name == "Sync" else call)
    assert failure.value.code() is grpc.StatusCode.PERMISSION_DENIED


async def test_a_folder_for_a_declared_source_and_an_unknown_one_are_refused_by_name(rig):
    with pytest.raises(grpc.aio.AioRpcError) as failure:
        await sync(rig, root="/srv/elsewhere")
    assert failure.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    with pytest.raises(grpc.aio.AioRpcError) as failure:
        await sync(rig, source_id="nothing")
    assert failure.value.code() is grpc.StatusCode.NOT_FOUND
    assert "nothing" in (failure.value.details() or "")
