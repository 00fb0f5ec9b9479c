"""The life of a folder in the index."""

from __future__ import annotations

import asyncio
import os
import shutil

import pytest

from ai_server.knowledge import documents
from ai_server.knowledge.contract import FileStatus, SourceSpec
from shared.errors import (
    BudgetExhausted,
    FailedPrecondition,
    InvalidRequest,
    NotFound,
    NotReady,
    ProviderError,
    SyncRunning,
    UnsupportedMedia,
)
from tests.fakes.library import DEFAULTS, PUBLIC, SPENDING, Desk, collect, context, statuses, until

INDEXED, UNCHANGED, MOVED = FileStatus.INDEXED, FileStatus.UNCHANGED, FileStatus.MOVED
REMOVED, REJECTED, SKIPPED = FileStatus.REMOVED, FileStatus.REJECTED, FileStatus.SKIPPED
REFUNDS = "# Refunds\n\nRefunds are paid within ten days after the receipt was shown at the desk.\n"
HOURS = "# Hours\n\nThe desk opens at nine in the morning and closes at five in the afternoon.\n"


async def paths(desk: Desk, query: str, contexts=PUBLIC) -> list[str]:
    return [hit.chunk.path for hit in (await desk.search(query, contexts)).hits]


async def durable_ids(desk: Desk) -> set[str]:
    """What the index holds on disk, whatever the snapshot says."""
    library = desk.service._library("demo")
    return {chunk_id async for page in desk.service._index.rows(library.row.collection) for chunk_id in page.ids}


async def registered_ids(desk: Desk) -> set[str]:
    return {chunk_id for row in (await desk.registry.documents("demo", "")).values() for chunk_id in row.chunk_ids}


async def test_a_folder_is_indexed_changed_moved_and_emptied(desk):
    """The whole life in one walk: each step is what the step before left."""
    desk.write("refunds.md", REFUNDS)
    desk.write("hours.md", HOURS)
    desk.write("staff/pay.md", "---\naudience: staff\n---\n# Pay\n\nSalaries are paid on the last day of the month.\n")
    desk.write("logo.svg", "<svg/>")
    lines, summary = await desk.sync()
    assert statuses(lines) == {"refunds.md": INDEXED, "hours.md": INDEXED, "staff/pay.md": INDEXED, "logo.svg": SKIPPED}
    assert (summary.chunks_embedded, summary.generation) == (3, 1)
    assert (await paths(desk, "When are refunds paid?"))[0] == "refunds.md"
    assert "staff/pay.md" not in await paths(desk, "salaries")
    assert (await paths(desk, "salaries", [context("staff")])) == ["staff/pay.md"]

    embedded = len(desk.embedder.texts)
    lines, summary = await desk.sync()
    assert set(statuses(lines).values()) == {UNCHANGED, SKIPPED}
    assert (len(desk.embedder.texts), summary.generation) == (embedded, 1)

    desk.write("hours.md", HOURS.replace("nine", "ten"))
    (desk.docs / "refunds.md").rename(desk.docs / "money.md")
    lines, summary = await desk.sync()
    assert lines["money.md"].moved_from == "refunds.md"
    assert statuses(lines)["money.md"] is MOVED
    assert statuses(lines)["hours.md"] is INDEXED
    assert "refunds.md" not in lines
    assert (summary.chunks_embedded, summary.chunks_reused, summary.chunks_removed) == (1, 1, 2)
    assert await durable_ids(desk) == await registered_ids(desk)
    assert await paths(desk, "When are refunds paid?") == ["money.md", "hours.md"]

    desk.write("hours.md", "---\naudience: everyone\n---\nnobody declared that value")
    (desk.docs / "money.md").unlink()
    lines, summary = await desk.sync()
    assert statuses(lines)["hours.md"] is REJECTED
    assert "everyone" in lines["hours.md"].reason
    assert statuses(lines)["money.md"] is REMOVED
    assert await paths(desk, "refunds") == []
    again, _ = await desk.sync()
    assert statuses(again)["hours.md"] is REJECTED
    assert again["hours.md"].reason == lines["hours.md"].reason

    entry, chunks = await desk.service.explain("demo", "handbook", "staff/pay.md")
    assert (entry.chunk_count, chunks[0].heading, chunks[0].language) == (1, "Pay", "en")
    with pytest.raises(NotFound):
        await desk.service.explain("demo", "handbook", "never.md")
    listed = await desk.service.documents("demo", "", 10, "")
    assert [each.path for each in listed] == ["hours.md", "staff/pay.md"]
    assert [each.path for each in await desk.service.documents("demo", "", 10, "handbook/hours.md")] == ["staff/pay.md"]
    source = (await desk.service.sources("demo"))[0]
    assert (source.source_id, source.document_count, source.chunk_count) == ("handbook", 1, 1)

    desk.service, old = desk.fresh(), desk.service
    await old.close()
    await desk.service.start()
    assert await paths(desk, "salaries", [context("staff")]) == ["staff/pay.md"]
    hit = (await desk.search("salaries", [context("staff")])).hits[0]
    assert [each.text for each in hit.sentences] == ["Salaries are paid on the last day of the month."]
    assert hit.sentences[0].similarity > 0


