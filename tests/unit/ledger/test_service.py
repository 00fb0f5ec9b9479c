"""The ledger's use cases over both stores' contract (the in-memory twin here)."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry

from ai_server.ledger import pricing_audit
from ai_server.ledger.contract import Payer, Quote
from ai_server.ledger.metrics import LedgerMetrics
from ai_server.ledger.model import BudgetSeed
from ai_server.ledger.service import Ledger, Reconciliation
from ai_server.ledger.sweeper import AWAY_SECONDS, Sweeper
from ai_server.storage.ledger_contract import Budget, BudgetScope, Period, ReservationState, ScopeKind
from ai_server.storage.requests_contract import RequestKey, StoredRequest
from shared.errors import AlreadyResolved, BudgetExhausted, NotFound
from shared.usage import Usage
from tests.fakes.clock import ManualClock
from tests.fakes.state_store import MemoryStateStore

PAYER = Payer("demo", "documents", "web:ada")
PROJECT = BudgetScope(ScopeKind.PROJECT, "demo")


def quote(ceiling=100, *, metered=True):
    return Quote("answer", "fake", "fake-1", "standard", "v1", ceiling, metered)


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def store():
    return MemoryStateStore()


@pytest.fixture
def registry():
    return CollectorRegistry()


@pytest.fixture
def metrics(registry):
    return LedgerMetrics(registry)


@pytest.fixture
async def ledger(store, clock, metrics):
    ledger = Ledger(store, clock, metrics)
    seeds = [
        BudgetSeed(ScopeKind.PROJECT, Period.MONTHLY, 1000),
        BudgetSeed(ScopeKind.USER, Period.DAILY, 150),
        BudgetSeed(ScopeKind.USER, Period.DAILY, 300, user="anonymous"),
    ]
    await ledger.seed("demo", seeds)
    return ledger


async def test_each_user_gets_the_template_budget_with_the_first_call(ledger):
    await ledger.reserve("k1", PAYER, quote())
    with pytest.raises(BudgetExhausted):
        await ledger.reserve("k2", PAYER, quote())
    await ledger.reserve("k3", Payer("demo", "documents", "web:bob"), quote())


async def test_anonymous_visitors_share_one_budget_of_their_own(ledger):
    anonymous = Payer("demo", "documents", "anonymous")
    for number in range(3):
        await ledger.reserve(f"k{number}", anonymous, quote())
    with pytest.raises(BudgetExhausted):
        await ledger.reserve("k3", anonymous, quote())


async def test_seeding_again_leaves_the_operators_limit_alone(ledger):
    await ledger.set_budget(Budget(PROJECT, Period.MONTHLY, 7))
    await ledger.seed("demo", [BudgetSeed(ScopeKind.PROJECT, Period.MONTHLY, 1000)])
    assert (await ledger.balance(PROJECT, Period.MONTHLY)).budget.limit_nanousd == 7


async def test_a_limit_below_what_is_spent_only_closes_the_budget(ledger):
    reserved = await ledger.reserve("k1", PAYER, quote())
    await ledger.settle(reserved.new.reservation_id, 90, estimated=False, usage=None)
    balance = await ledger.set_budget(Budget(PROJECT, Period.MONTHLY, 50))
    assert balance.available_nanousd == -40
    with pytest.raises(BudgetExhausted):
        await ledger.reserve("k2", Payer("demo", "", ""), quote(1))


async def test_a_budget_that_is_not_there_is_not_found(ledger):
    with pytest.raises(NotFound):
        await ledger.balance(BudgetScope(ScopeKind.GLOBAL), Period.DAILY)


async def test_metered_providers_need_a_project_budget(ledger):
    assert await ledger.has_project_budget("demo")
    assert not await ledger.has_project_budget("other")


async def test_room_and_lowered_cap_follow_the_tightest_budget(ledger):
    await ledger.reserve("k1", PAYER, quote(100))
    other = Payer("demo", "documents", "web:bob")
    assert await ledger.room(PAYER) == 50
    assert await ledger.room(other) == 900
    assert await ledger.lowered_cap(PAYER, lambda cap: 10 * cap, asked=50, least=2) == 5
    assert await ledger.lowered_cap(PAYER, lambda cap: 10 * cap, asked=50, least=6) is None


@pytest.mark.parametrize(
    ("known", "state", "cost", "estimated"),
    [
        ({"cost_nanousd": 30}, ReservationState.SETTLED, 30, False),
        ({"void": True}, ReservationState.VOIDED, None, False),
        ({}, ReservationState.SETTLED, 100, True),
    ],
)
async def test_a_held_reservation_is_reconciled_once(ledger, known, state, cost, estimated):
    reserved = await ledger.reserve("k1", PAYER, quote())
    identity = reserved.new.reservation_id
    assert await ledger.recover() == 1
    ended = await ledger.reconcile(Reconciliation(identity, **known))
    assert (ended.state, ended.cost_nanousd, ended.estimated) == (state, cost, estimated)
    assert await ledger.reconcile(Reconciliation(identity, **known)) == ended
    with pytest.raises(AlreadyResolved):
        await ledger.reconcile(Reconciliation(identity, cost_nanousd=99))


async def test_a_call_under_way_cannot_be_reconciled(ledger):
    reserved = await ledger.reserve("k1", PAYER, quote())
    with pytest.raises(AlreadyResolved):
        await ledger.reconcile(Reconciliation(reserved.new.reservation_id, void=True))
    with pytest.raises(NotFound):
        await ledger.reconcile(Reconciliation("unknown", void=True))


async def test_an_audit_tells_how_much_it_looked_at(ledger):
    await ledger.reserve("k1", PAYER, quote())
    report = await ledger.audit()
    assert (report.entry_count, report.reservation_count, report.findings) == (1, 1, ())


def value(registry, name, **labels):
    return registry.get_sample_value(name, labels)


async def test_metrics_show_limit_use_refusals_and_overruns(ledger, registry, metrics, store, clock):
    sweeper = Sweeper(store, ledger, clock, metrics)
    reserved = await ledger.reserve("k1", PAYER, quote())
    with pytest.raises(BudgetExhausted):
        await ledger.reserve("k2", PAYER, quote())
    await ledger.settle(reserved.new.reservation_id, 120, estimated=True, usage=None)
    await ledger.reserve("k3", Payer("demo", "", ""), quote(0, metered=False))
    await sweeper.refresh()
    project = {"scope": "project", "project": "demo", "assistant": "", "period": "monthly"}
    assert value(registry, "passeur_budget_limit_usd", **project) == 1000 / 10**9
    assert value(registry, "passeur_budget_settled_usd", **project) == 120 / 10**9
    assert value(registry, "passeur_budget_estimated_usd", **project) == 120 / 10**9
    assert value(registry, "passeur_budget_open_hold_usd", **project) == 0
    assert value(registry, "passeur_budget_closed_by_overrun", **project) == 1
    assert value(registry, "passeur_ledger_refusals_total", project="demo") == 1
    assert value(registry, "passeur_ledger_overruns_total", project="demo") == 1
    assert value(registry, "passeur_ledger_resolved_total", project="demo", outcome="estimated") == 1
    users = {**project, "scope": "user", "period": "daily"}
    assert value(registry, "passeur_budget_limit_usd", **users) == (150 + 300) / 10**9


async def test_an_alert_is_logged_once_a_window(ledger, store, clock, monkeypatch):
    warned = []
    monkeypatch.setattr("ai_server.ledger.sweeper.log.warning", lambda event, **facts: warned.append((event, facts)))
    sweeper = Sweeper(store, ledger, clock)
    await ledger.reserve("k1", PAYER, quote(130))
    await sweeper.refresh()
    await sweeper.refresh()
    assert [(event, facts["budget"]) for event, facts in warned] == [("budget alert", "this user of demo")]
    clock.advance(86400)
    await ledger.reserve("k2", PAYER, quote(130))
    await sweeper.refresh()
    assert len(warned) == 2


async def test_a_start_holds_what_was_left_and_says_how_much(ledger, store, clock, monkeypatch):
    told = []
    monkeypatch.setattr("ai_server.ledger.sweeper.log.warning", lambda event, **facts: told.append(facts))
    sweeper = Sweeper(store, ledger, clock)
    assert await sweeper.recover() == 0
    await ledger.reserve("k1", PAYER, quote())
    assert await sweeper.recover() == 1
    assert told == [{"count": 1}]


async def test_a_server_that_came_back_in_between_is_not_taken_for_dead(ledger, store, clock):
    """Only one that is away in every look for half a minute; its turns are ended together with its money."""
    away = [{1, 2}, {1, 2}, {1}, {1, 2}, {2}]
    buried = []

    async def departed():
        return frozenset(away.pop(0))

    async def interrupt(dead):
        buried.append(list(dead))
        return 0

    store.departed = departed
    sweeper = Sweeper(store, ledger, clock, interrupt=interrupt)
    for _ in range(5):
        await sweeper.bury()
        clock.advance(AWAY_SECONDS / 2)
    assert buried == [[1], [1]]


async def test_costs_are_compared_page_by_page_with_what_their_usage_can_cost(ledger, monkeypatch):
    monkeypatch.setattr(pricing_audit, "PAGE", 2)
    for number in range(5):
        reserved = await ledger.reserve(f"k{number}", Payer("demo", "", ""), quote(10))
        usage = Usage(output=number) if number else None
        await ledger.settle(reserved.new.reservation_id, number, estimated=False, usage=usage)
    findings = await pricing_audit.cost_findings(ledger, lambda each: {each.usage.output} - {3})
    assert len(findings) == 1
    assert "was settled at 3, and its usage gives no price" in findings[0]


async def test_requests_are_forgotten_after_a_day(ledger, store, clock):
    key = RequestKey("web", "k")
    await store.requests.claim(StoredRequest(key, b"", "t", "me", None, clock.now()))
    await store.requests.finish(key, b"")
    sweeper = Sweeper(store, ledger, clock)
    clock.advance(24 * 3600)
    assert await sweeper.forget() == 0
    clock.advance(1)
    assert await sweeper.forget() == 1


async def test_the_sweeper_goes_on_after_a_store_that_could_not_write(ledger, store, clock):
    import asyncio

    sweeper = Sweeper(store, ledger, clock)
    shown = []
    sweeper._view = type("View", (), {"show": lambda self, balances: shown.append(balances)})()
    real = store.ledger.balances

    async def failing(now):
        from shared.errors import NotReady

        raise NotReady("the disk is full")

    store.ledger.balances = failing
    task = asyncio.create_task(sweeper.run())
    for _ in range(5):
        await asyncio.sleep(0)
    store.ledger.balances = real
    clock.advance(15)
    for _ in range(5):
        await asyncio.sleep(0)
    task.cancel()
    assert len(shown) == 1
