"""What durability costs a paid call: the same calls over the SQLite file and over the same SQL in memory.

The twin runs the same programs on an in-memory database, without thread, file or sync. Each request is what a turn
does to the store: claim the key, reserve, a provider that takes 20 ms, settle, journal line, result. It runs in one
process without gRPC, so the store weighs more here than behind a server.
"""

from __future__ import annotations

import asyncio
import itertools
import tempfile
import time
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from ai_server.ledger.contract import Payer, Quote
from ai_server.ledger.meter import LedgerMeter
from ai_server.ledger.service import Ledger
from ai_server.storage import stores
from ai_server.storage.journal_contract import JournalLine
from ai_server.storage.requests_contract import RequestKey, StoredRequest
from ai_server.storage.sqlite import SqliteStateStore
from shared.usage import Usage
from tests.bench.measure import Cpu, Measure, interleaved, same_side
from tests.fakes.clock import ManualClock
from tests.torture import workload
from tests.torture.simulation import InMemory

if TYPE_CHECKING:
    from ai_server.storage.contract import StateStore

WHAT = "requests/s with the ledger durable: 64 callers, a provider of 20 ms, claim, reserve, settle, journal, result"
CALLERS = 64
PROVIDER_S = 0.020
SECONDS = 3.0
PAYER = Payer("demo", "documents", "ada")
QUOTE = Quote("answer", "fake", "fake-1", "", "v1", 100, metered=True)
BODY = '{"chunks": ["' + '", "'.join(f"chunk-{number:064d}" for number in range(8)) + '"]}'


class MemoryStore:
    """The same programs on an in-memory database."""

    def __init__(self) -> None:
        self._runner = InMemory()
        self.ledger = stores.ProgramLedger(self._runner, 0)
        self.requests = stores.ProgramRequests(self._runner, 0)
        self.journal = stores.ProgramJournal(self._runner)
        self.index = stores.ProgramIndex(self._runner)

    async def open(self) -> None:
        """There is nothing to open."""

    async def probe(self) -> None:
        """It always works."""

    async def close(self) -> None:
        self._runner.connection.close()


class Requests:
    """One side."""

    def __init__(self, store: StateStore, name: str) -> None:
        self.store, self._name = store, name
        self._clock = ManualClock(workload.NOW)
        self._meter = LedgerMeter(Ledger(store, self._clock), self._clock)
        self._numbers = itertools.count()
        self.cpu = self.done = 0.0

    async def open(self) -> None:
        await self.store.open()
        await self.store.ledger.put_budget(workload.budget(2**60), workload.NOW, seed=True)

    async def turn(self) -> float:
        """Answer for a while; requests a second."""
        started, cpu = time.monotonic(), Cpu()
        counts = await asyncio.gather(*(self._caller(started + SECONDS) for _ in range(CALLERS)))
        self.cpu += cpu.seconds()
        self.done += sum(counts)
        return sum(counts) / (time.monotonic() - started)

    async def _caller(self, until: float) -> int:
        count = 0
        while time.monotonic() < until:
            await self._request(f"{self._name}.{next(self._numbers)}")
            count += 1
        return count

    async def _request(self, name: str) -> None:
        key = RequestKey("bench", name)
        await self.store.requests.claim(StoredRequest(key, b"digest", name, "bench", None, workload.NOW))
        async with self._meter.call(f"{name}/1/1", PAYER, QUOTE) as call:
            await asyncio.sleep(PROVIDER_S)
            call.complete(Usage(input=900, output=100), 60)
        later = workload.NOW + timedelta(seconds=1)
        await self.store.journal.append(JournalLine(name, "demo", "bench", name, workload.NOW, later, BODY))
        await self.store.requests.finish(key, b"result" * 100)


async def run() -> list[Measure]:
    """Measure both stores side by side."""
    workload.quiet()
    with tempfile.TemporaryDirectory(dir=".", prefix=".bench-") as folder:
        clock = ManualClock(workload.NOW)
        sides = {
            "durable": Requests(SqliteStateStore(Path(folder) / "a.sqlite", clock), "a"),
            "durable again": Requests(SqliteStateStore(Path(folder) / "b.sqlite", clock), "b"),
            "memory": Requests(MemoryStore(), "c"),
        }
        for side in sides.values():
            await side.open()
        found = await interleaved({name: side.turn for name, side in sides.items()})
        for side in sides.values():
            await side.store.close()
    ratio, spread = found["durable"].over(found["memory"])
    durable, memory = sides["durable"], sides["memory"]
    return [
        Measure("durable", found["durable"].median, "requests/s", "in memory", ratio, 0.85, spread),
        Measure(
            "in memory", found["memory"].median, "requests/s", note=same_side(found["durable"], found["durable again"])
        ),
        Measure("processor time a request, durable", 1000 * durable.cpu / durable.done, "ms"),
        Measure("processor time a request, in memory", 1000 * memory.cpu / memory.done, "ms"),
        Measure("ceiling of 64 callers", CALLERS / PROVIDER_S, "requests/s", note="a provider of 20 ms allows no more"),
    ]
