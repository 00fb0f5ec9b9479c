"""What only the PostgreSQL store does: several servers on one ledger, lost connections, refusals."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from datetime import timedelta

import asyncpg
import pytest

from ai_server.ledger.service import Ledger
from ai_server.ledger.sweeper import AWAY_SECONDS, Sweeper
from ai_server.storage import postgres_connection
from ai_server.storage.constraints import domain_error
from ai_server.storage.ledger_contract import Period, ReservationState
from ai_server.storage.postgres import PostgresStateStore
from shared.errors import AlreadyResolved, Conflict, NotReady
from tests import services
from tests.contracts.builders import NOW, PROJECT, at_cost, call, project_budget, request_for
from tests.fakes.clock import ManualClock
from tests.waiting import eventually

pytestmark = pytest.mark.service("postgresql")


@pytest.fixture(scope="module")
def server():
    try:
        with services.postgres() as server:
            yield server
    except services.ServiceMissing as missing:
        pytest.skip(str(missing))


@pytest.fixture
async def dsn(server):
    return server.emptied()


async def opened(dsn):
    store = PostgresStateStore(dsn, ManualClock())
    await store.open()
    return store


@contextlib.asynccontextmanager
async def opened_while(dsn):
    store = await opened(dsn)
    try:
        yield store
    finally:
        await store.close()


@pytest.fixture
async def pair(dsn):
    """Two AI servers, started together on an empty database."""
    stores = await asyncio.gather(opened(dsn), opened(dsn))
    await stores[0].ledger.put_budget(project_budget(100), NOW, seed=True)
    yield stores
    for store in stores:
        await store.close()


async def test_two_servers_never_overspend_one_budget(pair):
    calls = [pair[number % 2].ledger.reserve(call(f"k{number}", 7), []) for number in range(60)]
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    assert sum(not isinstance(each, Exception) for each in outcomes) == 100 // 7
    balance = await pair[1].ledger.balance(PROJECT, Period.DAILY, NOW)
    assert balance.open_hold_nanousd == 98
    assert await pair[0].ledger.audit() == []


async def test_one_resolution_wins_over_two_servers(pair):
    reserved = await pair[0].ledger.reserve(call(), [])
    identity = reserved.new.reservation_id
    endings = [pair[0].ledger.settle(identity, at_cost(3)), pair[1].ledger.void(identity, "late", NOW)]
    outcomes = await asyncio.gather(*endings, return_exceptions=True)
    assert sorted(type(each).__name__ for each in outcomes) == ["AlreadyResolved", "Reservation"]


async def test_a_starting_server_holds_only_what_dead_servers_left(pair, dsn):
    first, second = pair
    await first.ledger.reserve(call("of first"), [])
    await second.ledger.reserve(call("of second"), [])
    await second.requests.claim(request_for("of second", owner="second"))
    async with opened_while(dsn) as third:
        assert await third.ledger.hold_pending(NOW) == 0
        assert await third.requests.abandoned("third", 10) == []
        await second.close()
        assert await third.ledger.hold_pending(NOW) == 1
        [held] = await third.ledger.reservations("demo", ReservationState.HELD, 10, "")
        assert held.new.key == "of second"
        assert [each.owner for each in await third.requests.abandoned("third", 10)] == ["second"]


async def die(store):
    """Do to a store what a crash does: its connection ends without a word, and it never comes back."""
    store._writer._task.cancel()
    store._writer._connection.terminate()
    await asyncio.gather(store._writer._task, return_exceptions=True)


async def noticed(store):
    """Wait until the database has ended the sessions of the dead."""
    return await eventually(store.departed)


@contextlib.asynccontextmanager
async def mourning(dsn):
    """A store with work under way, and another that died at work."""
    async with opened_while(dsn) as living:
        dead = await opened(dsn)
        await living.ledger.put_budget(project_budget(100), NOW, seed=True)
        for name, store in (("living", living), ("dead", dead)):
            await store.ledger.reserve(call(f"of {name}"), [])
            await store.requests.claim(request_for(f"of {name}", owner=name))
        assert await living.departed() == frozenset()
        await die(dead)
        yield living


async def test_a_living_server_notices_one_that_died_and_never_returns(dsn):
    """Only after it was away for a while; then its money is held, its turns are told, and ours go on."""
    async with mourning(dsn) as store:
        clock = ManualClock(NOW)
        told = []

        async def interrupt(dead):
            found = await store.requests.abandoned("living", 10, dead)
            told.extend(each.key.key for each in found)
            return len(found)

        sweeper = Sweeper(store, Ledger(store, clock), clock, interrupt=interrupt)
        await noticed(store)
        assert await sweeper.bury() == 0
        clock.advance(AWAY_SECONDS - 1)
        assert await sweeper.bury() == 0
        assert await store.ledger.reservations("demo", ReservationState.HELD, 10, "") == []
        clock.advance(1)
        assert await sweeper.bury() == 1
        [held] = await store.ledger.reservations("demo", ReservationState.HELD, 10, "")
        assert (held.new.key, told) == ("of dead", ["of dead"])
        [pending] = await store.ledger.reservations("demo", ReservationState.PENDING, 10, "")
        assert pending.new.key == "of living"
        assert await store.ledger.audit() == []


async def test_a_server_that_was_cut_off_for_a_moment_is_not_taken_for_dead(pair):
    clock = ManualClock(NOW)
    sweeper = Sweeper(pair[0], Ledger(pair[0], clock), clock)
    await pair[1].ledger.reserve(call(), [])
    pair[1]._writer._connection.terminate()
    await noticed(pair[0])
    assert await sweeper.bury() == 0
    clock.advance(AWAY_SECONDS / 2)
    await answers(pair[1])
    assert await sweeper.bury() == 0
    clock.advance(AWAY_SECONDS)
    assert await sweeper.bury() == 0
    assert await pair[0].ledger.reservations("demo", ReservationState.HELD, 10, "") == []


async def answers(store):
    """Wait until a store has its connection again: the database knows the earlier one for a moment."""

    async def back():
        with contextlib.suppress(NotReady):
            await store.probe()
            return True
        return False

    await eventually(back)


async def test_requests_of_living_servers_do_not_hide_what_a_dead_one_left(dsn):
    async with mourning(dsn) as store, opened_while(dsn) as starting:
        for number in range(3):
            await store.requests.claim(request_for(f"k{number}", owner="living", created_at=NOW - timedelta(hours=1)))
        await noticed(store)
        assert [each.key.key for each in await starting.requests.abandoned("starting", 1)] == ["of dead"]


async def test_the_database_looks_whether_a_server_is_still_there(dsn):
    """Otherwise a machine that lost its power would count as living for two hours."""
    async with opened_while(dsn) as store:
        connection = store._writer._connection
        shown = {name: await connection.fetchval(f"SHOW {name}") for name in postgres_connection.SESSION}
        assert (shown["tcp_keepalives_idle"], shown["tcp_user_timeout"]) == ("10", "25000")
        assert shown["lock_timeout"] == "15s"


async def test_a_lost_connection_is_made_again(pair, dsn):
    store = pair[0]
    admin = await asyncpg.connect(dsn)
    await admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
    await admin.close()
    await asyncio.gather(store.probe(), store.probe(), return_exceptions=True)  # one may still find it broken
    await store.probe()
    assert (await store.ledger.reserve(call(), [])).state is ReservationState.PENDING


async def test_a_frozen_server_does_not_keep_the_ledger_locked(pair, dsn):
    """The database ends the frozen session, and the other server's call goes on."""
    frozen = await asyncpg.connect(dsn, server_settings={"idle_in_transaction_session_timeout": "500ms"})
    await frozen.execute("BEGIN")
    await frozen.execute("SELECT pg_advisory_xact_lock(1885434740, 1)")
    reserved = await pair[0].ledger.reserve(call(), [])
    assert reserved.state is ReservationState.PENDING
    frozen.terminate()


