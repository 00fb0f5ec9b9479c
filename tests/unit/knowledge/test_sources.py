"""Folders that came with a sync: what they are called, that they are remembered, and how they end."""

from __future__ import annotations

import json
import shutil

import pytest

from ai_server.knowledge.contract import SourceSpec
from shared.errors import InvalidRequest, NotFound, NotReady
from tests.fakes.library import DEFAULTS, Desk, collect, until

NOTES = "# Refunds\n\nRefunds are paid within ten days after the receipt was shown at the desk.\n"


def folder(desk: Desk, *parts: str):
    made = desk.folder.joinpath(*parts)
    made.mkdir(parents=True)
    (made / "refunds.md").write_text(NOTES, encoding="utf-8")
    return made


async def found(desk: Desk) -> list[str]:
    return [hit.chunk.source_id for hit in (await desk.search("When are refunds paid?")).hits]


async def restart(desk: Desk) -> None:
    await desk.service.close()
    desk.service = desk.fresh()
    await desk.service.start()


async def test_a_lost_index_is_built_again_from_folders_that_came_by_hand_too(desk):
    """`index/` may be thrown away: nothing else is needed to build it, and readiness comes back by itself."""
    notes = folder(desk, "notes")
    await desk.sync(await desk.service.given("demo", "", notes, DEFAULTS))
    desk.index.collections.clear()
    desk.index.cache.clear()
    shutil.rmtree(desk.folder / "ai" / "index", ignore_errors=True)
    await restart(desk)
    await until(lambda: desk.service.state().state == "ready")
    assert await found(desk) == ["notes"]


async def test_while_lost_documents_come_back_a_question_is_not_told_that_there_is_nothing(desk):
    notes = folder(desk, "notes")
    await desk.sync(await desk.service.given("demo", "", notes, DEFAULTS))
    desk.index.collections.clear()
    await desk.service.close()
    desk.service = desk.fresh()
    desk.service._upkeep.watch = lambda *_: None
    await desk.service.start()
    assert "1 passage is missing from the index and read again" in desk.service.state().reason
    with pytest.raises(NotReady, match="indexed again"):
        await desk.search("When are refunds paid?")
    assert (await desk.search("When are refunds paid?", [])).hits == ()
    await desk.service._writer.put_back()
    assert await found(desk) == ["notes"]


async def test_what_an_earlier_release_remembered_in_the_index_folder_is_taken_over(desk):
    notes = folder(desk, "notes")
    await desk.sync(await desk.service.given("demo", "", notes, DEFAULTS))
    desk.registry.folders.clear()
    earlier = desk.folder / "ai" / "index" / "sources.json"
    earlier.parent.mkdir(parents=True, exist_ok=True)
    entry = {"root": str(notes), "defaults": {"scope": ["docs"], "audience": ["public"]}, "key_map": {}}
    earlier.write_text(json.dumps({"demo": {"notes": {**entry, "managed": False}}}), encoding="utf-8")
    await restart(desk)
    taken = await desk.service.source("demo", "notes")
    assert (taken.root, taken.defaults) == (notes, DEFAULTS)
    assert not earlier.exists()
    await desk.service.forget("demo", "notes")
    await restart(desk)
    with pytest.raises(NotFound):
        await desk.service.source("demo", "notes")


async def test_lost_documents_of_a_source_that_nobody_knows_do_not_degrade_for_ever(desk):
    notes = folder(desk, "notes")
    await desk.sync(await desk.service.given("demo", "", notes, DEFAULTS))
    desk.registry.folders.clear()
    listed = {each.source_id: (each.root, each.document_count) for each in await desk.service.sources("demo")}
    assert listed["notes"] == ("", 1)
    desk.index.collections.clear()
    await restart(desk)
    await until(lambda: desk.service.state().state == "ready")
    assert await desk.registry.documents("demo", "notes") == {}


