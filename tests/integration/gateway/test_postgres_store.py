"""What only the PostgreSQL store does: several gateways at once, collisions, lost connections, refusals."""

from __future__ import annotations

import asyncio

import asyncpg
import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy.ext.asyncio import create_async_engine

from gateway.conversation.model import Visitor
from gateway.storage import again as again_of
from gateway.storage import postgres, sqlite
from gateway.storage.again import again, again_unless_changed
from gateway.storage.contract import NewEvent, Undone
from gateway.storage.postgres import open_postgres
from gateway.storage.tables import metadata
from gateway.turns.intake import LEASE
from gateway.turns.service import RENEW_S
from shared.clock import SystemClock
from shared.errors import NotReady, SettingsError
from shared.ids import new_id
from tests import services

pytestmark = pytest.mark.service("postgresql")
CLOCK = SystemClock()


class Heard:
    def __init__(self):
        self.events = []

    def committed(self, events):
        self.events.extend(events)


@pytest.fixture(scope="module")
def server():
    try:
        with services.postgres() as server:
            yield server
    except services.ServiceMissing as missing:
        pytest.skip(str(missing))


@pytest.fixture
def url(server):
    return server.database()


@pytest.fixture
async def pair(url):
    """Two gateways' stores, opened together on an empty database: one migrates, the other waits."""
    stores = await asyncio.gather(open_postgres(url, CLOCK, Heard()), open_postgres(url, CLOCK, Heard()))
    yield stores
    for store in stores:
        await store.close()


async def test_the_migrations_make_exactly_the_tables_that_the_code_uses(pair, url):
    def differences(connection):
        return compare_metadata(MigrationContext.configure(connection), metadata)

    engine = create_async_engine(url.replace("postgresql", "postgresql+asyncpg"))
    async with engine.connect() as connection:
        found = await connection.run_sync(differences)
    await engine.dispose()
    assert found == []


async def test_offsets_of_two_gateways_have_no_hole_and_are_seen_in_the_order_of_commits(pair):
    """A reader that polls never sees an offset before a smaller one is there."""
    written = asyncio.Event()

    async def write(store, number):
        async with store.transaction() as tx:
            await tx.events.append("s", NewEvent("read", {"n": number}))
            await tx.visitors.get("nobody")

    async def watch():
        seen = []
        while not written.is_set() or len(seen) < 80:
            async with pair[1].transaction() as tx:
                found = await tx.events.after("s", seen[-1] if seen else 0, 200)
            offsets = [event.offset for event in found]
            assert offsets == list(range(len(seen) + 1, len(seen) + 1 + len(offsets)))
            seen += offsets
        return seen

    watching = asyncio.create_task(watch())
    await asyncio.gather(*(write(pair[number % 2], number) for number in range(80)))
    written.set()
    assert await watching == list(range(1, 81))


async def crossing(store, first, second, met, tries):
    """Take two streams in an order; the first time wait until the other act holds its first one too."""
    tries.append(1)
    async with store.transaction() as tx:
        await tx.events.append(first, NewEvent("read", {}))
        if len(tries) <= 2:
            async with asyncio.timeout(60):
                await met.wait()
        await tx.events.append(second, NewEvent("read", {}))


async def test_of_two_acts_that_wait_for_each_other_one_is_undone_and_done_again(pair):
    met, tries = asyncio.Barrier(2), []
    acts = [
        again(lambda: crossing(pair[0], "a", "b", met, tries), CLOCK),
        again(lambda: crossing(pair[1], "b", "a", met, tries), CLOCK),
    ]
    await asyncio.gather(*acts)
    assert len(tries) == 3
    async with pair[0].transaction() as tx:
        assert await tx.events.heads(["a", "b", "c"]) == {"a": 2, "b": 2}


async def test_what_is_undone_each_time_is_told_after_a_bounded_number_of_attempts(pair, monkeypatch):
    monkeypatch.setattr(again_of, "DELAYS_S", (0.0, 0.0))
    visitor, tries = Visitor(new_id(CLOCK.now()), "demo", "same", "fr", (), CLOCK.now()), []

    async def act():
        tries.append(1)
        async with pair[0].transaction() as tx:
            await tx.visitors.add(visitor)

    await act()
    with pytest.raises(Undone):
        await again(act, CLOCK)
    assert len(tries) == 4