async def test_a_wait_for_the_ledger_is_bounded_and_said(dsn, monkeypatch):
    monkeypatch.setitem(postgres_connection.SESSION, "lock_timeout", "200ms")
    store = await opened(dsn)
    greedy = await asyncpg.connect(dsn)
    await greedy.execute("BEGIN; SELECT pg_advisory_xact_lock(1885434740, 1)")
    with pytest.raises(NotReady, match="keeps the ledger locked"):
        await store.ledger.put_budget(project_budget(1), NOW, seed=True)
    await greedy.close()
    await store.ledger.put_budget(project_budget(1), NOW, seed=True)
    await store.close()


async def test_rows_never_change_even_by_hand(pair, dsn):
    await pair[0].ledger.reserve(call(), [])
    hand = await asyncpg.connect(dsn)
    for sql in ("UPDATE entries SET at = 0", "DELETE FROM entries", "TRUNCATE reservations CASCADE"):
        with pytest.raises(asyncpg.IntegrityConstraintViolationError) as refused:
            await hand.execute(sql)
        assert isinstance(domain_error(refused.value.constraint_name), Conflict)
    with pytest.raises(asyncpg.UniqueViolationError) as refused:
        await hand.execute(
            "INSERT INTO entries SELECT 100 + i, number, kind, 0, 0, 0, NULL, '', 0, ''"
            " FROM entries, generate_series(1, 2) AS i"
        )
    assert isinstance(domain_error(refused.value.constraint_name), AlreadyResolved)
    await hand.close()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda dsn: dsn + "_missing", "does not exist"),
        (lambda dsn: dsn.replace("passeur@", "nobody@"), "reports an error|not allowed|wrong"),
        (lambda dsn: "postgresql://passeur@127.0.0.1:1/none", "cannot be reached"),
    ],
)
async def test_a_database_that_cannot_be_used_is_named(dsn, change, reason):
    with pytest.raises(NotReady, match=reason):
        await opened(change(dsn))


async def test_a_newer_schema_is_refused(pair, dsn):
    hand = await asyncpg.connect(dsn)
    await hand.execute("UPDATE schema_version SET version = 99")
    with pytest.raises(NotReady, match="upgrade Passeur"):
        await opened(dsn)
    await hand.execute("UPDATE schema_version SET version = 1")
    await hand.close()


async def test_a_server_that_crashed_and_came_back_has_lost_nothing_acknowledged(server, dsn):
    """SIGQUIT is PostgreSQL's crash: no checkpoint, recovery from the log at the next start."""
    store = await opened(dsn)
    await store.ledger.put_budget(project_budget(1000), NOW, seed=True)
    acknowledged = [(await store.ledger.reserve(call(f"k{number}", 1), [])).new.key for number in range(20)]
    server.stop(signal.SIGQUIT)
    with pytest.raises(NotReady):
        await store.ledger.reserve(call("while away", 1), [])
    server.start()
    await store.probe()
    found = {each.new.key for each in await store.ledger.reservations("demo", None, 100, "")}
    assert found >= set(acknowledged)
    assert await store.ledger.audit() == []
    await store.close()
