"""P4: a reservation resolves at most once, and whoever comes late is told so."""

from __future__ import annotations

import asyncio
import random
import shutil
from collections import Counter

from ai_server.storage.ledger_contract import Reservation, ReservationState
from ai_server.storage.sqlite import SqliteStateStore
from shared.errors import AlreadyResolved
from tests.fakes.clock import ManualClock
from tests.torture import shim, workload
from tests.torture.figure import Figure, span

PROMISE = "random schedules of settle, void, expire and duplicates end in one resolution; the rest get a definite error"
FULL = 100_000
SHORT = 300
AT_ONCE = 250
CEILING = 100
WAYS = ("settle 40", "settle 40", "settle 90", "settle 130", "void", "void", "expire", "repeat")


async def run(n: int, seed: int) -> Figure:
    """Do `n` schedules, 250 side by side on one store."""
    workload.quiet()
    folder = shim.scratch()
    store = SqliteStateStore(folder / "state.sqlite", ManualClock(workload.NOW))
    hits: Counter[str] = Counter()
    failures: list[str] = []
    try:
        await store.open()
        await store.ledger.put_budget(workload.budget(2**60), workload.NOW, seed=True)
        for first in range(seed, seed + n, AT_ONCE):
            seeds = range(first, min(first + AT_ONCE, seed + n))
            found = await asyncio.gather(*(schedule(store, each, hits) for each in seeds))
            failures += [fault for faults in found for fault in faults]
        failures += await store.ledger.audit()
    finally:
        await store.close()
        shutil.rmtree(folder)
    return Figure(n, span(seed, n), failures, dict(sorted(hits.items())))


async def schedule(store: SqliteStateStore, seed: int, hits: Counter[str]) -> list[str]:
    """Reserve once, then end it in several ways, at once or one after the other."""
    dice = random.Random(seed)
    name = str(seed)
    await store.ledger.reserve(workload.call(name, CEILING), [])
    steps = [dice.choice(WAYS) for _ in range(dice.randrange(2, 7))]
    if dice.random() < 0.5:
        outcomes = await asyncio.gather(*(step(store, name, each) for each in steps), return_exceptions=True)
    else:
        outcomes = [(await asyncio.gather(step(store, name, each), return_exceptions=True))[0] for each in steps]
    return judge(seed, steps, outcomes, hits)


async def step(store: SqliteStateStore, name: str, how: str) -> Reservation | int:
    """Do one step. Expiry is what the next start does to whatever is pending, on all schedules at once."""
    word, _, amount = how.partition(" ")
    match word:
        case "settle":
            ended = await store.ledger.settle(f"r-{name}", workload.at_cost(int(amount)))
            if int(amount) > CEILING:
                await store.ledger.acknowledge_overrun(workload.PROJECT, workload.NOW)
            return ended
        case "void":
            return await store.ledger.void(f"r-{name}", "torture", workload.NOW)
        case "expire":
            return await store.ledger.hold_pending(workload.NOW)
        case _:
            return await store.ledger.reserve(workload.call(name, CEILING), [])


def judge(seed: int, steps: list[str], outcomes: list[object], hits: Counter[str]) -> list[str]:
    """Compare what each step was told: equal endings agree, unequal ones get AlreadyResolved, nothing else."""
    faults: list[str] = []
    endings: set[str] = set()
    for how, outcome in zip(steps, outcomes, strict=True):
        told = type(outcome).__name__ if isinstance(outcome, BaseException) else "ok"
        hits[f"{how.split()[0]}: {told}"] += 1
        if isinstance(outcome, BaseException) and not isinstance(outcome, AlreadyResolved):
            faults.append(f"seed {seed}: {how} raised {outcome!r}")
        if how.startswith(("settle", "void")) and isinstance(outcome, Reservation):
            endings.add(how)
            cost = int(how.split()[1]) if how.startswith("settle") else None
            state = ReservationState.VOIDED if cost is None else ReservationState.SETTLED
            if (outcome.state, outcome.cost_nanousd) != (state, cost):
                faults.append(f"seed {seed}: {how} was told {outcome}")
    wanted = {how for how in steps if how.startswith(("settle", "void"))}
    if len(endings) != min(1, len(wanted)):
        faults.append(f"seed {seed}: {sorted(endings)} all succeeded of {steps}")
    refused = [how for how, outcome in zip(steps, outcomes, strict=True) if isinstance(outcome, AlreadyResolved)]
    if any(how in endings for how in refused):
        faults.append(f"seed {seed}: a repetition of the resolution was refused in {steps}")
    return faults
