"""P29 under kills: server and index are killed during a sync; the next start serves the truth."""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile

from tests.torture.figure import Figure, span

PROMISE = "a sync killed at any point leaves nothing that the next start does not mend: all found, nothing deleted left"
FULL = 200
SHORT = 3
SECONDS_EACH = 30.0


async def run(n: int, seed: int) -> Figure:
    """Kill `n` syncs, in a fork server of their own."""
    with tempfile.TemporaryDirectory() as folder:
        asked = json.dumps({"folder": folder, "seed": seed, "n": n})
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.torture.index_kills", asked, stdout=asyncio.subprocess.PIPE
        )
        async with asyncio.timeout(60 + SECONDS_EACH * n):
            out, _ = await process.communicate()
    told = json.loads(out.decode().splitlines()[-1])
    return Figure(n, span(seed, n), told["failures"], told["counts"])
