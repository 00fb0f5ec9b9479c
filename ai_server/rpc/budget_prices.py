"""What a settled reservation can have cost, by the catalogue of now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ai_server.providers.pricing import CatalogPricing

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from ai_server.providers.catalog import Catalog
    from ai_server.storage.ledger_contract import Reservation


@dataclass(frozen=True, slots=True)
class _Then:
    """A clock that stands at the instant of a settlement, for prices that depend on the hour."""

    instant: datetime

    def now(self) -> datetime:
        return self.instant

    def monotonic(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        raise AssertionError(f"nothing waits {seconds} s in a computation")


def possible_costs(catalogue: Catalog, reservation: Reservation) -> Collection[int] | None:
    """List the costs that a usage can have: one for each tier that the provider may have served it in.

    None: the row was replaced since, or never was ours to price (another backend's own model).
    """
    row = catalogue.find(reservation.new.provider, reservation.new.model)
    if row is None or row.price_version != reservation.new.price_version:
        return None
    if reservation.usage is None or reservation.resolved_at is None:
        return None
    pricing = CatalogPricing(row, _Then(reservation.resolved_at))
    costs = [pricing.cost(reservation.usage, tier) for tier in ("", *row.service_tiers)]
    return frozenset(cost for cost in costs if cost is not None)