async def test_bad_files_are_each_named_and_good_ones_beside_them_are_indexed(desk):
    desk.write("good.md", REFUNDS)
    desk.write("empty.md", "")
    desk.write("front.md", "---\ntitle: only\n---\n")
    desk.write("broken.md", "---\ntitle: [x\n---\ntext")
    desk.write("language.md", "---\nlang: de\n---\nEin Text in einer anderen Sprache.")
    (desk.docs / "binary.md").write_bytes(bytes(range(256)) * 8)
    closed = desk.write("closed.md", "text")
    closed.chmod(0)
    lines, summary = await desk.sync()
    reasons = {path: line.reason for path, line in lines.items() if line.status is REJECTED}
    assert "no text" in reasons["empty.md"]
    assert "no text" in reasons["front.md"]
    assert "not YAML" in reasons["broken.md"]
    assert "`language` is `de`" in reasons["language.md"]
    assert "binary" in reasons["binary.md"]
    if os.geteuid() != 0:  # root may read everything
        assert "cannot be read" in reasons["closed.md"]
    assert statuses(lines)["good.md"] is INDEXED
    assert sum(summary.files.values()) == len(lines) == 7


async def test_a_file_is_read_again_once_the_package_that_it_needs_is_there(desk, monkeypatch):
    desk.write("page.html", "<h1>Desk</h1><p>The desk opens at nine.</p>")

    def missing(name):
        raise ModuleNotFoundError(f"No module named {name!r}", name="bs4")

    with monkeypatch.context() as without:
        without.setattr(documents, "import_module", missing)
        without.setattr(documents, "find_spec", lambda name: None)
        documents.installed.cache_clear()
        lines, _ = await desk.sync()
        assert "`bs4` is needed to read it" in lines["page.html"].reason
    documents.installed.cache_clear()
    lines, _ = await desk.sync()
    assert statuses(lines) == {"page.html": INDEXED}
    lines, _ = await desk.sync()
    assert statuses(lines) == {"page.html": UNCHANGED}


async def test_a_failed_batch_leaves_nothing_and_the_next_sync_finishes(desk):
    """Embedding that stops half way: what was paid for is kept in the cache, the index holds whole documents only."""
    for number in range(6):
        text = "\n\n".join(f"Paragraph {number}.{i} tells of subject {i * 7 + number}. " * 9 for i in range(75))
        desk.write(f"part{number}.md", text)
    desk.embedder.fail_after = 2
    desk.embedder.failure = BudgetExhausted("The project's budget is spent.", None)
    lines = {}
    with pytest.raises(BudgetExhausted):
        await collect(desk.service.sync("demo", desk.source()), lines)
    assert sorted(lines) == [f"part{number}.md" for number in range(6)]
    assert {line.status for line in lines.values()} == {REJECTED}
    assert "budget is spent" in lines["part5.md"].reason
    assert await durable_ids(desk) == await registered_ids(desk) == set()
    desk.embedder.fail_after = None
    lines, summary = await desk.sync()
    assert {line.status for line in lines.values()} == {INDEXED}
    assert summary.chunks_reused == 64
    assert await durable_ids(desk) == await registered_ids(desk)


async def test_a_registry_that_cannot_write_rolls_new_passages_back(desk, monkeypatch):
    desk.write("refunds.md", REFUNDS)
    await desk.sync()
    before = await durable_ids(desk)
    desk.write("hours.md", HOURS)
    desk.write("refunds.md", REFUNDS + "\nAnd a new sentence was added to this text.\n")

    async def refuse(rows, removed):
        raise NotReady("The state store cannot write: disk full.")

    monkeypatch.setattr(desk.registry, "put_documents", refuse)
    with pytest.raises(NotReady, match="disk full"):
        await desk.sync()
    assert await durable_ids(desk) == before
    assert (await paths(desk, "refunds"))[0] == "refunds.md"


