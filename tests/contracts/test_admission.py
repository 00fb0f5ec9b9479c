"""Admission to a budget, over every state store."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

from ai_server.storage.ledger_contract import Budget, BudgetScope, Period, ReservationState, ScopeKind
from shared.errors import BudgetExhausted
from shared.usage import Usage
from tests.contracts.builders import NOW, PROJECT, USER, at_cost, call, figures, project_budget


async def test_a_reservation_takes_its_ceiling_and_a_settlement_only_its_cost(ledger):
    reserved = await ledger.reserve(call(), [])
    assert reserved.state is ReservationState.PENDING
    assert await figures(ledger) == (0, 10, 90)
    settled = await ledger.settle(reserved.new.reservation_id, at_cost(7))
    assert (settled.state, settled.cost_nanousd, settled.usage) == (
        ReservationState.SETTLED,
        7,
        Usage(input=3, output=4),
    )
    assert await figures(ledger) == (7, 0, 93)


async def test_a_voided_reservation_gives_all_back(ledger):
    reserved = await ledger.reserve(call(), [])
    voided = await ledger.void(reserved.new.reservation_id, "the call did not start", NOW)
    assert (voided.state, voided.cost_nanousd) == (ReservationState.VOIDED, None)
    assert await figures(ledger) == (0, 0, 100)


async def test_the_last_nanodollar_can_be_spent_and_not_one_more(ledger):
    await ledger.reserve(call("a", 100), [])
    with pytest.raises(BudgetExhausted):
        await ledger.reserve(call("b", 1), [])
    assert await figures(ledger) == (0, 100, 0)


async def test_a_refusal_names_the_reset_time(ledger):
    await ledger.reserve(call("a", 95), [])
    with pytest.raises(BudgetExhausted) as refused:
        await ledger.reserve(call("b", 10), [])
    assert refused.value.resets_at == datetime(2026, 12, 1, tzinfo=UTC)


async def test_a_call_that_no_window_can_ever_hold_names_no_reset_time(ledger):
    with pytest.raises(BudgetExhausted) as refused:
        await ledger.reserve(call("a", 101), [])
    assert refused.value.resets_at is None


async def test_a_free_call_is_admitted_when_everything_is_spent(ledger):
    await ledger.reserve(call("a", 100), [])
    free = await ledger.reserve(call("b", 0), [])
    assert free.state is ReservationState.PENDING


async def test_paid_work_without_a_project_budget_is_refused(store):
    with pytest.raises(BudgetExhausted) as refused:
        await store.ledger.reserve(call(), [])
    assert refused.value.resets_at is None
    free = await store.ledger.reserve(call("free", 0), [])
    await store.ledger.settle(free.new.reservation_id, at_cost(0))


@pytest.mark.parametrize(
    "scope",
    [
        BudgetScope(ScopeKind.GLOBAL),
        PROJECT,
        BudgetScope(ScopeKind.ASSISTANT, "demo", assistant="documents"),
        USER,
    ],
    ids=lambda scope: scope.kind.value,
)
@pytest.mark.parametrize("period", list(Period))
async def test_every_budget_that_exists_is_checked(ledger, scope, period):
    await ledger.put_budget(Budget(scope, period, 5), NOW, seed=False)
    with pytest.raises(BudgetExhausted):
        await ledger.reserve(call(ceiling=6), [])
    await ledger.reserve(call(ceiling=5), [])
    assert await figures(ledger, scope, period) == (0, 5, 0)


async def test_budgets_of_others_are_not_touched(ledger):
    others = [
        BudgetScope(ScopeKind.PROJECT, "other"),
        BudgetScope(ScopeKind.ASSISTANT, "demo", assistant="chat"),
        BudgetScope(ScopeKind.USER, "demo", user="bob"),
        BudgetScope(ScopeKind.USER, "other", user="ada"),
    ]
    for scope in others:
        await ledger.put_budget(Budget(scope, Period.DAILY, 0), NOW, seed=False)
    await ledger.reserve(call(), [])
    for scope in others:
        assert await figures(ledger, scope) == (0, 0, 0)


async def test_a_call_without_assistant_or_user_meets_only_wider_budgets(ledger):
    await ledger.put_budget(Budget(USER, Period.DAILY, 0), NOW, seed=False)
    await ledger.reserve(call(assistant="", user=""), [])
    assert await figures(ledger) == (0, 10, 90)


async def test_eight_first_calls_of_a_new_user_meet_the_budget_made_for_them(ledger):
    """CASES.md A2: https://github.com/BerriAI/litellm/issues/40095"""
    default = Budget(USER, Period.DAILY, 9)
    outcomes = await asyncio.gather(
        *(ledger.reserve(call(f"k{number}"), [default]) for number in range(8)), return_exceptions=True
    )
    assert [type(each) for each in outcomes] == [BudgetExhausted] * 8
    assert await figures(ledger, USER) == (0, 0, 9)


async def test_of_eight_racers_for_one_call_exactly_one_is_admitted(ledger):
    """CASES.md A1: https://github.com/BerriAI/litellm/issues/34732"""
    outcomes = await asyncio.gather(
        *(ledger.reserve(call(f"k{number}", 100), []) for number in range(8)), return_exceptions=True
    )
    assert sorted(type(each).__name__ for each in outcomes) == ["BudgetExhausted"] * 7 + ["Reservation"]


async def test_an_existing_budget_is_kept_by_seeding_and_changed_by_setting(ledger):
    await ledger.put_budget(project_budget(1), NOW, seed=True)
    assert await figures(ledger) == (0, 0, 100)
    await ledger.reserve(call(), [project_budget(2)])
    assert await figures(ledger) == (0, 10, 90)
    await ledger.put_budget(project_budget(4, alert_share=0.5), NOW, seed=False)
    assert await figures(ledger) == (0, 10, -6)
