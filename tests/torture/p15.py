"""P15: whatever cursor, token or ticket someone shows, they see the events of their own session and no others."""

from __future__ import annotations

import json
import random
from collections import Counter

from tests.torture import workload
from tests.torture.figure import Figure, span
from tests.torture.gateway_rig import Rig, follow, open_raw, rig

PROMISE = "foreign and guessed cursors, ended, forged and used-up credentials show nothing of another session"
FULL = 10_000
SHORT = 60
SESSIONS = 12
EVENTS = 6
OWN = 1_000_000


async def run(n: int, seed: int) -> Figure:
    """Show `n` foreign cursors or credentials."""
    workload.quiet()
    dice = random.Random(seed)
    hits: Counter[str] = Counter()
    failures: list[str] = []
    async with rig() as gateway:
        people = [await gateway.visitor() for _ in range(SESSIONS)]
        cursors: list[list[str]] = []
        for place, (_, visitor_id) in enumerate(people):
            await gateway.publish(visitor_id, range(OWN + place * 1_000, OWN + place * 1_000 + EVENTS))
            async with gateway.services.store.transaction() as tx:
                epoch = (await tx.events.position(f"visitor:{visitor_id}")).epoch
            cursors.append([f"{epoch}.{offset}" for offset in range(EVENTS + 1)])
        for _ in range(n):
            if dice.random() < 0.8:
                fault = await foreign_cursor(gateway, people, cursors, dice, hits)
            else:
                fault = await bad_credential(gateway, people, dice, hits)
            if fault:
                failures.append(f"seed {seed}: {fault}")
    return Figure(n, span(seed, 1), failures, dict(sorted(hits.items())))


async def foreign_cursor(
    gateway: Rig, people: list[tuple[str, str]], cursors: list[list[str]], dice: random.Random, hits: Counter[str]
) -> str:
    """Read with a cursor of someone else, or a guess near one; an own event written then is all that may come."""
    me = dice.randrange(SESSIONS)
    other = dice.choice([place for place in range(SESSIONS) if place != me])
    cursor = dice.choice(cursors[other])
    kind = dice.choice(("foreign", "foreign beyond", "guessed epoch", "malformed"))
    if kind == "foreign beyond":
        cursor = cursor.partition(".")[0] + f".{dice.randrange(10, 10**12)}"
    elif kind == "guessed epoch":
        cursor = f"{dice.randrange(16**12):012x}.{dice.randrange(EVENTS)}"
    elif kind == "malformed":
        cursor = dice.choice(("%00", cursor + ".1", "-" + cursor, cursor.upper() + "x", "..", "0.", "%0d%0aid: 1"))
    hits[kind] += 1
    token, visitor_id = people[me]
    number = dice.randrange(OWN)
    stream = await follow(gateway.port, token, cursor)
    try:
        events = []
        while not events:
            events += await stream.some()
        await gateway.publish(visitor_id, range(number, number + 1))
        while len(events) < 2:
            events += await stream.some()
    finally:
        stream.cut()
    told = [(event.type, json.loads(event.data)) for event in events]
    if told[0][0] != "resync" or told[0][1]["reason"] != "unknown-cursor":
        return f"{kind} {cursor!r} was answered with {told[0]}"
    if [data.get("n") for _, data in told[1:]] != [number]:
        return f"{kind} {cursor!r} of {other} showed {me} {told[1:]}"
    return ""


async def bad_credential(gateway: Rig, people: list[tuple[str, str]], dice: random.Random, hits: Counter[str]) -> str:
    """Ask for a stream with what is no credential any more, or never was."""
    token, _ = dice.choice(people)
    kind = dice.choice(("cut token", "changed token", "token as ticket", "ticket used twice", "ticket as token"))
    hits[kind] += 1
    path, headers = "/v1/events", [f"Authorization: Bearer {token}"]
    if kind == "cut token":
        headers = [f"Authorization: Bearer {token[: dice.randrange(1, len(token))]}"]
    elif kind == "changed token":
        place = dice.randrange(len(token))
        changed = token[:place] + ("A" if token[place] != "A" else "B") + token[place + 1 :]
        headers = [f"Authorization: Bearer {changed}"]
    elif kind == "token as ticket":
        path, headers = f"/v1/events?ticket={token}", []
    else:
        visitor = await gateway.services.sessions.authenticate(token)
        ticket = (await gateway.services.sessions.open_ticket(visitor)).ticket
        if kind == "ticket as token":
            headers = [f"Authorization: Bearer {ticket}"]
        else:
            await gateway.services.sessions.redeem_ticket(ticket)
            path, headers = f"/v1/events?ticket={ticket}", []
    stream = await open_raw(gateway.port, path, *headers)
    try:
        status = await stream.head()
    finally:
        stream.cut()
    return "" if status == 401 else f"{kind}: status {status}"
