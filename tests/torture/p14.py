"""P14: readers that stopped neither fill memory nor delay the others, and are cut with a cursor that resumes."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections import Counter
from pathlib import Path

from gateway.events import catch_up
from gateway.events.reader import BUFFER_LIMIT
from gateway.storage import events as events_room
from tests.torture import workload
from tests.torture.figure import Figure, span
from tests.torture.gateway_rig import RawStream, Rig, follow, rig

PROMISE = (
    "200 readers, 20 of them stopped: bounded memory, every event to the healthy ones, the stopped cut and resumed"
)
FULL = 3_600
"""Events: one a second for an hour, published as fast as they are taken."""
SHORT = 150
READERS, STOPPED = 200, 20
SHORT_READERS, SHORT_STOPPED, SHORT_STALL_S = 8, 3, 1.0
EVENT_BYTES, SHORT_EVENT_BYTES = 4_000, 40_000
"""So large that the kernel's own buffers, some megabytes for each connection, do not hide a reader that stopped."""
RESIDENT_LIMIT = 64 * 1024 * 1024
CUT_WITHIN_S = 30.0
FEW = 1_000
"""Up to so many events the run is short: fewer readers, a shorter patience with them."""


async def run(n: int, seed: int) -> Figure:
    """Publish `n` events to readers of one stream."""
    workload.quiet()
    is_short = n < FEW
    readers, stopped = (SHORT_READERS, SHORT_STOPPED) if is_short else (READERS, STOPPED)
    size = SHORT_EVENT_BYTES if is_short else EVENT_BYTES
    kept, stall = events_room.KEPT_EVENTS, catch_up.STALL_S
    events_room.KEPT_EVENTS = max(kept, n + 1)
    if is_short:
        catch_up.STALL_S = SHORT_STALL_S
    hits: Counter[str] = Counter()
    try:
        async with rig() as gateway:
            failures = await hour(gateway, n, size, readers, stopped, hits)
    finally:
        events_room.KEPT_EVENTS, catch_up.STALL_S = kept, stall
    told = [f"seed {seed}: {fault}" for fault in failures]
    return Figure(n * (readers - stopped), span(seed, 1), told, dict(sorted(hits.items())))


async def hour(gateway: Rig, n: int, size: int, readers: int, stopped: int, hits: Counter[str]) -> list[str]:
    """Let everybody in, publish, and look at memory on the way."""
    token, visitor_id = await gateway.visitor()
    start = await beginning(gateway, token)
    healthy = [await follow(gateway.port, token, None) for _ in range(readers - stopped)]
    asleep = [still(gateway.port, token) for _ in range(stopped)]
    faults: list[str] = []
    try:
        await until(lambda: gateway.services.hub.readers() == readers)
        reading = [asyncio.create_task(read(each, n)) for each in healthy]
        before, worst, buffered = resident(), 0, 0
        for number in range(n):
            await gateway.publish(visitor_id, range(number, number + 1), "x" * size)
            worst, buffered = max(worst, resident()), max(buffered, held(gateway))
        began = asyncio.get_running_loop().time()
        faults += [fault for each in await asyncio.gather(*reading) for fault in each]
        await until(lambda: gateway.services.hub.readers() == readers - stopped)
        hits["seconds until the stopped were cut, after the last event"] = round(
            asyncio.get_running_loop().time() - began
        )
        hits["readers cut"] = gateway.services.hub.catch_up.cut_count
        hits["resident memory grown, MB"] = (worst - before) // 2**20
        hits["bytes held for the slowest reader"] = buffered
        if worst - before > RESIDENT_LIMIT:
            faults.append(f"resident memory grew by {(worst - before) / 2**20:.0f} MB")
        if buffered > BUFFER_LIMIT + 4 * size:
            faults.append(f"{buffered} bytes were held for one reader")
        faults += await resume(gateway, token, start, n)
    finally:
        for each in healthy:
            each.cut()
        for each in asleep:
            each.close()
    return faults


async def beginning(gateway: Rig, token: str) -> str:
    """Tell the cursor before the first event."""
    stream = await follow(gateway.port, token, None)
    while not stream.parser.last_event_id:
        await stream.some()
    stream.cut()
    return stream.parser.last_event_id


def still(port: int, token: str) -> socket.socket:
    """Open a stream with a tiny window and never read."""
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    made.connect(("127.0.0.1", port))
    made.sendall(f"GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
    return made


async def read(stream: RawStream, n: int) -> list[str]:
    """Take every event and hold it against what must come next."""
    expected = 0
    while expected < n:
        for event in await stream.some():
            data = json.loads(event.data)
            if "n" not in data:
                continue  # who comes and goes is told too
            if event.type != "read" or data["n"] != expected:
                return [f"a healthy reader got {event.type} {data['n']} for {expected}"]
            expected += 1
    return []


async def resume(gateway: Rig, token: str, cursor: str, n: int) -> list[str]:
    """Go on from where a stopped reader was."""
    stream = await follow(gateway.port, token, cursor)
    try:
        return await read(stream, n)
    finally:
        stream.cut()


def held(gateway: Rig) -> int:
    """Tell the most bytes that a transport holds for its reader."""
    return max((each.sink.buffered() for each in gateway.services.hub.streams.readers()), default=0)


def resident() -> int:
    """Tell how much memory this process has."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def until(condition) -> None:
    """Wait for something that no event tells."""
    async with asyncio.timeout(CUT_WITHIN_S):
        while not condition():  # noqa: ASYNC110 - kernel buffers set no event of ours
            await asyncio.sleep(0.05)
