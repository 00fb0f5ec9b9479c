"""P12 for budgets: in every IANA zone each local day and month is one window, which rolls at local midnight.

The oracle walks the zone minute by minute over each change of offset and by the hour between, and shares nothing with
`ai_server.storage.windows`.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo, available_timezones

from ai_server.storage.ledger_contract import Period
from ai_server.storage.windows import window_at
from tests.torture.figure import Figure

PROMISE = "every local day and month of every zone is one window, 0 skipped, 0 doubled, roll error 0 s"
FULL = 10_000
SHORT = 4
FIRST, LAST = datetime(2024, 1, 1, tzinfo=UTC), datetime(2029, 1, 1, tzinfo=UTC)
HISTORY = (
    ("Pacific/Apia", datetime(2011, 12, 25, tzinfo=UTC), datetime(2012, 1, 5, tzinfo=UTC)),
    ("America/St_Johns", datetime(2010, 10, 1, tzinfo=UTC), datetime(2011, 12, 1, tzinfo=UTC)),
    ("America/Sao_Paulo", datetime(2016, 1, 1, tzinfo=UTC), datetime(2019, 6, 1, tzinfo=UTC)),
    ("Asia/Beirut", datetime(2019, 1, 1, tzinfo=UTC), datetime(2023, 6, 1, tzinfo=UTC)),
    ("America/Havana", datetime(2019, 1, 1, tzinfo=UTC), datetime(2021, 1, 1, tzinfo=UTC)),
    ("Asia/Pyongyang", datetime(2015, 1, 1, tzinfo=UTC), datetime(2018, 12, 1, tzinfo=UTC)),
)
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


async def run(n: int, seed: int) -> Figure:
    """Check up to `n` zones, from the `seed`th in alphabetical order; with the first, the known awkward years."""
    zones = sorted(available_timezones())
    chosen = (zones[seed - 1 :] + zones[: seed - 1])[: min(n, len(zones))]
    awkward = HISTORY if zones[0] in chosen else ()
    failures: list[str] = []
    windows = 0
    for name, first, last in [*((each, FIRST, LAST) for each in chosen), *awkward]:
        found = starts(ZoneInfo(name), first, last)
        windows += len(found)
        failures += [f"{name}: {fault}" for fault in compare(name, found)]
    return Figure(len(chosen) + len(awkward), f"zones {chosen[0]} … {chosen[-1]}", failures, {"windows": windows})


def starts(zone: ZoneInfo, first: datetime, last: datetime) -> list[tuple[date, datetime]]:
    """Find, by looking at every hour and at every minute of an hour that changes, when each local date begins."""
    found: list[tuple[date, datetime]] = []
    latest = first.astimezone(zone).date()
    at, offset = first, first.astimezone(zone).utcoffset()
    while at < last:
        after = at + HOUR
        there = after.astimezone(zone)
        if there.date() > latest or there.utcoffset() != offset:
            offset = there.utcoffset()
            for minute in range(1, 61):
                instant = at + minute * MINUTE
                local = instant.astimezone(zone).date()
                if local > latest:
                    latest = local
                    found.append((local, instant))
        at = after
    return found


def compare(name: str, found: list[tuple[date, datetime]]) -> list[str]:
    """Ask for the window just before, at and inside each start."""
    faults: list[str] = []
    microsecond = timedelta(microseconds=1)
    for (day, start), (_, end) in pairwise(found):
        for instant in (start, start + (end - start) / 2, end - microsecond):
            window = window_at(Period.DAILY, name, instant)
            if (window.starts_at, window.ends_at) != (start, end):
                faults.append(f"the day {day} is {window}, the zone says {start} to {end}")
    months = [each for number, each in enumerate(found) if number and each[0].month != found[number - 1][0].month]
    for (day, start), (_, end) in pairwise(months):
        for instant in (start, end - microsecond):
            window = window_at(Period.MONTHLY, name, instant)
            if (window.starts_at, window.ends_at) != (start, end):
                faults.append(f"the month of {day} is {window}, the zone says {start} to {end}")
    return faults
