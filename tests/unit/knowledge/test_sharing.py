"""Several servers on one registry and one index: one changes documents at a time, the others follow."""

from __future__ import annotations

import asyncio

import pytest

from ai_server.knowledge.contract import FileStatus
from ai_server.knowledge.leases import LEASE_SECONDS, RENEW_SECONDS, SURE_SECONDS, SyncLeases
from shared.errors import NotReady, SyncRunning
from tests.fakes.clock import ManualClock
from tests.fakes.library import PUBLIC, SPENDING, Desk, context, until
from tests.fakes.state_store import MemoryIndex

REFUNDS = "# Refunds\n\nRefunds are paid within ten days after the receipt was shown at the desk.\n"
HOURS = "# Hours\n\nThe desk opens at nine in the morning and closes at five in the afternoon.\n"
PLAN = "---\naudience: {}\n---\n# Plan\n\nThe plan of the building hangs beside the main door of the hall.\n"


@pytest.fixture
async def pair(tmp_path):
    """A desk whose service is one server, and a second server; both started."""
    desk = Desk(tmp_path)
    desk.service = desk.fresh(shared=True)
    other = desk.fresh(shared=True)
    await desk.service.start()
    await other.start()
    yield desk, other
    await other.close()
    await desk.service.close()


async def passed(clock: ManualClock, seconds: float) -> None:
    """Move the clock, and let whoever is due run."""
    clock.advance(seconds)
    for _ in range(20):
        await asyncio.sleep(0)


async def paths(service, query: str, contexts=PUBLIC) -> list[str]:
    found = await service.search("demo", query, contexts, limit=8, language="en", spending=SPENDING)
    return [hit.chunk.path for hit in found.hits]


async def test_what_one_server_synced_the_other_answers_within_five_seconds(pair):
    desk, other = pair
    desk.write("refunds.md", REFUNDS)
    await desk.sync()
    started = asyncio.get_running_loop().time()
    await until(lambda: other._library("demo").row.generation == 1, 5)
    assert asyncio.get_running_loop().time() - started < 5
    assert await paths(other, "refunds") == ["refunds.md"]


async def test_only_what_changed_is_read_again_and_narrowed_rights_hold_everywhere(pair, monkeypatch):
    desk, other = pair
    desk.write("refunds.md", REFUNDS)
    desk.write("hours.md", HOURS)
    desk.write("plan.md", PLAN.format("public"))
    await desk.sync()
    await other._changes.refresh()
    assert set(await paths(other, "plan of the building")) == {"plan.md", "hours.md", "refunds.md"}

    fetched: list[str] = []
    fetch = desk.index.fetch

    async def seen(collection, ids):
        fetched.extend(ids)
        return await fetch(collection, ids)

    monkeypatch.setattr(desk.index, "fetch", seen)
    desk.write("plan.md", PLAN.format("staff"))
    desk.write("new.md", "# New\n\nA new page tells of the garden behind the house.\n")
    (desk.docs / "hours.md").unlink()
    await desk.sync()
    await other._changes.refresh()
    assert len(set(fetched)) == 2
    assert set(await paths(other, "plan of the building")) == {"refunds.md", "new.md"}
    assert await paths(other, "plan", [context("staff")]) == ["plan.md"]
    assert not other._library("demo").lost

    desk.write("hours.md", HOURS)
    await desk.sync()
    await other._changes.refresh()
    assert (await paths(other, "when does the desk open"))[0] == "hours.md"


async def test_one_syncs_and_the_others_are_refused_until_it_ends(pair):
    desk, other = pair
    desk.write("refunds.md", REFUNDS)
    desk.embedder.gate = asyncio.Event()
    first = asyncio.create_task(desk.sync())
    await until(lambda: bool(desk.registry.leases))
    with pytest.raises(SyncRunning, match="Another server"):
        async for _ in other.sync("demo", desk.source()):
            pass
    desk.embedder.gate.set()
    await first
    assert desk.registry.leases == {}
    lines = [event async for event in other.sync("demo", desk.source())]
    assert lines[-1].generation == 1
    assert [event.status for event in lines if hasattr(event, "status")] == [FileStatus.UNCHANGED]


async def test_a_model_that_one_changed_the_others_take_over(pair):
    desk, other = pair
    desk.write("refunds.md", REFUNDS)
    await desk.sync()
    async for _ in desk.service.reindex("demo", "fake", "other"):
        pass
    await other._changes.refresh()
    assert await paths(other, "when are refunds paid?") == ["refunds.md"]
    assert desk.others["fake/other"].queries == ["when are refunds paid?"]
    desk.write("hours.md", HOURS)
    events = [event async for event in other.sync("demo", desk.source())]
    assert events[-1].generation == 3
    await desk.service._changes.refresh()
    assert (await paths(desk.service, "when does the desk open"))[0] == "hours.md"


async def test_a_server_that_starts_while_another_syncs_removes_nothing_of_it(pair):
    desk, _ = pair
    desk.write("refunds.md", REFUNDS)
    await desk.sync()
    put = desk.registry.put_documents
    third = desk.fresh(shared=True)

    async def slowly(rows, removed):
        await third.start()  # the passages are in the index, the registry does not name them yet
        await put(rows, removed)

    desk.registry.put_documents = slowly
    desk.write("hours.md", HOURS)
    try:
        await desk.sync()
        assert (await desk.service.audit("demo")).clean
    finally:
        await third.close()


async def test_a_lease_that_cannot_be_renewed_is_not_relied_on():
    clock, registry = ManualClock(), MemoryIndex()
    ours, theirs = (SyncLeases(registry, clock, shared=True) for _ in range(2))
    async with ours.held("demo"):
        ours.check("demo")
        with pytest.raises(SyncRunning):
            async with theirs.held("demo"):
                pass
        await passed(clock, RENEW_SECONDS + 1)
        await passed(clock, SURE_SECONDS - RENEW_SECONDS)
        ours.check("demo")  # it was renewed in between

        async def fails(*_):
            raise NotReady("The store is away.")

        registry.take_lease = fails
        for _ in range(4):
            await passed(clock, RENEW_SECONDS)
        with pytest.raises(NotReady, match="lease"):
            ours.check("demo")
        del registry.take_lease
        await passed(clock, LEASE_SECONDS)
        async with theirs.held("other"):
            pass


async def test_what_a_killed_server_held_is_free_again_when_it_runs_out():
    clock, registry = ManualClock(), MemoryIndex()
    dead, ours = (SyncLeases(registry, clock, shared=True) for _ in range(2))
    assert await dead._take("demo")
    with pytest.raises(SyncRunning):
        async with ours.held("demo"):
            pass
    await passed(clock, LEASE_SECONDS + 1)
    async with ours.held("demo"):
        ours.check("demo")
