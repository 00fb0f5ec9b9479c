"""Changing documents and models over real gRPC: Upsert, Delete, Reindex, Rollback, Calibrate, and their commands."""

from __future__ import annotations

import argparse
import json
from contextlib import asynccontextmanager

import grpc
import grpc.aio
import pytest
from google.rpc import error_details_pb2, status_pb2

from ai_server.cli import documents as command
from ai_server.cli import ingest
from ai_server.cli.command import CommandContext
from ai_server.cli.connection import Connection
from shared.pb.passeur.v1 import common_pb2, documents_pb2, documents_pb2_grpc
from tests.fakes.ai_server import ai_server, asked
from tests.fakes.library import Desk

PRICES = b"# Prices\n\nA small parcel costs four euros and a large one costs nine euros.\n"
HOURS = "---\nlanguage: en\nteam: desk\n---\n# Hours\n\nThe desk opens at nine in the morning and closes at five.\n"


@pytest.fixture
async def rig(tmp_path):
    desk = Desk(tmp_path)
    desk.write("hours.md", HOURS)
    async with ai_server(knowledge=desk.service) as running:
        running.desk = desk
        yield running


def stub(rig) -> documents_pb2_grpc.DocumentsServiceStub:
    return documents_pb2_grpc.DocumentsServiceStub(rig.channel())


def document(path: str = "prices.md", content: bytes = PRICES, **metadata: str) -> documents_pb2.Document:
    values = {key: common_pb2.Values(values=[value]) for key, value in metadata.items()}
    return documents_pb2.Document(path=path, content=content, metadata=values)


async def upsert(rig, *documents, source: str = "sent", client: str = "operator"):
    request = documents_pb2.UpsertRequest(project_id="demo", source_id=source, documents=documents)
    return (await stub(rig).Upsert(request, metadata=rig.metadata(client), timeout=20)).files


async def refusal(call) -> tuple[grpc.StatusCode, str, str]:
    with pytest.raises(grpc.aio.AioRpcError) as failure:
        await call
    packed = dict(failure.value.trailing_metadata() or ())["grpc-status-details-bin"]
    info = error_details_pb2.ErrorInfo()
    for each in status_pb2.Status.FromString(packed).details:
        if each.Is(info.DESCRIPTOR):
            each.Unpack(info)
    return failure.value.code(), info.reason, failure.value.details() or ""


async def run(rig, module, capsys, *words: str) -> tuple[int, str]:
    """Run an operator command against the rig's server, as `python -m ai_server` would."""

    @asynccontextmanager
    async def connect():
        yield Connection(rig.channel(), rig.metadata("operator"))

    parser = argparse.ArgumentParser()
    module.configure(parser)
    context = CommandContext(rig.desk.folder, rig.desk.folder, connect)
    code = await module.run(parser.parse_args(words), context)
    return code, "".join(capsys.readouterr())


async def test_a_sent_document_is_answered_from_and_a_deleted_one_is_not(rig):
    [line] = await upsert(rig, document())
    assert (line.path, line.status, line.chunk_count) == ("prices.md", documents_pb2.FILE_STATUS_INDEXED, 1)
    open_to = common_pb2.RetrievalContext(
        allowed={name: common_pb2.Values(values=[value]) for name, value in (("scope", "docs"), ("audience", "public"))}
    )
    question = asked("What does a small parcel cost?", retrieval_contexts=[open_to])
    from shared.pb.passeur.v1 import assistant_pb2

    answer = await rig.assistant.Answer(
        assistant_pb2.AnswerRequest(input=question), metadata=rig.metadata(), timeout=20
    )
    assert "four euros" in answer.result.text
    request = documents_pb2.DeleteRequest(project_id="demo", source_id="sent", paths=["prices.md", "never.md"])
    gone = (await stub(rig).Delete(request, metadata=rig.metadata("operator"), timeout=20)).files
    assert [each.status for each in gone] == [documents_pb2.FILE_STATUS_REMOVED, documents_pb2.FILE_STATUS_SKIPPED]
    answer = await rig.assistant.Answer(
        assistant_pb2.AnswerRequest(input=question), metadata=rig.metadata(), timeout=20
    )
    assert "four euros" not in answer.result.text


