"""What the rest of the AI server asks of its ledger: budgets, reservations, and the entries that end them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import datetime

    from shared.usage import Usage


class ReservationState(StrEnum):
    """Where a reservation stands; it leaves PENDING once, and HELD once."""

    PENDING = "pending"
    SETTLED = "settled"
    VOIDED = "voided"
    HELD = "held"


class Period(StrEnum):
    """How long a budget's window is, on the calendar of its zone."""

    DAILY = "daily"
    MONTHLY = "monthly"


class ScopeKind(StrEnum):
    """Whose money a budget is."""

    GLOBAL = "global"
    PROJECT = "project"
    ASSISTANT = "assistant"
    USER = "user"


@dataclass(frozen=True, slots=True)
class BudgetScope:
    """One budget's owner. Empty strings where the kind does not need them. `user` is `anonymous` for all
    anonymous visitors of a project together.
    """

    kind: ScopeKind
    project_id: str = ""
    assistant: str = ""
    user: str = ""


@dataclass(frozen=True, slots=True)
class Budget:
    """A limit in nanodollars (≥ 0; 0 closes) for each window of `period` in `time_zone` (IANA)."""

    scope: BudgetScope
    period: Period
    limit_nanousd: int
    time_zone: str = "UTC"
    alert_share: float = 0.8


@dataclass(frozen=True, slots=True)
class Balance:
    """A budget's window. `open_hold` counts pending and held reservations. The sums are kept in the transactions
    that write the entries; `audit` recomputes them.
    """

    budget: Budget
    window_start: datetime
    resets_at: datetime
    settled_nanousd: int
    open_hold_nanousd: int
    held_nanousd: int
    estimated_nanousd: int
    closed_by_overrun: bool

    @property
    def available_nanousd(self) -> int:
        """What the next ceiling may take at most; negative after an overrun or a lowered limit."""
        return self.budget.limit_nanousd - self.settled_nanousd - self.open_hold_nanousd


@dataclass(frozen=True, slots=True)
class NewReservation:
    """What is written at admission. `key` is unique per installation (`turn/round/attempt`)."""

    reservation_id: str
    key: str
    project_id: str
    assistant: str
    user: str
    operation: str
    provider: str
    model: str
    service_tier: str
    price_version: str
    ceiling_nanousd: int
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Reservation:
    """A reservation as its entries tell it now. `cost_nanousd` is None until settled."""

    new: NewReservation
    state: ReservationState
    cost_nanousd: int | None
    estimated: bool
    overrun_nanousd: int
    usage: Usage | None
    resolved_at: datetime | None


@dataclass(frozen=True, slots=True)
class Settlement:
    """How a reservation ends. `cost_nanousd` above the ceiling is recorded in full as an overrun."""

    cost_nanousd: int
    estimated: bool
    usage: Usage | None
    at: datetime


@dataclass(frozen=True, slots=True)
class LedgerCounts:
    """How much there is to audit."""

    entry_count: int
    reservation_count: int


class LedgerStore(Protocol):
    """Append-only money entries. Raises the domain errors of `shared.errors`, mapped from constraints.

    What was asked is carried out in the order of asking, also when its caller is cancelled while it waits.
    """

    async def reserve(self, new: NewReservation, defaults: Sequence[Budget]) -> Reservation:
        """Check every window and write the hold, in one transaction; budgets in `defaults` are created if missing.

        The same key with the same body returns the reservation as it is now.

        Raises:
            BudgetExhausted: a window has no room, a budget is closed, or the project has none; nothing is written
                but missing budgets. A ceiling of 0 (free) is always admitted.
            InvalidRequest: an amount or text that no ledger can hold.
            IdempotencyConflict: the key exists with another body.
            NotReady: the store cannot write.
        """
        ...

    async def settle(self, reservation_id: str, settlement: Settlement) -> Reservation:
        """Append the settling entry; the same body again returns the same.

        Raises:
            NotFound: no such reservation.
            AlreadyResolved: it ended otherwise.
        """
        ...

    async def void(self, reservation_id: str, reason: str, at: datetime) -> Reservation:
        """Append the voiding entry; same rules as settle."""
        ...

    async def hold_pending(self, at: datetime, departed: Collection[int] | None = None) -> int:
        """Turn every reservation that is still pending into held, but for those of living servers: called once at
        start, and later for the `departed` servers alone; tells how many.
        """
        ...

    async def put_budget(self, budget: Budget, at: datetime, *, seed: bool) -> None:
        """Create or change a budget; with `seed` an existing one is left alone."""
        ...

    async def balance(self, scope: BudgetScope, period: Period, now: datetime) -> Balance | None:
        """Tell one budget's window at `now`; None when there is no such budget."""
        ...

    async def balances(self, now: datetime) -> Sequence[Balance]:
        """Tell all budgets, at most 10,000, most recent first."""
        ...

    async def reservation(self, reservation_id: str) -> Reservation | None:
        """Tell one reservation as it is now; None when there is none."""
        ...

    async def reservations(
        self, project_id: str, state: ReservationState | None, limit: int, before: str
    ) -> Sequence[Reservation]:
        """List newest first; `before` is the last reservation id seen, or empty."""
        ...

    async def acknowledge_overrun(self, scope: BudgetScope, at: datetime) -> None:
        """Open again the budgets of this scope that an overrun closed."""
        ...

    async def audit(self) -> Sequence[str]:
        """Recompute every balance from entries and check the chain of states; one sentence a finding."""
        ...

    async def counts(self) -> LedgerCounts:
        """Count entries and reservations."""
        ...
