"""Recompute what was billed from usage and prices, where the price row of that time is still known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ai_server.storage.ledger_contract import ReservationState

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from ai_server.ledger.service import Ledger
    from ai_server.storage.ledger_contract import Reservation

PAGE: Final = 500
MAX_FINDINGS: Final = 1_000


async def cost_findings(
    ledger: Ledger, possible_costs: Callable[[Reservation], Collection[int] | None]
) -> Sequence[str]:
    """Compare each settled cost with those that its usage can have; one sentence for each that differs.

    `possible_costs` gives None where nothing is known to compare with: a price row since replaced, or no usage.
    """
    findings: list[str] = []
    before = ""
    while len(findings) < MAX_FINDINGS:
        page = await ledger.reservations("", ReservationState.SETTLED, PAGE, before)
        for each in page:
            costs = None if each.estimated or each.usage is None else possible_costs(each)
            if costs is not None and each.cost_nanousd not in costs:
                told = " or ".join(str(cost) for cost in sorted(costs)) or "no price"
                findings.append(
                    f"Reservation {each.new.reservation_id} was settled at {each.cost_nanousd}, and its usage gives "
                    f"{told} by {each.new.price_version}."
                )
        if len(page) < PAGE:
            break
        before = page[-1].new.reservation_id
    return findings[:MAX_FINDINGS]
