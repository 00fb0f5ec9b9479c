"""Power loss: trace a run, then build what a disk may hold after losing what was not synced. Run with the shim.

The model: a file's bytes are safe once a sync of that file returned; until then each 512-byte sector of each write may
be there or not, in any order, and so may truncations and removals; a file that was created and whose folder was not
synced may be missing. Not modelled: a disk that lies about its syncs.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import signal
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from ai_server.storage.sqlite import SqliteStateStore
from ai_server.storage.sqlite_connection import Tuning
from tests.fakes.clock import ManualClock
from tests.torture import shim, workload
from tests.torture.shim import Call

SECTOR = 512
CALLS = 17
"""Calls of one trace: about 50 ledger operations."""

FOLDER = "."


async def work(path: Path, seed: int, synchronous: str, acks: int) -> None:
    """Make the calls of one trace, two at a time; each acknowledgement is marked in the trace."""
    store = SqliteStateStore(path, ManualClock(workload.NOW), Tuning(synchronous=synchronous))
    count = 0

    def ack(line: str) -> None:
        nonlocal count
        os.write(acks, f"{line}\n".encode())
        shim.mark(count)
        count += 1

    await store.open()
    await store.ledger.put_budget(workload.budget(), workload.NOW, seed=True)
    for number in range(0, CALLS, 2):
        dice = [random.Random(f"{seed}/{number + side}") for side in range(2)]
        await asyncio.gather(*(workload.one_call(store, f"{number + side}", dice[side], ack) for side in range(2)))
    await store.close()


def traced(folder: Path, seed: int, synchronous: str) -> tuple[list[Call], list[str]]:
    """Fork a child, trace it, and give the trace with the acknowledgements in order."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "run").mkdir(parents=True)
    output = os.open(folder / "trace", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    acks = os.open(folder / "acks", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        try:
            shim.arm(folder / "run", shim.Mode.COUNT, 0)
            shim.trace(output)
            asyncio.run(work(folder / "run" / "state.sqlite", seed, synchronous, acks))
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(output)
    os.close(acks)
    lines = (folder / "acks").read_text().splitlines()
    return shim.read_trace((folder / "trace").read_bytes()), lines


@dataclass
class Disk:
    """The synced bytes of every file, and what was done since, in order."""

    safe: dict[str, bytes] = field(default_factory=dict)
    since: list[Call] = field(default_factory=list)
    unlisted: set[str] = field(default_factory=set)
    """Files whose folder entry is not synced."""

    def take(self, call: Call) -> None:
        """Do one call of the trace."""
        match call.kind:
            case "S" if call.name == FOLDER:
                self.unlisted.clear()
                gone = [each for each in self.since if each.kind == "U"]
                for each in gone:
                    self.safe.pop(each.name, None)
                self.since = [each for each in self.since if each.kind != "U"]
            case "S":
                mine = [each for each in self.since if each.name == call.name]
                self.safe[call.name] = apply(self.safe.get(call.name, b""), mine)
                self.since = [each for each in self.since if each.name != call.name]
            case "C":
                if call.name not in self.safe and call.name != FOLDER:
                    self.safe[call.name] = b""
                    self.unlisted.add(call.name)
            case _:
                self.since.append(call)

    def after_loss(self, dice: random.Random) -> dict[str, bytes]:
        """Draw what may be found after the power went: nothing, everything, or any part of what was not synced."""
        share = dice.choice([0.0, 0.0, 0.5, 0.5, 0.9, 1.0])
        kept = [piece for call in self.since for piece in sectors(call) if dice.random() < share]
        if dice.random() < 0.5:
            dice.shuffle(kept)
        files = dict(self.safe)
        for name in [*files]:
            files[name] = apply(files[name], [each for each in kept if each.name == name])
        for call in kept:
            if call.kind == "U":
                files.pop(call.name, None)
        for name in self.unlisted:
            if dice.random() < 1 - share:
                files.pop(name, None)
        return files


def sectors(call: Call) -> list[Call]:
    """Cut a write where a disk may tear it."""
    if call.kind != "W":
        return [call]
    pieces, at = [], call.offset
    while at < call.offset + len(call.data):
        end = min((at // SECTOR + 1) * SECTOR, call.offset + len(call.data))
        pieces.append(Call("W", call.name, at, call.data[at - call.offset : end - call.offset]))
        at = end
    return pieces


def apply(content: bytes, calls: list[Call]) -> bytes:
    """Do writes and truncations to a file's bytes."""
    buffer = bytearray(content)
    for call in calls:
        if call.kind == "W":
            end = call.offset + len(call.data)
            buffer.extend(bytes(max(0, end - len(buffer))))
            buffer[call.offset : end] = call.data
        elif call.kind == "T":
            del buffer[call.offset :]
            buffer.extend(bytes(call.offset - len(buffer)))
    return bytes(buffer)


def trial(folder: Path, seed: int, patterns: int, synchronous: str, hits: Counter[str], most: int | None) -> list[str]:
    """Trace one run and lose power `patterns` times at each boundary: after each sync, before it, and after each
    acknowledgement.
    """
    calls, lines = traced(folder, seed, synchronous)
    dice = random.Random(seed)
    disk, acknowledged = Disk(), 0
    faults: list[str] = []
    boundaries = [number for number, call in enumerate(calls) if call.kind in "SM" or _before_sync(calls, number)]
    chosen = set(boundaries if most is None else dice.sample(boundaries, min(most, len(boundaries))))
    for number, call in enumerate(calls):
        if call.kind == "M":
            acknowledged = call.offset + 1
        else:
            disk.take(call)
        if number not in chosen:
            continue
        hits["boundaries"] += 1
        for pattern in range(patterns):
            hits["images"] += 1
            found = _try(folder / "image", disk.after_loss(dice), lines[:acknowledged])
            faults += [f"seed {seed}, call {number}, pattern {pattern}: {fault}" for fault in found]
    hits["acknowledged"] += len(lines)
    hits["syncs"] += sum(call.kind == "S" for call in calls)
    return faults


def _before_sync(calls: list[Call], number: int) -> bool:
    return number + 1 < len(calls) and calls[number + 1].kind == "S"


def _try(folder: Path, files: dict[str, bytes], acknowledged: list[str]) -> list[str]:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return asyncio.run(workload.check(folder / "state.sqlite", acknowledged))


def main(arguments: dict[str, object]) -> dict[str, object]:
    """Do the traces of these seeds."""
    workload.quiet()
    folder = shim.scratch()
    hits: Counter[str] = Counter()
    faults: list[str] = []
    first, count = int(str(arguments["seed"])), int(str(arguments["n"]))
    most = arguments["most"]
    try:
        for seed in range(first, first + count):
            faults += trial(
                folder,
                seed,
                int(str(arguments["patterns"])),
                str(arguments["synchronous"]),
                hits,
                most if isinstance(most, int) else None,
            )
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return {"faults": faults[:1000], "fault_count": len(faults), "hits": dict(sorted(hits.items()))}


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
