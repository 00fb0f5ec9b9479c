"""The index registry and its leases, over every state store."""

from __future__ import annotations

from datetime import timedelta

from ai_server.storage.index_contract import DocumentRow, IndexRow, KeptIndex, SourceRow
from tests.contracts.builders import NOW


def document(path="a.md", source="docs", **changes):
    fields = {
        "project_id": "demo",
        "source_id": source,
        "path": path,
        "status": "indexed",
        "reason": "",
        "content_sha256": b"\x01" * 32,
        "settings_sha256": b"\x02" * 32,
        "title": "Élan",
        "language": "fr",
        "metadata": {"scope": ("docs", "faq")},
        "chunk_ids": ("c1", "c2"),
        "synced_at": NOW,
    }
    return DocumentRow(**{**fields, **changes})


async def test_documents_are_written_replaced_and_removed_together(store):
    await store.index.put_documents([document(), document("b.md"), document(source="faq")], [])
    assert await store.index.documents("demo", "docs") == {"a.md": document(), "b.md": document("b.md")}
    changed = document(status="rejected", reason="no text", chunk_ids=())
    await store.index.put_documents([changed], [("demo", "docs", "b.md"), ("demo", "docs", "never-there.md")])
    assert await store.index.documents("demo", "") == {"docs/a.md": changed, "faq/a.md": document(source="faq")}
    assert await store.index.documents("other", "") == {}


async def test_a_project_has_one_index_row(store):
    row = IndexRow("demo", "c1", "encoder/512", 1, "{}")
    assert await store.index.index("demo") is None
    await store.index.put_index(row)
    assert await store.index.index("demo") == row
    changed = IndexRow("demo", "c2", "better/384", 2, "", KeptIndex("c1", "encoder/512", "{}"))
    await store.index.put_index(changed)
    assert await store.index.index("demo") == changed


async def test_a_folder_is_remembered_changed_and_forgotten(store):
    first = SourceRow("demo", "notes", "/srv/notes", {"audience": ("public", "staff")}, {"lang": "language"})
    assert list(await store.index.sources("demo")) == []
    await store.index.put_source(first)
    moved = SourceRow("demo", "notes", "/srv/élan", {}, {})
    other = SourceRow("demo", "archive", "/srv/archive", {}, {})
    await store.index.put_source(moved)
    await store.index.put_source(other)
    assert list(await store.index.sources("demo")) == [other, moved]
    assert list(await store.index.sources("else")) == []
    await store.index.remove_source("demo", "notes")
    await store.index.remove_source("demo", "never-there")
    assert list(await store.index.sources("demo")) == [other]


async def test_a_lease_is_one_owners_until_it_is_over_or_given_back(store):
    index, later = store.index, NOW + timedelta(seconds=30)
    assert await index.take_lease("sync/demo", "first", NOW, later)
    assert not await index.take_lease("sync/demo", "second", NOW + timedelta(seconds=29), later)
    assert await index.take_lease("sync/demo", "first", NOW, later + timedelta(seconds=30))
    assert not await index.take_lease("sync/demo", "second", later, later)
    assert await index.take_lease("sync/other", "second", NOW, later)
    await index.drop_lease("sync/demo", "second")
    assert not await index.take_lease("sync/demo", "second", later, later)
    await index.drop_lease("sync/demo", "first")
    assert await index.take_lease("sync/demo", "second", NOW, later)
    assert await index.take_lease("sync/demo", "first", later, later + timedelta(seconds=30))
