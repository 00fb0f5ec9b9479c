"""Time to the first token that we add, beside LiteLLM's, and how many streams run without a stall."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

import aiohttp
import grpc

from shared.pb.passeur.v1 import assistant_pb2, assistant_pb2_grpc
from tests.bench import _rig
from tests.bench.measure import Measure, interleaved

WHAT = (
    "first token after 200 ms, 64 frames 20 ms apart; ours over gRPC with auth, budget and ledger on, LiteLLM's proxy "
    "with a master key, one worker each on one core"
)
FIRST_S = 0.2
FRAMES = 64
PACE_S = 0.02
ROUNDS = 9
STREAMS = (8, 16, 32, 64, 128, 256)
STALL_S = 0.5
"""A gap between two frames that a person would see; the provider's own is 20 ms."""

Stream = Callable[[], AsyncIterator[None]]


@dataclass
class Timing:
    """One stream: when its first token came, and its longest gap after it, in seconds."""

    first: float
    longest_gap: float


async def timed(stream: Stream) -> Timing:
    began = time.perf_counter()
    last = first = 0.0
    longest = 0.0
    async for _ in stream():
        now = time.perf_counter()
        if first == 0.0:
            first = now - began
        else:
            longest = max(longest, now - last)
        last = now
    return Timing(first, longest)


async def run() -> list[Measure]:
    """Measure one stream at a time against the provider itself, then more and more together."""
    found: list[Measure] = []
    async with _rig.rig() as made:
        await made.simulator(latency=FIRST_S, pace=PACE_S, chunks=FRAMES)
        ours, proxy = await _rig.our_server(made), await _rig.litellm_proxy(made)
        headers = {"Authorization": f"Bearer {_rig.KEY}"}
        async with (
            grpc.aio.insecure_channel(ours.address) as channel,
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), headers=headers) as session,
        ):
            stub = assistant_pb2_grpc.AssistantServiceStub(channel)
            sides = {
                "ours": lambda: our_stream(stub, ours.token),
                "litellm": lambda: sse_stream(session, f"{proxy.url}/v1/chat/completions"),
                "provider": lambda: sse_stream(session, f"{made.simulator_url}/openai/v1/chat/completions"),
            }
            firsts = await interleaved({name: first_of(stream) for name, stream in sides.items()}, rounds=ROUNDS)
            direct = firsts["provider"].median
            added = {name: max(1e-6, high(firsts[name].values) - direct) for name in ("ours", "litellm")}
            ratio = added["ours"] / added["litellm"]
            found += [
                Measure(
                    "added time to first token, worst of the rounds, c=1",
                    1_000 * added["ours"],
                    "ms",
                    f"LiteLLM {proxy.version}",
                    ratio,
                    0.3,
                    f"{ROUNDS} rounds; provider itself {1_000 * direct:.1f} ms",
                ),
                Measure("the same of LiteLLM", 1_000 * added["litellm"], "ms"),
            ]
            for name in ("ours", "litellm"):
                smooth = await smooth_streams(sides[name])
                goal = 32.0 if name == "ours" else None
                found.append(Measure(f"streams without a stall, {name}", smooth, "streams", "goal", smooth / 32, goal))
    return found


def first_of(stream: Stream):
    async def value() -> float:
        return (await timed(stream)).first

    return value


def high(values: tuple[float, ...]) -> float:
    return statistics.quantiles(values, n=100)[-1] if len(values) >= 100 else max(values)


async def smooth_streams(stream: Stream) -> int:
    """Find the largest number of streams of which none stalls."""
    smooth = 0
    for count in STREAMS:
        timings = await asyncio.gather(*(timed(stream) for _ in range(count)))
        if any(each.longest_gap > STALL_S for each in timings):
            break
        smooth = count
    return smooth


async def our_stream(stub: assistant_pb2_grpc.AssistantServiceStub, token: str) -> AsyncIterator[None]:
    asked = assistant_pb2.StreamAnswerRequest(input=_rig.our_request().input)
    async for event in stub.StreamAnswer(asked, metadata=(("authorization", f"Bearer {token}"),), timeout=60):
        if event.HasField("delta"):
            yield None


async def sse_stream(session: aiohttp.ClientSession, url: str) -> AsyncIterator[None]:
    async with session.post(url, json=_rig.litellm_body(stream=True)) as response:
        assert response.status == 200, await response.text()
        async for line in response.content:
            if b'"content":' in line and b'"content":""' not in line:
                yield None