async def test_refusals_carry_their_reason(rig):
    code, reason, said = await refusal(upsert(rig, document(), source="handbook"))
    assert (code, reason) == (grpc.StatusCode.FAILED_PRECONDITION, "FOLDER_SOURCE")
    assert "managed = true" in said
    code, reason, said = await refusal(upsert(rig, document(), document("../up.md")))
    assert (code, reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_REQUEST")
    assert "documents[1].path" in said
    code, _, _ = await refusal(upsert(rig, document(), client="gateway"))
    assert code is grpc.StatusCode.PERMISSION_DENIED
    call = stub(rig).Rollback(documents_pb2.RollbackRequest(project_id="demo"), metadata=rig.metadata("operator"))
    code, reason, _ = await refusal(call)
    assert (code, reason) == (grpc.StatusCode.FAILED_PRECONDITION, "NOTHING_KEPT")
    half = documents_pb2.ReindexRequest(project_id="demo", embedding_provider="fake")
    code, _, said = await refusal(stub(rig).Reindex(half, metadata=rig.metadata("operator"), timeout=20).read())
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert "give both" in said


async def test_more_than_a_message_holds_is_refused_with_the_limit(rig):
    with pytest.raises(grpc.aio.AioRpcError) as failure:
        await upsert(rig, document(content=b"x" * (4 * 1024 * 1024)))
    assert failure.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "4194304" in (failure.value.details() or "")


async def test_the_model_is_changed_and_changed_back_by_command(rig, capsys):
    await run(rig, ingest, capsys, "--source", "handbook")
    code, said = await run(rig, command, capsys, "reindex", "--model", "fake/other")
    assert code == 0
    assert "swapped in: 1 embedded, 0 reused" in said
    assert 'provider = "fake", model = "other"' in said
    assert rig.desk.service._library("demo").row.fingerprint == "fake/other/48"
    code, said = await run(rig, command, capsys, "rollback")
    assert (code, "fake/words serves again" in said) == (0, True)
    assert rig.desk.service._library("demo").row.fingerprint == "fake/words/64"
    code, said = await run(rig, command, capsys, "reindex", "--model", "nonsense")
    assert code == 2


async def test_documents_are_sent_and_removed_by_command(rig, capsys, tmp_path):
    file = tmp_path / "prices.md"
    file.write_bytes(PRICES)
    broken = tmp_path / "empty.md"
    broken.write_bytes(b"")
    code, said = await run(
        rig, command, capsys, "upsert", "sent", str(file), "--into", "en", "--meta", "audience=staff"
    )
    assert (code, said.split()[:3]) == (0, ["indexed", "en/prices.md", "1"])
    code, said = await run(rig, command, capsys, "upsert", "sent", str(broken))
    assert code == 1
    assert "no text" in said
    code, said = await run(rig, command, capsys, "upsert", "sent", str(tmp_path / "nowhere.md"))
    assert code == 2
    code, said = await run(rig, command, capsys, "delete", "sent", "en/prices.md")
    assert (code, said.split()[:2]) == (0, ["removed", "en/prices.md"])


async def test_ingest_says_what_it_reads_before_it_reads_and_which_keys_are_undeclared(rig, capsys):
    code, said = await run(rig, ingest, capsys, "--source", "handbook")
    assert code == 0
    lines = said.splitlines()
    assert lines[0] == "handbook: reading 1 file …"
    assert "kept, but undeclared: team" in lines[1]
    assert "[keys.team]" in said


async def test_one_source_that_fails_keeps_no_other_from_being_synced_and_can_be_ended(rig, capsys, tmp_path):
    extra = tmp_path / "a-wrong-turn"
    extra.mkdir()
    (extra / "prices.md").write_bytes(PRICES)
    code, said = await run(rig, ingest, capsys, "--docs", str(extra), "--meta", "scope=docs audience=public")
    assert (code, "1 indexed; 1 passage embedded" in said) == (0, True), said
    (extra / "prices.md").unlink()
    extra.rmdir()
    code, said = await run(rig, ingest, capsys)
    assert (code, "handbook: 1 indexed" in said) == (1, True), said
    assert "a-wrong-turn: not indexed" in said
    assert "documents forget-source --project demo a-wrong-turn" in said
    code, said = await run(rig, command, capsys, "forget-source", "a-wrong-turn")
    assert (code, said) == (0, "a-wrong-turn: forgotten (1 document, 1 passage); its folder was not touched\n")
    assert (await run(rig, ingest, capsys))[0] == 0
    request = documents_pb2.ForgetSourceRequest(project_id="demo", source_id="handbook")
    call = stub(rig).ForgetSource(request, metadata=rig.metadata("operator"), timeout=20)
    assert (await refusal(call))[0] is grpc.StatusCode.INVALID_ARGUMENT


async def test_a_rejected_file_makes_ingest_exit_with_1(rig, capsys):
    rig.desk.write("nuqneh.md", "---\nlanguage: tlh\n---\n# Nuqneh\n\nNo such language here.\n")
    code, said = await run(rig, ingest, capsys, "--source", "handbook")
    assert (code, "1 indexed, 1 rejected" in said) == (1, True), said


async def test_calibrate_tells_all_thresholds_and_what_they_cost(rig, capsys, tmp_path):
    await run(rig, ingest, capsys, "--source", "handbook")
    rows = [{"question": "when does the desk open?", "answerable": True}] * 3
    rows += [{"question": f"which planet is number {n}?", "answerable": False} for n in range(3)]
    file = tmp_path / "questions.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    code, said = await run(rig, command, capsys, "calibrate", str(file), "--max-lost", "0.1")
    assert code == 0
    assert "evidence: " in said
    assert "closeness: " in said
    assert "0.0% of the answerable ones are lost, 0.0% of the others are still answered" in said


async def test_a_line_that_is_no_question_is_named_by_its_number(rig, capsys, tmp_path):
    file = tmp_path / "questions.jsonl"
    for last in ("not JSON", '{"question": "x"}', "[]"):
        file.write_text(f'{{"question": "x", "answerable": true}}\n\n{last}\n')
        code, said = await run(rig, command, capsys, "calibrate", str(file))
        assert (code, "line 3 is not {" in said) == (2, True), said
    code, said = await run(rig, command, capsys, "calibrate", str(tmp_path / "none"))
    assert (code, "cannot be read (No such file" in said) == (2, True), said
