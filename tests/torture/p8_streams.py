"""P8 for turns and streams: in simulated time, through deaths and refusals, nothing is lost or doubled."""

from __future__ import annotations

import asyncio
import time
from collections import Counter

from tests.torture import workload
from tests.torture.figure import Figure, span
from tests.torture.stream_world import World
from tests.torture.virtual_time import VirtualLoop

PROMISE = "turns, tickets and streams in simulated time: every turn ends once, nobody misses or hears twice, AI silent"
FULL = 100_000
SHORT = 3


async def run(n: int, seed: int) -> Figure:
    """Live `n` worlds, one after the other, on a loop of simulated time."""
    return await asyncio.to_thread(_live, n, seed)


def _live(n: int, seed: int) -> Figure:
    workload.quiet()
    hits: Counter[str] = Counter()
    failures: list[str] = []
    started, simulated = time.monotonic(), 0.0
    for each in range(seed, seed + n):
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            failures += [f"seed {each}: {fault}" for fault in runner.run(World(each, hits).run())]
            simulated += runner.get_loop().time()
    ratio = simulated / (time.monotonic() - started)
    return Figure(n, span(seed, n), failures, {**dict(sorted(hits.items())), "time ratio": f"{ratio:,.0f}"})
