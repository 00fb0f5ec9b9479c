"""What only the SQLite store promises: one process, one connection, the schema of its migrations."""

import asyncio
import sqlite3
import threading

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from gateway.storage import migrate
from gateway.storage.contract import NewEvent
from gateway.storage.sqlite import FILE_NAME, open_sqlite
from gateway.storage.tables import metadata
from shared.errors import NotReady, SettingsError
from tests.fakes.clock import ManualClock


class Deaf:
    def committed(self, events):
        pass


def test_the_migrations_make_exactly_the_tables_that_the_code_uses():
    engine = sa.create_engine("sqlite://", isolation_level="AUTOCOMMIT", poolclass=sa.pool.StaticPool)
    with engine.connect() as connection:
        migrate.upgrade(connection)
        differences = compare_metadata(MigrationContext.configure(connection), metadata)
    engine.dispose()
    assert differences == []


async def test_a_second_gateway_on_the_same_folder_is_refused(tmp_path):
    store = await open_sqlite(tmp_path, ManualClock(), Deaf())
    with pytest.raises(SettingsError, match="another gateway uses"):
        await open_sqlite(tmp_path, ManualClock(), Deaf())
    await store.close()
    again = await open_sqlite(tmp_path, ManualClock(), Deaf())
    await again.close()


async def test_a_file_of_a_newer_release_is_refused(tmp_path):
    store = await open_sqlite(tmp_path, ManualClock(), Deaf())
    await store.close()
    connection = sqlite3.connect(tmp_path / FILE_NAME)
    connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.commit()
    connection.close()
    with pytest.raises(SettingsError, match="another release"):
        await open_sqlite(tmp_path, ManualClock(), Deaf())


async def test_a_file_that_is_no_database_is_a_settings_fault(tmp_path):
    (tmp_path / FILE_NAME).write_bytes(b"not a database at all" * 100)
    with pytest.raises(SettingsError, match="cannot be opened"):
        await open_sqlite(tmp_path, ManualClock(), Deaf())


async def test_a_folder_that_cannot_be_made_is_a_settings_fault(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError, match="cannot be written"):
        await open_sqlite(tmp_path / "file" / "gateway", ManualClock(), Deaf())


async def test_the_connection_syncs_fully_and_checks_foreign_keys(tmp_path):
    store = await open_sqlite(tmp_path, ManualClock(), Deaf())
    rows = [await store._connection.rows(sa.text(f"PRAGMA {name}")) for name in ("synchronous", "foreign_keys")]
    await store.close()
    assert [next(iter(row[0].values())) for row in rows] == [2, 1]


async def test_a_store_that_stays_busy_says_so_in_time(tmp_path, monkeypatch):
    from gateway.storage import sqlite

    monkeypatch.setattr(sqlite, "BUSY_TIMEOUT_S", 0.05)
    store = await open_sqlite(tmp_path, ManualClock(), Deaf())
    async with store.transaction():
        with pytest.raises(NotReady, match="stayed busy"):
            async with store.transaction():
                pass
    await store.close()


@pytest.mark.parametrize("waiting_for", ["a statement", "the commit"])
async def test_a_caller_who_leaves_while_the_thread_is_busy_is_cancelled_and_nothing_stays_open(tmp_path, waiting_for):
    """What still waits for the thread when the caller leaves must run, so that what follows it can."""
    store = await open_sqlite(tmp_path, ManualClock(), Deaf())
    gate = threading.Event()
    busy = asyncio.ensure_future(store._connection.aside(gate.wait))

    async def work():
        async with store.transaction() as tx:
            await tx.events.append("s", NewEvent("read", {}))
            if waiting_for == "a statement":
                await tx.keys.forget_scope("scope")

    task = asyncio.create_task(work())
    for _ in range(5):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.sleep(0)
    gate.set()
    await asyncio.wait({task, busy})
    assert task.cancelled()
    async with store.transaction() as tx:
        assert (await tx.events.position("s")).head == (1 if waiting_for == "the commit" else 0)
    await store.close()


async def test_reading_alone_never_waits_for_the_thread(tmp_path):
    store = await open_sqlite(tmp_path, ManualClock(), Deaf())
    gate = threading.Event()
    busy = asyncio.ensure_future(store._connection.aside(gate.wait))
    async with store.transaction() as tx:
        assert await tx.visitors.get("nobody") is None
    gate.set()
    await busy
    await store.close()
