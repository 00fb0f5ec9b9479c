"""P5 for whole turns: one key and body is one answer and one bill, whoever asks how often, also after a restart."""

from __future__ import annotations

import asyncio
import json
import random
import shutil
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import grpc
import grpc.aio

from ai_server.storage.ledger_contract import ReservationState
from ai_server.storage.sqlite import SqliteStateStore
from shared.clock import SystemClock
from shared.pb.passeur.v1 import assistant_pb2, assistant_pb2_grpc, common_pb2
from shared.usage import Usage
from tests.fakes.ai_server import ai_server, asked
from tests.fakes.documents import FakeKnowledge, chunk, hit
from tests.fakes.generation import ScriptedGenerator, saying
from tests.torture import shim, workload
from tests.torture.figure import Figure, span

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable
    from pathlib import Path

    from ai_server.providers.contract import GenerationRequest

PROMISE = (
    "a turn asked for 1 to 5 times, unary and streamed, dropped, at once and after restarts, is one answer, one bill"
)
FULL = 10_000
SHORT = 24
AT_ONCE = 40
SERVERS = 2
"""Servers in a row on one file: each replays all turns of its group."""

PATIENCE = 60.0
REFUSALS, REFUSED_S = 100, 0.2
T = TypeVar("T")
SLOWEST = 0.3
"""Seconds that the provider pauses at most between its first word and the rest."""

MOST_EVENTS = 8
"""Events of a stream are about that many; one that a reader would leave at a later one is read to its end."""

BUDGET = 2**60
ASIDE = frozenset({common_pb2.OUTCOME_ANSWERED, common_pb2.OUTCOME_STOPPED, common_pb2.OUTCOME_TRUNCATED})

Result = assistant_pb2.AnswerResult


@dataclass(frozen=True)
class Door:
    """One connection to the server, shared by all callers."""

    stub: assistant_pb2_grpc.AssistantServiceStub
    metadata: tuple[tuple[str, str], ...]


async def run(n: int, seed: int) -> Figure:
    """Ask for `n` turns, 40 side by side on one ledger file."""
    workload.quiet()
    hits: Counter[str] = Counter()
    failures: list[str] = []
    for first in range(seed, seed + n, AT_ONCE):
        folder = shim.scratch()
        try:
            failures += await group(folder, range(first, min(first + AT_ONCE, seed + n)), hits)
        finally:
            shutil.rmtree(folder)
    return Figure(n, span(seed, n), failures, dict(sorted(hits.items())))


async def group(folder: Path, seeds: Iterable[int], hits: Counter[str]) -> list[str]:
    """Ask for the turns of some seeds, restart the server, ask again, and hold the bill against the provider's."""
    told: dict[int, Result] = {}
    faults: list[str] = []
    billed: Counter[str] = Counter()
    for life in range(SERVERS):
        generator = ScriptedGenerator(lambda request: answer_to(request, billed))
        knowledge = FakeKnowledge(hits=(hit(chunk("A passage about exports.")),))
        store = SqliteStateStore(folder / "state.sqlite", SystemClock())
        async with ai_server(generator, knowledge=knowledge, store=store, budget=BUDGET) as rig:
            door = Door(rig.assistant, rig.metadata())
            replays = [replayed(door, each, life, told, hits) for each in seeds]
            for found in await asyncio.gather(*replays):
                faults += found
            if life == SERVERS - 1:
                faults += await compare(store, told, billed)
    return faults


def question_of(seed: int) -> str:
    return f"How do I export my data, number {seed}?"


def answer_to(request: GenerationRequest, billed: Counter[str]) -> list:
    """Answer as a provider who bills each call, at another length for each question."""
    question = next(word for word in str(request).split() if word.strip("?'\",)").isdigit())
    number = int("".join(letter for letter in question if letter.isdigit()))
    billed[question_of(number)] += 1
    gate = asyncio.Event()
    asyncio.get_running_loop().call_later(random.Random(number).random() * SLOWEST, gate.set)
    first, *rest = saying("Go to ", "Settings, ", f"export {number}.", usage=Usage(input=100, output=10 + number % 50))
    return [first, gate, *rest]


