"""What is refused over real gRPC, and how it is told: credentials, scopes, bounds, bad text, size, unknown names."""

from __future__ import annotations

import asyncio

import grpc
import grpc.aio
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from ai_server.answering.validation import ATTACHED_LIMIT, IMAGE_BYTES_LIMIT
from ai_server.server import MESSAGE_LIMIT
from shared.pb.passeur.v1 import (
    assistant_pb2,
    catalog_pb2,
    catalog_pb2_grpc,
    common_pb2,
    readiness_pb2,
    readiness_pb2_grpc,
)
from tests.fakes.ai_server import ai_server, asked
from tests.fakes.documents import FakeKnowledge, chunk, hit
from tests.fakes.generation import ScriptedGenerator, saying
from tests.integration.ai_server.test_turns import errors_of


def talker():
    return ScriptedGenerator(lambda request: saying("Hello."))


def documents():
    return FakeKnowledge(hits=(hit(chunk("A passage.")),))


async def refused(rig, **fields):
    """The error that a turn's input meets."""
    with pytest.raises(grpc.aio.AioRpcError) as failure:
        await rig.answer(fields.pop("question", "How do I export?"), **fields)
    return failure.value


@pytest.mark.parametrize(
    "metadata",
    [(), (("authorization", "Bearer wrong"),), (("authorization", "Basic gateway-token"),), (("authorization", ""),)],
)
async def test_wrong_credentials_are_told_alike(metadata):
    async with ai_server(talker()) as rig:
        with pytest.raises(grpc.aio.AioRpcError) as failure:
            await rig.assistant.Answer(assistant_pb2.AnswerRequest(input=asked("Hi there")), metadata=metadata)
    assert failure.value.code() is grpc.StatusCode.UNAUTHENTICATED
    assert errors_of(failure.value)["ErrorInfo"].reason == "UNAUTHENTICATED"
    assert failure.value.details() == "Valid credentials are needed: send them as `Authorization: Bearer …`."


async def test_a_client_without_the_scope_or_the_project_is_refused():
    async with ai_server(talker()) as rig:
        request = assistant_pb2.AnswerRequest(input=asked("How do I export?"))
        with pytest.raises(grpc.aio.AioRpcError) as scope:
            await rig.assistant.Answer(request, metadata=rig.metadata("narrow"))
        project = await refused(rig, project_id="theirs")
    assert scope.value.code() is project.code() is grpc.StatusCode.PERMISSION_DENIED


async def test_only_health_is_open_and_reflection_lists_every_service():
    async with ai_server(talker()) as rig:
        health = health_pb2_grpc.HealthStub(rig.channel())
        assert (await health.Check(health_pb2.HealthCheckRequest())).status == health_pb2.HealthCheckResponse.SERVING
        reflection = reflection_pb2_grpc.ServerReflectionStub(rig.channel())
        ask = [reflection_pb2.ServerReflectionRequest(list_services="")]
        with pytest.raises(grpc.aio.AioRpcError) as failure:
            [each async for each in reflection.ServerReflectionInfo(iter(ask))]
        listed = [each async for each in reflection.ServerReflectionInfo(iter(ask), metadata=rig.metadata())]
    assert failure.value.code() is grpc.StatusCode.UNAUTHENTICATED
    names = {each.name for each in listed[0].list_services_response.service}
    expected = {f"passeur.v1.{each}Service" for each in ("Assistant", "Documents", "Budgets", "Catalog", "Readiness")}
    assert expected <= names


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"project_id": ""}, "project_id"),
        ({"question": ""}, "question"),
        ({"question": " \n\t "}, "question"),
        ({"question": "x" * 100_000}, "question"),
        ({"question": "a\x00b"}, "question"),
        ({"idempotency_key": "é"}, "idempotency_key"),
        ({"idempotency_key": "k" * 129}, "idempotency_key"),
        ({"temperature": 2.5}, "temperature"),
        ({"max_output_token_count": -1}, "max_output_token_count"),
        ({"history": [assistant_pb2.HistoryMessage(role=1, text="x")] * 41}, "history"),
        ({"history": [assistant_pb2.HistoryMessage(role=1, text="x" * 20_001)]}, "history.0.text"),
        ({"image": common_pb2.Image(mime_type="image/png", data=b"")}, "image.data"),
        ({"image": common_pb2.Image(mime_type="image/png", data=b"x" * (IMAGE_BYTES_LIMIT + 1))}, "image.data"),
        ({"image": common_pb2.Image(mime_type="image/svg+xml", data=b"x")}, "image.mime_type"),
        (
            {"attached_texts": [assistant_pb2.AttachedText(name="a", text="x" * (ATTACHED_LIMIT + 1))]},
            "attached_texts",
        ),
    ],
)
async def test_every_bound_is_told_with_its_field(fields, named):
    async with ai_server(talker()) as rig:
        failure = await refused(rig, **fields)
    assert failure.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert named in [each.field for each in errors_of(failure)["BadRequest"].field_violations]


