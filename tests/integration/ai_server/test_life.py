"""Coming up, telling the truth about it, and going away: PROMISES P17 and P18, CASES E1 and C14."""

from __future__ import annotations

import asyncio

import grpc
import grpc.aio
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from ai_server.providers.breaker import FAILURES_TO_OPEN
from ai_server.providers.contract import TextDelta
from ai_server.providers.patience import FOR_AN_ANSWER
from ai_server.readiness import RETRIEVAL, STORE, State
from shared.errors import ProviderOverloaded, ProviderRefused
from shared.pb.passeur.v1 import assistant_pb2, common_pb2, readiness_pb2, readiness_pb2_grpc
from tests.fakes.ai_server import UP_SECONDS, ai_server, asked
from tests.fakes.documents import FakeKnowledge, chunk, hit
from tests.fakes.generation import ScriptedGenerator, saying
from tests.fakes.state_store import MemoryStateStore
from tests.integration.ai_server.test_turns import until_text

SERVING, NOT_SERVING = health_pb2.HealthCheckResponse.SERVING, health_pb2.HealthCheckResponse.NOT_SERVING
ASSISTANT = "passeur.v1.AssistantService"


def documents():
    return FakeKnowledge(hits=(hit(chunk("A passage about exports.")),))


def talker():
    return ScriptedGenerator(lambda request: saying("Hello."))


async def check(rig):
    stub = readiness_pb2_grpc.ReadinessServiceStub(rig.channel())
    return await stub.Check(readiness_pb2.CheckRequest(), metadata=rig.metadata())


def cancelling(key):
    return assistant_pb2.CancelTurnRequest(project_id="demo", idempotency_key=key)


async def refused(rig, **fields):
    with pytest.raises(grpc.aio.AioRpcError) as failure:
        await rig.answer("How do I export?", **fields)
    return failure.value


async def test_the_listener_answers_before_its_dependencies_are_up():
    knowledge = FakeKnowledge(broken="The index belongs to another embedding model: run reindex.")
    async with ai_server(talker(), knowledge=knowledge, wait=False) as rig:
        state = await check(rig)
        assert (state.http_status, state.state) == (503, common_pb2.READINESS_STATE_DOWN)
        failure = await refused(rig)
        assert failure.code() is grpc.StatusCode.UNAVAILABLE
        assert "another embedding model" in failure.details()
        rows = {each.name: each for each in (await check(rig)).dependencies}
        assert "another embedding model" in rows[RETRIEVAL].reason
        assert rows[STORE].state == common_pb2.READINESS_STATE_READY
        knowledge.broken = ""
        await rig.wait_for(State.READY)
        assert (await rig.answer("Hello there, exports?")).outcome in {
            common_pb2.OUTCOME_ANSWERED,
            common_pb2.OUTCOME_INSUFFICIENT_CONTEXT,
        }


async def test_health_follows_a_store_that_cannot_write_both_ways():
    async with ai_server(talker(), knowledge=documents()) as rig:
        health = health_pb2_grpc.HealthStub(rig.channel())
        watched = aiter(health.Watch(health_pb2.HealthCheckRequest(service=ASSISTANT)))
        assert (await anext(watched)).status == SERVING
        rig.store.ledger.broken = "The disk is full: free some space."
        async with asyncio.timeout(UP_SECONDS):
            assert (await anext(watched)).status == NOT_SERVING
        failure = await refused(rig)
        assert failure.code() is grpc.StatusCode.UNAVAILABLE
        assert "disk is full" in failure.details()
        rig.store.ledger.broken = ""
        async with asyncio.timeout(UP_SECONDS):
            assert (await anext(watched)).status == SERVING
        assert (await rig.answer("How do I export?")).text == "Hello."


