"""P17: health tells the truth, both ways and in time; nothing is accepted after it said no."""

from __future__ import annotations

import asyncio
import random
from collections import Counter

import grpc.aio
from grpc_health.v1 import health_pb2, health_pb2_grpc

from shared.errors import ProviderOverloaded
from shared.pb.passeur.v1 import assistant_pb2, common_pb2
from tests.fakes.ai_server import Rig, ai_server, asked
from tests.fakes.documents import FakeKnowledge, chunk, hit
from tests.fakes.generation import ScriptedGenerator, saying
from tests.torture import workload
from tests.torture.figure import Figure, span

PROMISE = "NOT_SERVING exactly when new work would be refused or fail; each flip within 2 s"
FULL = 200
SHORT = 3
FLIP_SECONDS = 2.0
TIMES = ("FLIP_SECONDS",)
GIVE_UP_SECONDS = 60.0
SERVICE = "passeur.v1.AssistantService"
SERVING = health_pb2.HealthCheckResponse.SERVING
BUSY = ProviderOverloaded("scripted", "busy", started=False, error_class="overloaded")
WAYS = ("store", "retrieval", "index child", "provider", "budget")
"""The first two make work fail; the others only degrade, and must never flip."""


async def run(n: int, seed: int) -> Figure:
    """Break and mend one dependency, `n` times, then drain."""
    workload.quiet()
    failures: list[str] = []
    slowest: Counter[str] = Counter()
    sick: list[bool] = []
    generator = ScriptedGenerator(lambda _: [BUSY] if sick else saying("Hello."))
    knowledge = FakeKnowledge(hits=(hit(chunk("A passage about exports.")),))
    async with ai_server(generator, knowledge=knowledge, budget=2**60) as rig:
        trial = Trial(rig, sick, failures, slowest)
        await trial.begin()
        for each in range(seed, seed + n):
            await trial.once(each, random.Random(each).choice(WAYS))
        await trial.drain()
    notes = {name: f"slowest {milliseconds} ms" for name, milliseconds in sorted(slowest.items())}
    return Figure(n, span(seed, n), failures, notes)


class Trial:
    """Watches health while dependencies come and go."""

    def __init__(self, rig: Rig, sick: list[bool], failures: list[str], slowest: Counter[str]) -> None:
        self.rig, self.sick, self.failures, self.slowest = rig, sick, failures, slowest

    async def begin(self) -> None:
        stub = health_pb2_grpc.HealthStub(self.rig.channel())
        self.assistant = self.rig.assistant
        self.heard = aiter(stub.Watch(health_pb2.HealthCheckRequest(service=SERVICE)))
        if (await anext(self.heard)).status != SERVING:
            self.failures.append("NOT_SERVING at rest")

    async def once(self, seed: int, way: str) -> None:
        self.set(way, broken=True)
        if way in {"store", "retrieval"}:
            await self.flip(f"seed {seed}: {way} broken", serving=False)
            if await self.accepted():
                self.failures.append(f"seed {seed}: work was accepted after NOT_SERVING ({way})")
            self.set(way, broken=False)
            await self.flip(f"seed {seed}: {way} mended", serving=True)
        elif not await self.accepted():
            self.failures.append(f"seed {seed}: work failed while SERVING ({way})")
        self.set(way, broken=False)
        if not await self.accepted():
            self.failures.append(f"seed {seed}: work failed after {way} was mended")

    def set(self, way: str, *, broken: bool) -> None:
        reason = f"{way} is broken" if broken else ""
        if way == "store":
            self.rig.store.ledger.broken = reason
        elif way == "retrieval":
            self.rig.knowledge.broken = reason
        elif way == "index child":
            self.rig.knowledge.stopped = reason
        elif way == "provider":
            self.sick[:] = [True] if broken else []

    async def flip(self, what: str, *, serving: bool) -> None:
        loop = asyncio.get_running_loop()
        started = loop.time()
        try:
            async with asyncio.timeout(GIVE_UP_SECONDS):
                while ((await anext(self.heard)).status == SERVING) is not serving:
                    self.failures.append(f"{what}: health said the opposite")
        except TimeoutError:
            self.failures.append(f"{what}: no flip within {GIVE_UP_SECONDS} s")
            return
        seconds = loop.time() - started
        self.slowest["up" if serving else "down"] = max(self.slowest["up" if serving else "down"], int(seconds * 1000))
        if seconds > FLIP_SECONDS:
            self.failures.append(f"{what}: the flip took {seconds:.2f} s")

    async def accepted(self) -> bool:
        """Ask once; a request is accepted when its turn ends in an answer."""
        request = assistant_pb2.AnswerRequest(input=asked("How do I export my data?"))
        try:
            response = await self.assistant.Answer(request, metadata=self.rig.metadata(), timeout=GIVE_UP_SECONDS)
        except grpc.aio.AioRpcError:
            return False
        return response.result.outcome == common_pb2.OUTCOME_ANSWERED

    async def drain(self) -> None:
        await self.rig.application.drain(0)
        await self.flip("draining", serving=False)
        if await self.accepted():
            self.failures.append("work was accepted while draining")
