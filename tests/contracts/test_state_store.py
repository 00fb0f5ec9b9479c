"""The index registry, over every state store."""

from __future__ import annotations

from ai_server.storage.contract import DocumentRow, IndexRow
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
    row = IndexRow("demo", "c1", "encoder/512", 1, "{}", "")
    assert await store.index.index("demo") is None
    await store.index.put_index(row)
    await store.index.put_index(IndexRow("demo", "c2", "encoder/512", 2, "{}", "c1"))
    assert await store.index.index("demo") == IndexRow("demo", "c2", "encoder/512", 2, "{}", "c1")
