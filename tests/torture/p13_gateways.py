"""P13 over gateways: one of two is killed with SIGKILL while answers stream through nginx; nobody loses a word."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import mkdtemp

from tests import services
from tests.e2e.fleet import fleet, kill_while_streaming
from tests.e2e.installation import prepare_data
from tests.simulator.script import Script
from tests.torture.figure import Figure, span

PROMISE = "a gateway killed while answers stream: whole answers, no event lost or repeated, one call and one bill each"
FULL = 200
SHORT = 0
"""The short form is tests/e2e/test_two_gateways.py: bringing the processes up takes longer than a short form may."""
AT_ONCE = 200
PIECES = tuple(f"piece {number} " for number in range(100))
SLOW = Script(chunks=PIECES, pace_s=1.0)
WITHIN_S = 200.0


async def run(n: int, seed: int) -> Figure:
    """Stream `n` answers, at most `AT_ONCE` at the same time, with one kill for each batch."""
    if n == 0:
        return Figure(0, "", skipped="its short form is tests/e2e/test_two_gateways.py")
    figure = Figure(n, span(seed, 1))
    try:
        for start in range(0, n, AT_ONCE):
            await _batch(min(AT_ONCE, n - start), figure)
    except services.ServiceMissing as missing:
        return Figure(0, "", skipped=str(missing))
    return figure


async def _batch(count: int, figure: Figure) -> None:
    folder = Path(mkdtemp(prefix="passeur-fleet-"))
    try:
        prepared = await prepare_data(folder / "prepared")
        async with fleet(folder / "fleet", prepared, SLOW) as (made, http, simulator):
            outcome = await kill_while_streaming(made, http, simulator, count, "".join(PIECES), WITHIN_S)
            figure.failures += outcome.faults
            audit = await made.command("ai_server", "budgets", "audit")
            if "everything adds up" not in audit:
                figure.failures.append(f"the ledger does not add up: {audit}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    figure.notes["connections cut"] = outcome.cut
    figure.notes["provider calls"] = outcome.bills
    figure.notes["seconds from the kill to the last answer"] = round(outcome.seconds, 1)
