"""Deliveries a second of one event stream to many readers, beside the tightest loop and beside what others do."""

from __future__ import annotations

import asyncio
import os
import sys
import textwrap
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from tests.bench._crowd import Crowd, follow
from tests.bench._rig import Process, Rig, answers, cores, free_port, rig
from tests.bench.measure import Measure, Side, interleaved, same_side

WHAT = (
    "one stream, 200-byte events, every reader on loopback, no store on any side; ours: hub and aiohttp as shipped, "
    "which gathers what is told while it writes; "
    "tight: transport.write of ready bytes on the same sockets; aiohttp: an event written down and `await "
    "response.write` for each client; sse-starlette: a queue a client, under uvicorn"
)
SIZES = tuple(int(each) for each in os.environ.get("FANOUT_CLIENTS", "1000,4000").split(","))
EVENT_BYTES = 200
DELIVERIES = int(os.environ.get("FANOUT_DELIVERIES", "100000"))
"""In a round of one side, whatever the number of clients."""
BURST = 32
"""Events published before everybody's buffers must be empty again; on our sides also one at a time (`_one`)."""
LEARNT = 3
ROUND_S = 60.0
GOALS = {"tight": 0.85, "naive": 3.0, "starlette": 6.0, "tight_one": 0.85}
NAMES = {
    "tight": "a tight write loop",
    "naive": "await response.write",
    "starlette": "sse-starlette",
    "tight_one": "a tight write loop, each event alone",
}
STARLETTE = """
    import asyncio, json, sys
    import uvicorn
    from sse_starlette.sse import EventSourceResponse
    from starlette.applications import Starlette
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    queues = []

    async def follow(request):
        queue = asyncio.Queue()
        queues.append(queue)

        async def events():
            while True:
                yield {"event": "read", "id": "0", "data": await queue.get()}

        return EventSourceResponse(events(), ping=600)

    async def bench(request):
        asked = await request.json()
        pad = json.dumps({"pad": "x" * asked["size"]})
        for number in range(asked["events"]):
            for queue in queues:
                queue.put_nowait(pad)
            if number % 32 == 31 or number == asked["events"] - 1:
                while any(queue.qsize() for queue in queues):
                    await asyncio.sleep(0)
            await asyncio.sleep(0)
        return JSONResponse({})

    app = Starlette(routes=[Route("/_follow", follow), Route("/_bench", bench, methods=["POST"])])
    uvicorn.run(app, port=int(sys.argv[1]), log_level="error", backlog=4096)
"""


@dataclass
class Stage:
    """One side's door and crowd. `per_event` is what one event weighs for one client, learnt before the rounds."""

    http: aiohttp.ClientSession
    door: str
    crowd: Crowd
    clients: int
    process: Process
    per_event: int = 0
    cpu_s: float = 0.0

    async def publish(self, side: str, events: int) -> None:
        """Have events published and wait until every client has them."""
        due = self.crowd.count_bytes + events * self.clients * self.per_event
        name, _, kind = side.partition("_")
        burst = 1 if kind == "one" else BURST
        asked = {"do": "publish", "side": name, "events": events, "size": EVENT_BYTES, "burst": burst}
        reading = asyncio.create_task(asyncio.to_thread(self.crowd.until, due, ROUND_S))
        async with self.http.post(self.door, json=asked) as response:
            assert response.status == 200, await response.text()
        await reading

    async def learn(self, side: str) -> None:
        """Weigh one event; the least of several, since a ping may come between."""
        weights: list[int] = []
        for _ in range(LEARNT):
            before = await asyncio.to_thread(self.crowd.settle)
            await self.publish(side, 1)
            after = await asyncio.to_thread(self.crowd.settle)
            weights.append((after - before) // self.clients)
        self.per_event = min(weights)

    async def rate(self, side: str) -> float:
        """Measure deliveries a second, and the server's processor time on the way."""
        events = max(1, DELIVERIES // self.clients)
        cpu, started = self.process.cpu_seconds(), time.monotonic()
        await self.publish(side, events)
        seconds = time.monotonic() - started
        self.cpu_s += self.process.cpu_seconds() - cpu
        return events * self.clients / seconds


async def run() -> list[Measure]:
    """Measure all sizes."""
    measures: list[Measure] = []
    for clients in SIZES:
        async with rig() as made, aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=ROUND_S)) as http:
            measures += await _size(made, http, clients)
    return measures


