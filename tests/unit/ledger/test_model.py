"""Rules of paid calls."""

from __future__ import annotations

from types import MappingProxyType

import pytest

from ai_server.ledger import model
from ai_server.ledger.contract import Payer, Quote
from ai_server.ledger.model import BudgetSeed, Ending
from ai_server.storage.ledger_contract import Balance, Budget, BudgetScope, Period, ScopeKind
from shared.errors import InvalidRequest
from shared.usage import Usage
from tests.contracts.builders import NOW, PROJECT, USER

USED = Usage(input=10, output=5)


def quote(ceiling=100, *, metered=True):
    return Quote("answer", "fake", "fake-1", "standard", "v1", ceiling, metered)


@pytest.mark.parametrize(
    ("usage", "cost", "expected"),
    [
        (USED, 40, Ending(40, estimated=False, usage=USED)),
        (USED, 140, Ending(140, estimated=False, usage=USED)),
        (None, None, Ending(100, estimated=True, usage=None)),
        (None, 40, Ending(100, estimated=True, usage=None)),
        (USED, None, Ending(100, estimated=True, usage=USED)),
        (USED, 0, Ending(100, estimated=True, usage=USED)),
        (USED, -1, Ending(100, estimated=True, usage=USED)),
        (USED, 10**15 + 1, Ending(100, estimated=True, usage=USED)),
        (Usage(), 0, Ending(0, estimated=False, usage=Usage())),
    ],
)
def test_what_is_not_surely_known_costs_the_ceiling(usage, cost, expected):
    assert model.ending(quote(), usage, cost) == expected


def test_counted_units_count_as_use():
    searched = Usage(units=MappingProxyType({"searches": 1}))
    assert model.ending(quote(), searched, 0).estimated


@pytest.mark.parametrize("usage", [None, USED])
def test_a_free_call_costs_nothing_whatever_is_said(usage):
    assert model.ending(quote(0, metered=False), usage, None) == Ending(0, estimated=False, usage=usage)


@pytest.mark.parametrize(("ceiling", "metered"), [(0, True), (-1, True), (1, False)])
def test_a_quote_that_mixes_free_and_paid_is_refused(ceiling, metered):
    with pytest.raises(InvalidRequest):
        model.check_quote(quote(ceiling, metered=metered))


@pytest.mark.parametrize(
    ("room", "expected"), [(1000, 100), (510, 100), (509, 99), (60, 10), (59, None), (0, None), (-5, None)]
)
def test_the_largest_cap_that_fits_is_found(room, expected):
    assert model.lowered_cap(room, lambda cap: 10 + 5 * cap, asked=100, least=10) == expected


def test_a_cap_that_does_not_bind_cannot_be_lowered():
    assert model.lowered_cap(499, lambda cap: max(500, cap), asked=100, least=1) is None


def test_a_least_cap_above_the_asked_one_finds_nothing():
    assert model.lowered_cap(10**9, lambda cap: cap, asked=5, least=6) is None


def balance(scope=PROJECT, limit=100, settled=0, opened=0, **changes):
    fields = {"held_nanousd": 0, "estimated_nanousd": 0, "closed_by_overrun": False}
    budget = Budget(scope, Period.DAILY, limit, alert_share=changes.pop("alert_share", 0.8))
    return Balance(budget, NOW, NOW, settled, opened, **{**fields, **changes})


def test_room_is_the_least_of_all_budgets_and_none_without_a_project_budget():
    assert model.room([balance(limit=50), balance(USER, limit=20, opened=5)]) == 15
    assert model.room([balance(USER)]) == 0
    assert model.room([balance(limit=5, settled=9)]) == 0
    assert model.room([balance(), balance(USER, closed_by_overrun=True)]) == 0


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"settled": 79}, False),
        ({"settled": 80}, True),
        ({"settled": 40, "opened": 40}, True),
        ({"settled": 100, "alert_share": 0.0}, False),
        ({"closed_by_overrun": True, "alert_share": 0.0}, True),
        ({"limit": 0}, False),
        ({"limit": 0, "settled": 1}, True),
    ],
)
def test_an_alert_is_raised_at_the_share_of_the_limit(changes, expected):
    assert model.alerts(balance(**changes)) is expected


def test_the_estimated_share_is_a_share_of_what_was_settled():
    assert model.estimated_share(balance(settled=80, estimated_nanousd=20)) == 0.25
    assert model.estimated_share(balance()) == 0.0


@pytest.mark.parametrize(
    ("seed", "scope"),
    [
        (BudgetSeed(ScopeKind.GLOBAL, Period.DAILY, 1), BudgetScope(ScopeKind.GLOBAL)),
        (BudgetSeed(ScopeKind.PROJECT, Period.DAILY, 1), PROJECT),
        (
            BudgetSeed(ScopeKind.ASSISTANT, Period.DAILY, 1, assistant="chat"),
            BudgetScope(ScopeKind.ASSISTANT, "demo", assistant="chat"),
        ),
        (BudgetSeed(ScopeKind.USER, Period.DAILY, 1), USER),
        (
            BudgetSeed(ScopeKind.USER, Period.DAILY, 1, user="anonymous"),
            BudgetScope(ScopeKind.USER, "demo", user="anonymous"),
        ),
    ],
)
def test_a_seed_makes_the_budget_of_its_scope(seed, scope):
    assert seed.budget("demo", "ada") == Budget(scope, Period.DAILY, 1)
    assert seed.is_template is (scope == USER)


def test_scopes_of_a_payer_leave_out_what_is_not_named():
    kinds = [each.kind for each in model.scopes_of_payer(Payer("demo", "", ""))]
    assert kinds == [ScopeKind.GLOBAL, ScopeKind.PROJECT]
    assert len(model.scopes_of_payer(Payer("demo", "chat", "ada"))) == 4
