"""The ledger's use cases: seed, admit, end, reconcile, audit. The store holds the rules; this knows the clock."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from ai_server.ledger import model
from ai_server.storage.ledger_contract import (
    BudgetScope,
    NewReservation,
    Period,
    Reservation,
    ReservationState,
    ScopeKind,
    Settlement,
)
from shared.errors import AlreadyResolved, BudgetExhausted, NotFound
from shared.ids import new_id

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from ai_server.ledger.contract import Payer, Quote
    from ai_server.ledger.model import BudgetSeed
    from ai_server.storage.contract import StateStore
    from ai_server.storage.ledger_contract import Balance, Budget
    from shared.clock import Clock
    from shared.usage import Usage


class LedgerWatcher(Protocol):
    """Who counts what happens to money: the metrics."""

    def refused(self, project_id: str) -> None:
        """A call did not fit."""
        ...

    def resolved(self, reservation: Reservation) -> None:
        """A reservation ended."""
        ...


class Unwatched:
    """Counts nothing."""

    def refused(self, project_id: str) -> None:
        """Ignore it."""

    def resolved(self, reservation: Reservation) -> None:
        """Ignore it."""


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """What is known of one held reservation; at most one of the three is set, none means at the ceiling."""

    reservation_id: str
    cost_nanousd: int | None = None
    void: bool = False


@dataclass(frozen=True, slots=True)
class AuditReport:
    """How much was looked at, and one sentence for each difference."""

    entry_count: int
    reservation_count: int
    findings: tuple[str, ...]


class Ledger:
    """Money of the whole installation."""

    def __init__(self, store: StateStore, clock: Clock, watcher: LedgerWatcher | None = None) -> None:
        """Use the ledger of an open store."""
        self._store = store.ledger
        self._clock = clock
        self._watcher = watcher or Unwatched()
        self._templates: dict[str, tuple[BudgetSeed, ...]] = {}

    async def seed(self, project_id: str, seeds: Sequence[BudgetSeed]) -> None:
        """Make the budgets that are missing; those that exist are the operator's, and stay."""
        self._templates[project_id] = tuple(each for each in seeds if each.is_template)
        for each in seeds:
            if not each.is_template:
                await self._store.put_budget(each.budget(project_id), self._clock.now(), seed=True)

    async def recover(self, departed: Collection[int] | None = None) -> int:
        """Hold what a dead process left pending: call it once, before the first admission, and later for servers
        that are known to have `departed`; tells how many.
        """
        return await self._store.hold_pending(self._clock.now(), departed)

    async def reserve(self, key: str, payer: Payer, quote: Quote, reservation_id: str = "") -> Reservation:
        """Admit a call under its key, or return the reservation that the key has.

        Raises:
            BudgetExhausted, IdempotencyConflict, InvalidRequest, NotReady: as the store says.
        """
        model.check_quote(quote)
        now = self._clock.now()
        new = NewReservation(
            reservation_id=reservation_id or new_id(now),
            key=key,
            project_id=payer.project_id,
            assistant=payer.assistant,
            user=payer.user,
            operation=quote.operation,
            provider=quote.provider,
            model=quote.model,
            service_tier=quote.service_tier,
            price_version=quote.price_version,
            ceiling_nanousd=quote.ceiling_nanousd,
            created_at=now,
        )
        try:
            return await self._store.reserve(new, self._defaults(payer))
        except BudgetExhausted:
            self._watcher.refused(payer.project_id)
            raise

    def _defaults(self, payer: Payer) -> list[Budget]:
        templates = self._templates.get(payer.project_id, ()) if payer.user else ()
        return [each.budget(payer.project_id, payer.user) for each in templates]

    async def settle(
        self, reservation_id: str, cost_nanousd: int, *, estimated: bool, usage: Usage | None
    ) -> Reservation:
        """End a reservation at its cost.

        Raises:
            NotFound, AlreadyResolved, InvalidRequest, NotReady: as the store says.
        """
        settlement = Settlement(cost_nanousd, estimated, usage, self._clock.now())
        return self._seen(await self._store.settle(reservation_id, settlement))

    async def void(self, reservation_id: str, reason: str) -> Reservation:
        """End a reservation whose call surely did not start; same errors as `settle`."""
        return self._seen(await self._store.void(reservation_id, reason, self._clock.now()))

    def _seen(self, reservation: Reservation) -> Reservation:
        self._watcher.resolved(reservation)
        return reservation

    async def reconcile(self, known: Reconciliation) -> Reservation:
        """Resolve a held reservation, once, from what the provider's invoice says.

        Raises:
            NotFound: no such reservation.
            AlreadyResolved: it was resolved otherwise, or is not held: its own process will end it.
        """
        found = await self.reservation(known.reservation_id)
        if found.state is ReservationState.PENDING:
            raise AlreadyResolved(f"The reservation {known.reservation_id} is not held: the call is under way.")
        if known.void:
            return await self.void(known.reservation_id, "reconciled: not billed")
        if known.cost_nanousd is not None:
            return await self.settle(known.reservation_id, known.cost_nanousd, estimated=False, usage=None)
        return await self.settle(known.reservation_id, found.new.ceiling_nanousd, estimated=True, usage=None)

    async def acknowledge(self, scope: BudgetScope) -> None:
        """Open again the budgets of a scope that an overrun closed."""
        await self._store.acknowledge_overrun(scope, self._clock.now())

    async def set_budget(self, budget: Budget) -> Balance:
        """Create or change a budget and tell its window. A limit below what is spent only closes it.

        Raises:
            InvalidRequest: with every field that is wrong.
        """
        await self._store.put_budget(budget, self._clock.now(), seed=False)
        return await self.balance(budget.scope, budget.period)

    async def balance(self, scope: BudgetScope, period: Period) -> Balance:
        """Tell one budget's window now.

        Raises:
            NotFound: there is no such budget.
        """
        found = await self._store.balance(scope, period, self._clock.now())
        if found is None:
            raise NotFound(f"There is no {period} budget of that scope: set one.")
        return found

    async def balances(self) -> Sequence[Balance]:
        """Tell all budgets' windows now."""
        return await self._store.balances(self._clock.now())

    async def reservation(self, reservation_id: str) -> Reservation:
        """Tell one reservation as it is now.

        Raises:
            NotFound: there is none.
        """
        found = await self._store.reservation(reservation_id)
        if found is None:
            raise NotFound(f"There is no reservation {reservation_id}.")
        return found

    async def reservations(
        self, project_id: str, state: ReservationState | None, limit: int, before: str
    ) -> Sequence[Reservation]:
        """List reservations, newest first."""
        return await self._store.reservations(project_id, state, limit, before)

    async def has_project_budget(self, project_id: str) -> bool:
        """Tell whether metered providers may serve the project at all."""
        now = self._clock.now()
        scope = BudgetScope(ScopeKind.PROJECT, project_id)
        return any([await self._store.balance(scope, period, now) for period in Period])

    async def room(self, payer: Payer) -> int:
        """Tell what the payer's next ceiling may be at most, now; another call may take it first."""
        now = self._clock.now()
        asked = [self._store.balance(scope, period, now) for scope in model.scopes_of_payer(payer) for period in Period]
        found = [each for each in await asyncio.gather(*asked) if each is not None]
        return model.room(found)

    async def lowered_cap(
        self, payer: Payer, ceiling_of: Callable[[int], int], *, asked: int, least: int
    ) -> int | None:
        """Find the largest output cap that fits the payer's room now; None when even `least` does not."""
        return model.lowered_cap(await self.room(payer), ceiling_of, asked, least)

    async def audit(self) -> AuditReport:
        """Recompute every balance from the entries and check their chain; changes nothing."""
        findings = await self._store.audit()
        counts = await self._store.counts()
        return AuditReport(counts.entry_count, counts.reservation_count, tuple(findings))
