"""P12: windows roll at local midnight in every zone, clock changes included."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from ai_server.storage.ledger_contract import Period
from ai_server.storage.windows import window_at
from shared.errors import InvalidRequest


def at(*parts):
    return datetime(*parts, tzinfo=UTC)


def day(zone, instant):
    return window_at(Period.DAILY, zone, instant)


def test_a_day_in_paris_is_23_hours_when_summer_time_begins():
    window = day("Europe/Paris", at(2026, 3, 29, 12))
    assert (window.starts_at, window.ends_at) == (at(2026, 3, 28, 23), at(2026, 3, 29, 22))


def test_a_day_in_paris_is_25_hours_when_summer_time_ends():
    window = day("Europe/Paris", at(2026, 10, 25, 12))
    assert (window.starts_at, window.ends_at) == (at(2026, 10, 24, 22), at(2026, 10, 25, 23))


def test_a_midnight_that_is_skipped_is_the_instant_of_the_change():
    """Cairo, 2024-04-26: 00:00 became 01:00 (tzdata africa)."""
    window = day("Africa/Cairo", at(2024, 4, 26, 12))
    assert window.starts_at == at(2024, 4, 25, 22)
    assert window.starts_at.astimezone(ZoneInfo("Africa/Cairo")).hour == 1


def test_a_midnight_inside_a_skipped_hour_is_the_instant_of_the_change():
    """Scoresbysund went from 23:00 Saturday to 00:00 Sunday, and Toronto in 1919 from 23:30 to 00:30."""
    window = day("America/Toronto", at(1919, 3, 31, 12))
    assert window.starts_at == at(1919, 3, 31, 4, 30)


def test_a_midnight_that_comes_twice_counts_once():
    """St. John's set its clocks back at 00:01 until 2011, so that Saturday came again for 59 minutes."""
    first = at(2010, 11, 7, 2, 30)
    sunday = day("America/St_Johns", first)
    assert sunday.starts_at == first
    assert day("America/St_Johns", first + timedelta(minutes=30)) == sunday
    assert day("America/St_Johns", first - timedelta(microseconds=1)).ends_at == first


def test_a_day_that_never_was_has_no_window():
    """Samoa had no 2011-12-30."""
    before = day("Pacific/Apia", at(2011, 12, 30, 9, 59))
    after = day("Pacific/Apia", at(2011, 12, 30, 10))
    assert before.ends_at == after.starts_at == at(2011, 12, 30, 10)
    assert after.starts_at.astimezone(ZoneInfo("Pacific/Apia")).date() == date(2011, 12, 31)


@pytest.mark.parametrize(
    ("instant", "start", "end"),
    [
        (at(2024, 2, 29, 12), at(2024, 2, 1), at(2024, 3, 1)),
        (at(2026, 2, 28, 23, 59, 59), at(2026, 2, 1), at(2026, 3, 1)),
        (at(2026, 12, 31), at(2026, 12, 1), at(2027, 1, 1)),
    ],
)
def test_months_have_their_own_lengths(instant, start, end):
    window = window_at(Period.MONTHLY, "UTC", instant)
    assert (window.starts_at, window.ends_at) == (start, end)


@pytest.mark.parametrize("name", ["", "Mars/Olympus", "../UTC", "/etc/localtime", "Europe/Paris\0", "x" * 5000])
def test_a_name_that_is_no_zone_is_refused(name):
    with pytest.raises(InvalidRequest) as refused:
        window_at(Period.DAILY, name, at(2026, 1, 1))
    assert refused.value.violations[0].field == "time_zone"
