"""Time to the first token that we add, how late each frame of an answer comes, and how many streams run without a
stall, each beside LiteLLM's.
"""

from __future__ import annotations

import asyncio
import os
import re
import statistics
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

import aiohttp
import grpc

from shared.pb.passeur.v1 import assistant_pb2, assistant_pb2_grpc
from tests.bench import _rig
from tests.bench.measure import Measure
from tests.simulator.script import STAMP

WHAT = (
    "first token after 200 ms, 64 frames 20 ms apart; ours over gRPC with auth, budget and ledger on, LiteLLM's proxy "
    "with a master key, one worker each on one core"
)
FIRST_S = 0.2
FRAMES = 64
PACE_S = 0.02
FIRSTS = int(os.environ.get("FIRST_TOKEN_REQUESTS", "200"))
"""Requests a side for the first token: a hundred at least, for a p99."""
TALKS = int(os.environ.get("FIRST_TOKEN_STREAMS", "20"))
"""Whole streams a side, one at a time, for the delay of a frame: 64 delays each."""
STREAMS = tuple(map(int, os.environ.get("FIRST_TOKEN_TOGETHER", "8,16,32,64,128,256").split(",")))
STALL_S = 0.5
"""A gap between two frames that a person would see; the provider's own is 20 ms."""
STAMPED = re.compile(r"@(\d{19})")

Stream = Callable[[], AsyncIterator[str]]
"""Gives the text of an answer as it comes; each frame of it says when the provider sent it."""


@dataclass
class Timing:
    """One stream: when its first token came, its longest gap after it, and how long each frame was under way, in
    seconds.
    """

    first: float
    longest_gap: float
    delays: list[float]


async def timed(stream: Stream) -> Timing:
    began = time.monotonic()
    last = first = 0.0
    longest = 0.0
    delays: list[float] = []
    async for text in stream():
        now = time.monotonic()
        if first == 0.0:
            first = now - began
        else:
            longest = max(longest, now - last)
        last = now
        delays += [now - int(sent) / 1e9 for sent in STAMPED.findall(text)]
    return Timing(first, longest, delays)


async def run() -> list[Measure]:
    """Measure one stream at a time against the provider itself, then more and more together."""
    found: list[Measure] = []
    async with _rig.rig() as made:
        await made.simulator(latency=FIRST_S)
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

            async def frames(count: int, pace: float) -> None:
                script = {"chunks": [STAMP] * count, "pace_s": pace, "latency_s": FIRST_S, "stamped": True}
                (await session.post(f"{made.simulator_url}/_sim/default", json=script)).raise_for_status()

            await frames(2, 0.0)
            found += first_tokens(await by_turns(sides, FIRSTS), proxy.version)
            await frames(FRAMES, PACE_S)
            found += frame_delays(await by_turns(sides, TALKS), proxy.version)
            for name in ("ours", "litellm"):
                smooth = await smooth_streams(sides[name])
                goal = 32.0 if name == "ours" else None
                found.append(Measure(f"streams without a stall, {name}", smooth, "streams", "goal", smooth / 32, goal))
    return found


async def by_turns(sides: dict[str, Stream], count: int) -> dict[str, list[Timing]]:
    """Run one stream at a time, the sides by turns, after two of each to warm up."""
    found: dict[str, list[Timing]] = {name: [] for name in sides}
    for number in range(count + 2):
        for name, stream in sides.items():
            timing = await timed(stream)
            if number >= 2:
                found[name].append(timing)
    return found


def first_tokens(found: dict[str, list[Timing]], version: str) -> list[Measure]:
    """Tell what each side adds to the time of the first token: over the provider's own median."""
    direct = statistics.median(each.first for each in found["provider"])
    measures = []
    for told, choose in (("p99", p99), ("p50", statistics.median)):
        added = {name: max(1e-6, choose([each.first for each in found[name]]) - direct) for name in ("ours", "litellm")}
        note = f"{len(found['ours'])} requests a side, c=1; provider itself {1_000 * direct:.1f} ms"
        measures += [
            Measure(
                f"added to the first token, {told}",
                1_000 * added["ours"],
                "ms",
                f"LiteLLM {version}",
                added["ours"] / added["litellm"],
                0.3,
                note,
            ),
            Measure(f"the same of LiteLLM, {told}", 1_000 * added["litellm"], "ms"),
        ]
    return measures


def frame_delays(found: dict[str, list[Timing]], version: str) -> list[Measure]:
    """Tell how long a frame is under way from the provider to the caller, over the provider's own median."""
    delays = {name: [delay for each in timings for delay in each.delays] for name, timings in found.items()}
    for name, each in delays.items():
        if len(each) != FRAMES * len(found[name]):
            raise RuntimeError(f"{name}: {len(each)} frames came of {FRAMES * len(found[name])}")
    direct = statistics.median(delays["provider"])
    measures = []
    for told, choose in (("p99", p99), ("p50", statistics.median)):
        own = {name: 1_000 * (choose(delays[name]) - direct) for name in ("ours", "litellm")}
        goal = 0.5 if told == "p99" else None
        note = f"goal {goal:g} ms; " if goal else ""
        note += f"{len(delays['ours']):,} frames a side, c=1; without us {1_000 * direct:.2f} ms"
        measures += [
            Measure(
                f"delay of a frame, {told}",
                own["ours"],
                "ms",
                f"LiteLLM {version}",
                own["ours"] / own["litellm"],
                note=note,
            ),
            Measure(f"the same of LiteLLM, {told}", own["litellm"], "ms"),
        ]
    return measures


def p99(values: list[float]) -> float:
    """The value that one of a hundred passes; the highest where there are fewer than a hundred."""
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


async def our_stream(stub: assistant_pb2_grpc.AssistantServiceStub, token: str) -> AsyncIterator[str]:
    asked = assistant_pb2.StreamAnswerRequest(input=_rig.our_request().input)
    async for event in stub.StreamAnswer(asked, metadata=(("authorization", f"Bearer {token}"),), timeout=60):
        if event.HasField("delta"):
            yield event.delta.text


async def sse_stream(session: aiohttp.ClientSession, url: str) -> AsyncIterator[str]:
    async with session.post(url, json=_rig.litellm_body(stream=True)) as response:
        assert response.status == 200, await response.text()
        async for line in response.content:
            if b'"content":' in line and b'"content":""' not in line:
                yield line.decode()
