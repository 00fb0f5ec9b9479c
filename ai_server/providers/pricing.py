"""What a usage costs by a catalogue row: shared by the `pricing` of every provider folder."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from shared.money import TOKENS_PER_PRICE
from shared.usage import TOKEN_BUCKETS

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from ai_server.providers.catalog import ModelRow, Period, Prices
    from shared.clock import Clock
    from shared.usage import Usage

BASE_TIERS: Final = frozenset({"", "standard", "default", "on_demand", "auto"})
"""Service tiers that mean the ordinary price."""

REPORTED_COST: Final = "reported_cost_nanousd"
"""The unit under which a provider's own figure for the call travels, where the row says that it reports one."""

LONGEST_CALL: Final = timedelta(minutes=5)
"""A price may change while a call runs; the dearer one of that time is taken."""

INPUT_BUCKETS: Final = ("input", "cached_input", "cache_write_short")
"""What an input token may be billed as when we never ask for the long cache."""


class CatalogPricing:
    """Prices normalised usage by one row. Nothing here is rounded but the sum, once, upwards."""

    def __init__(self, row: ModelRow, clock: Clock) -> None:
        """Take the row and what tells the hour, for prices that depend on it."""
        self._row = row
        self._clock = clock

    @property
    def price_version(self) -> str:
        """Name the row."""
        return self._row.price_version

    @property
    def metered(self) -> bool:
        """Say whether calls cost money."""
        return self._row.metered

    def ceiling(self, input_tokens: int, max_output_tokens: int) -> int:
        """Tell the most that one call can be billed, in nanodollars.

        The input is a bound, so a cheaper tier may hold in the end: the dearest tier up to it is taken. Each input
        token may turn out to be cached or written to a cache; the output is the asked cap where that bounds billed
        reasoning, else the model's maximum.
        """
        if not self._row.metered:
            return 0
        output = max_output_tokens
        if not self._row.cap_bounds_reasoning:
            output = max(output, self._row.max_billable_output)
        now = self._clock.now()
        amount = 0
        # Its cost will be looked up over the longest call before its end, which may begin before now.
        for prices in self._possible(now - LONGEST_CALL, now + LONGEST_CALL, range(input_tokens + 1)):
            dearest = max(prices.get(bucket, 0) for bucket in INPUT_BUCKETS)
            amount = max(amount, input_tokens * dearest + output * prices.get("output", 0))
        units = sum(price for name, price in self._row.units.items() if name != REPORTED_COST)
        return -(-amount // TOKENS_PER_PRICE) + units

    def cost(self, usage: Usage, service_tier: str = "") -> int | None:
        """Tell what `usage` costs in nanodollars; None when a tier, bucket or unit in it has no price.

        What the provider says that it charged is the bill, unless it is nothing, or rounding alone explains why it
        differs from what we count.
        """
        if not self._row.metered:
            return 0
        counted = self._counted(usage, service_tier)
        reported = usage.units.get(REPORTED_COST) if self._row.reports_cost else None
        if not reported:
            return counted
        rounded = counted is not None and abs(reported - counted) <= self._row.reported_cost_rounding
        return counted if rounded else reported

    def _counted(self, usage: Usage, service_tier: str) -> int | None:
        units = self._units(usage)
        if units is None:
            return None
        now = self._clock.now()
        if service_tier.casefold() not in BASE_TIERS:
            priced: Iterable[Prices | None] = [self._row.service_tiers.get(service_tier.casefold())]
        else:
            total = usage.input + usage.cached_input + usage.cache_write_short + usage.cache_write_long
            priced = self._possible(now - LONGEST_CALL, now, range(total, total + 1))
        amounts = [None if prices is None else _amount(usage, prices) for prices in priced]
        known = [amount for amount in amounts if amount is not None]
        if len(known) < len(amounts):
            return None
        return -(-max(known) // TOKENS_PER_PRICE) + units

    def _units(self, usage: Usage) -> int | None:
        counted = {name: count for name, count in usage.units.items() if count and name != REPORTED_COST}
        if counted.keys() - self._row.units.keys():
            return None
        return sum(count * self._row.units[name] for name, count in counted.items())

    def _possible(self, first: datetime, last: datetime, totals: range) -> list[Prices]:
        """List the price tables that may hold for a call between two instants whose input is in `totals`."""
        if self._row.tiers:
            starts = [0, *(tier.input_from for tier in self._row.tiers)]
            tables = [self._row.prices, *(tier.prices for tier in self._row.tiers)]
            ends = [*starts[1:], totals.stop]
            return [
                table
                for start, end, table in zip(starts, ends, tables, strict=True)
                if max(start, totals.start) < min(end, totals.stop)
            ] or [tables[0]]
        if not self._row.periods:
            return [self._row.prices]
        marks = {first, last, *(mark for mark in _hours_between(first, last))}
        return [self._at(mark) for mark in sorted(marks)]

    def _at(self, instant: datetime) -> Prices:
        found = self._row.prices
        for period in self._row.periods:
            if _holds(period, instant):
                found = period.prices
        return found


def _hours_between(first: datetime, last: datetime) -> list[datetime]:
    mark = last.replace(minute=0, second=0, microsecond=0)
    return [mark] if first < mark else []


def _holds(period: Period, instant: datetime) -> bool:
    if period.starts is not None:
        return instant.date() >= period.starts
    hours = period.hours
    return hours is not None and hours[0] <= instant.hour < hours[1]


def _amount(usage: Usage, prices: Prices) -> int | None:
    """Sum tokens times price, before the division; None when a used bucket has no price."""
    amount = 0
    for bucket in TOKEN_BUCKETS:
        count = getattr(usage, bucket)
        price = prices.get("output" if bucket == "reasoning" else bucket)
        if count and price is None:
            return None
        amount += count * (price or 0)
    return amount