async def test_a_connection_that_died_while_idle_is_replaced_unnoticed(pair, url):
    async with pair[0].transaction() as tx:
        await tx.events.append("s", NewEvent("read", {}))
    await end_all_sessions(url)
    async with pair[0].transaction() as tx:
        assert (await tx.events.position("s")).head == 1


async def end_all_sessions(url):
    """End every session of the database but our own, as a failover does."""
    hand = await asyncpg.connect(url)
    await hand.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
    await hand.close()


async def test_a_connection_lost_in_a_transaction_undoes_it(pair, url):
    async def act():
        async with pair[0].transaction() as tx:
            await tx.events.append("s", NewEvent("read", {}))
            await end_all_sessions(url)
            await tx.events.append("s", NewEvent("read", {}))

    with pytest.raises(Undone, match="connection was lost"):
        await act()
    async with pair[0].transaction() as tx:
        assert (await tx.events.position("s")).head == 0


async def test_a_connection_that_was_lost_before_the_commit_was_sent_undoes_it_and_it_is_done_again(pair, url):
    tries = []

    async def act():
        tries.append(1)
        async with pair[0].transaction() as tx:
            await tx.events.append("s", NewEvent("read", {}))
            if len(tries) == 1:
                await end_all_sessions(url)
                await asyncio.sleep(0.2)  # until the driver has seen it

    await again(act, CLOCK)
    assert len(tries) == 2
    async with pair[0].transaction() as tx:
        assert (await tx.events.position("s")).head == 1


@pytest.mark.parametrize(("changes", "attempts"), [(False, 4), (True, 1)])
async def test_an_act_of_several_transactions_is_done_again_only_while_none_changed_anything(pair, changes, attempts):
    tries = []

    async def act():
        tries.append(1)
        async with pair[0].transaction() as tx:
            await tx.events.heads(["s"])
            if changes:
                await tx.events.append("s", NewEvent("read", {}))
        raise Undone("of the test")

    with pytest.raises(Undone):
        await again_unless_changed(act, CLOCK)
    assert len(tries) == attempts


async def test_a_gateway_that_freezes_in_a_transaction_gives_its_locks_back(url, monkeypatch):
    monkeypatch.setitem(postgres.SESSION, "idle_in_transaction_session_timeout", "300ms")
    frozen, other = await open_postgres(url, CLOCK, Heard()), await open_postgres(url, CLOCK, Heard())

    async def freeze():
        async with frozen.transaction() as tx:
            await tx.events.append("s", NewEvent("read", {}))
            async with other.transaction() as working:
                assert (await working.events.append("s", NewEvent("read", {})))[0].offset == 1
            await tx.events.append("s", NewEvent("read", {}))

    with pytest.raises(Undone):
        await freeze()
    await frozen.close()
    await other.close()


def test_a_lease_outlasts_a_busy_store():
    """Otherwise gateways take each other's turns when there is most to do."""
    assert LEASE.total_seconds() > RENEW_S + max(postgres.BUSY_TIMEOUT_S, sqlite.BUSY_TIMEOUT_S)


async def test_more_transactions_than_connections_wait_their_turn_for_so_long(server, monkeypatch):
    monkeypatch.setattr(postgres, "BUSY_TIMEOUT_S", 0.1)
    store = await open_postgres(server.database(), CLOCK, Heard(), connections=2)
    async with store.transaction(), store.transaction():
        with pytest.raises(NotReady, match="stayed busy"):
            async with store.transaction():
                pass
    async with store.transaction(), store.transaction():
        pass
    await store.close()


@pytest.mark.parametrize(
    ("change", "error", "reason"),
    [
        (lambda url: url + "_missing", NotReady, "does not exist"),
        (lambda url: "postgresql://passeur@127.0.0.1:1/none", NotReady, "cannot be reached"),
        (lambda url: url + "?sslmode=nonsense", SettingsError, "DATABASE_URL.*sslmode"),
        (lambda url: "postgresql://[", SettingsError, "DATABASE_URL"),
        (lambda url: url + "?sslmode=require", NotReady, "cannot be used"),
    ],
)
async def test_a_database_that_cannot_be_used_is_named(pair, url, change, error, reason):
    with pytest.raises(error, match=reason):
        await open_postgres(change(url), CLOCK, Heard())


async def test_a_database_of_a_newer_release_is_refused(pair, url):
    async with pair[0].transaction() as tx:
        await tx.events._connection.run(sa.text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(SettingsError, match="another release"):
        await open_postgres(url, CLOCK, Heard())
