"""Turns over real gRPC: what is streamed, stored, replayed, stopped and told."""

from __future__ import annotations

import asyncio

import grpc
import grpc.aio
import pytest
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from ai_server.providers.contract import Finished, FinishReason, TextDelta
from ai_server.providers.embedded.generation import ExtractiveGenerator
from shared.errors import ProviderCut, ProviderOverloaded
from shared.pb.passeur.v1 import assistant_pb2, common_pb2
from tests.fakes.ai_server import ai_server, asked
from tests.fakes.documents import FakeKnowledge, chunk, hit
from tests.fakes.generation import ScriptedGenerator, saying

EXPORT = chunk(
    "Open Settings and choose Export.\nThe file is sent by mail.", title="Export", url="https://docs.test/export"
)
STOCK = "model | stock\nGitane | 3\nPeugeot | 0"


def documents(*texts):
    return FakeKnowledge(hits=tuple(hit(each) for each in texts or (EXPORT,)))


def citing(*texts):
    """A generator that ends each text with the marker of the first passage."""
    return ScriptedGenerator(lambda request: saying(*(f"{each} {request.passages[0].marker}" for each in texts)))


async def events(rig, question, **fields):
    request = assistant_pb2.StreamAnswerRequest(input=asked(question, **fields))
    return [each async for each in rig.assistant.StreamAnswer(request, metadata=rig.metadata(), timeout=20)]


async def until_text(heard):
    while not (await anext(heard)).HasField("delta"):
        pass


async def until_stopping(rig):
    async with asyncio.timeout(60):
        while not any(turn.ending for turn, _ in rig.application._turns._running.values()):  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def explained(rig, key):
    """What a turn's journal line says, as soon as it is there."""
    request = assistant_pb2.ExplainTurnRequest(project_id="demo", idempotency_key=key)
    async with asyncio.timeout(60):
        while True:
            try:
                return await rig.assistant.ExplainTurn(request, metadata=rig.metadata())
            except grpc.aio.AioRpcError as error:
                if error.code() is not grpc.StatusCode.FAILED_PRECONDITION:
                    raise
            await asyncio.sleep(0.01)


def errors_of(failure: grpc.aio.AioRpcError):
    """The details of a gRPC error, by type."""
    found = {}
    for detail in rpc_status.from_call(failure).details:
        for kind in (error_details_pb2.ErrorInfo, error_details_pb2.BadRequest, error_details_pb2.RetryInfo):
            if detail.Is(kind.DESCRIPTOR):
                found[kind.__name__] = kind()
                detail.Unpack(found[kind.__name__])
    return found


async def test_a_question_is_streamed_in_steps_then_text_then_one_cited_result():
    async with ai_server(citing("Use the settings."), knowledge=documents()) as rig:
        seen = await events(rig, "How do I export my data?", language_hint="en")
    steps = [assistant_pb2.StepKind.Name(each.step.kind) for each in seen if each.HasField("step")]
    assert steps == [f"STEP_KIND_{name}" for name in ("INTENT", "RETRIEVE", "DECIDE", "GENERATE", "CITE")]
    result = seen[-1].result
    assert result.outcome == common_pb2.OUTCOME_ANSWERED
    assert result.text == "Use the settings."
    assert "".join(each.delta.text for each in seen if each.HasField("delta")) == result.text
    [citation] = result.citations
    assert (citation.title, citation.url, citation.position) == ("Export", "https://docs.test/export", 17)
    assert citation.quote in EXPORT.text
    assert citation.chunk_id == EXPORT.chunk_id
    assert result.confidence == pytest.approx(0.7)
    assert (result.provider, result.model, result.economy) == ("scripted", "m", False)
    assert result.cost_nanousd == 120


async def test_only_a_short_answer_that_nobody_can_watch_is_asked_for_whole():
    """Decision 0038. Whoever has a key can come to the turn, and stop it; of a long answer a beginning may be kept."""
    generator = ScriptedGenerator(lambda _: saying("Use the settings."))
    async with ai_server(generator, knowledge=documents()) as rig:
        await rig.answer("How do I export?", max_output_token_count=1_024)
        await rig.answer("How do I export?", max_output_token_count=1_025)
        await rig.answer("How do I export?", idempotency_key="k1")
        await events(rig, "How do I export?")
        for fields in ({}, {"idempotency_key": "k2"}):
            request = assistant_pb2.AskRequest(project_id="demo", question="Say hello", **fields)
            await rig.assistant.Ask(request, metadata=rig.metadata())
    assert [each.stream for each in generator.requests] == [False, True, True, True, False, True]


