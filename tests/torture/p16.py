"""P16: any text that a model writes arrives identical at a reader, however its bytes are cut on the way."""

from __future__ import annotations

import itertools
import json
import random
from collections import Counter
from collections.abc import Sequence

from gateway.assistant.contract import Delta, Outcome, Result, Step, TurnEvent
from gateway.assistant.grpc_client import _event
from gateway.conversation.model import Conversation
from shared.ids import new_id
from shared.pb.passeur.v1 import assistant_pb2
from tests.fakes.assistant import ScriptedAssistant
from tests.sse_parser import Event, SseParser
from tests.torture import workload
from tests.torture.figure import Figure, span
from tests.torture.gateway_rig import Rig, open_raw, rig

PROMISE = "random Unicode over gRPC messages, gateway and SSE, parsed strictly from three random cuts each: identical"
FULL = 1_000_000
SHORT = 1_000
BATCH = 100
SPLITS = 3
EVERY_BYTE_BATCHES = 10
"""Batches (1,000 strings) whose stream is also cut at every single byte."""
SPECIAL = (
    '\r\n\t\x00\x01\x0b\x0c\x1b\x7f\x85\xa0\u2028\u2029\ufeff\ufffd\ue000\ue001\U0010ffff\u200d👩👧🏴é你:"\\<&data'
)


async def run(n: int, seed: int) -> Figure:
    """Send `n` strings, 100 in an answer."""
    workload.quiet()
    dice = random.Random(seed)
    hits: Counter[str] = Counter()
    failures: list[str] = []
    texts: list[str] = []
    assistant = ScriptedAssistant(lambda question: scripted(texts, dice))
    async with rig(assistant) as gateway:
        token, visitor_id = await gateway.visitor()
        conversation = await begin(gateway, visitor_id)
        for batch in range(-(-n // BATCH)):
            texts[:] = [string(dice) for _ in range(min(BATCH, n - batch * BATCH))]
            raw = await turn(gateway, token, conversation)
            hits["bytes"] += len(raw)
            cuts = [sorted(dice.randrange(len(raw)) for _ in range(dice.randrange(1, 40))) for _ in range(SPLITS)]
            if batch < EVERY_BYTE_BATCHES:
                cuts.append(list(range(1, len(raw))))
                hits["streams cut at every byte"] += 1
            faults = [judge(parse(raw, where), "".join(texts)) for where in cuts]
            failures += [f"seed {seed}, batch {batch}: {fault}" for fault in faults if fault]
    return Figure(n, span(seed, 1), failures, dict(hits))


def string(dice: random.Random) -> str:
    """Make a string of 0 to 12 code points, half of them ones that have hurt someone; no half of a surrogate pair."""
    return "".join(
        dice.choice(SPECIAL)
        if dice.random() < 0.5
        else chr(dice.choice((dice.randrange(0xD800), dice.randrange(0xE000, 0x110000))))
        for _ in range(dice.randrange(13))
    )


def scripted(texts: Sequence[str], dice: random.Random) -> Sequence[TurnEvent]:
    """Answer with the strings, cut anew at random places, each event having been a gRPC message on the wire."""
    whole = "".join(texts)
    places = sorted({0, len(whole), *(dice.randrange(len(whole) + 1) for _ in range(20))})
    events: list[TurnEvent] = [Step("generate")]
    for start, end in itertools.pairwise(places):
        message = assistant_pb2.StreamAnswerResponse(delta=assistant_pb2.Delta(start=start, text=whole[start:end]))
        events.append(_event(assistant_pb2.StreamAnswerResponse.FromString(message.SerializeToString())))
    assert all(isinstance(event, (Step, Delta)) for event in events)
    return [*events, Result(Outcome.ANSWERED, whole, "fr")]


async def begin(gateway: Rig, visitor_id: str) -> str:
    """Open a conversation."""
    now = gateway.services.clock.now()
    conversation = Conversation(new_id(now), "demo", visitor_id, "", "fr", now, now)
    async with gateway.services.store.transaction() as tx:
        await tx.conversations.add(conversation)
    return conversation.id


async def turn(gateway: Rig, token: str, conversation: str) -> bytes:
    """Ask something and return the body of the response, chunks undone."""
    stream = await open_raw(
        gateway.port,
        f"/v1/conversations/{conversation}/messages",
        f"Authorization: Bearer {token}",
        "Accept: text/event-stream",
        "Connection: close",
        method="POST",
        body='{"text":"dis"}',
    )
    if await stream.head() != 200:
        raise AssertionError(f"the turn was refused: {stream.status}")
    raw = await stream.reader.read()
    stream.cut()
    body = b""
    while raw:
        size, _, raw = raw.partition(b"\r\n")
        length = int(size, 16)
        body, raw = body + raw[:length], raw[length + 2 :]
        if length == 0:
            break
    return body


def parse(raw: bytes, cuts: Sequence[int]) -> list[Event]:
    """Read a stream in the given pieces."""
    parser, events, at = SseParser(), [], 0
    for cut in [*cuts, len(raw)]:
        events += parser.feed(raw[at:cut])
        at = cut
    return events


def judge(events: list[Event], whole: str) -> str:
    """Hold what a reader has against what was said."""
    running, said = "", None
    for event in events:
        if event.type not in {"message.created", "message.delta", "turn.step"}:
            return f"an event of type {event.type!r} was injected"
        data = json.loads(event.data)
        if event.type == "message.delta":
            running = running[: data["start"]] + data["text"]
        elif event.type == "message.created" and data["role"] == "AI":
            said = data["text"]
    if events[-1].type != "turn.step" or json.loads(events[-1].data)["step"] != "done":
        return "the stream does not end with done"
    if said != whole and (whole.strip() or said is None):
        return f"the message is not what was said: {said!r} for {whole!r}"
    return "" if running == whole else f"the running text is not what was said: {running!r} for {whole!r}"
