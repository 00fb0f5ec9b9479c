"""The ledger's durable rate, against the same code without syncs and with one transaction a call; and a race."""

from __future__ import annotations

import asyncio
import itertools
import os
import random
import tempfile
import time
from pathlib import Path

from ai_server.ledger.contract import Payer, Quote
from ai_server.ledger.meter import LedgerMeter
from ai_server.ledger.service import Ledger
from ai_server.storage.ledger_contract import Period
from ai_server.storage.sqlite import SqliteStateStore
from ai_server.storage.sqlite_connection import Tuning
from shared.errors import BudgetExhausted
from shared.usage import Usage
from tests.bench.measure import Measure, interleaved, same_side
from tests.fakes.clock import ManualClock
from tests.torture import workload

WHAT = "durable reserve+settle pairs/s: 256 callers, one hot budget, FULL sync on the real disk, one process"
CALLERS = 256
SECONDS = 2.5
"""A side's turn; with 9 rounds each side runs over 22 s."""

ATTEMPTS = 5_000
SYNCS = 200


class Rate:
    """One side: a store on disk that callers reserve and settle in."""

    def __init__(self, folder: Path, name: str, tuning: Tuning) -> None:
        self._store = SqliteStateStore(folder / f"{name}.sqlite", ManualClock(workload.NOW), tuning)
        self._name = name
        self._numbers = itertools.count()
        self.pairs = self.batches = 0

    async def open(self) -> None:
        await self._store.open()
        await self._store.ledger.put_budget(workload.budget(2**60), workload.NOW, seed=True)

    async def close(self) -> None:
        assert await self._store.ledger.audit() == []
        await self._store.close()

    async def turn(self) -> float:
        """Work for a while; pairs a second."""
        started, before = time.monotonic(), self._store._writer.batches
        counts = await asyncio.gather(*(self._caller(started + SECONDS) for _ in range(CALLERS)))
        self.pairs += sum(counts)
        self.batches += self._store._writer.batches - before
        return sum(counts) / (time.monotonic() - started)

    async def _caller(self, until: float) -> int:
        count = 0
        while time.monotonic() < until:
            name = f"{self._name}.{next(self._numbers)}"
            await self._store.ledger.reserve(workload.call(name, 100), [])
            await self._store.ledger.settle(f"r-{name}", workload.at_cost(60))
            count += 1
        return count


async def run() -> list[Measure]:
    """Measure the rates side by side, then the race."""
    workload.quiet()
    with tempfile.TemporaryDirectory(dir=".", prefix=".bench-") as name:
        folder = Path(name)
        sides = {
            "grouped": Rate(folder, "grouped", Tuning()),
            "again": Rate(folder, "again", Tuning()),
            "no sync": Rate(folder, "nosync", Tuning(synchronous="OFF")),
            "one each": Rate(folder, "single", Tuning(max_batch=1)),
        }
        for side in sides.values():
            await side.open()
        found = await interleaved({key: side.turn for key, side in sides.items()})
        for side in sides.values():
            await side.close()
        sync_ms = disk_sync(folder)
        race = await raced(folder)
    grouped = found["grouped"]
    unsynced, unsynced_spread = grouped.over(found["no sync"])
    single, single_spread = grouped.over(found["one each"])
    size = 2 * sides["grouped"].pairs / max(1, sides["grouped"].batches)
    return [
        Measure("pairs", grouped.median, "1/s", note=same_side(grouped, found["again"])),
        Measure("without sync", found["no sync"].median, "1/s", "without sync", unsynced, 0.7, unsynced_spread),
        Measure("one transaction each", found["one each"].median, "1/s", "one each", single, 10, single_spread),
        Measure("operations a sync", size, "operations"),
        Measure("one sync of this disk", sync_ms, "ms", note="the second goal holds where it is 1 ms or more"),
        *race,
    ]


def disk_sync(folder: Path) -> float:
    """Tell the median milliseconds of writing and syncing 4 KiB."""
    times = []
    descriptor = os.open(folder / "sync", os.O_WRONLY | os.O_CREAT)
    for number in range(SYNCS):
        os.pwrite(descriptor, bytes(4096), number * 4096)
        started = time.perf_counter()
        os.fdatasync(descriptor)
        times.append(time.perf_counter() - started)
    os.close(descriptor)
    return 1000 * sorted(times)[SYNCS // 2]


async def raced(folder: Path) -> list[Measure]:
    """5,000 attempts on a budget that is too small for them: 10 % cancelled, 5 % fail at the provider."""
    clock = ManualClock(workload.NOW)
    store = SqliteStateStore(folder / "race.sqlite", clock)
    await store.open()
    limit = ATTEMPTS * 60 // 2
    await store.ledger.put_budget(workload.budget(limit), workload.NOW, seed=True)
    meter = LedgerMeter(Ledger(store, clock), clock)
    dice = random.Random(1)
    door = asyncio.Semaphore(CALLERS)
    refused = 0

    async def attempt(number: int, fate: float, cost: int) -> None:
        nonlocal refused
        quote = Quote("answer", "fake", "fake-1", "", "v1", 100, metered=True)
        async with door:
            try:
                async with meter.call(f"race/{number}", Payer("demo", "", ""), quote) as call:
                    await asyncio.sleep(0.002)
                    if fate < 0.05:
                        call.failed(started=False)
                    else:
                        call.complete(Usage(output=cost), cost)
            except BudgetExhausted:
                refused += 1

    tasks = [asyncio.create_task(attempt(number, dice.random(), dice.randrange(20, 101))) for number in range(ATTEMPTS)]
    for task in dice.sample(tasks, ATTEMPTS // 10):
        asyncio.get_running_loop().call_later(dice.random() * 2, task.cancel)
    await asyncio.gather(*tasks, return_exceptions=True)
    left = await meter.drain(30)
    balance = await store.ledger.balance(workload.PROJECT, Period.DAILY, workload.NOW)
    assert balance is not None
    assert left == 0
    assert await store.ledger.audit() == []
    await store.close()
    return [
        Measure("race: overspend", max(0, -balance.available_nanousd), "nanodollars", note="goal 0"),
        Measure("race: use of the budget", balance.settled_nanousd / limit, "of the limit", note="goal 0.97"),
        Measure(
            "race: holds left open", balance.open_hold_nanousd, "nanodollars", note=f"{refused} of {ATTEMPTS} refused"
        ),
    ]
