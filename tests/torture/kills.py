"""A fork server for kill points: `python -m tests.torture.kills JSON`, with the shim loaded. Single-threaded.

Each trial forks a child that opens a store and works; it dies at a random microsecond or at its Nth durable call
(sometimes after half of the write), or a call fails once or from then on. The parent then reopens the file.
"""

from __future__ import annotations

import asyncio
import errno
import json
import os
import random
import shutil
import signal
import sys
import time
from collections import Counter
from pathlib import Path

from ai_server.storage.sqlite import SqliteStateStore
from tests.fakes.clock import ManualClock
from tests.torture import shim, workload

WORKERS = 4
CALLS_EACH = 5
LONGEST_RUN = 0.06
"""Seconds within which a random kill falls; a child alone needs 20 to 60 ms."""

MOST_CALLS = 70
"""Durable calls of one child are about 30 to 60; past the last one nothing happens, which is a trial, too."""

WAIT_SECONDS = 30.0


async def work(path: Path, seed: int, acknowledge: int) -> None:
    """Work as the child: a few callers at once, each acknowledgement written to a pipe at once."""
    store = SqliteStateStore(path, ManualClock(workload.NOW))

    def ack(line: str) -> None:
        os.write(acknowledge, f"{line}\n".encode())

    async def caller(number: int) -> None:
        dice = random.Random(f"{seed}/{number}")
        for each in range(CALLS_EACH):
            await workload.one_call(store, f"{number}.{each}", dice, ack)

    await store.open()
    await store.ledger.put_budget(workload.budget(), workload.NOW, seed=True)
    await asyncio.gather(*(caller(number) for number in range(WORKERS)))
    await store.close()


def trial(folder: Path, template: bytes, seed: int, hits: Counter[str]) -> list[str]:
    """Run one child to its end and check what it left."""
    dice = random.Random(seed)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    path = folder / "state.sqlite"
    if dice.random() < 0.9:
        path.write_bytes(template)
    how = dice.choice(["random µs", "kill", "kill", "torn", "fail once", "fail on"])
    at = dice.randrange(1, MOST_CALLS)
    delay = dice.random() * LONGEST_RUN
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        _child(path, seed, writer, how, at, dice.choice([errno.EIO, errno.ENOSPC]))
    os.close(writer)
    if how == "random µs":
        time.sleep(delay)
        os.kill(child, signal.SIGKILL)
    with os.fdopen(reader, "rb") as pipe:
        lines = pipe.read().decode().splitlines()
    _, status = os.waitpid(child, 0)
    died = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    hits[f"{how}: {'died' if died else 'ended'}"] += 1
    hits["acknowledged"] += len(lines)
    faults = asyncio.run(workload.check(path, lines))
    if not died and not os.WIFEXITED(status):
        faults.append(f"the child crashed with status {status}")
    return [f"seed {seed} ({how} at {at}): {fault}" for fault in faults]


def _child(path: Path, seed: int, writer: int, how: str, at: int, error: int) -> None:
    """Never returns."""
    modes = {
        "random µs": shim.Mode.COUNT,
        "kill": shim.Mode.KILL,
        "torn": shim.Mode.KILL_TORN,
        "fail once": shim.Mode.FAIL_ONCE,
        "fail on": shim.Mode.FAIL_ON,
    }
    signal.alarm(int(WAIT_SECONDS))
    shim.arm(path.parent, modes[how], at, error)
    try:
        asyncio.run(work(path, seed, writer))
    except BaseException:  # noqa: BLE001 - a store that cannot open is an outcome, not a fault of the trial
        os._exit(3)
    os._exit(0)


def template_of(folder: Path) -> bytes:
    """Make an empty store's file."""

    async def make() -> None:
        store = SqliteStateStore(folder / "template.sqlite", ManualClock(workload.NOW))
        await store.open()
        await store.close()

    asyncio.run(make())
    return (folder / "template.sqlite").read_bytes()


def main(arguments: dict[str, int]) -> dict[str, object]:
    """Do the trials and tell the faults and what was hit."""
    workload.quiet()
    folder = shim.scratch()
    hits: Counter[str] = Counter()
    faults: list[str] = []
    try:
        template = template_of(folder)
        for seed in range(arguments["seed"], arguments["seed"] + arguments["n"]):
            faults += trial(folder / "trial", template, seed, hits)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return {"faults": faults, "hits": dict(sorted(hits.items()))}


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
