"""P18: after SIGTERM no turn starts, running ones finish or end truthfully in time, every reservation has an end."""

from __future__ import annotations

import asyncio
import random
from collections import Counter

import grpc.aio

from ai_server.answering import service
from ai_server.providers import metered
from shared.errors import NotReady, ProviderCut
from shared.pb.passeur.v1 import assistant_pb2, common_pb2
from tests.fakes.ai_server import Rig, ai_server, asked
from tests.fakes.documents import FakeKnowledge, chunk, hit
from tests.fakes.generation import ScriptedGenerator, saying
from tests.torture import workload
from tests.torture.figure import Figure, span

PROMISE = "draining at any moment: nothing hangs past the grace period, no turn is lost, no reservation stays open"
FULL = 1_000
SHORT = 8
GRACE_S = 0.4
DRAIN_LIMIT_S = GRACE_S + 1
CALL_S = 60.0
TIMES = ("DRAIN_LIMIT_S",)
TURNS = 6
ENDS = {
    common_pb2.OUTCOME_ANSWERED,
    common_pb2.OUTCOME_TRUNCATED,
    common_pb2.OUTCOME_FAILED,
    common_pb2.OUTCOME_STOPPED,
}


async def run(n: int, seed: int) -> Figure:
    """Drain `n` servers, each with turns in random phases. Drains of calls are shortened, to fit the grace period."""
    workload.quiet()
    failures: list[str] = []
    hits: Counter[str] = Counter()
    kept = metered.DRAIN_SECONDS, service.CUT_SECONDS
    metered.DRAIN_SECONDS, service.CUT_SECONDS = 0.05, 0.2
    try:
        for each in range(seed, seed + n):
            failures += [f"seed {each}: {fault}" for fault in await _drain(random.Random(each), hits)]
    finally:
        metered.DRAIN_SECONDS, service.CUT_SECONDS = kept
    return Figure(n, span(seed, n), failures, dict(sorted(hits.items())))


async def _drain(dice: random.Random, hits: Counter[str]) -> list[str]:
    generator = ScriptedGenerator(lambda _: _script(dice, hits))
    knowledge = FakeKnowledge(hits=(hit(chunk("A passage about exports.")),))
    async with ai_server(generator, knowledge=knowledge, budget=2**60) as rig:
        stub = rig.assistant
        callers = [asyncio.create_task(_caller(rig, stub, f"k{number}", dice, hits)) for number in range(TURNS)]
        await asyncio.sleep(dice.random() * 0.25)
        loop = asyncio.get_running_loop()
        started = loop.time()
        await rig.application.drain(GRACE_S)
        seconds = loop.time() - started
        faults = [f"the drain took {seconds:.2f} s"] if seconds > DRAIN_LIMIT_S else []
        turns = await rig.application.turns()
        if turns.running_count:
            faults.append(f"{turns.running_count} turns still run")
        try:
            await rig.answer("Is anything taken now?")
            faults.append("a turn was started after the drain")
        except grpc.aio.AioRpcError as refused:
            if NotReady.reason not in str(refused.trailing_metadata()):
                faults.append(f"refused with {refused.code()}")
        told = await asyncio.gather(*callers)
        faults += [fault for each in told for fault in each]
        open_ones = [each for each in rig.store.ledger.kept.values() if each.now.resolved_at is None]
        if open_ones:
            faults.append(f"{len(open_ones)} reservations stay open")
        unfinished = [each for each in rig.store.requests.rows.values() if each.result is None]
        if unfinished:
            faults.append(f"{len(unfinished)} turns have no stored end")
    return faults


def _script(dice: random.Random, hits: Counter[str]):
    kind = dice.choice(["quick", "slow", "endless", "aborts", "cancelled"])
    hits[kind] += 1
    if kind == "quick":
        return saying("Done.")
    if kind == "aborts":
        return [*saying("Half")[:1], ProviderCut("scripted", "cut", started=True, error_class="cut")]
    if kind == "cancelled":
        raise asyncio.CancelledError
    gate = asyncio.Event()
    if kind == "slow":
        asyncio.get_running_loop().call_later(dice.random() * GRACE_S, gate.set)
    return [*saying("Begun")[:1], gate, *saying(" and ended.")]


async def _caller(rig: Rig, stub, key: str, dice: random.Random, hits: Counter[str]) -> list[str]:
    """Stream a turn; some callers leave, some never come to be admitted."""
    leaves = dice.random() < 0.3
    request = assistant_pb2.StreamAnswerRequest(
        input=asked("How do I export my data?", idempotency_key=key, detached=dice.random() < 0.5)
    )
    call = stub.StreamAnswer(request, metadata=rig.metadata(), timeout=CALL_S)
    last = None
    try:
        async for event in call:
            last = event
            if leaves and event.HasField("delta"):
                call.cancel()
    except grpc.aio.AioRpcError as refused:
        hits["refused"] += 1
        expected = {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED, grpc.StatusCode.ABORTED}
        return [] if refused.code() in expected else [f"a caller was told {refused.code()}"]
    except asyncio.CancelledError:
        hits["left"] += 1
        return []
    if last is None or not last.HasField("result"):
        return [] if leaves else ["a stream ended without a result"]
    hits["told"] += 1
    return [] if last.result.outcome in ENDS else [f"an outcome of {last.result.outcome}"]
