"""P8 for the ledger: no rule breaks under simulated time, faults and schedules; every failure replays from its seed."""

from __future__ import annotations

import asyncio
import time
from collections import Counter

from tests.torture import workload
from tests.torture.figure import Figure, span
from tests.torture.simulation import HOURS, World, still_loop

PROMISE = "in simulated time, with crashes, refusals, cancelled callers and an operator, the ledger's rules hold"
FULL = 100_000
SHORT = 20


async def run(n: int, seed: int) -> Figure:
    """Live `n` worlds, one after the other, on a loop of their own."""
    return await asyncio.to_thread(_live, n, seed)


def _live(n: int, seed: int) -> Figure:
    workload.quiet()
    hits: Counter[str] = Counter()
    failures: list[str] = []
    started, simulated = time.monotonic(), 0.0
    with asyncio.Runner(loop_factory=still_loop) as runner:
        for each in range(seed, seed + n):
            world = World(each, hits)
            failures += runner.run(world.run())
            simulated += world.clock.monotonic()
    ratio = simulated / (time.monotonic() - started)
    notes = {**dict(sorted(hits.items())), "time ratio": f"{ratio:,.0f}", "hours a process at most": HOURS}
    return Figure(n, span(seed, n), failures, notes)