async def test_all_faults_of_a_request_are_told_at_once():
    async with ai_server(talker()) as rig:
        failure = await refused(rig, question="", temperature=9, idempotency_key="é")
    fields = [each.field for each in errors_of(failure)["BadRequest"].field_violations]
    assert sorted(fields) == ["idempotency_key", "question", "temperature"]


async def test_text_that_is_not_unicode_never_reaches_a_handler():
    """Half a surrogate pair has no UTF-8, so a well-made client cannot even send it; a forged one is refused."""
    async with ai_server(talker()) as rig:
        forged = b"\x0a\x0d\x12\x04demo\x2a\x05ab\xed\xa0\x80"
        call = rig.channel().unary_unary("/passeur.v1.AssistantService/Answer")
        with pytest.raises(grpc.aio.AioRpcError) as failure:
            await call(forged, metadata=rig.metadata(), timeout=10)
        with pytest.raises(grpc.aio.AioRpcError) as stranger:
            await call(forged, timeout=10)
        assert failure.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert stranger.value.code() is grpc.StatusCode.UNAUTHENTICATED
        with pytest.raises((ValueError, UnicodeEncodeError)):
            asked("half \ud83d").SerializeToString()
        assert (await rig.answer("Hello!")).answer_kind == assistant_pb2.ANSWER_KIND_GREETING


async def test_unknown_projects_and_assistants_are_not_found():
    async with ai_server(talker()) as rig:
        assert (await refused(rig, assistant="nobody")).code() is grpc.StatusCode.NOT_FOUND


async def test_a_message_over_the_limit_is_refused_with_the_limit_and_the_connection_stays_usable():
    """CASES E6: github.com/grpc/grpc.io/issues/1254."""
    async with ai_server(talker(), knowledge=documents()) as rig:
        stub = rig.assistant
        for size in (MESSAGE_LIMIT + 1, 17 * 1024 * 1024):
            request = assistant_pb2.AnswerRequest(input=asked("x" * size))
            with pytest.raises(grpc.aio.AioRpcError) as failure:
                await stub.Answer(request, metadata=rig.metadata(), timeout=20)
            assert failure.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
            assert str(MESSAGE_LIMIT) in failure.value.details()
        room = MESSAGE_LIMIT - assistant_pb2.AnswerRequest(input=asked("x" * MESSAGE_LIMIT)).ByteSize() + MESSAGE_LIMIT
        for size in (room - 1, room):
            request = assistant_pb2.AnswerRequest(input=asked("x" * size))
            with pytest.raises(grpc.aio.AioRpcError) as failure:
                await stub.Answer(request, metadata=rig.metadata(), timeout=20)
            assert failure.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        request = assistant_pb2.AnswerRequest(input=asked("How do I export?"))
        assert (await stub.Answer(request, metadata=rig.metadata(), timeout=20)).result.text == "Hello."


async def test_later_features_say_so_and_name_themselves():
    async with ai_server(talker()) as rig:
        call = rig.assistant.ResumeAnswer(assistant_pb2.ResumeAnswerRequest(), metadata=rig.metadata())
        with pytest.raises(grpc.aio.AioRpcError) as resume:
            [each async for each in call]
        catalogue = catalog_pb2_grpc.CatalogServiceStub(rig.channel())
        with pytest.raises(grpc.aio.AioRpcError) as tools:
            await catalogue.ListTools(catalog_pb2.ListToolsRequest(), metadata=rig.metadata())
    assert resume.value.code() is tools.value.code() is grpc.StatusCode.UNIMPLEMENTED
    assert "browser tools" in resume.value.details()
    assert "MCP" in tools.value.details()


async def test_a_handler_that_fails_unexpectedly_says_nothing_of_its_inside_and_is_found_by_request_id():
    async with ai_server(talker(), knowledge=documents()) as rig:
        rig.knowledge.search = None
        request = assistant_pb2.SearchRequest(project_id="demo", query="secret of mine")
        metadata = (*rig.metadata(), ("x-request-id", "req-1"))
        with pytest.raises(grpc.aio.AioRpcError) as failure:
            await rig.assistant.Search(request, metadata=metadata)
    assert failure.value.code() is grpc.StatusCode.INTERNAL
    assert "req-1" in failure.value.details()
    assert "NoneType" not in failure.value.details()


