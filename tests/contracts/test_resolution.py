"""How reservations end, once, over every state store."""

from __future__ import annotations

from datetime import timedelta
from types import MappingProxyType

import pytest

from ai_server.storage.ledger_contract import Period, ReservationState
from shared.errors import AlreadyResolved, BudgetExhausted, IdempotencyConflict, InvalidRequest, NotFound
from shared.ids import new_id
from shared.usage import Usage
from tests.contracts.builders import NOW, PROJECT, at_cost, call, figures


async def test_the_same_key_and_body_is_one_reservation(ledger):
    first = await ledger.reserve(call(), [])
    again = await ledger.reserve(call(created_at=NOW + timedelta(seconds=5)), [])
    assert again == first
    assert await figures(ledger) == (0, 10, 90)


async def test_a_repeated_key_tells_the_reservation_as_it_is_now(ledger):
    first = await ledger.reserve(call(), [])
    settled = await ledger.settle(first.new.reservation_id, at_cost(3))
    assert await ledger.reserve(call(), []) == settled


@pytest.mark.parametrize(
    "change", [{"ceiling": 11}, {"model": "fake-2"}, {"user": "bob"}, {"project_id": "other"}, {"price_version": "x"}]
)
async def test_the_same_key_with_another_body_is_a_conflict(ledger, change):
    await ledger.reserve(call(), [])
    with pytest.raises(IdempotencyConflict):
        await ledger.reserve(call(**change), [])


async def test_settling_twice_alike_is_one_settlement(ledger):
    reserved = await ledger.reserve(call(), [])
    first = await ledger.settle(reserved.new.reservation_id, at_cost(7))
    again = await ledger.settle(reserved.new.reservation_id, at_cost(7, at=NOW + timedelta(seconds=9)))
    assert again == first
    assert await figures(ledger) == (7, 0, 93)


@pytest.mark.parametrize("late", [{"cost": 8}, {"cost": 7, "usage": None}, {"cost": 7, "estimated": True}])
async def test_another_cost_after_a_settlement_is_refused(ledger, late):
    reserved = await ledger.reserve(call(), [])
    await ledger.settle(reserved.new.reservation_id, at_cost(7))
    with pytest.raises(AlreadyResolved):
        await ledger.settle(reserved.new.reservation_id, at_cost(**late))
    assert await figures(ledger) == (7, 0, 93)


async def test_a_void_after_a_settlement_is_refused(ledger):
    reserved = await ledger.reserve(call(), [])
    await ledger.settle(reserved.new.reservation_id, at_cost(7))
    with pytest.raises(AlreadyResolved):
        await ledger.void(reserved.new.reservation_id, "", NOW)
    assert await figures(ledger) == (7, 0, 93)


async def test_another_ending_after_a_void_is_refused(ledger):
    reserved = await ledger.reserve(call(), [])
    identity = reserved.new.reservation_id
    voided = await ledger.void(identity, "refused", NOW)
    assert await ledger.void(identity, "refused", NOW + timedelta(seconds=1)) == voided
    with pytest.raises(AlreadyResolved):
        await ledger.void(identity, "another reason", NOW)
    with pytest.raises(AlreadyResolved):
        await ledger.settle(identity, at_cost(0))


async def test_an_unknown_reservation_cannot_end(ledger):
    with pytest.raises(NotFound):
        await ledger.settle(new_id(NOW), at_cost(1))
    with pytest.raises(NotFound):
        await ledger.void(new_id(NOW), "", NOW)


async def test_what_was_pending_at_start_is_held_and_resolved_once(ledger):
    reserved = await ledger.reserve(call(), [])
    identity = reserved.new.reservation_id
    assert await ledger.hold_pending(NOW) == 1
    assert await ledger.hold_pending(NOW) == 0
    balance = await ledger.balance(PROJECT, Period.DAILY, NOW)
    assert (balance.open_hold_nanousd, balance.held_nanousd, balance.available_nanousd) == (10, 10, 90)
    [listed] = await ledger.reservations("demo", ReservationState.HELD, 10, "")
    assert listed.new.reservation_id == identity
    await ledger.settle(identity, at_cost(4))
    with pytest.raises(AlreadyResolved):
        await ledger.void(identity, "late", NOW)
    balance = await ledger.balance(PROJECT, Period.DAILY, NOW)
    assert (balance.settled_nanousd, balance.open_hold_nanousd, balance.held_nanousd) == (4, 0, 0)


async def test_an_overrun_is_recorded_in_full_and_closes_its_budgets_until_acknowledged(ledger):
    reserved = await ledger.reserve(call(), [])
    settled = await ledger.settle(reserved.new.reservation_id, at_cost(25))
    assert (settled.cost_nanousd, settled.overrun_nanousd) == (25, 15)
    balance = await ledger.balance(PROJECT, Period.DAILY, NOW)
    assert (balance.settled_nanousd, balance.closed_by_overrun) == (25, True)
    with pytest.raises(BudgetExhausted) as refused:
        await ledger.reserve(call("next", 1), [])
    assert refused.value.resets_at is None
    await ledger.reserve(call("free", 0), [])
    await ledger.acknowledge_overrun(PROJECT, NOW)
    await ledger.reserve(call("next", 1), [])


async def test_an_overrun_past_the_limit_shows_as_negative_room(ledger):
    reserved = await ledger.reserve(call(), [])
    await ledger.settle(reserved.new.reservation_id, at_cost(130))
    assert await figures(ledger) == (130, 0, -30)


async def test_estimates_are_summed_apart(ledger):
    for key, estimated in (("a", True), ("b", False)):
        reserved = await ledger.reserve(call(key), [])
        await ledger.settle(reserved.new.reservation_id, at_cost(10, estimated=estimated, usage=None))
    balance = await ledger.balance(PROJECT, Period.DAILY, NOW)
    assert (balance.settled_nanousd, balance.estimated_nanousd) == (20, 10)


async def test_usage_with_units_comes_back_equal(ledger):
    usage = Usage(1, 2, 3, 4, 5, 6, MappingProxyType({"searches": 2}))
    reserved = await ledger.reserve(call(), [])
    settled = await ledger.settle(reserved.new.reservation_id, at_cost(1, usage=usage))
    assert (await ledger.reserve(call(), [])).usage == settled.usage == usage


async def test_reservations_are_listed_newest_first_by_page_and_state(ledger):
    made = [await ledger.reserve(call(f"k{number}", 1), []) for number in range(5)]
    ids = [each.new.reservation_id for each in made]
    await ledger.settle(ids[1], at_cost(1))
    await ledger.void(ids[3], "", NOW)

    async def listed(state=None, limit=10, before="", project="demo"):
        return [each.new.reservation_id for each in await ledger.reservations(project, state, limit, before)]

    assert await listed() == ids[::-1]
    assert await listed(limit=2) == [ids[4], ids[3]]
    assert await listed(limit=2, before=ids[3]) == [ids[2], ids[1]]
    assert await listed(ReservationState.SETTLED) == [ids[1]]
    assert await listed(ReservationState.VOIDED) == [ids[3]]
    assert await listed(ReservationState.PENDING) == [ids[4], ids[2], ids[0]]
    assert await listed(project="other") == []
    with pytest.raises(NotFound):
        await listed(before=new_id(NOW))
    with pytest.raises(InvalidRequest):
        await listed(limit=0)


async def test_counts_tell_how_much_there_is_to_audit(ledger):
    reserved = await ledger.reserve(call(), [])
    await ledger.settle(reserved.new.reservation_id, at_cost(1))
    counts = await ledger.counts()
    assert (counts.entry_count, counts.reservation_count) == (2, 1)