async def test_a_greeting_is_answered_without_documents_or_model():
    generator = citing("never")
    async with ai_server(generator, knowledge=documents()) as rig:
        result = await rig.answer("Bonjour !")
    assert result.answer_kind == assistant_pb2.ANSWER_KIND_GREETING
    assert result.outcome == common_pb2.OUTCOME_ANSWERED
    assert result.language == "fr"
    assert rig.knowledge.queries == []
    assert generator.requests == []


async def test_without_a_relevant_passage_nothing_is_generated():
    generator = citing("never")
    async with ai_server(generator) as rig:
        result = await rig.answer("What is the capital of Mongolia?")
    assert result.outcome == common_pb2.OUTCOME_INSUFFICIENT_CONTEXT
    assert not result.HasField("confidence")
    assert generator.requests == []


async def test_a_person_who_may_read_nothing_gets_nothing():
    """CASES C4: empty rights are an empty result, never "no filter"."""
    async with ai_server(citing("never"), knowledge=documents()) as rig:
        none = await rig.answer("How do I export?", retrieval_contexts=[])
        empty = common_pb2.RetrievalContext(allowed={"scope": common_pb2.Values(values=[])})
        closed = await rig.answer("How do I export?", retrieval_contexts=[empty])
    assert none.outcome == closed.outcome == common_pb2.OUTCOME_INSUFFICIENT_CONTEXT


@pytest.mark.parametrize("said", ["", "   ", "[[unsupported]]", "[[unsupported]] I cannot tell."])
async def test_empty_output_and_the_unsupported_marker_are_insufficient_context(said):
    async with ai_server(ScriptedGenerator(lambda request: saying(said)), knowledge=documents()) as rig:
        seen = await events(rig, "How do I export?")
    assert seen[-1].result.outcome == common_pb2.OUTCOME_INSUFFICIENT_CONTEXT
    assert not any(each.HasField("delta") for each in seen)


async def test_the_same_key_and_body_gives_the_same_answer_for_one_call():
    """PROMISES P5."""
    generator = citing("Once.")
    async with ai_server(generator, knowledge=documents()) as rig:
        results = [await rig.answer("How do I export?", idempotency_key="k1") for _ in range(3)]
        replayed = await events(rig, "How do I export?", idempotency_key="k1")
    assert len(generator.requests) == 1
    assert results[0] == results[1] == results[2] == replayed[-1].result
    assert replayed[0].delta.text == "Once."


async def test_the_same_key_with_another_body_is_a_conflict():
    async with ai_server(citing("Once."), knowledge=documents()) as rig:
        await rig.answer("How do I export?", idempotency_key="k1")
        with pytest.raises(grpc.aio.AioRpcError) as failure:
            await rig.answer("How do I import?", idempotency_key="k1")
    assert failure.value.code() is grpc.StatusCode.ALREADY_EXISTS
    assert errors_of(failure.value)["ErrorInfo"].reason == "IDEMPOTENCY_CONFLICT"


async def test_two_clients_and_two_projects_do_not_share_keys():
    generator = citing("Mine.")
    async with ai_server(generator, knowledge=documents()) as rig:
        await rig.answer("How do I export?", idempotency_key="k1")
        request = assistant_pb2.AnswerRequest(input=asked("Another question here?", idempotency_key="k1"))
        other = await rig.assistant.Answer(request, metadata=rig.metadata("other"), timeout=20)
    assert other.result.outcome == common_pb2.OUTCOME_ANSWERED
    assert len(generator.requests) == 2


async def test_attaching_to_a_running_turn_replays_it_as_one_delta_then_goes_on_live():
    gate = asyncio.Event()
    generator = ScriptedGenerator(lambda request: [TextDelta("One "), TextDelta("two "), gate, *saying("three.")])
    async with ai_server(generator, knowledge=documents()) as rig:
        request = assistant_pb2.StreamAnswerRequest(
            input=asked("How do I export?", idempotency_key="k1", detached=True)
        )
        first = rig.assistant.StreamAnswer(request, metadata=rig.metadata(), timeout=20)
        heard = aiter(first)
        said = ""
        while "two" not in said:
            said += (await anext(heard)).delta.text
        first.cancel()
        second = rig.assistant.StreamAnswer(request, metadata=rig.metadata(), timeout=20)
        heard = aiter(second)
        replay = [await anext(heard) for _ in range(5)]
        gate.set()
        rest = [each async for each in heard]
    assert [each.delta.text for each in replay if each.HasField("delta")] == ["One two"]
    assert rest[-1].result.text == "One two three."
    assert len(generator.requests) == 1


