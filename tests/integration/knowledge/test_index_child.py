"""The child that owns Chroma may die at any time; the server answers on and mends it."""

from __future__ import annotations

import os
import shutil

import numpy as np
import pytest

from ai_server.knowledge.durable import IndexLost, Records
from ai_server.knowledge.index import ChromaIndex
from shared.errors import NotReady
from tests.fakes.library import PUBLIC, Desk, collect, statuses, until

REFUNDS = "# Refunds\n\nRefunds are paid within ten days after the receipt was shown at the desk.\n"
HOURS = "# Hours\n\nThe desk opens at nine in the morning and closes at five in the afternoon.\n"


class DiesBeforePut(ChromaIndex):
    """Kills its child just before one write."""

    armed = False

    async def put(self, collection, records):
        if self.armed:
            self.armed = False
            self.kill()
        await super().put(collection, records)


async def paths(desk: Desk, query: str) -> list[str]:
    return [hit.chunk.path for hit in (await desk.search(query, PUBLIC)).hits]


async def test_a_killed_child_costs_no_answer_and_no_document(tmp_path):
    """One walk, because each child takes seconds to start: killed inside a sync, mended, synced again."""
    index = DiesBeforePut(tmp_path / "index")
    desk = Desk(tmp_path, index=index)
    await desk.service.start()
    desk.write("refunds.md", REFUNDS)
    await desk.sync()

    desk.write("hours.md", HOURS)
    index.armed = True
    lines: dict = {}
    with pytest.raises(NotReady, match="index of documents"):
        await collect(desk.service.sync("demo", desk.source()), lines)
    assert "not done" in lines["hours.md"].reason
    assert desk.service.state().state == "degraded"
    assert await paths(desk, "refunds") == ["refunds.md"]
    await until(lambda: desk.service.state().state == "ready")
    lines, _ = await desk.sync()
    assert {path: str(status) for path, status in statuses(lines).items()} == {
        "hours.md": "indexed",
        "refunds.md": "unchanged",
    }
    collection = desk.service._library("demo").row.collection
    wanted = {chunk_id for row in desk.registry.rows.values() for chunk_id in row.chunk_ids}
    held = {chunk_id async for page in index.rows(collection) for chunk_id in page.ids}
    assert held == wanted
    before = index.pid
    await until(lambda: index._seen_by == before)
    shutil.rmtree(tmp_path / "index")
    await until(lambda: index.pid not in {None, before} and desk.service.state().state == "ready")
    assert {chunk_id async for page in index.rows(collection) for chunk_id in page.ids} == wanted

    await desk.service.close()


async def test_a_truncated_index_is_put_aside_at_the_next_start_and_built_again_from_the_documents(tmp_path):
    """CASES C10 (Chroma issue 7238), with the file that every collection needs."""
    desk = Desk(tmp_path, index=ChromaIndex(tmp_path / "index"))
    await desk.service.start()
    desk.write("refunds.md", REFUNDS)
    await desk.sync()
    embedded = len(desk.embedder.texts)
    await desk.service.close()
    database = tmp_path / "index" / "chroma" / "chroma.sqlite3"
    os.truncate(database, database.stat().st_size // 2)

    desk.index = ChromaIndex(tmp_path / "index")
    desk.service = desk.fresh()
    try:
        await desk.service.start()
        await until(lambda: desk.service.state().state == "ready")
        assert await paths(desk, "refunds") == ["refunds.md"]
        assert (await desk.service.audit("demo")).clean
        assert len(desk.embedder.texts) == embedded
        assert [each.name for each in (tmp_path / "index").glob("chroma.damaged-*")] == ["chroma.damaged-000001"]
    finally:
        await desk.service.close()


async def test_a_truncated_segment_of_vectors_is_an_error_or_a_dead_child_and_never_the_end_of_the_server(tmp_path):
    """CASES C10: half of the level-0 file. Chroma writes it from a thousand rows on."""
    index = ChromaIndex(tmp_path / "index")
    try:
        vectors = np.random.default_rng(1).normal(size=(1_500, 8)).astype(np.float32)
        rows = Records([f"id{n}" for n in range(1_500)], vectors, ["text"] * 1_500, [{"n": 1}] * 1_500)
        await index.prepare("cut-a")
        await index.put("cut-a", rows)
        await index.close()
        [level] = (tmp_path / "index" / "chroma").glob("*/data_level0.bin")
        os.truncate(level, level.stat().st_size // 2)
        try:
            found = await index.nearest("cut-a", vectors, 1)
        except IndexLost:
            found = []
        reached = sum(ids == [name] for ids, name in zip(found, rows.ids, strict=False))
        assert reached < 1_500, "what was cut away cannot be found, so an audit sees it"
        await index.quarantine()
        assert await index.prepare("cut-a") == 0
        await index.put("cut-a", rows)
        assert await index.nearest("cut-a", vectors[:3], 1) == [["id0"], ["id1"], ["id2"]]
    finally:
        index.kill()
