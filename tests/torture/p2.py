"""P2: the same under power loss: un-synced writes are dropped, torn and reordered at each sync boundary."""

from __future__ import annotations

from tests.torture.figure import Figure, span
from tests.torture.shim import under_shim

PROMISE = "what was acknowledged survives the loss of every un-synced write, at each sync boundary"
FULL = 20
SHORT = 1
PATTERNS = 20
SHORT_BOUNDARIES, SHORT_PATTERNS = 12, 4


async def run(n: int, seed: int, synchronous: str = "FULL") -> Figure:
    """Trace `n` runs of about 50 operations; the short form draws a few of the boundaries."""
    short = n <= SHORT
    answer = await under_shim(
        "tests.torture.power",
        n=n,
        seed=seed,
        patterns=SHORT_PATTERNS if short else PATTERNS,
        synchronous=synchronous,
        most=SHORT_BOUNDARIES if short else None,
    )
    if answer is None:
        return Figure(0, "", skipped="no C compiler to build the shim")
    hits = dict(answer["hits"])
    return Figure(int(hits["images"]), span(seed, n), list(answer["faults"]), hits)
