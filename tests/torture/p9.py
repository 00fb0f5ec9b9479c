"""P9: concurrent histories over gRPC, with the server killed and frozen, are serializable in the ledger's own order."""

from __future__ import annotations

import asyncio
import random
import shutil
import signal
import time
from collections import Counter
from typing import TYPE_CHECKING

import grpc
import grpc.aio

from shared.pb.passeur.v1 import budgets_pb2, budgets_pb2_grpc
from tests.services import free_port
from tests.torture import shim
from tests.torture.figure import Figure, span
from tests.torture.history import Done, check, entries
from tests.torture.ledger_server import METADATA
from tests.torture.nursery import READY_SECONDS, nursery

if TYPE_CHECKING:
    from pathlib import Path

    from tests.torture.nursery import Nursery, Server

PROMISE = "histories of reserve, settle, void and reads, with kills and pauses, are serializable"
FULL = 200
SHORT = 1
OPERATIONS, SHORT_OPERATIONS = 2_000, 300
CLIENTS = 16
LIMIT = 20_000
PATIENCE = 2.0
"""Seconds after which a client gives up: its operation may or may not have happened."""

DAILY = budgets_pb2.BUDGET_PERIOD_DAILY


async def run(n: int, seed: int) -> Figure:
    """Record and check `n` histories; the short form has one of 300 operations."""
    hits: Counter[str] = Counter()
    failures: list[str] = []
    operations = OPERATIONS if n > SHORT else SHORT_OPERATIONS
    async with nursery() as servers:
        for each in range(seed, seed + n):
            folder = shim.scratch()
            try:
                found = await one_history(servers, folder / "state.sqlite", each, operations, hits)
            finally:
                shutil.rmtree(folder)
            failures += [f"seed {each}: {fault}" for fault in found]
    return Figure(n, span(seed, n), failures, dict(sorted(hits.items())))


async def one_history(servers: Nursery, path: Path, seed: int, operations: int, hits: Counter[str]) -> list[str]:
    """Let clients work while the server is killed and frozen, then read the entries and check."""
    dice = random.Random(seed)
    port = free_port()
    history = History()
    server = await servers.start(path, port, LIMIT)
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=CHANNEL) as channel:
        stub = budgets_pb2_grpc.BudgetsServiceStub(channel)
        clients = [
            asyncio.create_task(client(channel, stub, f"{seed}.{number}", operations // CLIENTS, history))
            for number in range(CLIENTS)
        ]
        shares = sorted(dice.random() * 0.7 for _ in range(dice.randrange(1, 4)))
        for share in shares:
            await history.reaches(int(operations * share))
            server = await hurt(servers, server, path, port, dice, hits)
        await asyncio.gather(*clients)
    await server.kill()
    for each in history:
        hits[f"{each.what} {each.told}"] += 1
    return check(history, await entries(path), LIMIT)


CHANNEL = (("grpc.initial_reconnect_backoff_ms", 50), ("grpc.min_reconnect_backoff_ms", 50),
           ("grpc.max_reconnect_backoff_ms", 200))  # fmt: skip


class History(list[Done]):
    """Grows, and tells when it has reached a length."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting: list[tuple[int, asyncio.Event]] = []

    def add(self, done: Done) -> None:
        self.append(done)
        for length, event in self._waiting:
            if len(self) >= length:
                event.set()

    async def reaches(self, length: int) -> None:
        if len(self) < length:
            event = asyncio.Event()
            self._waiting.append((length, event))
            await asyncio.wait_for(event.wait(), READY_SECONDS)


async def hurt(
    servers: Nursery, server: Server, path: Path, port: int, dice: random.Random, hits: Counter[str]
) -> Server:
    """Kill and restart, or freeze for a moment."""
    if dice.random() < 0.6:
        hits["kills"] += 1
        await server.kill()
        return await servers.start(path, port, LIMIT)
    hits["pauses"] += 1
    server.send(signal.SIGSTOP)
    await asyncio.sleep(dice.random() * 0.3)
    server.send(signal.SIGCONT)
    return server


async def client(
    channel: grpc.aio.Channel, stub: budgets_pb2_grpc.BudgetsServiceStub, name: str, count: int, history: History
) -> None:
    """Do operations one after the other; what got no answer is «unknown», and then the server is waited for."""
    dice = random.Random(name)
    mine: list[tuple[str, int]] = []
    for number in range(count):
        if history and history[-1].told == "unknown":
            await asyncio.wait_for(channel.channel_ready(), READY_SECONDS)
        what = dice.choice(["reserve", "reserve", "settle", "settle", "void", "read"])
        if what == "reserve" or (what in {"settle", "void"} and not mine):
            await reserve(stub, f"{name}.{number}", dice.randrange(1, 2_000), mine, history)
        elif what == "read":
            await read(stub, history)
        else:
            identity, ceiling = dice.choice(mine)
            await end(stub, what, identity, dice.randrange(ceiling + 1) // 50, history)


async def told(call) -> tuple[str, object]:
    """Wait for an answer: ok, a definite refusal, or unknown."""
    try:
        return "ok", await call
    except grpc.aio.AioRpcError as error:
        definite = {
            grpc.StatusCode.RESOURCE_EXHAUSTED: "exhausted",
            grpc.StatusCode.FAILED_PRECONDITION: "resolved",
            grpc.StatusCode.NOT_FOUND: "not found",
        }
        return definite.get(error.code(), "unknown"), None


async def reserve(stub, key: str, ceiling: int, mine: list[tuple[str, int]], history: History) -> None:
    request = budgets_pb2.ReserveRequest(
        idempotency_key=key, project_id="demo", operation="o", provider="p", model="m", ceiling_nanousd=ceiling
    )
    began = time.monotonic()
    word, answer = await told(stub.Reserve(request, metadata=METADATA, timeout=PATIENCE))
    history.add(Done("reserve", word, began, time.monotonic(), key=f"client/torture/{key}", amount=ceiling))
    if word == "ok":
        mine.append((answer.reservation.reservation_id, ceiling))


async def end(stub, what: str, identity: str, cost: int, history: History) -> None:
    began = time.monotonic()
    if what == "settle":
        request = budgets_pb2.SettleRequest(reservation_id=identity, cost_nanousd=cost)
        word, _ = await told(stub.Settle(request, metadata=METADATA, timeout=PATIENCE))
    else:
        request = budgets_pb2.VoidRequest(reservation_id=identity)
        word, _ = await told(stub.Void(request, metadata=METADATA, timeout=PATIENCE))
    history.add(Done(what, word, began, time.monotonic(), identity=identity, amount=cost if what == "settle" else 0))


async def read(stub, history: History) -> None:
    request = budgets_pb2.GetBudgetRequest(scope=budgets_pb2.BudgetScope(project_id="demo"), period=DAILY)
    began = time.monotonic()
    word, answer = await told(stub.GetBudget(request, metadata=METADATA, timeout=PATIENCE))
    seen = (answer.balance.settled_nanousd, answer.balance.open_hold_nanousd) if answer else None
    history.add(Done("read", word, began, time.monotonic(), seen=seen))
