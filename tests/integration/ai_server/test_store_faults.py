"""A store that cannot write takes the server down truthfully, and back up without a restart. Over a real file."""

from __future__ import annotations

import contextlib
import resource

import grpc
from structlog.testing import capture_logs

from ai_server.readiness import State
from ai_server.storage.ledger_contract import ReservationState
from ai_server.storage.sqlite import SqliteStateStore
from shared.clock import SystemClock
from tests.fakes.ai_server import ai_server
from tests.fakes.documents import FakeKnowledge, chunk, hit
from tests.fakes.generation import ScriptedGenerator, saying
from tests.integration.ai_server.test_life import refused
from tests.waiting import eventually


def documents():
    return FakeKnowledge(hits=(hit(chunk("A passage about exports.")),))


def talker():
    return ScriptedGenerator(lambda request: saying("Hello."))


@contextlib.contextmanager
def full_disk():
    """The file-size limit of the process stands in for the disk: both end as SQLITE_FULL or SQLITE_IOERR. Log lines
    are kept in memory, for the tests' own output is a file as well.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with capture_logs():
        resource.setrlimit(resource.RLIMIT_FSIZE, (512, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def test_a_full_disk_refuses_work_with_its_cause_and_work_goes_on_once_there_is_room(tmp_path):
    generator = talker()
    store = SqliteStateStore(tmp_path / "state.sqlite", SystemClock())
    async with ai_server(generator, knowledge=documents(), store=store) as rig:
        assert (await rig.answer("How do I export?")).text == "Hello."
        with full_disk():
            await rig.wait_for(State.DOWN)
            failure = await refused(rig)
            assert failure.code() is grpc.StatusCode.UNAVAILABLE
            assert "state store cannot be used" in failure.details()
            assert "state store cannot be used" in " ".join(rig.application.board.report().reasons)
        await rig.wait_for(State.READY)
        assert (await rig.answer("How do I export?")).text == "Hello."
        assert len(generator.requests) == 2
        assert await store.ledger.audit() == []


async def test_a_call_that_was_under_way_when_the_disk_filled_is_settled_once_there_is_room(tmp_path):
    store = SqliteStateStore(tmp_path / "state.sqlite", SystemClock())
    filled = contextlib.ExitStack()

    def fills_the_disk(_):
        filled.enter_context(full_disk())
        return saying("Hello.")

    with filled:
        async with ai_server(ScriptedGenerator(fills_the_disk), knowledge=documents(), store=store) as rig:
            assert (await rig.answer("How do I export?")).text == "Hello."
            filled.close()

            async def paid():
                found = await store.ledger.reservations("demo", ReservationState.SETTLED, 10, "")
                return [each.cost_nanousd for each in found if each.new.ceiling_nanousd]

            assert await eventually(paid) == [120]
            assert await store.ledger.audit() == []


async def test_a_store_that_another_process_has_is_named_and_taken_once_it_is_free(tmp_path):
    path = tmp_path / "state.sqlite"
    other = SqliteStateStore(path, SystemClock())
    await other.open()
    try:
        store = SqliteStateStore(path, SystemClock())
        async with ai_server(talker(), knowledge=documents(), store=store, wait=False) as rig:
            await rig.wait_for(State.DOWN)
            await eventually(lambda: "in use by process" in " ".join(rig.application.board.report().reasons))
            await other.close()
            await rig.wait_for(State.READY)
            assert (await rig.answer("How do I export?")).text == "Hello."
    finally:
        await other.close()