async def test_the_caller_leaving_stops_a_turn_that_is_not_detached_and_it_is_settled():
    gate = asyncio.Event()
    generator = ScriptedGenerator(lambda request: [TextDelta("Begun "), gate, *saying("never")])
    async with ai_server(generator, knowledge=documents()) as rig:
        request = assistant_pb2.StreamAnswerRequest(input=asked("How do I export?", idempotency_key="k1"))
        call = rig.assistant.StreamAnswer(request, metadata=rig.metadata(), timeout=20)
        await until_text(aiter(call))
        call.cancel()
        await until_stopping(rig)
        gate.set()
        result = await rig.answer("How do I export?", idempotency_key="k1")
    assert result.outcome == common_pb2.OUTCOME_STOPPED
    assert result.text == "Begun"
    assert all(each.now.state.value == "settled" for each in rig.store.ledger.kept.values())


async def test_a_detached_turn_outlives_its_caller():
    gate = asyncio.Event()
    generator = ScriptedGenerator(lambda request: [TextDelta("Begun, "), gate, *saying("and ended.")])
    async with ai_server(generator, knowledge=documents()) as rig:
        fields = {"idempotency_key": "k1", "detached": True}
        request = assistant_pb2.StreamAnswerRequest(input=asked("How do I export?", **fields))
        call = rig.assistant.StreamAnswer(request, metadata=rig.metadata(), timeout=20)
        await until_text(aiter(call))
        call.cancel()
        gate.set()
        result = await rig.answer("How do I export?", **fields)
    assert (result.outcome, result.text) == (common_pb2.OUTCOME_ANSWERED, "Begun, and ended.")


async def test_explaining_tells_a_running_turn_from_one_that_nobody_asked():
    """The gateway asks before it attaches again: only a turn that is not known was interrupted."""
    gate = asyncio.Event()
    generator = ScriptedGenerator(lambda request: [TextDelta("Begun, "), gate, *saying("and ended.")])
    async with ai_server(generator, knowledge=documents()) as rig:
        request = assistant_pb2.StreamAnswerRequest(
            input=asked("How do I export?", idempotency_key="k1", detached=True)
        )
        call = rig.assistant.StreamAnswer(request, metadata=rig.metadata(), timeout=20)
        heard = aiter(call)
        await until_text(heard)
        codes = []
        for key in ("k1", "nobody"):
            explain = assistant_pb2.ExplainTurnRequest(project_id="demo", idempotency_key=key)
            with pytest.raises(grpc.aio.AioRpcError) as failure:
                await rig.assistant.ExplainTurn(explain, metadata=rig.metadata())
            codes.append(failure.value.code())
        gate.set()
        async for _ in heard:
            pass
    assert codes == [grpc.StatusCode.FAILED_PRECONDITION, grpc.StatusCode.NOT_FOUND]


async def test_stop_keeps_what_was_said_and_is_idempotent():
    gate = asyncio.Event()
    generator = ScriptedGenerator(lambda request: [TextDelta("Said so far"), gate])
    async with ai_server(generator, knowledge=documents()) as rig:
        request = assistant_pb2.StreamAnswerRequest(
            input=asked("How do I export?", idempotency_key="k1", detached=True)
        )
        call = rig.assistant.StreamAnswer(request, metadata=rig.metadata(), timeout=20)
        heard = aiter(call)
        await until_text(heard)
        stop = assistant_pb2.CancelTurnRequest(project_id="demo", idempotency_key="k1")
        first = await rig.assistant.CancelTurn(stop, metadata=rig.metadata())
        result = [each async for each in heard][-1].result  # though its call goes on
        assert [each.now.state.value for each in rig.store.ledger.kept.values()] == ["settled", "pending"]
        gate.set()
        told = await explained(rig, "k1")
        again = await rig.assistant.CancelTurn(stop, metadata=rig.metadata())
        unknown = assistant_pb2.CancelTurnRequest(project_id="demo", idempotency_key="nobody")
        with pytest.raises(grpc.aio.AioRpcError) as failure:
            await rig.assistant.CancelTurn(unknown, metadata=rig.metadata())
    assert (first.was_running, again.was_running) == (True, False)
    assert (result.outcome, result.text) == (common_pb2.OUTCOME_STOPPED, "Said so far")
    assert (result.HasField("cost_nanousd"), told.cost_nanousd, told.estimated) == (False, 1100, True)
    assert failure.value.code() is grpc.StatusCode.NOT_FOUND


