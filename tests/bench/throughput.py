"""Requests a second through the AI server and through LiteLLM's proxy, both in front of the same fake provider."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

import aiohttp
import grpc

from shared.pb.passeur.v1 import assistant_pb2_grpc
from tests.bench import _rig
from tests.bench.measure import Measure, interleaved, same_side

WHAT = (
    "requests/s, provider answers after 20 ms, one worker each on one core; ours over gRPC with auth, budget and "
    "ledger on a synced file; LiteLLM with a master key, without database or callbacks"
)
CONCURRENCY = (16, 64, 128)
ROUND_S = 2.0
ROUNDS = 9
GOAL = 5.0

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
    """Measure both, round by round, at each concurrency."""
    found: list[Measure] = []
    async with _rig.rig() as made:
        await made.simulator(latency=0.02)
        ours, proxy = await _rig.our_server(made), await _rig.litellm_proxy(made)
        connector = aiohttp.TCPConnector(limit=0)
        headers = {"Authorization": f"Bearer {_rig.KEY}"}
        async with (
            grpc.aio.insecure_channel(ours.address) as channel,
            aiohttp.ClientSession(connector=connector, headers=headers) as session,
        ):
            stub = assistant_pb2_grpc.AssistantServiceStub(channel)
            metadata = (("authorization", f"Bearer {ours.token}"),)
            request, body = _rig.our_request(), _rig.litellm_body(stream=False)

            async def ask_ours() -> None:
                await stub.Answer(request, metadata=metadata, timeout=60)

            async def ask_litellm() -> None:
                async with session.post(f"{proxy.url}/v1/chat/completions", json=body) as response:
                    assert response.status == 200, await response.text()
                    await response.read()

            async def ask_provider() -> None:
                url = f"{made.simulator_url}/openai/v1/chat/completions"
                async with session.post(url, json=body) as response:
                    await response.read()

            ceiling = await rate(ask_provider, max(CONCURRENCY))
            found.append(Measure("fake provider alone", ceiling, "requests/s", note=f"c={max(CONCURRENCY)}"))
            twice = await interleaved({"a": lambda: rate(ask_ours, 64), "b": lambda: rate(ask_ours, 64)}, rounds=3)
            noise = same_side(twice["a"], twice["b"])
            for concurrency in CONCURRENCY:
                before = (ours.process.cpu_seconds(), proxy.process.cpu_seconds())
                sides = await interleaved(
                    {
                        "ours": lambda c=concurrency: rate(ask_ours, c),
                        "litellm": lambda c=concurrency: rate(ask_litellm, c),
                    },
                    rounds=ROUNDS,
                )
                ratio, spread = sides["ours"].over(sides["litellm"])
                spent = [
                    now - then
                    for now, then in zip((ours.process.cpu_seconds(), proxy.process.cpu_seconds()), before, strict=True)
                ]
                counted = [sides[name].median * ROUND_S * (ROUNDS + 1) for name in ("ours", "litellm")]
                each = [1_000 * cpu / max(1.0, count) for cpu, count in zip(spent, counted, strict=True)]
                found += [
                    Measure(
                        f"gRPC in, c={concurrency}",
                        sides["ours"].median,
                        "requests/s",
                        f"LiteLLM {proxy.version}",
                        ratio,
                        GOAL,
                        f"{spread}; {noise}; {each[0]:.1f} ms CPU each",
                    ),
                    Measure(
                        f"LiteLLM, c={concurrency}",
                        sides["litellm"].median,
                        "requests/s",
                        note=f"{each[1]:.1f} ms CPU each",
                    ),
                ]
    return found
