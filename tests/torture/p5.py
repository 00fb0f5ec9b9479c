"""P5 for BudgetsService: replays with drops before and after the acknowledgement are one reservation and one charge."""

from __future__ import annotations

import asyncio
import random
import shutil
from collections import Counter

import grpc
import grpc.aio

from shared.pb.passeur.v1 import budgets_pb2, budgets_pb2_grpc
from tests.torture import shim, workload
from tests.torture.figure import Figure, span
from tests.torture.ledger_server import METADATA, serving

PROMISE = "each rpc replayed 1 to 5 times, dropped before or after its answer, is one reservation and one charge"
FULL = 10_000
SHORT = 80
AT_ONCE = 50


async def run(n: int, seed: int) -> Figure:
    """Do `n` reservations, each with its replays and mismatched bodies, 50 side by side."""
    workload.quiet()
    folder = shim.scratch()
    hits: Counter[str] = Counter()
    failures: list[str] = []
    try:
        async with serving(folder / "state.sqlite") as (store, address), grpc.aio.insecure_channel(address) as channel:
            stub = budgets_pb2_grpc.BudgetsServiceStub(channel)
            costs: dict[str, int] = {}
            for first in range(seed, seed + n, AT_ONCE):
                seeds = range(first, min(first + AT_ONCE, seed + n))
                found = await asyncio.gather(*(replayed(stub, each, hits, costs) for each in seeds))
                failures += [fault for faults in found for fault in faults]
            balances = await store.ledger.balances(workload.NOW)
            if [each.settled_nanousd for each in balances] != [sum(costs.values())]:
                failures.append(f"settled {balances}, replays made {sum(costs.values())}")
            counts = await store.ledger.counts()
            if (counts.reservation_count, counts.entry_count) != (n, 2 * n):
                failures.append(f"{n} ids became {counts}")
            failures += await store.ledger.audit()
    finally:
        shutil.rmtree(folder)
    return Figure(n, span(seed, n), failures, dict(sorted(hits.items())))


async def replayed(
    stub: budgets_pb2_grpc.BudgetsServiceStub, seed: int, hits: Counter[str], costs: dict[str, int]
) -> list[str]:
    """Reserve and settle under one key, each several times; some sends are dropped, some have another body."""
    dice = random.Random(seed)
    ceiling = dice.randrange(10, 10_000)
    cost = costs[str(seed)] = dice.randrange(1, ceiling)
    faults: list[str] = []

    def reserve(amount: int) -> budgets_pb2.ReserveRequest:
        return budgets_pb2.ReserveRequest(
            idempotency_key=str(seed), project_id="demo", operation="o", provider="p", model="m", ceiling_nanousd=amount
        )

    answers = await sent(stub.Reserve, reserve(ceiling), dice, hits)
    identity = answers[0].reservation.reservation_id
    if any(each.reservation.reservation_id != identity for each in answers):
        faults.append(f"seed {seed}: one key, several reservations")
    if not await refused(stub.Reserve(reserve(ceiling + 1), metadata=METADATA), grpc.StatusCode.ALREADY_EXISTS):
        faults.append(f"seed {seed}: another body was taken for the same key")
    settle = budgets_pb2.SettleRequest(reservation_id=identity, cost_nanousd=cost)
    ended = await sent(stub.Settle, settle, dice, hits)
    if any(each.reservation.cost_nanousd != cost for each in ended):
        faults.append(f"seed {seed}: settled at another cost")
    other = budgets_pb2.SettleRequest(reservation_id=identity, cost_nanousd=cost + 1)
    if not await refused(stub.Settle(other, metadata=METADATA), grpc.StatusCode.FAILED_PRECONDITION):
        faults.append(f"seed {seed}: settled a second time")
    hits["mismatches refused"] += 2
    return faults


async def sent(rpc, request, dice: random.Random, hits: Counter[str]) -> list:
    """Send 1 to 5 times; those dropped are cancelled at once or after a moment. The last one is always answered."""
    answers = []
    for _ in range(dice.randrange(5)):
        call = rpc(request, metadata=METADATA)
        moment = dice.choice([None, 0.0, dice.random() * 0.01])
        try:
            answers.append(await asyncio.wait_for(call, moment))
            hits["answered"] += 1
        except (TimeoutError, asyncio.CancelledError):
            hits["dropped"] += 1
    answers.append(await rpc(request, metadata=METADATA))
    hits["answered"] += 1
    return answers


async def refused(call, code: grpc.StatusCode) -> bool:
    """Tell whether the call ended with this code."""
    try:
        await call
    except grpc.aio.AioRpcError as error:
        return error.code() is code
    return False
