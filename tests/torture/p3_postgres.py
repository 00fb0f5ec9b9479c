"""P3 over processes: 64 racers in 4 processes on one PostgreSQL ledger."""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time

from ai_server.storage.ledger_contract import Budget, BudgetScope, Period, ScopeKind
from ai_server.storage.postgres import PostgresStateStore
from shared.errors import BudgetExhausted
from tests import services
from tests.fakes.clock import ManualClock
from tests.torture import workload
from tests.torture.figure import Figure, span

PROMISE = "of 64 racers in 4 processes for a budget that fits exactly k calls, exactly k are admitted (PostgreSQL)"
FULL = 64_000
SHORT = 64 * 3
PROCESSES, EACH = 4, 16
RACERS = PROCESSES * EACH


async def run(n: int, seed: int) -> Figure:
    """Race `n` attempts in rounds of 64."""
    try:
        with services.postgres() as server:
            return await _race(server.database(), n // RACERS, seed)
    except services.ServiceMissing as missing:
        return Figure(0, "", skipped=str(missing))


def plan(seed: int) -> tuple[int, int, int]:
    """Draw price, how many fit, and the limit of a round: each process draws the same."""
    dice = random.Random(seed)
    price, fits = dice.randrange(1, 10**6), dice.randrange(1, RACERS)
    return price, fits, price * fits + dice.randrange(price)


def scope(seed: int) -> BudgetScope:
    return BudgetScope(ScopeKind.USER, "demo", user=f"user-{seed}")


async def _race(dsn: str, rounds: int, seed: int) -> Figure:
    workload.quiet()
    store = PostgresStateStore(dsn, ManualClock(workload.NOW))
    await store.open()
    await store.ledger.put_budget(workload.budget(2**60), workload.NOW, seed=True)
    processes = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.torture.p3_postgres", dsn, str(number),
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        )
        for number in range(PROCESSES)
    ]  # fmt: skip
    figure = Figure(rounds * RACERS, span(seed, rounds), notes={"rounds": rounds, "processes": PROCESSES})
    slowest = 0.0
    try:
        for number in range(seed, seed + rounds):
            faults, seconds = await _round(store, processes, number)
            figure.failures += faults
            slowest = max(slowest, seconds)
        figure.failures += await store.ledger.audit()
        figure.notes["slowest round of a process"] = f"{slowest:.2f} s"
    finally:
        for process in processes:
            assert process.stdin is not None
            process.stdin.close()
            await process.wait()
        await store.close()
    return figure


async def _round(
    store: PostgresStateStore, processes: list[asyncio.subprocess.Process], seed: int
) -> tuple[list[str], float]:
    """Let all processes race, and tell what is wrong and how long the slowest took."""
    price, fits, _ = plan(seed)
    for process in processes:
        assert process.stdin is not None
        process.stdin.write(f"{seed}\n".encode())
    admitted, errors, slowest = 0, [], 0.0
    for process in processes:
        assert process.stdout is not None
        answer = json.loads(await process.stdout.readline())
        admitted += answer["admitted"]
        errors += answer["errors"]
        slowest = max(slowest, answer["seconds"])
    balance = await store.ledger.balance(scope(seed), Period.DAILY, workload.NOW)
    assert balance is not None
    faults = [f"seed {seed}: {error}" for error in errors]
    if (admitted, balance.open_hold_nanousd) != (fits, fits * price):
        faults.append(f"seed {seed}: {admitted} admitted, {balance.open_hold_nanousd} held, {fits} of {price} fit")
    return faults, slowest


async def racers(dsn: str, process: str) -> None:
    """Be one of the processes: a round for each seed read."""
    workload.quiet()
    store = PostgresStateStore(dsn, ManualClock(workload.NOW))
    await store.open()
    while line := await asyncio.to_thread(sys.stdin.readline):
        seed = int(line)
        price, _, limit = plan(seed)
        default = Budget(scope(seed), Period.DAILY, limit)
        began = time.monotonic()
        calls = [workload.call(f"{seed}.{process}.{number}", price, user=f"user-{seed}") for number in range(EACH)]
        outcomes = await asyncio.gather(
            *(store.ledger.reserve(each, [default]) for each in calls), return_exceptions=True
        )
        errors = [
            repr(each) for each in outcomes if isinstance(each, Exception) and not isinstance(each, BudgetExhausted)
        ]
        admitted = sum(not isinstance(each, BaseException) for each in outcomes)
        seconds = time.monotonic() - began
        print(json.dumps({"admitted": admitted, "errors": errors, "seconds": seconds}), flush=True)
    await store.close()


if __name__ == "__main__":
    asyncio.run(racers(sys.argv[1], sys.argv[2]))
