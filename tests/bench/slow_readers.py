"""What readers that stopped reading cost the others, and what an idle reader weighs."""

from __future__ import annotations

import asyncio
import os
import statistics

import aiohttp

from tests.bench._crowd import Crowd, TimingCrowd, follow
from tests.bench._rig import rig
from tests.bench.fan_out import gateway, tell
from tests.bench.measure import Measure

WHAT = (
    "our gateway with its store: events of 1 KB, each committed before it is told, to healthy readers with and without "
    "5 % that never read; then idle readers. Delay from the store's call to the reader's socket"
)
CLIENTS = int(os.environ.get("SLOW_CLIENTS", "2000"))
FROZEN = CLIENTS // 20
WATCHED = 50
RATE = float(os.environ.get("SLOW_RATE", "50"))
EVENT_BYTES = 1_000
WINDOW_S = float(os.environ.get("SLOW_WINDOW_S", "20"))
"""A window with frozen readers; ours are cut after 20 s, so that each window holds the whole of their life."""
WINDOWS = 3
IDLE = int(os.environ.get("SLOW_IDLE", "5000"))
GOAL_P99, GOAL_BYTES = 1.1, 12.0
PATIENCE_S = 400.0


async def run() -> list[Measure]:
    """Measure both."""
    return [*await _delays(), await _weight()]


async def _delays() -> list[Measure]:
    timeout = aiohttp.ClientTimeout(total=PATIENCE_S)
    async with rig() as made, aiohttp.ClientSession(timeout=timeout) as http:
        process, door = await gateway(made)
        request, port = await _request(http, door)
        crowd = TimingCrowd()
        with crowd.closing():
            await asyncio.to_thread(crowd.join, port, request, CLIENTS - FROZEN, watched=WATCHED)
            await _window(http, door, crowd, 3.0)
            ratios: list[float] = []
            p99: dict[str, list[float]] = {"without": [], "with": []}
            before = await tell(http, door, do="state")
            late = 0.0
            for _ in range(WINDOWS):
                plain, lag = await _window(http, door, crowd, WINDOW_S)
                frozen = await asyncio.to_thread(crowd.join, port, request, FROZEN, reads=False)
                slowed, lag_too = await _window(http, door, crowd, WINDOW_S)
                crowd.leave(frozen)
                late = max(late, lag, lag_too)
                ratios.append(slowed / plain)
                p99["without"].append(plain)
                p99["with"].append(slowed)
            after = await tell(http, door, do="state")
            process.check()
    grown = (after["resident"] - before["resident"]) / 1024 / 1024
    spread = f"{WINDOWS} windows: " + ", ".join(f"{each:.2f}" for each in ratios)
    return [
        Measure("p99 without frozen readers", 1000 * statistics.median(p99["without"]), "ms"),
        Measure(
            f"p99 with {FROZEN} of {CLIENTS} frozen",
            1000 * statistics.median(p99["with"]),
            "ms",
            "none frozen",
            statistics.median(ratios),
            GOAL_P99,
            f"{spread}; the publisher was at most {late:.2f} s behind",
        ),
        Measure("resident memory grown over all windows", grown, "MB"),
        Measure("readers cut as too slow", after["cut"] - before["cut"], "of " + str(WINDOWS * FROZEN)),
    ]


async def _window(http: aiohttp.ClientSession, door: str, crowd: TimingCrowd, seconds: float) -> tuple[float, float]:
    """Publish for a while; tells the delays' 99th percentile, and how far the publisher fell behind."""
    crowd.delays.clear()
    publishing = asyncio.create_task(tell(http, door, do="pace", rate=RATE, seconds=seconds, size=EVENT_BYTES))
    while not publishing.done():
        await asyncio.to_thread(crowd.read, 0.05)
    await asyncio.to_thread(crowd.settle)
    late = (await publishing)["late_s"]
    return statistics.quantiles(crowd.delays, n=100)[98], late


async def _weight() -> Measure:
    timeout = aiohttp.ClientTimeout(total=PATIENCE_S)
    async with rig() as made, aiohttp.ClientSession(timeout=timeout) as http:
        _, door = await gateway(made)
        request, port = await _request(http, door)
        crowd = Crowd()
        with crowd.closing():
            await asyncio.to_thread(crowd.join, port, request, 200)  # what is allocated once is not theirs
            before = await tell(http, door, do="state")
            await asyncio.to_thread(crowd.join, port, request, IDLE)
            after = await tell(http, door, do="state")
    weight = (after["resident"] - before["resident"]) / IDLE / 1024
    return Measure(f"resident memory of an idle reader, {IDLE} readers", weight, "KiB", "the goal", weight, GOAL_BYTES)


async def _request(http: aiohttp.ClientSession, door: str) -> tuple[bytes, int]:
    token = (await tell(http, door, do="visitor"))["token"]
    port = int(door.split(":")[2].partition("/")[0])
    return follow(port, token), port
