"""The history checker finds what it is made to find."""

from __future__ import annotations

from tests.torture.history import Done, check


def entry(number, kind, name, ceiling, amount=0):
    return {
        "entry_number": number,
        "kind": kind,
        "reservation_id": f"id-{name}",
        "key": name,
        "ceiling_nanousd": ceiling,
        "amount_nanousd": amount,
    }


ROWS = [entry(1, "reserve", "a", 60), entry(2, "settle", "a", 60, 50), entry(3, "reserve", "b", 50)]


def reserve(key, told, began, ended, amount):
    return Done("reserve", told, began, ended, key=key, identity=f"id-{key}", amount=amount)


def settle(key, told, began, ended, amount):
    return Done("settle", told, began, ended, identity=f"id-{key}", amount=amount)


GOOD = [
    reserve("a", "ok", 0, 1, 60),
    settle("a", "ok", 2, 3, 50),
    reserve("b", "ok", 4, 5, 50),
    reserve("c", "exhausted", 6, 7, 1),
    Done("read", "ok", 4, 5, seen=(50, 0)),
    reserve("d", "unknown", 0, 9, 60),
]


def test_a_serial_history_is_right():
    assert check(GOOD, ROWS, 100) == []


def test_a_lost_acknowledgement_is_found():
    assert check([*GOOD, reserve("lost", "ok", 8, 9, 1)], ROWS, 100)


def test_a_stale_read_is_found():
    assert check([*GOOD, Done("read", "ok", 8, 9, seen=(0, 60))], ROWS, 100)


def test_a_false_refusal_is_found():
    assert check([*GOOD, reserve("c", "exhausted", 3.5, 3.6, 50)], ROWS, 100)


def test_an_order_against_time_is_found():
    late = [reserve("b", "ok", 0, 1, 50), reserve("a", "ok", 2, 3, 60)]
    assert check(late, ROWS, 100)


def test_an_overspend_is_found():
    assert check(GOOD, ROWS, 99)


def test_an_ending_that_the_ledger_does_not_have_is_found():
    assert check([*GOOD, settle("b", "ok", 8, 9, 1)], ROWS, 100)


def test_two_endings_are_found():
    assert check(GOOD, [*ROWS, entry(4, "void", "a", 60)], 200)
