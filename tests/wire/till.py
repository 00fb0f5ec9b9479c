"""A real ledger on a real file, and what it says of the calls that were made."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from ai_server.ledger.contract import Payer
from ai_server.ledger.meter import LedgerMeter
from ai_server.ledger.model import BudgetSeed
from ai_server.ledger.service import Ledger
from ai_server.providers.metered import MeteredGenerator
from ai_server.providers.registry import ProviderBundle
from ai_server.storage.ledger_contract import Period, Reservation, ReservationState, ScopeKind
from ai_server.storage.sqlite import SqliteStateStore
from shared.clock import Clock
from tests.fakes.clock import ManualClock

PROJECT = "demo"
PAYER = Payer(PROJECT, "documents", "client:ann")
PLENTY = 10**15


class Till:
    """An open ledger with plenty of money."""

    def __init__(self, store: SqliteStateStore, clock: Clock) -> None:
        self.clock = clock
        self.ledger = Ledger(store, clock)
        self.meter = LedgerMeter(self.ledger, clock)

    def generator(self, bundle: ProviderBundle, model: str) -> MeteredGenerator:
        return MeteredGenerator(
            bundle, model=model, window=0, max_output=0, meter=self.meter, clock=self.clock, observe=lambda _: None
        )

    async def rows(self) -> list[Reservation]:
        """Every reservation, oldest first."""
        found: list[Reservation] = []
        before = ""
        while page := await self.ledger.reservations(PROJECT, None, 500, before):
            found += page
            before = page[-1].new.reservation_id
        return found[::-1]

    async def settle(self) -> None:
        await self.meter.drain(20.0)


@contextlib.asynccontextmanager
async def open_till(path: Path, clock: Clock | None = None) -> AsyncIterator[Till]:
    clock = clock or ManualClock()
    store = SqliteStateStore(path / "state.sqlite", clock)
    await store.open()
    try:
        till = Till(store, clock)
        await till.ledger.seed(PROJECT, [BudgetSeed(ScopeKind.PROJECT, Period.MONTHLY, PLENTY)])
        yield till
        await till.settle()
    finally:
        await store.close()


def resolved(row: Reservation) -> bool:
    return row.state in {ReservationState.SETTLED, ReservationState.VOIDED}
