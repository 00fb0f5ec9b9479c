"""One suite over every state store: SQLite, the in-memory twin, and PostgreSQL where one can be started."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from types import MappingProxyType

import pytest

from ai_server.storage.contract import (
    Budget,
    BudgetScope,
    DocumentRow,
    IndexRow,
    JournalLine,
    NewReservation,
    Period,
    RequestKey,
    ReservationState,
    ScopeKind,
    Settlement,
    StoredRequest,
)
from ai_server.storage.postgres import PostgresStateStore
from ai_server.storage.sqlite import SqliteStateStore
from shared.errors import AlreadyResolved, BudgetExhausted, IdempotencyConflict, InvalidRequest, NotFound
from shared.ids import new_id
from shared.usage import Usage
from tests import services
from tests.fakes.clock import ManualClock
from tests.fakes.state_store import MemoryStateStore

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
PROJECT = BudgetScope(ScopeKind.PROJECT, "demo")
USER = BudgetScope(ScopeKind.USER, "demo", user="ada")


@pytest.fixture(scope="module")
def postgres():
    try:
        with services.postgres() as server:
            yield server
    except services.ServiceMissing as missing:
        pytest.skip(str(missing))


@pytest.fixture(params=["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.service("postgresql"))])
async def store(request, tmp_path):
    match request.param:
        case "memory":
            store = MemoryStateStore()
        case "sqlite":
            store = SqliteStateStore(tmp_path / "state.sqlite", ManualClock())
        case _:
            store = PostgresStateStore(request.getfixturevalue("postgres").emptied(), ManualClock())
    await store.open()
    yield store
    assert list(await store.ledger.audit()) == []
    await store.close()


@pytest.fixture
async def ledger(store):
    await store.ledger.put_budget(project_budget(100), NOW, seed=True)
    return store.ledger


def project_budget(limit, **changes):
    return Budget(**{"scope": PROJECT, "period": Period.DAILY, "limit_nanousd": limit, **changes})


def call(key="turn/1/1", ceiling=10, **changes):
    fields = {
        "reservation_id": new_id(NOW),
        "key": key,
        "project_id": "demo",
        "assistant": "documents",
        "user": "ada",
        "operation": "answer",
        "provider": "fake",
        "model": "fake-1",
        "service_tier": "standard",
        "price_version": "2026-11",
        "ceiling_nanousd": ceiling,
        "created_at": NOW,
    }
    return NewReservation(**{**fields, **changes})


def at_cost(cost, **changes):
    fields = {"cost_nanousd": cost, "estimated": False, "usage": Usage(input=3, output=4), "at": NOW}
    return Settlement(**{**fields, **changes})


async def figures(ledger, scope=PROJECT, period=Period.DAILY, now=NOW):
    balance = await ledger.balance(scope, period, now)
    return balance.settled_nanousd, balance.open_hold_nanousd, balance.available_nanousd


# ---------------------------------------------------------------- admission


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


# ---------------------------------------------------------------- idempotency


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


# ---------------------------------------------------------------- unknown outcomes and overruns


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


# ---------------------------------------------------------------- windows


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


# ---------------------------------------------------------------- refused input


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


# ---------------------------------------------------------------- lists


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


async def test_balances_list_every_budget_newest_first(ledger):
    await ledger.put_budget(Budget(USER, Period.MONTHLY, 5), NOW, seed=True)
    await ledger.reserve(call(ceiling=2), [])
    listed = await ledger.balances(NOW)
    assert [(each.budget.scope, each.open_hold_nanousd) for each in listed] == [(USER, 2), (PROJECT, 2)]
    assert listed[0] == await ledger.balance(USER, Period.MONTHLY, NOW)
    assert await ledger.balance(USER, Period.DAILY, NOW) is None


async def test_counts_tell_how_much_there_is_to_audit(ledger):
    reserved = await ledger.reserve(call(), [])
    await ledger.settle(reserved.new.reservation_id, at_cost(1))
    counts = await ledger.counts()
    assert (counts.entry_count, counts.reservation_count) == (2, 1)


# ---------------------------------------------------------------- requests


def request_for(key="k1", digest=b"body", owner="me", created_at=NOW):
    return StoredRequest(RequestKey("web", key), digest, "turn-1", owner, None, created_at)


async def test_a_key_is_claimed_once_and_tells_its_holder_afterwards(store):
    assert await store.requests.claim(request_for()) is None
    assert await store.requests.claim(request_for(owner="other")) == request_for()
    with pytest.raises(IdempotencyConflict):
        await store.requests.claim(request_for(digest=b"other"))


async def test_of_many_claims_of_one_key_one_wins(store):
    outcomes = await asyncio.gather(*(store.requests.claim(request_for(owner=f"o{n}")) for n in range(16)))
    assert sum(each is None for each in outcomes) == 1


async def test_a_result_is_stored_once(store):
    await store.requests.claim(request_for())
    await store.requests.finish(RequestKey("web", "k1"), b"first")
    await store.requests.finish(RequestKey("web", "k1"), b"second")
    found = await store.requests.find(RequestKey("web", "k1"))
    assert found.result == b"first"
    assert await store.requests.find(RequestKey("other", "k1")) is None


async def test_running_requests_of_other_owners_are_abandoned(store):
    await store.requests.claim(request_for("a", owner="dead", created_at=NOW))
    await store.requests.claim(request_for("b", owner="me"))
    await store.requests.claim(request_for("c", owner="dead", created_at=NOW - timedelta(hours=1)))
    await store.requests.claim(request_for("d", owner="dead"))
    await store.requests.finish(RequestKey("web", "d"), b"done")
    assert [each.key.key for each in await store.requests.abandoned("me", 10)] == ["c", "a"]
    assert len(await store.requests.abandoned("me", 1)) == 1


async def test_old_finished_requests_are_forgotten_and_running_ones_kept(store):
    for key in ("finished", "running"):
        await store.requests.claim(request_for(key))
    await store.requests.finish(RequestKey("web", "finished"), b"")
    assert await store.requests.forget_before(NOW) == 0
    assert await store.requests.forget_before(NOW + timedelta(seconds=1)) == 1
    assert await store.requests.find(RequestKey("web", "finished")) is None
    assert await store.requests.find(RequestKey("web", "running")) is not None


# ---------------------------------------------------------------- journal and index


def line(turn_id="t1", key="k1", body="{}"):
    return JournalLine(turn_id, "demo", "web", key, NOW, NOW + timedelta(seconds=2), body)


async def test_a_journal_line_is_written_once_and_found_both_ways(store):
    await store.journal.append(line())
    await store.journal.append(line(body='{"second": 1}'))
    await store.journal.append(line("t2"))
    assert await store.journal.line("demo", turn_id="t1") == line()
    assert await store.journal.line("demo", client="web", key="k1") == line("t2")
    assert await store.journal.line("other", turn_id="t1") is None
    assert await store.journal.line("demo", turn_id="unknown") is None


async def test_a_journal_line_over_its_bound_is_refused(store):
    await store.journal.append(line(body="é" * 128 * 1024))
    with pytest.raises(InvalidRequest):
        await store.journal.append(line("t2", body="é" * 128 * 1024 + "x"))


def document(path="a.md", source="docs", **changes):
    fields = {
        "project_id": "demo",
        "source_id": source,
        "path": path,
        "status": "indexed",
        "reason": "",
        "content_sha256": b"\x01" * 32,
        "settings_sha256": b"\x02" * 32,
        "title": "Élan",
        "language": "fr",
        "metadata": {"scope": ("docs", "faq")},
        "chunk_ids": ("c1", "c2"),
        "synced_at": NOW,
    }
    return DocumentRow(**{**fields, **changes})


async def test_documents_are_written_replaced_and_removed_together(store):
    await store.index.put_documents([document(), document("b.md"), document(source="faq")], [])
    assert await store.index.documents("demo", "docs") == {"a.md": document(), "b.md": document("b.md")}
    changed = document(status="rejected", reason="no text", chunk_ids=())
    await store.index.put_documents([changed], [("demo", "docs", "b.md"), ("demo", "docs", "never-there.md")])
    assert await store.index.documents("demo", "") == {"docs/a.md": changed, "faq/a.md": document(source="faq")}
    assert await store.index.documents("other", "") == {}


async def test_a_project_has_one_index_row(store):
    row = IndexRow("demo", "c1", "encoder/512", 1, "{}", "")
    assert await store.index.index("demo") is None
    await store.index.put_index(row)
    await store.index.put_index(IndexRow("demo", "c2", "encoder/512", 2, "{}", "c1"))
    assert await store.index.index("demo") == IndexRow("demo", "c2", "encoder/512", 2, "{}", "c1")


# ---------------------------------------------------------------- life cycle


async def test_usage_with_units_comes_back_equal(ledger):
    usage = Usage(1, 2, 3, 4, 5, 6, MappingProxyType({"searches": 2}))
    reserved = await ledger.reserve(call(), [])
    settled = await ledger.settle(reserved.new.reservation_id, at_cost(1, usage=usage))
    assert (await ledger.reserve(call(), [])).usage == settled.usage == usage


async def test_cancelled_callers_leave_complete_operations_behind(ledger):
    """CASES.md D3: https://github.com/jaylfc/taOS/pull/2771"""
    tasks = [asyncio.create_task(ledger.reserve(call(f"k{number}", 1), [])) for number in range(50)]
    await asyncio.sleep(0)
    for task in tasks[::2]:
        task.cancel()
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert sum(not isinstance(each, BaseException) for each in outcomes) >= 25
    await ledger.reserve(call("after", 1), [])
    settled, opened, available = await figures(ledger)
    assert settled == 0
    assert opened + available == 100
    assert opened == len(await ledger.reservations("demo", None, 1000, ""))


async def test_a_store_probes_and_closes_twice(store):
    await store.probe()
    await store.close()
    await store.close()
    await store.open()
