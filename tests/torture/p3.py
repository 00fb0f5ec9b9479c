"""P3: no concurrent overspend: of 64 racers for a budget that fits exactly k calls, k are admitted, in every round."""

from __future__ import annotations

import asyncio
import random
import shutil
from typing import TYPE_CHECKING

from ai_server.storage.ledger_contract import Budget, BudgetScope, Period, ScopeKind
from ai_server.storage.sqlite import SqliteStateStore
from shared.errors import BudgetExhausted
from tests.fakes.clock import ManualClock
from tests.torture import shim, workload
from tests.torture.figure import Figure, span

if TYPE_CHECKING:
    from ai_server.storage.contract import StateStore
    from ai_server.storage.ledger_contract import NewReservation

PROMISE = "of 64 racers for a budget that fits exactly k calls, exactly k are admitted, cancelled callers too"
FULL = 64_000
SHORT = 64 * 20
RACERS = 64


async def run(n: int, seed: int) -> Figure:
    """Race `n` attempts in rounds of 64 on one SQLite store."""
    workload.quiet()
    folder = shim.scratch()
    store = SqliteStateStore(folder / "state.sqlite", ManualClock(workload.NOW))
    figure = Figure(n // RACERS * RACERS, span(seed, n // RACERS), notes={"rounds": n // RACERS})
    try:
        await store.open()
        for number in range(n // RACERS):
            figure.failures += await one_round(store, seed + number)
        figure.failures += await store.ledger.audit()
    finally:
        await store.close()
        shutil.rmtree(folder)
    return figure


async def one_round(store: StateStore, seed: int) -> list[str]:
    """Race for a new user's budget. Every fourth racer's caller goes away before the answer: its hold may stand."""
    dice = random.Random(seed)
    price, fits = dice.randrange(1, 10**6), dice.randrange(1, RACERS)
    scope = BudgetScope(ScopeKind.USER, "demo", user=f"user-{seed}")
    limit = price * fits + dice.randrange(price)
    await store.ledger.put_budget(workload.budget(2**60), workload.NOW, seed=True)
    default = Budget(scope, Period.DAILY, limit)
    gate = asyncio.Event()

    async def racer(number: int) -> bool:
        await gate.wait()
        try:
            await store.ledger.reserve(_call(seed, number, price), [default])
        except BudgetExhausted:
            return False
        return True

    racers = [asyncio.create_task(racer(number)) for number in range(RACERS)]
    await asyncio.sleep(0)
    gate.set()
    await asyncio.sleep(0)
    for task in dice.sample(racers, dice.choice([0, 0, RACERS // 4])):
        task.cancel()
    outcomes = await asyncio.gather(*racers, return_exceptions=True)
    balance = await store.ledger.balance(scope, Period.DAILY, workload.NOW)
    assert balance is not None
    held = balance.open_hold_nanousd // price
    told = sum(each is True for each in outcomes)
    faults = []
    if balance.available_nanousd < 0:
        faults.append(f"seed {seed}: overspent by {-balance.available_nanousd}")
    if held != fits:
        faults.append(f"seed {seed}: {held} admitted, {fits} fit")
    if told > held or (told < held and not any(isinstance(each, BaseException) for each in outcomes)):
        faults.append(f"seed {seed}: {told} were told yes, {held} are held")
    return faults


def _call(seed: int, number: int, price: int) -> NewReservation:
    return workload.call(f"{seed}.{number}", price, user=f"user-{seed}")
