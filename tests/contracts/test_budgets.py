"""Windows of budgets, and what is refused, over every state store."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from ai_server.storage.ledger_contract import Budget, BudgetScope, Period, ScopeKind
from shared.errors import BudgetExhausted, InvalidRequest
from tests.contracts.builders import NOW, PROJECT, USER, at_cost, call, figures, project_budget


async def test_a_settlement_after_midnight_stays_in_the_window_of_admission(ledger):
    reserved = await ledger.reserve(call(), [])
    tomorrow = NOW + timedelta(days=1)
    await ledger.settle(reserved.new.reservation_id, at_cost(7, at=tomorrow))
    assert await figures(ledger) == (7, 0, 93)
    assert await figures(ledger, now=tomorrow) == (0, 0, 100)


async def test_a_budget_rolls_at_local_midnight_to_the_second(store):
    """CASES.md A11: https://github.com/BerriAI/litellm/issues/34896"""
    ledger = store.ledger
    budget = project_budget(10, period=Period.MONTHLY, time_zone="Asia/Tokyo")
    await ledger.put_budget(budget, NOW, seed=True)
    midnight = datetime(2026, 11, 30, 15, 0, tzinfo=UTC)
    await ledger.reserve(call("a", 10, created_at=midnight - timedelta(seconds=1)), [])
    with pytest.raises(BudgetExhausted) as refused:
        await ledger.reserve(call("b", 10, created_at=midnight - timedelta(microseconds=1)), [])
    assert refused.value.resets_at == midnight
    await ledger.reserve(call("b", 10, created_at=midnight), [])


async def test_a_changed_zone_takes_effect_at_the_next_roll(ledger):
    await ledger.reserve(call("a", 100), [])
    await ledger.put_budget(project_budget(100, time_zone="Pacific/Auckland"), NOW, seed=False)
    with pytest.raises(BudgetExhausted):
        await ledger.reserve(call("b"), [])
    await ledger.reserve(call("b", created_at=NOW + timedelta(days=1)), [])


async def test_a_refused_call_fixes_no_window(ledger):
    """Found by P8, seed 13: a refusal left an empty window behind, which then outlived a change of zone."""
    await ledger.put_budget(Budget(USER, Period.DAILY, 1), NOW, seed=True)
    with pytest.raises(BudgetExhausted):
        await ledger.reserve(call("a", 100), [])
    await ledger.put_budget(project_budget(100, time_zone="Asia/Tokyo"), NOW, seed=False)
    balance = await ledger.balance(PROJECT, Period.DAILY, NOW)
    assert balance.resets_at == datetime(2026, 11, 30, 15, tzinfo=UTC)


async def test_a_clock_set_back_charges_the_earlier_window(ledger):
    await ledger.reserve(call("a", 100), [])
    yesterday = NOW - timedelta(days=1)
    await ledger.reserve(call("b", 100, created_at=yesterday), [])
    with pytest.raises(BudgetExhausted):
        await ledger.reserve(call("c", created_at=yesterday), [])


@pytest.mark.parametrize(
    "change",
    [
        {"ceiling": -1},
        {"ceiling": 10**15 + 1},
        {"key": ""},
        {"project_id": ""},
        {"model": "x" * 513},
        {"user": "a\0b"},
        {"user": "\ud800"},
    ],
)
async def test_a_call_that_no_ledger_can_hold_is_refused_by_field(ledger, change):
    with pytest.raises(InvalidRequest):
        await ledger.reserve(call(**change), [])
    assert await figures(ledger) == (0, 0, 100)


@pytest.mark.parametrize("cost", [-1, 10**15 + 1, 2**63])
async def test_an_impossible_cost_is_refused(ledger, cost):
    reserved = await ledger.reserve(call(), [])
    with pytest.raises(InvalidRequest):
        await ledger.settle(reserved.new.reservation_id, at_cost(cost))
    assert await figures(ledger) == (0, 10, 90)


@pytest.mark.parametrize(
    "budget",
    [
        project_budget(-1),
        project_budget(2**62 + 1),
        project_budget(1, time_zone="Mars/Olympus"),
        project_budget(1, time_zone="../../etc/passwd"),
        project_budget(1, alert_share=1.5),
        project_budget(1, alert_share=float("nan")),
        project_budget(1, scope=BudgetScope(ScopeKind.PROJECT)),
        project_budget(1, scope=BudgetScope(ScopeKind.USER, "demo")),
        project_budget(1, scope=BudgetScope(ScopeKind.GLOBAL, "demo")),
    ],
)
async def test_a_budget_that_cannot_be_kept_is_refused(ledger, budget):
    with pytest.raises(InvalidRequest):
        await ledger.put_budget(budget, NOW, seed=False)


async def test_balances_list_every_budget_newest_first(ledger):
    await ledger.put_budget(Budget(USER, Period.MONTHLY, 5), NOW, seed=True)
    await ledger.reserve(call(ceiling=2), [])
    listed = await ledger.balances(NOW)
    assert [(each.budget.scope, each.open_hold_nanousd) for each in listed] == [(USER, 2), (PROJECT, 2)]
    assert listed[0] == await ledger.balance(USER, Period.MONTHLY, NOW)
    assert await ledger.balance(USER, Period.DAILY, NOW) is None