async def replayed(door: Door, seed: int, life: int, told: dict[int, Result], hits: Counter[str]) -> list[str]:
    """Ask 1 to 5 times under one key, at once or in turn, some dropped; then with another body."""
    dice = random.Random(f"{seed}/{life}")
    given = asked(question_of(seed), idempotency_key=f"turn-{seed}", detached=random.Random(seed).random() < 0.5)
    sends = [one(door, given, dice, hits) for _ in range(dice.randrange(5))]
    answers = list(await asyncio.gather(*sends)) if dice.random() < 0.5 else [await each for each in sends]
    answers.append(await unary(door, given))
    results = [each for each in answers if each is not None]
    hits["answered"] += len(results)
    first = told.setdefault(seed, results[0])
    hits[f"outcome {common_pb2.Outcome.Name(first.outcome)}"] += life == 0
    faults = [f"seed {seed}: one key, two answers: {first} and {each}" for each in results if each != first]
    if first.outcome not in ASIDE:
        faults.append(f"seed {seed}: the turn came to {first}")
    for other in (asked("Something else?", idempotency_key=given.idempotency_key), changed(given)):
        if not await refused(lambda other=other: unary(door, other)):
            faults.append(f"seed {seed}: another body was taken for the same key")
        hits["mismatches refused"] += 1
    return faults


def changed(given: assistant_pb2.AnswerInput) -> assistant_pb2.AnswerInput:
    """Give the same question with another bound: a body is more than its text."""
    other = assistant_pb2.AnswerInput()
    other.CopyFrom(given)
    other.max_output_token_count = 77
    return other


async def one(door: Door, given: assistant_pb2.AnswerInput, dice: random.Random, hits: Counter[str]) -> Result | None:
    """Ask once, by either rpc; None when it was dropped, at once or after a moment."""
    moment = dice.choice([None, None, 0.0, dice.random() * SLOWEST])
    if dice.random() < 0.5:
        leave_at = dice.choice([None, None, *range(MOST_EVENTS)])
        found = await taken(lambda: streamed(door, given, leave_at))
        hits["streams left"] += found is None
        return found
    try:
        async with asyncio.timeout(moment):
            return await unary(door, given)
    except TimeoutError:
        hits["calls dropped"] += 1
        return None


async def unary(door: Door, given: assistant_pb2.AnswerInput) -> Result:
    request = assistant_pb2.AnswerRequest(input=given)
    return await taken(lambda: answer(door, request))


async def answer(door: Door, request: assistant_pb2.AnswerRequest) -> Result:
    return (await door.stub.Answer(request, metadata=door.metadata, timeout=PATIENCE)).result


async def taken(ask: Callable[[], Awaitable[T]]) -> T:
    """Ask again, as a client does, while the server says that it takes nothing now: its disk may stand still."""
    for _ in range(REFUSALS):
        try:
            return await ask()
        except grpc.aio.AioRpcError as error:
            if error.code() is not grpc.StatusCode.UNAVAILABLE:
                raise
        await asyncio.sleep(REFUSED_S)
    return await ask()


async def streamed(door: Door, given: assistant_pb2.AnswerInput, leave_at: int | None) -> Result | None:
    """Read a stream to its end, where what it said must be what its result says; or leave before some event."""
    request = assistant_pb2.StreamAnswerRequest(input=given)
    said, number = "", 0
    call = door.stub.StreamAnswer(request, metadata=door.metadata, timeout=PATIENCE)
    async for event in call:
        if number == leave_at:
            call.cancel()
            return None
        number += 1
        if event.HasField("delta"):
            said = said[: event.delta.start] + event.delta.text
        if event.HasField("result"):
            assert said.strip() == event.result.text.strip(), (
                f"streamed {said!r}, the result says {event.result.text!r}"
            )
            return event.result
    raise AssertionError("a stream ended without a result")


async def refused(ask: Callable[[], Awaitable[Result]]) -> bool:
    try:
        await ask()
    except grpc.aio.AioRpcError as error:
        return error.code() is grpc.StatusCode.ALREADY_EXISTS
    return False


async def cost_of(store: SqliteStateStore, result: Result) -> int:
    """What a turn cost: as it was told, or where its stop did not wait for that, as its journal line says."""
    if result.HasField("cost_nanousd"):
        return result.cost_nanousd
    line = await store.journal.line("demo", turn_id=result.turn_id)
    return json.loads(line.body)["cost_nanousd"] if line is not None else 0


async def compare(store: SqliteStateStore, told: dict[int, Result], billed: Counter[str]) -> list[str]:
    """One call, one charge: what the provider billed, the ledger has, and the answers say."""
    faults = [f"{question} was billed {count} times" for question, count in billed.items() if count > 1]
    rows = await store.ledger.reservations("demo", None, 1000, "")
    paid = [each for each in rows if each.new.ceiling_nanousd]
    settled = [each.cost_nanousd for each in paid if each.state is ReservationState.SETTLED]
    if len(settled) < len(billed) or len(paid) > len(told):
        faults.append(f"{len(billed)} calls reached the provider, the ledger has {len(paid)} for {len(told)} keys")
    answers = sum([await cost_of(store, each) for each in told.values()])
    if sum(cost or 0 for cost in settled) != answers:
        faults.append(f"the ledger settled {sum(cost or 0 for cost in settled)}, the answers say {answers}")
    return [*faults, *await store.ledger.audit()]
