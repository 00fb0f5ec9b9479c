"""Every state store under one suite: SQLite, the in-memory twin, and PostgreSQL where one can be started."""

from __future__ import annotations

import pytest

from ai_server.storage.postgres import PostgresStateStore
from ai_server.storage.sqlite import SqliteStateStore
from tests import services
from tests.contracts.builders import NOW, project_budget
from tests.fakes.clock import ManualClock
from tests.fakes.state_store import MemoryStateStore


@pytest.fixture(scope="package")
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
    try:
        yield store
        assert list(await store.ledger.audit()) == []
    finally:
        await store.close()


@pytest.fixture
async def ledger(store):
    await store.ledger.put_budget(project_budget(100), NOW, seed=True)
    return store.ledger
