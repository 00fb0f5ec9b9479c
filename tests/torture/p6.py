"""P6: an unknown outcome is never free: what died between «sent» and «settled» is held at its ceiling."""

from __future__ import annotations

from tests.torture.figure import Figure, span
from tests.torture.shim import under_shim

PROMISE = "after a kill between sending and settling, the ledger is never below the provider's invoice"
FULL = 5_000
SHORT = 15


async def run(n: int, seed: int) -> Figure:
    """Kill `n` processes that make paid calls, and hold each ledger against the invoice."""
    answer = await under_shim("tests.torture.bills", n=n, seed=seed)
    if answer is None:
        return Figure(0, "", skipped="no C compiler to build the shim")
    return Figure(n, span(seed, n), list(answer["faults"]), dict(answer["hits"]))