async def test_a_folder_that_is_gone_is_named_until_it_is_back_or_forgotten(desk):
    notes, more = folder(desk, "notes"), folder(desk, "more")
    for each in (notes, more):
        await desk.sync(await desk.service.given("demo", "", each, DEFAULTS))
    shutil.rmtree(notes)
    with pytest.raises(InvalidRequest, match=r"notes.*is missing"):
        await collect(desk.service.rebuild("demo"), {})
    assert sorted(await found(desk)) == ["more", "notes"], "nothing was dropped"
    desk.index.collections.clear()
    await restart(desk)
    await until(lambda: "notes" in desk.service.state().reason)
    state = desk.service.state()
    assert (state.state, "is missing or not a folder" in state.reason) == ("degraded", True)
    assert await found(desk) == ["more"]
    assert await desk.service.forget("demo", "notes") == (1, 1)
    assert desk.service.state().state == "ready"
    await collect(desk.service.rebuild("demo"), {})
    assert await found(desk) == ["more"]


async def test_a_source_is_forgotten_with_its_passages_and_its_folder_stays(desk):
    notes = folder(desk, "notes")
    await desk.sync(await desk.service.given("demo", "", notes, DEFAULTS))
    assert await desk.service.forget("demo", "notes") == (1, 1)
    assert await found(desk) == []
    assert (notes / "refunds.md").exists()
    assert (await desk.service.audit("demo")).clean
    with pytest.raises(NotFound, match="notes"):
        await desk.service.forget("demo", "notes")
    with pytest.raises(InvalidRequest, match="declared in the settings"):
        await desk.service.forget("demo", "handbook")


async def test_another_folder_of_the_same_name_does_not_replace_the_first(desk):
    first, second = folder(desk, "a", "notes"), folder(desk, "b", "notes")
    await desk.sync(await desk.service.given("demo", "", first, DEFAULTS))
    with pytest.raises(InvalidRequest, match="--source NAME") as refused:
        await desk.service.given("demo", "", second, DEFAULTS)
    assert str(first) in refused.value.message
    assert (await desk.service.given("demo", "", first, DEFAULTS)).source_id == "notes"
    await desk.sync(await desk.service.given("demo", "notes-b", second, DEFAULTS))
    assert (await desk.service.given("demo", "", second, DEFAULTS)).source_id == "notes-b", "known by its folder"
    moved = await desk.service.given("demo", "notes", folder(desk, "c", "notes"), DEFAULTS)
    assert moved.source_id == "notes", "said outright, it is replaced"


async def test_a_declared_source_is_told_from_a_folder_of_its_name(desk):
    with pytest.raises(InvalidRequest, match="sync it without a folder"):
        await desk.service.given("demo", "handbook", desk.docs, DEFAULTS)
    with pytest.raises(InvalidRequest, match="--source NAME"):
        await desk.service.given("demo", "", folder(desk, "handbook"), DEFAULTS)
    with pytest.raises(InvalidRequest, match=r"Upsert.*--source NAME"):
        await desk.service.given("demo", "", folder(desk, "sent"), DEFAULTS)


async def test_a_folder_that_is_not_there_is_refused_before_it_is_kept(desk):
    missing = desk.folder / "nowhere"
    with pytest.raises(InvalidRequest, match="nothing was changed"):
        await desk.service.given("demo", "", missing, DEFAULTS)
    with pytest.raises(InvalidRequest):
        await desk.sync(SourceSpec("nowhere", missing, DEFAULTS, {}))
    with pytest.raises(NotFound):
        await desk.service.source("demo", "nowhere")


@pytest.mark.parametrize(
    ("defaults", "named"),
    [
        ({"audience": ("publik",)}, "`publik` is not declared: use one of members, public, staff"),
        ({"audiense": ("public",)}, "is not a declared key: use one of audience"),
        ({"lang": ("klingon",)}, "`klingon` is not declared"),
    ],
)
async def test_a_typing_error_in_the_metadata_leaves_the_folder_as_it_was(desk, defaults, named):
    notes = folder(desk, "notes")
    await desk.sync(await desk.service.given("demo", "", notes, {**DEFAULTS, "lang": ("en",)}))
    with pytest.raises(InvalidRequest) as refused:
        await desk.service.given("demo", "", notes, {**DEFAULTS, **defaults})
    assert named in refused.value.message
    again = await desk.service.given("demo", "", notes, {})
    assert again.defaults == {**DEFAULTS, "lang": ("en",)}, "without metadata it keeps what it came with"
    await desk.sync(again)
    assert await found(desk) == ["notes"]
