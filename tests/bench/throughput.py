"""Requests a second through the AI server and through LiteLLM's proxy, both in front of the same fake provider."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass

import aiohttp
import grpc

from shared.pb.passeur.v1 import assistant_pb2_grpc
from tests.bench import _rig
from tests.bench._our_gateway import Gateway, our_gateway
from tests.bench.measure import Measure, Side, interleaved, same_side

WHAT = (
    "requests/s, provider answers after 20 ms, one worker each on one core; ours over gRPC, and over HTTP through both "
    "our processes on that core, with auth, budget and ledger on a synced file; LiteLLM with a master key, without "
    "database or callbacks"
)
CONCURRENCY = (16, 64, 128)
ROUND_S = 2.0
ROUNDS = 9
GOALS = {"gRPC in": 5.0, "HTTP in through both processes": 3.0}

Ask = Callable[[], Awaitable[None]]


async def rate(ask: Ask, concurrency: int, seconds: float = ROUND_S) -> float:
    """Ask from `concurrency` callers for a while; tell how many answers a second came."""
    ends = time.monotonic() + seconds
    done = 0

    async def caller() -> None:
        nonlocal done
        while time.monotonic() < ends:
            await ask()
            done += 1

    began = time.monotonic()
    await asyncio.gather(*(caller() for _ in range(concurrency)))
    return done / (time.monotonic() - began)


async def run() -> list[Measure]:
    """Measure all three, round by round, at each concurrency."""
    found: list[Measure] = []
    async with _rig.rig() as made:
        await made.simulator(latency=0.02)
        ours, proxy = await _rig.our_server(made), await _rig.litellm_proxy(made)
        connector = aiohttp.TCPConnector(limit=0)
        async with (
            grpc.aio.insecure_channel(ours.address) as channel,
            aiohttp.ClientSession(connector=connector) as session,
        ):
            gateway = await our_gateway(made, ours, session)
            asks = {
                "gRPC in": asking_ours(channel, ours.token),
                "HTTP in through both processes": asking_both(session, gateway),
                "LiteLLM": asking(session, f"{proxy.url}/v1/chat/completions"),
            }
            provider = asking(session, f"{made.simulator_url}/openai/v1/chat/completions")
            ceiling = await rate(provider, max(CONCURRENCY))
            found.append(Measure("fake provider alone", ceiling, "requests/s", note=f"c={max(CONCURRENCY)}"))
            ours_alone = asks["gRPC in"]
            twice = await interleaved({"a": lambda: rate(ours_alone, 64), "b": lambda: rate(ours_alone, 64)}, rounds=3)
            noise = same_side(twice["a"], twice["b"])
            processes = {
                "gRPC in": (ours.process,),
                "HTTP in through both processes": (ours.process, gateway.process),
                "LiteLLM": (proxy.process,),
            }
            for concurrency in CONCURRENCY:
                spent = {name: Spent() for name in asks}
                sides = await interleaved(
                    {name: metered(ask, processes[name], concurrency, spent[name]) for name, ask in asks.items()},
                    rounds=ROUNDS,
                )
                found += told(sides, spent, f"LiteLLM {proxy.version}", concurrency, noise)
    return found


def asking_ours(channel: grpc.aio.Channel, token: str) -> Ask:
    stub = assistant_pb2_grpc.AssistantServiceStub(channel)
    metadata, request = (("authorization", f"Bearer {token}"),), _rig.our_request()

    async def ask() -> None:
        await stub.Answer(request, metadata=metadata, timeout=60)

    return ask


def asking_both(session: aiohttp.ClientSession, gateway: Gateway) -> Ask:
    turns, body = gateway.turns(), {"text": _rig.QUESTION}

    async def ask() -> None:
        url, headers = next(turns)
        async with session.post(url, json=body, headers=headers) as response:
            answer = await response.json()
            assert answer.get("outcome") == "answered", answer

    return ask


def asking(session: aiohttp.ClientSession, url: str) -> Ask:
    body, headers = _rig.litellm_body(stream=False), {"Authorization": f"Bearer {_rig.KEY}"}

    async def ask() -> None:
        async with session.post(url, json=body, headers=headers) as response:
            assert response.status == 200, await response.text()
            await response.read()

    return ask


@dataclass
class Spent:
    """Processor time of one side, and the answers that it was spent on."""

    seconds: float = 0.0
    answers: int = 0

    def told(self) -> str:
        return f"{1_000 * self.seconds / max(1, self.answers):.1f} ms CPU each"


def metered(
    ask: Ask, processes: tuple[_rig.Process, ...], concurrency: int, spent: Spent
) -> Callable[[], Awaitable[float]]:
    """Measure one side, adding up what it spent."""

    async def counted() -> None:
        await ask()
        spent.answers += 1

    async def measured() -> float:
        before = sum(each.cpu_seconds() for each in processes)
        found = await rate(counted, concurrency)
        spent.seconds += sum(each.cpu_seconds() for each in processes) - before
        return found

    return measured


def told(
    sides: dict[str, Side], spent: dict[str, Spent], other: str, concurrency: int, noise: str
) -> Iterator[Measure]:
    """Tell each side at one concurrency."""
    for name, side in sides.items():
        cost, label = spent[name].told(), f"{name}, c={concurrency}"
        if name in GOALS:
            ratio, spread = side.over(sides["LiteLLM"])
            note = f"{spread}; {noise}; {cost}"
            yield Measure(label, side.median, "requests/s", other, ratio, GOALS[name], note)
        else:
            yield Measure(label, side.median, "requests/s", note=cost)