async def test_one_sync_a_source_at_a_time(desk):
    desk.write("refunds.md", REFUNDS)
    desk.embedder.gate = asyncio.Event()
    first = asyncio.create_task(desk.sync())
    await until(lambda: bool(desk.service._changes.syncing))
    with pytest.raises(SyncRunning):
        await desk.sync()
    desk.embedder.gate.set()
    lines, _ = await first
    assert statuses(lines) == {"refunds.md": INDEXED}
    await desk.sync()


async def test_withdrawn_rights_hold_before_the_sync_ends(desk):
    """A passage that a running sync made private is not shown from the old snapshot."""
    desk.write("a.md", REFUNDS)
    await desk.sync()
    chunk_id = (await desk.search("refunds")).hits[0].chunk.chunk_id
    assert await desk.service.passage("demo", chunk_id, PUBLIC) is not None
    desk.write("a.md", "---\naudience: staff\n---\n" + REFUNDS)
    seen = [
        (await desk.service.passage("demo", chunk_id, PUBLIC), (await desk.search("refunds")).hits)
        async for event in desk.service.sync("demo", desk.source())
        if getattr(event, "status", None) is INDEXED
    ]
    assert seen == [(None, ())]
    assert await desk.service.passage("demo", chunk_id, [context("staff")]) is not None


async def test_what_is_for_the_chatbot_only_is_found_but_never_shown(desk):
    desk.write("inner.md", "---\nchatbot_only: true\n---\n" + REFUNDS)
    await desk.sync()
    hit = (await desk.search("refunds")).hits[0]
    assert hit.chunk.quotable is False
    assert await desk.service.passage("demo", hit.chunk.chunk_id, PUBLIC) is None


async def test_without_rights_nothing_is_embedded(desk):
    """CASES C4."""
    desk.write("refunds.md", REFUNDS)
    await desk.sync()
    for contexts in ([], [{}], [context()], [{"audience": frozenset({"public"})}]):
        found = await desk.search("refunds", contexts)
        assert (found.hits, found.sufficient) == ((), False)
    assert desk.embedder.queries == []
    await desk.search("refunds")
    await desk.search("refunds")
    assert desk.embedder.queries == ["refunds"]


@pytest.mark.parametrize(
    "failure",
    [
        BudgetExhausted("The project's budget has no room.", None),
        ProviderError("mistral", "The host cannot be reached.", started=False, error_class="unreachable"),
    ],
)
async def test_words_find_what_can_be_found_when_the_question_cannot_be_embedded(desk, failure):
    desk.write("refunds.md", REFUNDS)
    desk.write("opening.md", "# Opening hours\n\nThe desk is open from nine to five on working days.\n")
    await desk.sync()
    desk.embedder.query_failure = failure
    found = await desk.search("how are refunds paid?")
    assert found.sufficient
    assert found.hits[0].chunk.path == "refunds.md"
    assert (found.signals["words_only"], found.signals["similarity"]) == (1.0, 0.0)
    assert not (await desk.search("which planets have rings?")).sufficient
    desk.embedder.query_failure = None
    assert "words_only" not in (await desk.search("how are refunds paid?")).signals


async def test_a_folder_that_is_missing_or_vanishes_changes_nothing(desk):
    desk.write("refunds.md", REFUNDS)
    await desk.sync()
    away = desk.folder / "away"
    desk.docs.rename(away)
    with pytest.raises(InvalidRequest, match="missing or not a folder"):
        await desk.sync()
    assert (await paths(desk, "refunds")) == ["refunds.md"]
    away.rename(desk.docs)
    desk.write("hours.md", HOURS)

    async def vanish(name, data):
        shutil.rmtree(desk.docs)
        raise AssertionError("unreachable") if not name else NotReady("The disk went away.")

    desk.service._parser.load = vanish
    with pytest.raises((InvalidRequest, NotReady)):
        await desk.sync()
    assert (await paths(desk, "refunds")) == ["refunds.md"]