async def _size(made: Rig, http: aiohttp.ClientSession, clients: int) -> list[Measure]:
    stages = await ours(made, http, clients)
    starlette = await _starlette(made, http, clients)
    if starlette is not None:
        stages["starlette"] = starlette
    try:
        for side, stage in stages.items():
            await stage.learn(side)
            stage.cpu_s = 0.0
        sides = {side: (lambda stage=stage, side=side: stage.rate(side)) for side, stage in stages.items()}
        found = await interleaved(sides)
    finally:
        for stage in {id(each.crowd): each for each in stages.values()}.values():
            stage.crowd.leave()
    return _measures(clients, found, stages)


def _measures(clients: int, found: dict[str, Side], stages: dict[str, Stage]) -> list[Measure]:
    ours_side = found["ours"]
    note = same_side(ours_side, found["ours_again"])
    measures = [Measure(f"{clients} clients: ours", ours_side.median, "deliveries/s", note=note)]
    for side, name in NAMES.items():
        if side not in found:
            measures.append(Measure(f"{clients} clients: {name}", 0, "deliveries/s", note=NO_STARLETTE))
            continue
        beside = "ours_one" if side.endswith("_one") else "ours"
        ratio, spread = found[beside].over(found[side])
        cpu = stages[side].cpu_s / stages[beside].cpu_s if stages[beside].cpu_s else 0.0
        measures.append(
            Measure(
                f"{clients} clients: ours beside {name}",
                found[side].median,
                "deliveries/s",
                name,
                ratio,
                GOALS[side],
                f"{spread}; its processor time ÷ ours {cpu:.2f}",
            )
        )
    return measures


NO_STARLETTE = "skipped: PASSEUR_BENCH_SSE names no environment that has sse-starlette and uvicorn"


async def ours(made: Rig, http: aiohttp.ClientSession, clients: int) -> dict[str, Stage]:
    """Start our gateway with two crowds: one on its event stream, one on the naive response."""
    process, door = await gateway(made)
    token = (await tell(http, door, do="visitor"))["token"]
    port = int(door.split(":")[2].partition("/")[0])
    crowd, naive = Crowd(), Crowd()
    await asyncio.to_thread(crowd.join, port, follow(port, token), clients)
    plain = f"GET /_naive HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n"
    await asyncio.to_thread(naive.join, port, plain.encode(), clients)
    sides = ("ours", "ours_again", "tight", "ours_one", "tight_one")
    stages = {side: Stage(http, door, crowd, clients, process) for side in sides}
    return {**stages, "naive": Stage(http, door, naive, clients, process)}


async def gateway(made: Rig) -> tuple[Process, str]:
    """Start the gateway of the stream benches; tells its door."""
    port, folder = free_port(), made.folder / "gateway"
    folder.mkdir()
    command = [sys.executable, "-m", "tests.bench._stream_server", str(port), str(folder)]
    process = made.start("gateway", command, cores()[0])
    await made.until(process, answers(f"http://127.0.0.1:{port}/healthz", {200}))
    return process, f"http://127.0.0.1:{port}/_bench"


async def tell(http: aiohttp.ClientSession, door: str, **asked: Any) -> Any:
    """Have the gateway do something."""
    async with http.post(door, json=asked) as response:
        assert response.status == 200, await response.text()
        return await response.json()


async def _starlette(made: Rig, http: aiohttp.ClientSession, clients: int) -> Stage | None:
    python = Path(os.environ.get("PASSEUR_BENCH_SSE", "")) / "bin" / "python"
    if not os.environ.get("PASSEUR_BENCH_SSE") or not python.exists():
        return None
    script = made.folder / "starlette_server.py"
    script.write_text(textwrap.dedent(STARLETTE), "utf-8")
    port = free_port()
    process = made.start("starlette", [str(python), str(script), str(port)], cores()[0])
    await made.until(process, answers(f"http://127.0.0.1:{port}/", {404}))
    crowd = Crowd()
    request = f"GET /_follow HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n"
    await asyncio.to_thread(crowd.join, port, request.encode(), clients)
    return Stage(http, f"http://127.0.0.1:{port}/_bench", crowd, clients, process)
