"""P37: one ticket per incident despite lost answers, retries and restarts; and no AI message after a take-over."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter

from gateway.conversation.model import Conversation, Message, Role, staff_stream_id
from gateway.identity import passwords
from gateway.turns.intake import NewMessage
from shared.ids import new_id
from tests.fakes.assistant import Pause, ScriptedAssistant, answering
from tests.fakes.gateway import staff_member
from tests.torture import workload
from tests.torture.figure import Figure, span
from tests.torture.gateway_rig import Rig, open_raw, rig

PROMISE = "answers dropped, five retries, restarts: one ticket per incident, everyone told, no AI message after it"
FULL = 1_000
SHORT = 12
RETRIES = 5
INCIDENTS_PER_LIFE = 100
"""After so many incidents the gateway is ended and started again."""


async def run(n: int, seed: int) -> Figure:
    """Do `n` incidents with faults and `n` races of an AI answer against a take-over."""
    workload.quiet()
    hits: Counter[str] = Counter()
    failures: list[str] = []
    cost, passwords.COST = passwords.COST, 2**4
    try:
        async with rig(ScriptedAssistant(script)) as gateway:
            member = await staff_member(gateway.services, "ana")
            for trial in range(n):
                dice = random.Random(seed + trial)
                fault = await incident(gateway, dice, hits) or await race(gateway, member, dice, hits)
                if fault:
                    failures.append(f"seed {seed + trial}: {fault}")
                if trial % INCIDENTS_PER_LIFE == INCIDENTS_PER_LIFE // 2:
                    hits["restarts"] += 1
                    await gateway.end()
                    await gateway.start()
    finally:
        passwords.COST = cost
    return Figure(2 * n, span(seed, n), failures, dict(sorted(hits.items())))


def script(question):
    """Answer after a while that the question names, in milliseconds."""
    return [Pause(float(question.text) / 1000), *answering("un deux trois")]


async def begin(gateway: Rig) -> tuple[str, Conversation]:
    """Make a visitor with a conversation in which something was asked."""
    token, visitor_id = await gateway.visitor()
    clock = gateway.services.clock
    now = clock.now()
    conversation = Conversation(new_id(now), "demo", visitor_id, "?", "fr", now, now)
    async with gateway.services.store.transaction() as tx:
        await tx.conversations.add(conversation)
        position = await tx.conversations.take_position(conversation.id, now)
        await tx.messages.add(Message(new_id(now), conversation.id, position, Role.USER, None, "?", now))
    return token, conversation


# ---------------------------------------------------------------------- lost answers


async def incident(gateway: Rig, dice: random.Random, hits: Counter[str]) -> str:
    """Ask for a person over a line that loses answers, until one arrives or five retries are spent."""
    token, conversation = await begin(gateway)
    key = f"incident-{conversation.id}"
    told: set[str] = set()
    for attempt in range(RETRIES + 1):
        hits["attempts"] += 1
        ways = dice.choice((1, 1, 1, 2, 3))
        asked = [ask(gateway, token, conversation.id, key, dice, last=attempt == RETRIES) for _ in range(ways)]
        for answer in await asyncio.gather(*asked, return_exceptions=True):
            if isinstance(answer, str):
                told.add(answer)
            elif isinstance(answer, AssertionError):
                return str(answer)
            else:
                hits["answers lost"] += 1
        if told and dice.random() < 0.5:
            break
    return await judge_incident(gateway, conversation, told)


async def ask(gateway: Rig, token: str, conversation_id: str, key: str, dice: random.Random, *, last: bool) -> str:
    """Send one request; the line is cut before it, in the middle of it, or anywhere in the answer."""
    path = f"/v1/conversations/{conversation_id}/escalate"
    headers = (f"Authorization: Bearer {token}", f"Idempotency-Key: {key}", "Content-Length: 0")
    stream = await open_raw(gateway.port, path, *headers, method="POST")
    fate = "whole" if last else dice.choice(("unsent", "sent", "head", "whole"))
    try:
        if fate != "unsent":
            await stream.writer.drain()
        if fate == "sent":
            await asyncio.sleep(dice.random() / 500)
        if fate in {"unsent", "sent"}:
            raise ConnectionAbortedError
        head = await stream.reader.readuntil(b"\r\n\r\n")
        status = int(head.split(b" ", 2)[1])
        if status not in {200, 201}:
            raise AssertionError(f"{path} answered {status}")
        if fate == "head":
            raise ConnectionAbortedError
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        return str(json.loads(await stream.reader.readexactly(length))["id"])
    finally:
        stream.cut()


async def judge_incident(gateway: Rig, conversation: Conversation, told: set[str]) -> str:
    """Hold what is stored against what was told."""
    async with gateway.services.store.transaction() as tx:
        tickets = await tx.tickets.of_conversation(conversation.id)
        messages = await tx.messages.after(conversation.id, 0, 100)
        now = await tx.conversations.get(conversation.id)
        stream = staff_stream_id("demo")
        position = await tx.events.position(stream)
        events = await tx.events.after(stream, max(position.trimmed, position.head - 200), 200)
    ids = {each.id for each in tickets}
    staff_heard = {each.data["ticket"]["id"] for each in events if each.type == "ticket.updated"}
    notices = [each for each in messages if each.role is Role.SYSTEM]
    if len(ids) != 1:
        return f"{len(ids)} tickets for one incident"
    if told != ids:
        return f"told of {told}, stored {ids}"
    if now is None or not now.escalated or len(notices) != 1:
        return f"the conversation says otherwise: {len(notices)} notices"
    return "" if ids <= staff_heard else "the staff were not told"


# ---------------------------------------------------------------------- races


async def race(gateway: Rig, member, dice: random.Random, hits: Counter[str]) -> str:
    """Let an answer and a take-over arrive within the same few milliseconds."""
    _, conversation = await begin(gateway)
    services = gateway.services
    project = services.projects.get("demo")
    async with services.store.transaction() as tx:
        visitor = await tx.visitors.get(conversation.visitor_id)
    assert project is not None
    assert visitor is not None
    question = NewMessage(conversation.id, str(dice.randrange(12)), "", "fr", None)
    taken = await services.turns.send(visitor, project, question)
    await asyncio.sleep(dice.random() / 6)
    if dice.random() < 0.5:
        await services.support.tickets.take_over(member, conversation.id)
    else:
        await services.support.tickets.escalate(visitor, conversation.id)
    turn = (await services.turns.wait(taken.turn.id)).turn
    async with services.store.transaction() as tx:
        messages = await tx.messages.after(conversation.id, 0, 100)
    ticket_at = next(each.position for each in messages if each.role is Role.SYSTEM)
    answers = [each.position for each in messages if each.role is Role.AI]
    hits[f"race {turn.outcome}"] += 1
    if any(position > ticket_at for position in answers):
        return "the AI spoke after the ticket"
    if (turn.outcome == "handed_over") == bool(answers):
        return f"outcome {turn.outcome} with {len(answers)} answers"
    return ""
