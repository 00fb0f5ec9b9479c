"""What only the SQLite store does: grouping, faults, locks, versions."""

from __future__ import annotations

import asyncio
import os
import resource
import sqlite3
import sys

import pytest

from ai_server.storage import sqlite_writer
from ai_server.storage.ledger_contract import Budget, BudgetScope, Period, ScopeKind
from ai_server.storage.sqlite import SqliteStateStore
from ai_server.storage.sqlite_connection import guard, has_reset_bug, version_of
from ai_server.storage.statements import Statement
from shared.errors import BudgetExhausted, InvalidRequest, NotReady
from shared.ids import new_id
from tests.contracts.builders import NOW, PROJECT, at_cost, call, project_budget, request_for
from tests.fakes.clock import ManualClock


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ai" / "state.sqlite"


@pytest.fixture
async def store(path):
    store = SqliteStateStore(path, ManualClock())
    await store.open()
    await store.ledger.put_budget(project_budget(1000), NOW, seed=True)
    yield store
    await store.close()


def reopened(path):
    return SqliteStateStore(path, ManualClock())


async def test_what_is_queued_together_is_committed_together(store):
    before = store._writer.batches
    await asyncio.gather(*(store.ledger.reserve(call(f"k{number}", 1), []) for number in range(100)))
    assert store._writer.batches - before <= 3


async def test_one_failure_in_a_group_does_not_fail_the_others(store):
    calls = [call("a", 600), call("b", 600), call("c", 400), call("d", -1), call("e", 0)]
    outcomes = await asyncio.gather(*(store.ledger.reserve(each, []) for each in calls), return_exceptions=True)
    kinds = [type(each).__name__ for each in outcomes]
    assert kinds == ["Reservation", "BudgetExhausted", "Reservation", "InvalidRequest", "Reservation"]
    assert await store.ledger.audit() == []


async def test_everything_is_there_after_reopening(store, path):
    reserved = await store.ledger.reserve(call(), [])
    settled = await store.ledger.settle(reserved.new.reservation_id, at_cost(3))
    await store.requests.claim(request_for())
    await store.close()
    again = reopened(path)
    await again.open()
    assert await again.ledger.reserve(call(), []) == settled
    assert await again.requests.claim(request_for(owner="new process")) == request_for()
    assert await again.ledger.audit() == []
    await again.close()


async def test_only_the_owner_may_read_the_files(store, path):
    modes = {each.name: each.stat().st_mode & 0o777 for each in path.parent.iterdir()}
    assert modes == {"state.sqlite": 0o600, "state.sqlite-wal": 0o600, "state.sqlite.lock": 0o600}


async def test_a_second_store_is_refused_while_the_first_is_open(store, path):
    second = reopened(path)
    with pytest.raises(NotReady, match=f"in use by process {os.getpid()}"):
        await second.open()
    await store.close()
    await second.open()
    await second.close()


async def test_another_process_is_refused_too(store, path):
    """Also one that takes no lock: the connection is exclusive. CASES.md D1."""
    code = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('SELECT count(*) FROM entries')"
    other = await asyncio.create_subprocess_exec(sys.executable, "-c", code, str(path), stderr=asyncio.subprocess.PIPE)
    _, told = await other.communicate()
    assert b"database is locked" in told


async def test_an_unwritable_folder_is_named(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(NotReady, match="cannot be used"):
        await SqliteStateStore(blocked / "state.sqlite", ManualClock()).open()


async def test_a_file_that_is_no_database_is_named_and_the_lock_let_go(path):
    path.parent.mkdir()
    path.write_bytes(b"not a database at all, but long enough to look at" * 100)
    store = reopened(path)
    for _ in range(2):
        with pytest.raises(NotReady, match="not a database"):
            await store.open()
    path.unlink()
    await store.open()
    await store.close()


async def test_a_newer_schema_is_refused(store, path):
    await store.close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(NotReady, match="upgrade Passeur"):
        await reopened(path).open()


async def test_a_full_disk_refuses_work_and_serves_again_once_there_is_room(store, path):
    """The file-size limit of the process stands in for the disk: both end as SQLITE_FULL or SQLITE_IOERR."""
    await store.ledger.reserve(call("before", 1), [])
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (512, hard))
    try:
        for number in range(3):
            with pytest.raises(NotReady, match="state store cannot be used"):
                await store.ledger.reserve(call(f"full {number}", 1), [])
        with pytest.raises(NotReady):
            await store.probe()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    await store.probe()
    await store.ledger.reserve(call("after", 1), [])
    listed = await store.ledger.reservations("demo", None, 10, "")
    assert [each.new.key for each in listed] == ["after", "before"]
    assert await store.ledger.audit() == []