async def test_retrieval_has_a_health_name_of_its_own():
    async with ai_server(talker(), knowledge=documents()) as rig:
        health = health_pb2_grpc.HealthStub(rig.channel())
        request = health_pb2.HealthCheckRequest(service="retrieval")
        assert (await health.Check(request)).status == SERVING
        rig.knowledge.broken = "The index is lost."
        await rig.wait_for(State.DOWN)
        assert (await health.Check(request)).status == NOT_SERVING
        assert (
            await health.Check(health_pb2.HealthCheckRequest(service="passeur.v1.CatalogService"))
        ).status == SERVING


async def test_an_index_child_that_died_degrades_and_answers_go_on():
    async with ai_server(talker(), knowledge=documents()) as rig:
        rig.knowledge.stopped = "The index child died and is being started again."
        await rig.wait_for(State.DEGRADED)
        state = await check(rig)
        assert state.http_status == 200
        assert (await rig.answer("How do I export?")).text == "Hello."


async def test_a_provider_that_keeps_failing_is_left_alone_and_shows_as_degraded():
    busy = ScriptedGenerator(
        lambda request: [ProviderOverloaded("scripted", "it is busy", started=False, error_class="overloaded")]
    )
    async with ai_server(busy, knowledge=documents()) as rig:
        for _ in range(5):
            result = await rig.answer("How do I export?")
            assert (result.outcome, result.economy) == (common_pb2.OUTCOME_ANSWERED, True)
        await rig.wait_for(State.DEGRADED)
        rows = {each.name: each for each in (await check(rig)).dependencies}
        assert "scripted" in rows["generation"].reason
    assert len(busy.requests) == FAILURES_TO_OPEN * FOR_AN_ANSWER.tries


async def test_a_provider_that_cannot_be_made_degrades_and_is_tried_again():
    keyless = talker()
    keyless.unusable = ProviderRefused("scripted", "no key", started=False, error_class="credentials")
    async with ai_server(keyless, knowledge=documents()) as rig:
        await rig.wait_for(State.DEGRADED)
        assert (await rig.answer("How do I export?")).economy
        keyless.unusable = None
        await rig.wait_for(State.READY)
        assert not (await rig.answer("How do I export?")).economy


async def test_draining_refuses_new_turns_finishes_running_ones_and_closes_the_store_last():
    gate, order = asyncio.Event(), []
    store, knowledge = MemoryStateStore(), documents()
    generator = ScriptedGenerator(lambda request: [TextDelta("Begun, "), gate, *saying("ended.")])

    async def closing():
        order.append("store")

    store.close = closing
    async with ai_server(generator, knowledge=knowledge, store=store) as rig:
        request = assistant_pb2.StreamAnswerRequest(input=asked("How do I export?", idempotency_key="k1"))
        heard = aiter(rig.assistant.StreamAnswer(request, metadata=rig.metadata(), timeout=20))
        await until_text(heard)
        draining = asyncio.create_task(rig.application.drain(10))
        await rig.wait_for(State.DOWN)
        health = health_pb2_grpc.HealthStub(rig.channel())
        assert (await health.Check(health_pb2.HealthCheckRequest(service=ASSISTANT))).status == NOT_SERVING
        failure = await refused(rig, idempotency_key="k2")
        assert failure.code() is grpc.StatusCode.UNAVAILABLE
        assert "draining" in failure.details()
        gate.set()
        result = [each async for each in heard][-1].result
        await draining
        order.append("drained")
        again = await rig.answer("How do I export?", idempotency_key="k1")
    assert result == again
    assert (result.outcome, result.text) == (common_pb2.OUTCOME_ANSWERED, "Begun, ended.")
    assert order == ["drained", "store"]
    assert {each.now.state.value for each in store.ledger.kept.values()} == {"settled"}


