"""P6's fork server: children that make paid calls and die between sending and settling. Single-threaded.

The provider bills what reaches it: its invoice is the pipe that a child writes when it sends, read by the parent, who
outlives the child.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import signal
import sys
import time
from collections import Counter
from pathlib import Path

from ai_server.ledger.contract import Payer, Quote
from ai_server.ledger.meter import LedgerMeter
from ai_server.ledger.service import Ledger, Reconciliation
from ai_server.storage.ledger_contract import ReservationState
from ai_server.storage.sqlite import SqliteStateStore
from shared.usage import Usage
from tests.fakes.clock import ManualClock
from tests.torture import kills, shim, workload

POINTS = ("before send", "after send", "after first byte", "after last byte", "after usage", "after settle")
CALLERS, CALLS_EACH = 3, 3
PAYER = Payer("demo", "documents", "ada")


def cost_of(name: str, seed: int) -> tuple[int, int]:
    """Draw ceiling and true cost of a call."""
    dice = random.Random(f"{seed}/{name}")
    ceiling = dice.randrange(2, 10**6)
    return ceiling, dice.randrange(1, ceiling + 1)


async def work(path: Path, seed: int, invoice: int, die_at: tuple[str, int] | None) -> None:
    """Make paid calls, a few at once; die at the given occurrence of a named point."""
    clock = ManualClock(workload.NOW)
    store = SqliteStateStore(path, clock)
    await store.open()
    await store.ledger.put_budget(workload.budget(), workload.NOW, seed=True)
    meter = LedgerMeter(Ledger(store, clock), clock)
    passed: Counter[str] = Counter()

    def point(name: str) -> None:
        passed[name] += 1
        if die_at == (name, passed[name]):
            os.kill(os.getpid(), signal.SIGKILL)

    async def caller(number: int) -> None:
        for each in range(CALLS_EACH):
            name = f"{number}.{each}"
            ceiling, cost = cost_of(name, seed)
            quote = Quote("answer", "fake", "fake-1", "", "v1", ceiling, metered=True)
            async with meter.call(name, PAYER, quote) as call:
                point("before send")
                os.write(invoice, f"{name} {cost}\n".encode())
                point("after send")
                await asyncio.sleep(0)
                point("after first byte")
                await asyncio.sleep(0)
                point("after last byte")
                call.complete(Usage(output=cost), cost)
                point("after usage")
            point("after settle")

    await asyncio.gather(*(caller(number) for number in range(CALLERS)))
    await store.close()


def trial(folder: Path, template: bytes, seed: int, hits: Counter[str]) -> list[str]:
    """Run one child, then hold the ledger against the invoice."""
    dice = random.Random(seed)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    path = folder / "state.sqlite"
    path.write_bytes(template)
    how = dice.choice([*POINTS, "random µs", "durable call"])
    occurrence = dice.randrange(1, CALLERS * CALLS_EACH + 1)
    at, delay = dice.randrange(1, kills.MOST_CALLS), dice.random() * kills.LONGEST_RUN
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(int(kills.WAIT_SECONDS))
        if how == "durable call":
            shim.arm(folder, shim.Mode.KILL, at)
        try:
            asyncio.run(work(path, seed, writer, (how, occurrence) if how in POINTS else None))
        finally:
            os._exit(0)
    os.close(writer)
    if how == "random µs":
        time.sleep(delay)
        os.kill(child, signal.SIGKILL)
    with os.fdopen(reader, "rb") as pipe:
        invoice = {name: int(cost) for name, cost in (line.split() for line in pipe.read().decode().splitlines())}
    _, status = os.waitpid(child, 0)
    hits[f"{how}: {'died' if os.WIFSIGNALED(status) else 'ended'}"] += 1
    return [f"seed {seed} ({how} {occurrence}): {fault}" for fault in asyncio.run(check(path, seed, invoice, hits))]


async def check(path: Path, seed: int, invoice: dict[str, int], hits: Counter[str]) -> list[str]:
    """Nothing billed may be missing or free; a held amount differs by no more than the ceiling; then reconcile."""
    clock = ManualClock(workload.NOW)
    store = SqliteStateStore(path, clock)
    await store.open()
    ledger = Ledger(store, clock)
    await ledger.recover()
    kept = {each.new.key: each for each in await ledger.reservations("", None, 1000, "")}
    faults = [f"billed and unknown to the ledger: {name}" for name in invoice.keys() - kept.keys()]
    for name, each in kept.items():
        ceiling, cost = cost_of(name, seed)
        billed = invoice.get(name, 0)
        hits[f"found {each.state.value}"] += 1
        amount = ceiling if each.state is ReservationState.HELD else each.cost_nanousd or 0
        if amount < billed or amount - billed > ceiling:
            faults.append(f"{name}: ledger {amount}, invoice {billed}")
        if each.state is ReservationState.SETTLED and each.cost_nanousd != cost:
            faults.append(f"{name}: settled at {each.cost_nanousd}, usage gives {cost}")
        if each.state is ReservationState.PENDING:
            faults.append(f"{name}: still pending after the restart")
        if each.state is ReservationState.HELD:
            known = Reconciliation(each.new.reservation_id, cost_nanousd=billed or None, void=not billed)
            await ledger.reconcile(known)
    total = sum(each.cost_nanousd or 0 for each in await ledger.reservations("", None, 1000, ""))
    if total != sum(invoice.values()):
        faults.append(f"after reconciliation the ledger has {total}, the invoice {sum(invoice.values())}")
    faults += (await ledger.audit()).findings
    await store.close()
    return faults


def main(arguments: dict[str, int]) -> dict[str, object]:
    """Do the trials."""
    workload.quiet()
    folder = shim.scratch()
    hits: Counter[str] = Counter()
    faults: list[str] = []
    try:
        template = kills.template_of(folder)
        for seed in range(arguments["seed"], arguments["seed"] + arguments["n"]):
            faults += trial(folder / "trial", template, seed, hits)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return {"faults": faults, "hits": dict(sorted(hits.items()))}


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