async def test_an_inner_cancellation_reaches_the_client_as_aborted():
    """CASES E3: github.com/grpc/grpc/issues/29248, where the client would wait for ever."""
    async with ai_server(talker(), knowledge=documents()) as rig:

        async def cancelled(*args, **kwargs):
            raise asyncio.CancelledError

        rig.knowledge.search = cancelled
        request = assistant_pb2.SearchRequest(project_id="demo", query="anything at all")
        with pytest.raises(grpc.aio.AioRpcError) as failure:
            await rig.assistant.Search(request, metadata=rig.metadata(), timeout=10)
    assert failure.value.code() is grpc.StatusCode.ABORTED


async def test_lookups_answer_by_themselves():
    async with ai_server(talker(), knowledge=documents()) as rig:
        stub, metadata = rig.assistant, rig.metadata()
        counted = await stub.CountTokens(assistant_pb2.CountTokensRequest(project_id="demo"), metadata=metadata)
        found = await stub.Search(
            assistant_pb2.SearchRequest(
                project_id="demo", query="passage", retrieval_contexts=asked("x").retrieval_contexts
            ),
            metadata=metadata,
        )
        intent = await stub.DetectIntent(
            assistant_pb2.DetectIntentRequest(project_id="demo", message="Where is my passage?"), metadata=metadata
        )
        said = await stub.Ask(assistant_pb2.AskRequest(project_id="demo", question="Say hello"), metadata=metadata)
        catalogue = catalog_pb2_grpc.CatalogServiceStub(rig.channel())
        models = await catalogue.ListModels(catalog_pb2.ListModelsRequest(), metadata=metadata)
        providers = await catalogue.ListProviders(catalog_pb2.ListProvidersRequest(), metadata=metadata)
        defaults = await catalogue.GetDefaults(catalog_pb2.GetDefaultsRequest(project_id="demo"), metadata=metadata)
        ready = readiness_pb2_grpc.ReadinessServiceStub(rig.channel())
        state = await ready.Check(readiness_pb2.CheckRequest(), metadata=rig.metadata("narrow"))
    assert counted.token_count == 100
    assert [each.text for each in found.hits] == ["A passage."]
    assert intent.intent.kind == assistant_pb2.INTENT_KIND_DOCUMENTS
    assert (said.text, said.cost_nanousd) == ("Hello.", 120)
    assert {"embedded"} <= {each.provider for each in models.models}
    assert any(each.configured for each in providers.providers)
    assert (defaults.assistant, defaults.provider) == ("documents", "scripted")
    assert (state.http_status, state.state) == (200, common_pb2.READINESS_STATE_READY)


async def test_a_summary_is_written_by_the_model_or_quotes_the_person():
    messages = [
        assistant_pb2.HistoryMessage(role=common_pb2.ROLE_USER, text="Mon export échoue depuis hier."),
        assistant_pb2.HistoryMessage(role=common_pb2.ROLE_AI, text="Essayez encore."),
        assistant_pb2.HistoryMessage(role=common_pb2.ROLE_USER, text="Toujours pas, et j'ai redémarré."),
    ]
    request = assistant_pb2.SummarizeRequest(project_id="demo", messages=messages, language="fr")
    async with ai_server(ScriptedGenerator(lambda r: saying("Export en panne."))) as rig:
        written = await rig.assistant.Summarize(request, metadata=rig.metadata())
    async with ai_server() as rig:
        quoted = await rig.assistant.Summarize(request, metadata=rig.metadata())
    assert written.text == "Export en panne."
    assert "Mon export échoue depuis hier." in quoted.text
    assert "redémarré" in quoted.text


async def test_calls_turns_and_models_are_counted_under_bounded_labels():
    async with ai_server(talker(), knowledge=documents()) as rig:
        await rig.answer("How do I export?")
        await refused(rig, question="")
        figures = rig.figures
        labels = {"rpc": "AssistantService/Answer"}
        counted = {
            code: figures.get_sample_value("passeur_ai_rpcs_total", {**labels, "code": code})
            for code in ("OK", "INVALID_ARGUMENT")
        }
        turns = figures.get_sample_value("passeur_ai_turns_total", {"operation": "answer", "outcome": "answered"})
        model = {
            "gen_ai_operation_name": "chat",
            "gen_ai_provider_name": "scripted",
            "gen_ai_request_model": "m",
        }
        tokens = figures.get_sample_value("gen_ai_client_token_usage_total", {**model, "gen_ai_token_type": "output"})
        ready = figures.get_sample_value("passeur_ai_dependency_state", {"dependency": "store"})
    assert counted == {"OK": 1, "INVALID_ARGUMENT": 1}
    assert (turns, tokens, ready) == (1, 20, 1)