async def test_a_turn_admitted_just_before_the_drain_is_waited_for_while_its_key_is_claimed():
    """Ours: P18, seed 8. The claim was under way when the drain looked, and the turn began after it."""
    store, claiming, free = MemoryStateStore(), asyncio.Event(), asyncio.Event()
    claim = store.requests.claim

    async def slowly(request):
        claiming.set()
        await free.wait()
        return await claim(request)

    store.requests.claim = slowly
    async with ai_server(talker(), knowledge=documents(), store=store) as rig:
        asking = asyncio.create_task(rig.answer("How do I export?", idempotency_key="k1"))
        await asyncio.wait_for(claiming.wait(), UP_SECONDS)
        draining = asyncio.create_task(rig.application.drain(10))
        await rig.wait_for(State.DOWN)
        assert not draining.done()
        free.set()
        await draining
        assert [each.result is not None for each in store.requests.rows.values()] == [True]
        assert (await asking).outcome == common_pb2.OUTCOME_ANSWERED


async def test_a_caller_who_leaves_while_the_record_is_written_does_not_lose_it():
    """Ours: P18, seed 7. The last reader's leaving cancelled the turn in the middle of its bookkeeping."""
    store, writing, free, kept = MemoryStateStore(), asyncio.Event(), asyncio.Event(), asyncio.Event()
    append, finish = store.journal.append, store.requests.finish

    async def slowly(line):
        writing.set()
        await free.wait()
        await append(line)

    async def noted(*arguments):
        await free.wait()
        await finish(*arguments)
        kept.set()

    store.journal.append, store.requests.finish = slowly, noted
    async with ai_server(talker(), knowledge=documents(), store=store) as rig:
        request = assistant_pb2.StreamAnswerRequest(input=asked("How do I export?", idempotency_key="k1"))
        call = rig.assistant.StreamAnswer(request, metadata=rig.metadata(), timeout=20)
        await until_text(aiter(call))
        await asyncio.wait_for(writing.wait(), UP_SECONDS)
        call.cancel()
        assert not (await rig.assistant.CancelTurn(cancelling("k1"), metadata=rig.metadata())).was_running
        free.set()
        await asyncio.wait_for(kept.wait(), UP_SECONDS)
        assert (await rig.answer("How do I export?", idempotency_key="k1")).outcome == common_pb2.OUTCOME_ANSWERED


async def test_a_turn_that_outlasts_the_grace_period_is_told_as_interrupted_and_settled():
    gate = asyncio.Event()

    def script(request):
        return [TextDelta("Begun"), gate]

    store = MemoryStateStore()
    async with ai_server(ScriptedGenerator(script), knowledge=documents(), store=store) as rig:
        fields = {"idempotency_key": "k1", "detached": True}
        request = assistant_pb2.StreamAnswerRequest(input=asked("How do I export?", **fields))
        heard = aiter(rig.assistant.StreamAnswer(request, metadata=rig.metadata(), timeout=20))
        await until_text(heard)
        asyncio.get_running_loop().call_later(0.5, gate.set)
        await rig.application.drain(0.2)
        result = [each async for each in heard][-1].result
        stored = await rig.answer("How do I export?", **fields)
    assert (result.outcome, result.text) == (common_pb2.OUTCOME_TRUNCATED, "Begun")
    assert result.problem.reason == "INTERRUPTED"
    assert stored == result
    assert {each.now.state.value for each in store.ledger.kept.values()} == {"settled"}


async def test_a_handler_that_still_cleans_up_is_waited_for_before_the_store_closes():
    """CASES E1: github.com/grpc/grpc/issues/37239."""
    order = []
    store, knowledge = MemoryStateStore(), documents()
    entered, go = asyncio.Event(), asyncio.Event()

    async def slow(*args, **kwargs):
        try:
            entered.set()
            await go.wait()
        finally:
            await asyncio.sleep(0.3)
            order.append("handler")

    async def closing():
        order.append("store")

    knowledge.search, store.close = slow, closing
    async with ai_server(talker(), knowledge=knowledge, store=store) as rig:
        request = assistant_pb2.SearchRequest(project_id="demo", query="anything at all")
        call = rig.assistant.Search(request, metadata=rig.metadata(), timeout=20)
        await entered.wait()
        call.cancel()
    assert order == ["handler", "store"]
