"""P13: after a cut anywhere, every event after the cursor comes once and in order, or `resync` says it cannot."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from dataclasses import dataclass, field

import sqlalchemy as sa

from gateway.storage import events as events_room
from gateway.storage.contract import NewEvent
from gateway.storage.tables import streams
from tests.torture import workload
from tests.torture.figure import Figure, span
from tests.torture.gateway_rig import Rig, follow, rig

PROMISE = "readers cut at random bytes, restarts, trimmed and renewed streams: no silent gap, no repeat, no disorder"
FULL = 10_000
SHORT = 40
STREAMS = 4
READERS = 12
"""Of each stream: what is written once is read by all of them, each cut at places of its own."""
RECONNECTS_PER_LIFE = 400
"""After so many reconnects the gateway is ended and started again."""
RENEWED = 0.5
"""Share of restarts at which a stream is lost, besides those lost while it is written."""
KEPT = 192
BURSTS = (1, 1, 2, 5, 16)
WRITE_EVERY_S = 0.02
"""Short of full speed, so that readers on the same core get their turn."""
PADS = ("", "x" * 40, "é\u2028" * 300, "x" * 9_000)


@dataclass(slots=True)
class Seen:
    """What one reader knows."""

    token: str
    visitor_id: str
    cursor: str | None = None
    expected: int | None = None
    faults: list[str] = field(default_factory=list)


async def run(n: int, seed: int) -> Figure:
    """Do `n` reconnects, spread over readers that each follow a stream that is being written."""
    workload.quiet()
    dice = random.Random(seed)
    hits: Counter[str] = Counter()
    kept, events_room.KEPT_EVENTS = events_room.KEPT_EVENTS, KEPT
    readers: list[Seen] = []
    try:
        async with rig() as gateway:
            for visitor in [await gateway.visitor() for _ in range(STREAMS)]:
                readers += [Seen(*visitor) for _ in range(READERS)]
            left = n
            while left > 0:
                share = min(left, RECONNECTS_PER_LIFE)
                await life(gateway, readers, share, dice, hits)
                left -= share
                if left > 0:
                    hits["gateway restarts"] += 1
                    await gateway.end()
                    await gateway.start()
                    if dice.random() < RENEWED:
                        hits["streams renewed"] += 1
                        await renew(gateway, f"visitor:{dice.choice(readers).visitor_id}")
    finally:
        events_room.KEPT_EVENTS = kept
    failures = [f"seed {seed}: {fault}" for reader in readers for fault in reader.faults]
    return Figure(n, span(seed, 1), failures, dict(sorted(hits.items())))


async def life(gateway: Rig, readers: list[Seen], reconnects: int, dice: random.Random, hits: Counter[str]) -> None:
    """Let every reader reconnect its share of times while its stream is written."""
    shares = [reconnects // len(readers) + (place < reconnects % len(readers)) for place in range(len(readers))]
    written = {reader.visitor_id: random.Random(dice.random()) for reader in readers}
    writers = [asyncio.create_task(write(gateway, f"visitor:{each}", own)) for each, own in written.items()]
    try:
        await asyncio.gather(
            *(
                read(gateway, reader, share, random.Random(dice.random()), hits)
                for reader, share in zip(readers, shares, strict=True)
            )
        )
    finally:
        for writer in writers:
            writer.cancel()
        await asyncio.gather(*writers, return_exceptions=True)


async def write(gateway: Rig, stream_id: str, dice: random.Random) -> None:
    """Write without end. The number in an event is the offset it is going to have, as the store says."""
    while True:
        burst = dice.choice(BURSTS)
        async with gateway.services.store.transaction() as tx:
            head = (await tx.events.position(stream_id)).head
            for number in range(head + 1, head + 1 + burst):
                await tx.events.append(stream_id, NewEvent("read", {"n": number, "pad": dice.choice(PADS)}))
        await asyncio.sleep(WRITE_EVERY_S)
        if dice.random() < 0.002:
            await renew(gateway, stream_id)


async def renew(gateway: Rig, stream_id: str) -> None:
    """Lose a stream, as a store restored from a backup would: it begins anew, in another epoch."""
    async with gateway.services.store.transaction() as tx:
        await tx.events._connection.run(sa.delete(streams).where(streams.c.id == stream_id))


async def read(gateway: Rig, reader: Seen, times: int, dice: random.Random, hits: Counter[str]) -> None:
    """Connect from the cursor, read some bytes, leave without a goodbye; again and again."""
    for _ in range(times):
        if dice.random() < 0.05:
            hits["long absences"] += 1
            await asyncio.sleep(0.2)
        stream = await follow(gateway.port, reader.token, reader.cursor)
        budget = dice.choice((1, 40, 300, 2_000, 20_000, 60_000))
        try:
            while budget > 0:
                piece = dice.randint(1, budget)
                budget -= piece
                for event in await stream.some(piece):
                    judge(reader, event.type, json.loads(event.data), event.last_event_id, hits)
                if stream.parser.last_event_id:
                    reader.cursor = stream.parser.last_event_id
        finally:
            stream.cut()
        hits["reconnects"] += 1


def judge(reader: Seen, kind: str, data: dict[str, object], event_id: str, hits: Counter[str]) -> None:
    """Hold an event against what must come next."""
    epoch, _, offset = event_id.partition(".")
    before = (reader.cursor or ".").partition(".")
    if kind == "resync":
        hits[f"resync {data['reason']}"] += 1
        if data["reason"] == "unknown-cursor" and before[0] == epoch and int(before[2]) <= int(offset):
            reader.faults.append(f"a cursor that could be resumed was not: {reader.cursor} at {event_id}")
    else:
        hits["events"] += 1
        if data["n"] != int(offset):
            reader.faults.append(f"event {event_id} carries number {data['n']}")
        if before[0] == epoch and int(offset) != int(before[2]) + 1:
            reader.faults.append(f"after {reader.cursor} came {event_id}")
        if before[0] and before[0] != epoch:
            reader.faults.append(f"the epoch changed silently: after {reader.cursor} came {event_id}")
    reader.cursor = event_id
