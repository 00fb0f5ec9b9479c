"""P1: an acknowledged reservation survives process death; an unacknowledged one is absent or complete."""

from __future__ import annotations

from tests.torture.figure import Figure, span
from tests.torture.shim import under_shim

PROMISE = "what was acknowledged survives SIGKILL and failing I/O; the rest is absent or complete"
FULL = 10_000
SHORT = 30


async def run(n: int, seed: int) -> Figure:
    """Kill or fail `n` processes at random microseconds and at random durable calls."""
    answer = await under_shim("tests.torture.kills", n=n, seed=seed)
    if answer is None:
        return Figure(0, "", skipped="no C compiler to build the shim")
    return Figure(n, span(seed, n), list(answer["faults"]), dict(answer["hits"]))
