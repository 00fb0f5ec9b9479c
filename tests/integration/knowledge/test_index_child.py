"""The child that owns Chroma may die at any time; the server answers on and mends it."""

from __future__ import annotations

import pytest

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
    held = {chunk_id async for page in index.rows(collection) for chunk_id in page.ids}
    assert held == {chunk_id for row in desk.registry.rows.values() for chunk_id in row.chunk_ids}

    await desk.service.close()
