"""Windows of a budget: whole local days or months, told as UTC instants.

A day begins at the first instant whose local date is that day or later. So a midnight that a clock change skips is
the instant of the change, and a midnight that comes twice counts once.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

from ai_server.storage.ledger_contract import Period
from shared.errors import InvalidRequest

ONE_DAY: Final = timedelta(days=1)
MARGIN: Final = timedelta(hours=26)
"""More than the largest jump of any zone (24 h, Samoa and Kwajalein crossing the date line)."""

CACHED_WINDOWS: Final = 1024


@dataclass(frozen=True, slots=True)
class Window:
    """Holds instants `starts_at ≤ t < ends_at`, aware UTC."""

    starts_at: datetime
    ends_at: datetime


def zone(name: str) -> ZoneInfo:
    """Find an IANA zone.

    Raises:
        InvalidRequest: there is none of that name.
    """
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        problem = f"{name!r} is not an IANA time zone such as Europe/Paris"
        raise InvalidRequest.of("time_zone", problem) from error


def window_at(period: Period, time_zone: str, instant: datetime) -> Window:
    """Give the window that holds `instant` (aware)."""
    where = zone(time_zone)
    first = _first_date(period, _date_at(where, instant))
    window = _window(period, time_zone, first)
    if not window.starts_at <= instant < window.ends_at:
        raise AssertionError(f"{instant} is outside its own window {window}")
    return window


@lru_cache(maxsize=CACHED_WINDOWS)
def _window(period: Period, time_zone: str, first: date) -> Window:
    where = zone(time_zone)
    starts_at = _start_of(where, first)
    after = _next_first(period, first)
    while _start_of(where, after) <= starts_at:  # a local date that never was
        after = _next_first(period, after)
    return Window(starts_at, _start_of(where, after))


def _date_at(where: ZoneInfo, instant: datetime) -> date:
    """Tell the latest date that has begun: once begun, a clock set back over midnight does not take it back."""
    local = instant.astimezone(where).date()
    while _start_of(where, local + ONE_DAY) <= instant:
        local += ONE_DAY
    return local


def _first_date(period: Period, day: date) -> date:
    return day if period is Period.DAILY else day.replace(day=1)


def _next_first(period: Period, first: date) -> date:
    return first + ONE_DAY if period is Period.DAILY else (first + timedelta(days=31)).replace(day=1)


@lru_cache(maxsize=CACHED_WINDOWS)
def _start_of(where: ZoneInfo, day: date) -> datetime:
    """Find the first instant whose local date is `day` or later."""
    midnight = datetime.combine(day, time(), where)  # fold 0: the first of two
    start = midnight.astimezone(UTC)
    if start.astimezone(where).replace(tzinfo=None) == midnight.replace(tzinfo=None):
        return start
    early, late = start - MARGIN, start + MARGIN  # midnight was skipped: find the change to the second
    while late - early > timedelta(seconds=1):
        middle = early + timedelta(seconds=(late - early) // timedelta(seconds=2))
        early, late = (early, middle) if middle.astimezone(where).date() >= day else (middle, late)
    return late
