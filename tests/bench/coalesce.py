"""Tokens that go out together: writes saved, delay added, and nothing lost when everybody comes back mid-answer."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import re
import statistics
import time
from dataclasses import dataclass, field

import aiohttp

from tests.bench._crowd import Crowd, follow
from tests.bench._rig import rig
from tests.bench.fan_out import gateway, tell
from tests.bench.measure import Measure
from tests.sse_parser import SseParser

WHAT = (
    "our gateway, one answer of 80 tokens a second to many readers of the same visitor; half-way all drop at once and "
    "come back within a second with the cursors they had"
)
SUBSCRIBERS = int(os.environ.get("COALESCE_CLIENTS", "500"))
SECONDS = float(os.environ.get("COALESCE_SECONDS", "30"))
TOKENS_S = 80.0
BACK_WITHIN_S = 1.0
SETTLED_S = 5.0
ID = re.compile(rb"(?m)^id: ?([^\r\n]+)$")
GOAL_WRITES, GOAL_MS = 0.5, 25.0


@dataclass
class Heard:
    """What one reader knows of the answer."""

    parser: SseParser = field(default_factory=SseParser)
    raw: bytes = b""
    text: str = ""
    said: str = ""
    done: int = 0
    cursor: str = ""
    tail: bytes = b""
    gaps: int = 0
    created: int = 0
    since: int = 0
    """Pieces of text since the reader sat down last: none for one who came back after the end."""


class Listeners(Crowd):
    """Every reader keeps what it reads and when; it is understood afterwards, so that nobody listens too slowly."""

    def __init__(self) -> None:
        super().__init__()
        self.people: dict[int, Heard] = {}
        self.pieces: list[tuple[Heard, bytes | None, int]] = []
        self.delays: list[float] = []
        self.timing = True

    def seat(self, number: int, person: Heard) -> None:
        """Say who sits at a connection, and take what came with the response's head."""
        self.people[number], person.tail = person, b""
        self.pieces.append((person, None, 0))
        self.heard(number, self.watched[number])

    def heard(self, number: int, data: bytearray) -> None:
        """Keep what came, and note how far the reader is."""
        person, kept = self.people[number], bytes(data)
        self.pieces.append((person, kept, time.monotonic_ns()))
        held = person.tail + kept
        end = held.rfind(b"\n\n") + 1
        if ids := ID.findall(held, 0, end):  # of whole events alone
            person.cursor = ids[-1].decode()
        person.tail = held[end:]

    def understand(self, count: int | None = None) -> None:
        """Parse what was kept: all of it, or the first `count` pieces."""
        for person, data, moment in self.pieces[:count]:
            if data is None:
                person.parser, person.raw, person.since = SseParser(), b"", 0
            else:
                self._take(person, data, moment)
        del self.pieces[:count]

    def _take(self, heard: Heard, data: bytes, moment: int) -> None:
        heard.raw += data
        while True:
            size, found, rest = heard.raw.partition(b"\r\n")
            if not found or len(rest) < int(size, 16) + 2:
                return
            length = int(size, 16)
            heard.raw = rest[length + 2 :]
            for event in heard.parser.feed(rest[:length]):
                self._hear(heard, event.type, json.loads(event.data), moment)

    def _hear(self, heard: Heard, kind: str, data: dict, now: int) -> None:
        if kind == "message.delta":
            if data["start"] > len(heard.text):
                heard.gaps += 1
            heard.since += 1
            heard.text = heard.text[: data["start"]] + data["text"]
            if self.timing:
                self.delays += [(now - int(made)) / 1e6 for made in data["text"].split()]
        elif kind == "message.created" and data["role"] == "AI":
            heard.said, heard.created = data["text"], heard.created + 1
        elif kind == "turn.step" and data["step"] == "done":
            heard.done += 1


async def run() -> list[Measure]:
    """Measure one answer."""
    timeout = aiohttp.ClientTimeout(total=SECONDS * 6 + 120)
    async with rig() as made, aiohttp.ClientSession(timeout=timeout) as http:
        _, door = await gateway(made)
        token = (await tell(http, door, do="visitor"))["token"]
        port = int(door.split(":")[2].partition("/")[0])
        gc.disable()  # what is kept until the end is no garbage, and looking through it would make us listen too slowly
        crowd = Listeners()
        people = [Heard() for _ in range(SUBSCRIBERS)]
        with crowd.closing():
            await asyncio.to_thread(_come, crowd, people, port, token)
            before = await tell(http, door, do="state")
            taken = await tell(http, door, do="turn", seconds=SECONDS)
            await asyncio.to_thread(_listen, crowd, SECONDS / 2)
            middle = await tell(http, door, do="state")
            first_half = len(crowd.pieces)
            crowd.leave()
            began = time.monotonic()
            await asyncio.to_thread(_come, crowd, people, port, token)
            back_s = time.monotonic() - began
            await asyncio.to_thread(_listen, crowd, SECONDS / 2 + SETTLED_S)
            crowd.understand(first_half)
            delivered = sum(len(each.text.split()) for each in people)
            crowd.timing = False
            await asyncio.to_thread(_until_done, crowd, people)
            said = await tell(http, door, do="said", conversation_id=taken["conversation_id"])
    return _measures(people, crowd.delays, (middle["writes"] - before["writes"]) / delivered, said, back_s)


def _come(crowd: Listeners, people: list[Heard], port: int, token: str) -> None:
    numbers = crowd.come(port, [follow(port, token, heard.cursor) for heard in people])
    for number, heard in zip(numbers, people, strict=True):
        crowd.seat(number, heard)


def _listen(crowd: Listeners, seconds: float) -> None:
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        crowd.read(0.05)


def _until_done(crowd: Listeners, people: list[Heard]) -> None:
    ends = time.monotonic() + SECONDS * 3 + 60
    crowd.understand()
    while not all(heard.done for heard in people) and time.monotonic() < ends:
        crowd.settle()
        crowd.understand()


def _measures(people: list[Heard], delays: list[float], share: float, said: dict, back_s: float) -> list[Measure]:
    whole = said["text"]
    wrong = sum(heard.said != whole or (heard.since > 0 and heard.text != whole) for heard in people)
    late = sum(heard.since == 0 for heard in people)
    gaps = sum(heard.gaps for heard in people)
    repeats = sum(abs(heard.created - 1) + abs(heard.done - 1) for heard in people)
    note = f"{SUBSCRIBERS} readers, back in {back_s:.2f} s (asked: {BACK_WITHIN_S:g}), {late} after the end"
    return [
        Measure("transport writes for each token delivered", share, "writes", "tokens", share, GOAL_WRITES),
        Measure("delay of a token, p99", statistics.quantiles(delays, n=100)[98], "ms", "goal", None, GOAL_MS),
        Measure("delay of a token, p50", statistics.median(delays), "ms"),
        Measure("readers without the whole answer", wrong, "readers", note=note),
        Measure("gaps; repeats or losses of the end", gaps + repeats, "events", note=f"{gaps}; {repeats}"),
        Measure("questions put to the model", said["asked_count"], "calls"),
    ]
