"""One suite over every durable index: Chroma in its child, Chroma as a server, and the fake of other tests."""

from __future__ import annotations

import numpy as np
import pytest

from ai_server.knowledge.durable import IndexLost, Records
from ai_server.knowledge.index import ChromaIndex, ChromaServer
from ai_server.knowledge.server_child import ServerAddress
from ai_server.knowledge.vectors import PassageVectors, quantise
from tests.chroma import chroma_run
from tests.fakes.durable_index import MemoryDurableIndex


def records(count: int, dimension: int = 8, start: int = 0) -> Records:
    vectors = np.random.default_rng(start).normal(size=(count, dimension)).astype(np.float32)
    return Records(
        [f"id{start + i}" for i in range(count)], vectors, ["text é"] * count, [{"n": 1, "ok": True}] * count
    )


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with chroma_run(tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.fixture(scope="module", params=["memory", "chroma", "server"])
def index(request, tmp_path_factory):
    """One index for the whole module: a child takes seconds to start. Each test uses a collection of its own."""
    if request.param == "memory":
        yield MemoryDurableIndex()
        return
    if request.param == "chroma":
        made = ChromaIndex(tmp_path_factory.mktemp("index"))
    else:
        made = ChromaServer(ServerAddress(request.getfixturevalue("server").url))
    yield made
    made.kill()


@pytest.mark.asyncio(loop_scope="module")
async def test_rows_come_back_as_they_were_put(index):
    assert await index.prepare("life-a") == 0
    await index.put("life-a", records(3))
    await index.put("life-a", records(1))
    assert await index.prepare("life-a") == 3
    pages = [page async for page in index.rows("life-a")]
    assert sorted(pages[0].ids) == ["id0", "id1", "id2"]
    assert (pages[0].texts[0], pages[0].bodies[0]) == ("text é", {"n": 1, "ok": True})
    assert np.allclose(pages[0].vectors[pages[0].ids.index("id0")], records(1).vectors[0], atol=1e-6)
    await index.drop("life-a")
    await index.drop("life-a")
    assert await index.prepare("life-a") == 0


@pytest.mark.asyncio(loop_scope="module")
async def test_more_than_chromas_largest_batch_is_split_before_it_is_sent(index):
    """CASES C2: 5,461 rows is the most here, and the limit depends on the SQLite build."""
    await index.prepare("big-a")
    await index.put("big-a", records(5_462))
    assert await index.prepare("big-a") == 5_462
    assert sum([len(page.ids) async for page in index.rows("big-a")]) == 5_462
    await index.remove("big-a", [f"id{i}" for i in range(5_462)])
    assert await index.prepare("big-a") == 0


@pytest.mark.asyncio(loop_scope="module")
async def test_a_deleted_row_is_never_the_nearest(index):
    """CASES C6 (Chroma issue 4275): after deleting the nearest, k=1 gave nothing while k=3 was right."""
    await index.prepare("near-a")
    rows = records(3)
    rows.vectors[:] = [[1, 0, 0, 0, 0, 0, 0, 0], [1, 0.01, 0, 0, 0, 0, 0, 0], [1, 0.1, 0, 0, 0, 0, 0, 0]]
    await index.put("near-a", rows)
    assert await index.nearest("near-a", rows.vectors, 1) == [["id0"], ["id1"], ["id2"]]
    await index.remove("near-a", ["id0", "unknown"])
    assert await index.nearest("near-a", rows.vectors[:1], 1) == [["id1"]]
    assert await index.nearest("near-a", rows.vectors[:1], 9) == [["id1", "id2"]]


@pytest.mark.asyncio(loop_scope="module")
async def test_some_rows_are_read_by_id_and_collections_by_name(index):
    await index.prepare("some-a")
    await index.put("some-a", records(1_203))
    assert "some-a" in await index.names()
    found = await index.fetch("some-a", ["id1202", "unknown", "id3", *(f"id{n}" for n in range(10, 1_100))])
    assert len(found.ids) == 1_092
    place = found.ids.index("id1202")
    assert np.allclose(found.vectors[place], records(1_203).vectors[1_202], atol=1e-6)
    assert (found.texts[place], found.bodies[place]) == ("text é", {"n": 1, "ok": True})
    assert (await index.fetch("some-a", ["unknown"])).ids == []
    await index.probe()


@pytest.mark.asyncio(loop_scope="module")
async def test_vectors_are_cached_by_model_and_text(index):
    whole = np.arange(8, dtype=np.float32)
    vectors = PassageVectors(whole, *quantise(np.eye(3, 8, dtype=np.float32)))
    await index.remember("model-a", {"h1": vectors})
    found = await index.recall("model-a", ["h1", "h2"])
    assert list(found) == ["h1"]
    assert np.allclose(found["h1"].whole, whole, atol=1e-5)
    assert np.array_equal(found["h1"].sentences, vectors.sentences)
    assert await index.recall("model-b", ["h1"]) == {}
    assert await index.recall("model-a", []) == {}
    many = {f"m{n}": PassageVectors(whole + n, *quantise(np.full((40, 8), n + 1, np.float32))) for n in range(3)}
    await index.remember("model-a", many)
    again = await index.recall("model-a", [*many, "h1"])
    assert all(np.array_equal(again[name].sentences, each.sentences) for name, each in many.items())
    assert all(np.array_equal(again[name].scales, each.scales) for name, each in many.items())
    empty = PassageVectors(whole, np.zeros((0, 8), np.int8), np.zeros(0, np.float32))
    await index.remember("model-a", {"none": empty})
    assert (await index.recall("model-a", ["none"]))["none"].sentences.shape == (0, 8)


async def test_a_server_that_is_away_is_said_and_found_again(tmp_path):
    with chroma_run(tmp_path) as server:
        index = ChromaServer(ServerAddress(server.url, token="secret-of-mine"))
        try:
            await index.probe()
            await index.prepare("away-a")
            server.stop()
            for call in (index.probe(), index.prepare("away-a")):
                with pytest.raises(IndexLost) as failure:
                    await call
                assert "secret-of-mine" not in failure.value.message
            server.start()
            await index.probe()
            assert await index.prepare("away-a") == 0
        finally:
            index.kill()