async def test_a_file_that_another_program_keeps_locked_is_named_and_opened_once_it_is_free(store, path):
    await store.close()
    other = sqlite3.connect(path)
    other.execute("PRAGMA locking_mode = EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(NotReady, match="another process has it open"):
        await store.open()
    other.close()
    await store.open()
    await store.probe()


async def test_a_read_only_file_refuses_work_and_serves_again_once_it_is_writable(store, path):
    """Root may write anything, so SQLite itself is told to refuse: the fault ends with the connection."""
    await store.ledger.reserve(call("before", 1), [])
    store._writer._queries = {**store._writer._queries, "refuse": "PRAGMA query_only = ON"}

    def refuse():
        yield Statement("refuse", {})

    await store._writer.run(refuse)
    with pytest.raises(NotReady, match="read-only"):
        await store.probe()
    await store.probe()
    assert await store.ledger.audit() == []


async def test_a_damaged_file_is_named(store, path):
    for number in range(50):
        await store.ledger.reserve(call(f"k{number}", 1), [])
    await store.close()
    content = bytearray(path.read_bytes())
    content[4096 : len(content) // 2] = os.urandom(len(content) // 2 - 4096)
    path.write_bytes(content)
    damaged = reopened(path)
    with pytest.raises(NotReady, match="damaged"):
        await _opened_and_audited(damaged)
    await damaged.close()


async def _opened_and_audited(store):
    await store.open()
    await store.ledger.audit()


async def test_text_that_cannot_be_stored_is_refused_alone(store):
    with pytest.raises(InvalidRequest):
        await store.requests.claim(request_for("\ud800"))
    assert await store.requests.claim(request_for("fine")) is None


async def test_a_queue_past_its_bound_refuses(store, monkeypatch):
    monkeypatch.setattr(sqlite_writer, "MAX_QUEUED", 0)
    with pytest.raises(NotReady, match="too much waiting"):
        await store.probe()


async def test_a_closed_store_refuses(store):
    await store.close()
    with pytest.raises(NotReady, match="not open"):
        await store.probe()


async def test_a_programming_fault_reaches_its_caller_and_nobody_else(store):
    def broken():
        raise ZeroDivisionError
        yield

    outcomes = await asyncio.gather(store._writer.run(broken), store.probe(), return_exceptions=True)
    assert [type(each) for each in outcomes] == [ZeroDivisionError, type(None)]


@pytest.mark.parametrize("tables", ["entries", "reservations"])
async def test_tampering_with_any_row_is_found(store, path, tables):
    """P35 for money: a changed or removed row breaks the chain or the sums."""
    for number in range(4):
        reserved = await store.ledger.reserve(call(f"k{number}", 10), [])
        await store.ledger.settle(reserved.new.reservation_id, at_cost(5 + number))
    await store.close()
    for change in _changes(path, tables):
        copy = path.with_name(f"copy-{new_id(NOW)}.sqlite")
        copy.write_bytes(path.read_bytes())
        connection = sqlite3.connect(copy)
        for trigger in (
            "entries_never_change",
            "entries_never_go",
            "reservations_never_change",
            "reservations_never_go",
        ):
            connection.execute(f"DROP TRIGGER {trigger}")
        connection.execute(change)
        connection.commit()
        connection.close()
        tampered = reopened(copy)
        await tampered.open()
        assert await tampered.ledger.audit() != [], change
        await tampered.close()


def _changes(path, table):
    connection = sqlite3.connect(path)
    key = "entry_number" if table == "entries" else "number"
    numbers = [row[0] for row in connection.execute(f"SELECT {key} FROM {table}")]
    columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
    connection.close()
    for number in numbers:
        yield f"DELETE FROM {table} WHERE {key} = {number}"
        for column in columns:
            if column == key:
                yield f"UPDATE {table} SET {key} = 99 WHERE {key} = {number}"
            elif column in {"kind", "estimated"}:
                continue  # CHECK refuses most other values; the chain covers them as it does the rest
            elif column == "digest":
                yield f"UPDATE {table} SET digest = x'00' WHERE {key} = {number}"
            elif column in {"usage", "reason"}:
                yield f"UPDATE {table} SET {column} = 'changed' WHERE {key} = {number}"
            elif column == "overrun_nanousd":
                yield f"UPDATE {table} SET overrun_nanousd = 1 WHERE {key} = {number}"
            elif column == "number":
                yield f"UPDATE {table} SET number = (number % 4) + 1, kind = 'hold' WHERE {key} = {number}"
            elif column in {"amount_nanousd", "ceiling_nanousd", "at", "created_at"}:
                yield f"UPDATE {table} SET {column} = {column} + 1 WHERE {key} = {number}"
            else:
                yield f"UPDATE {table} SET {column} = {column} || 'x' WHERE {key} = {number}"


@pytest.mark.parametrize(
    ("version", "affected"),
    [
        ("3.6.23", False),
        ("3.7.0", True),
        ("3.40.1", True),
        ("3.44.5", True),
        ("3.44.6", False),
        ("3.45.0", True),
        ("3.50.7", False),
        ("3.51.2", True),
        ("3.51.3", False),
        ("3.52.0", False),
    ],
)
def test_versions_that_can_lose_commits_are_known(version, affected):
    assert has_reset_bug(version_of(version)) is affected


def test_the_dangerous_mix_is_refused_and_the_safe_ones_are_not():
    with pytest.raises(NotReady, match="lose commits"):
        guard("3.40.1", "wal", "normal")
    with pytest.raises(NotReady, match="too old"):
        guard("3.36.0", "delete", "exclusive")
    guard("3.40.1", "wal", "exclusive")
    guard("3.40.1", "delete", "normal")
    guard("3.51.3", "wal", "normal")


async def test_an_overrun_closes_all_budgets_it_was_charged_to_and_no_other(store):
    others = Budget(BudgetScope(ScopeKind.USER, "demo", user="bob"), Period.DAILY, 100)
    await store.ledger.put_budget(others, NOW, seed=True)
    reserved = await store.ledger.reserve(call(), [])
    await store.ledger.settle(reserved.new.reservation_id, at_cost(11))
    closed = {each.budget.scope for each in await store.ledger.balances(NOW) if each.closed_by_overrun}
    assert closed == {PROJECT}
    with pytest.raises(BudgetExhausted, match="overrun"):
        await store.ledger.reserve(call("b", user="bob"), [])
