"""Turn rows of the ledger into the contract's values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_server.storage.ledger_contract import (
    Balance,
    Budget,
    BudgetScope,
    NewReservation,
    Period,
    Reservation,
    ReservationState,
    ScopeKind,
)
from ai_server.storage.rules import from_us, usage_from
from ai_server.storage.windows import window_at

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from ai_server.storage.statements import Row

STATE_AFTER = {
    "reserve": ReservationState.PENDING,
    "hold": ReservationState.HELD,
    "settle": ReservationState.SETTLED,
    "void": ReservationState.VOIDED,
}


def budget_of(row: Row) -> Budget:
    """Read a budget."""
    scope = BudgetScope(ScopeKind(row["kind"]), row["project_id"], row["assistant"], row["user_name"])
    return Budget(scope, Period(row["period"]), row["limit_nanousd"], row["time_zone"], row["alert_share"])


def balance_of(row: Row, window: Row | None, now: datetime) -> Balance:
    """Read a budget with its window at `now`; a window that was never charged is all zeros."""
    budget = budget_of(row)
    if window is None:
        fresh = window_at(budget.period, budget.time_zone, now)
        sums = (fresh.starts_at, fresh.ends_at, 0, 0, 0, 0)
    else:
        sums = (
            from_us(window["starts_at"]),
            from_us(window["ends_at"]),
            window["settled_nanousd"],
            window["open_nanousd"],
            window["held_nanousd"],
            window["estimated_nanousd"],
        )
    return Balance(budget, *sums, closed_by_overrun=row["overrun_at"] is not None)


def new_of(row: Row) -> NewReservation:
    """Read what was written at admission."""
    return NewReservation(
        reservation_id=row["reservation_id"],
        key=row["key"],
        project_id=row["project_id"],
        assistant=row["assistant"],
        user=row["user_name"],
        operation=row["operation"],
        provider=row["provider"],
        model=row["model"],
        service_tier=row["service_tier"],
        price_version=row["price_version"],
        ceiling_nanousd=row["ceiling_nanousd"],
        created_at=from_us(row["created_at"]),
    )


def reservation_of(row: Row, entries: Sequence[Row]) -> Reservation:
    """Read a reservation as its entries, oldest first, tell it."""
    last = entries[-1]
    settled = last["kind"] == "settle"
    return Reservation(
        new=new_of(row),
        state=STATE_AFTER[last["kind"]],
        cost_nanousd=last["amount_nanousd"] if settled else None,
        estimated=bool(last["estimated"]),
        overrun_nanousd=last["overrun_nanousd"],
        usage=usage_from(last["usage"]),
        resolved_at=from_us(last["at"]) if last["kind"] in {"settle", "void"} else None,
    )