async def test_a_source_given_by_hand_is_remembered(desk):
    extra = desk.folder / "extra"
    extra.mkdir()
    (extra / "x.md").write_text(HOURS, encoding="utf-8")
    await desk.sync(SourceSpec("extra", extra, DEFAULTS, {}))
    assert (await desk.service.source("demo", "extra")).root == extra
    with pytest.raises(NotFound):
        await desk.service.source("demo", "other")


async def test_another_model_refuses_with_the_remedy_until_it_is_set_back(desk):
    """CASES C14: the index carries its model; a mismatch is a refusal, never garbage."""
    desk.write("refunds.md", REFUNDS)
    await desk.sync()
    await desk.service.close()
    desk.embedder.fingerprint, kept = "fake/other/64", desk.embedder.fingerprint
    desk.service = desk.fresh()
    await desk.service.start()
    state = desk.service.state()
    assert state.state == "down"
    assert "set the model back" in state.reason
    with pytest.raises((NotReady, FailedPrecondition), match="built with"):
        await desk.service.search("demo", "refunds", PUBLIC, limit=3, language="en", spending=SPENDING)
    await desk.service.close()
    desk.embedder.fingerprint = kept
    desk.service = desk.fresh()
    await desk.service.start()
    assert await paths(desk, "refunds") == ["refunds.md"]


async def test_an_audit_finds_what_is_lost_and_what_should_be_gone_and_a_rebuild_mends_it(desk):
    """P29: every live passage is found by its own vector, and nothing that was deleted."""
    for number in range(30):
        desk.write(f"f{number}.md", f"Passage {number} speaks of subject {number * 13} and thing {number * 7}.")
    desk.write("twin.md", "Passage 3 speaks of subject 39 and thing 21.")
    await desk.sync()
    found = await desk.service.audit("demo")
    assert (found.chunk_count, found.clean) == (31, True)
    rows = desk.index.collections[desk.service._library("demo").row.collection]
    ids = list(rows)
    rows["ghost"] = rows[ids[0]]
    del rows[ids[1]]
    found = await desk.service.audit("demo")
    assert (found.unreachable, found.ghosts) == ((ids[1],), ("ghost",))
    assert desk.service.state().state == "degraded"
    embedded = len(desk.embedder.texts)
    await collect(desk.service.rebuild("demo"), {})
    assert (await desk.service.audit("demo")).clean
    assert len(desk.embedder.texts) == embedded, "vectors come from the cache"
    assert desk.service.state().state == "ready"


async def test_a_damaged_index_is_put_aside_at_start_and_rebuilt_from_the_documents(desk, monkeypatch):
    """CASES C10: a truncated segment kills whoever opens it; the server stays up and mends it."""
    desk.write("refunds.md", REFUNDS)
    await desk.sync()
    await desk.service.close()
    desk.index.lost = True
    desk.service = desk.fresh()
    await desk.service.start()
    await until(lambda: desk.service.state().state == "ready")
    assert await paths(desk, "refunds") == ["refunds.md"]
    assert await durable_ids(desk) == await registered_ids(desk)


async def test_calibration_is_stored_with_the_collection_and_survives_a_restart(desk):
    desk.write("refunds.md", REFUNDS)
    await desk.sync()
    questions = [("When are refunds paid?", True), ("refunds receipt desk", True), ("zebra crossing rules", False)]
    found = await desk.service.calibrate("demo", questions, 0.1, SPENDING)
    assert (found.lost_share, found.false_answer_share) == (0.0, 0.0)
    await desk.service.close()
    desk.service = desk.fresh()
    await desk.service.start()
    assert desk.service._library("demo").gate == found.gate
    assert (await desk.search("When are refunds paid?")).sufficient
    assert not (await desk.search("zebra crossing rules")).sufficient


async def test_an_uploaded_document_gives_its_text_and_is_not_kept(desk):
    loaded, text, truncated = await desk.service.extract("notes.txt", "", "Café à midi.".encode("utf-8-sig"))
    assert (text, truncated, loaded.encoding) == ("Café à midi.", False, "utf-8-sig")
    with pytest.raises(UnsupportedMedia, match="is not a type"):
        await desk.service.extract("photo.png", "", b"x")
    _, text, _ = await desk.service.extract("rapport.final", "text/plain; charset=utf-8", b"Noon.")
    assert text == "Noon."
    with pytest.raises(InvalidRequest, match="binary"):
        await desk.service.extract("notes.txt", "", bytes(range(256)) * 9)
    assert await desk.registry.documents("demo", "") == {}