async def test_a_failed_provider_hands_over_to_the_next_and_the_last_resort_is_economy():
    busy = ScriptedGenerator(
        lambda request: [ProviderOverloaded("busy", "overloaded", started=False, error_class="overloaded")], name="busy"
    )
    async with ai_server(busy, knowledge=documents()) as rig:
        result = await rig.answer("How do I export?")
    assert result.outcome == common_pb2.OUTCOME_ANSWERED
    assert (result.provider, result.model, result.economy) == ("embedded", "extractive", True)
    assert "Open Settings and choose Export." in result.text
    assert result.cost_nanousd == 0


async def test_a_spent_budget_means_economy_mode_not_silence():
    async with ai_server(citing("never"), knowledge=documents(), budget=10) as rig:
        result = await rig.answer("How do I export?")
        assert rig.application.board.report().state.value == "ready"
    assert (result.outcome, result.economy) == (common_pb2.OUTCOME_ANSWERED, True)


async def test_an_answer_cut_after_its_first_words_is_truncated_and_says_why():
    def script(request):
        return [TextDelta("Half of "), ProviderCut("scripted", "it broke", started=True, error_class="cut")]

    async with ai_server(ScriptedGenerator(script), knowledge=documents()) as rig:
        result = await rig.answer("How do I export?")
    assert result.outcome == common_pb2.OUTCOME_TRUNCATED
    assert result.text == "Half of"
    assert (result.problem.reason, result.problem.provider) == ("PROVIDER_CUT", "scripted")
    assert result.estimated
    assert result.cost_nanousd == 1100


async def test_a_model_whose_thinking_ate_the_answer_hands_over():
    """CASES B1."""
    thinker = ScriptedGenerator(lambda request: [Finished(FinishReason.LENGTH)])
    async with ai_server(thinker, knowledge=documents()) as rig:
        result = await rig.answer("How do I export?")
    assert (result.outcome, result.economy) == (common_pb2.OUTCOME_ANSWERED, True)


async def test_an_answer_cut_at_its_limit_is_truncated():
    long = ScriptedGenerator(lambda request: saying("Too long", reason=FinishReason.LENGTH))
    async with ai_server(long, knowledge=documents()) as rig:
        assert (await rig.answer("How do I export?")).outcome == common_pb2.OUTCOME_TRUNCATED


async def test_a_turn_explains_itself_afterwards():
    async with ai_server(citing("Use the settings."), knowledge=documents()) as rig:
        result = await rig.answer("How do I export my data?", idempotency_key="k1")
        by_key = assistant_pb2.ExplainTurnRequest(project_id="demo", idempotency_key="k1")
        told = await rig.assistant.ExplainTurn(by_key, metadata=rig.metadata())
        by_id = assistant_pb2.ExplainTurnRequest(project_id="demo", turn_id=result.turn_id)
        assert await rig.assistant.ExplainTurn(by_id, metadata=rig.metadata()) == told
        unknown = assistant_pb2.ExplainTurnRequest(project_id="demo", turn_id="nobody")
        with pytest.raises(grpc.aio.AioRpcError) as failure:
            await rig.assistant.ExplainTurn(unknown, metadata=rig.metadata())
    assert failure.value.code() is grpc.StatusCode.NOT_FOUND
    assert told.turn_id == result.turn_id
    assert told.search_query == "How do I export my data?"
    assert [(each.kept, each.cited) for each in told.chunks] == [(True, True)]
    assert [each.operation for each in told.calls] == ["embedding", "answer"]
    assert [each.reservation_key for each in told.calls] == [f"{result.turn_id}/0/0", f"{result.turn_id}/1/0"]
    assert told.cost_nanousd == result.cost_nanousd == 120
    assert set(told.duration_ms_by_step) == {"intent", "retrieve", "generate", "cite"}


async def test_a_turn_that_a_dead_process_left_is_told_truthfully():
    gate = asyncio.Event()
    generator = ScriptedGenerator(lambda request: [TextDelta("Begun "), gate])
    async with ai_server(generator, knowledge=documents()) as rig:
        request = assistant_pb2.StreamAnswerRequest(
            input=asked("How do I export?", idempotency_key="k1", detached=True)
        )
        call = rig.assistant.StreamAnswer(request, metadata=rig.metadata(), timeout=20)
        heard = aiter(call)
        await until_text(heard)
        async with ai_server(citing("never"), knowledge=documents(), store=rig.store) as next_process:
            result = await next_process.answer("How do I export?", idempotency_key="k1", detached=True)
            states = [each.now.state.value for each in next_process.store.ledger.kept.values()]
        gate.set()
    assert result.outcome == common_pb2.OUTCOME_FAILED
    assert result.problem.reason == "INTERRUPTED"
    assert not result.HasField("cost_nanousd")
    assert states == ["settled", "held"]


async def test_an_inner_cancellation_ends_the_turn_with_a_problem():
    """CASES E3."""

    def script(request):
        raise asyncio.CancelledError

    async with ai_server(ScriptedGenerator(script), knowledge=documents()) as rig:
        result = await rig.answer("How do I export?")
    assert result.outcome == common_pb2.OUTCOME_FAILED
    assert result.problem.reason in {"ABORTED", "NOT_READY"}


async def test_a_follow_up_is_searched_with_its_subject():
    history = [
        assistant_pb2.HistoryMessage(role=common_pb2.ROLE_USER, text="Comment exporter mes données ?"),
        assistant_pb2.HistoryMessage(role=common_pb2.ROLE_AI, text="Dans les réglages."),
    ]
    async with ai_server(citing("Pareil."), knowledge=documents()) as rig:
        await rig.answer("et sur mobile ?", history=history)
    assert rig.knowledge.queries == ["Comment exporter mes données ? et sur mobile ?"]
    assert rig.knowledge.languages == ["fr"]


async def test_an_image_that_nobody_can_see_is_said_so():
    image = common_pb2.Image(mime_type="image/png", data=b"png")
    async with ai_server(citing("Answer."), knowledge=documents()) as rig:
        beside = await rig.answer("How do I export my data from here?", image=image)
        rig.knowledge.hits = ()
        alone = await rig.answer("What is on this picture, please?", image=image)
    assert beside.text.startswith("I cannot look at the image")
    assert beside.text.endswith("Answer.")
    assert beside.text[: beside.citations[0].position].endswith("Answer.")
    assert alone.text.startswith("I cannot look at the image")
    assert alone.outcome == common_pb2.OUTCOME_ANSWERED


async def test_a_file_beside_an_image_that_nobody_can_see_is_answered_from():
    """A newcomer sent a CSV and a picture with one question: the CSV went unread."""
    sent = {
        "image": common_pb2.Image(mime_type="image/png", data=b"png"),
        "attached_texts": [assistant_pb2.AttachedText(name="stock.csv", text=STOCK)],
    }
    async with ai_server(ExtractiveGenerator(), knowledge=documents()) as rig:
        rig.knowledge.hits = ()
        found = await rig.answer("What does the picture show, and what is the stock of the Gitane?", **sent)
        missed = await rig.answer("What does the picture show of the neighbour's garden?", **sent)
    for result in (found, missed):
        assert result.text.startswith("I cannot look at the image")
    assert "stock.csv" in found.text
    assert "| Gitane | 3 |" in found.text
    assert missed.text.endswith("In stock.csv I found nothing that answers the question.")


async def test_an_image_without_documents_uses_the_prompt_without_facts():
    seer = ScriptedGenerator(lambda request: saying("A red button."), image=True)
    image = common_pb2.Image(mime_type="image/png", data=b"png")
    async with ai_server(seer) as rig:
        result = await rig.answer("What is on this picture, please?", image=image)
    assert result.text == "A red button."
    assert "no document speaks of it" in seer.requests[0].instructions
    assert seer.requests[0].messages[-1].parts[-1].data == b"png"


async def test_only_paraphrasing_models_see_what_may_not_be_quoted():
    secret = chunk("The hidden port is 4242.", quotable=False, title="Hidden")
    paraphraser = ScriptedGenerator(lambda request: saying(f"A port exists. {request.passages[0].marker}"))
    quoter = ScriptedGenerator(lambda request: saying("[[unsupported]]"), name="quoter", paraphrases=False)
    async with ai_server(paraphraser, knowledge=documents(secret)) as rig:
        told = await rig.answer("Which port is hidden from me?")
    async with ai_server(quoter, knowledge=documents(secret)) as rig:
        seen = await events(rig, "Which port is hidden from me?")
    assert paraphraser.requests[0].passages[0].text == secret.text
    assert (told.text, list(told.citations)) == ("A port exists.", [])
    assert quoter.requests[0].passages == ()
    assert seen[-1].result.outcome == common_pb2.OUTCOME_INSUFFICIENT_CONTEXT
    assert not seen[-1].result.HasField("confidence")
    assert "Hidden" not in str(seen)
    assert any("0" in each.step.detail for each in seen if each.step.kind == assistant_pb2.STEP_KIND_DECIDE)
