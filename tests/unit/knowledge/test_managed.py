"""Managed sources: documents that are sent, written first, and then indexed."""

from __future__ import annotations

import asyncio
import hashlib
import os

import pytest

from ai_server.knowledge.contract import FileStatus
from ai_server.knowledge.loaders.model import Rejected
from ai_server.knowledge.managed import DOCUMENTS_LIMIT, ManagedDocument, ManagedFolder
from shared.errors import FolderSource, InvalidRequest, NotFound, NotReady
from tests.fakes.library import PUBLIC, Desk, context

PRICES = b"# Prices\n\nA small parcel costs four euros and a large one costs nine euros.\n"
SAFE = b"# Safe\n\nThe key of the safe is kept by the head of the desk at all times.\n"


def sent(path: str = "prices.md", content: bytes = PRICES, **metadata: str) -> ManagedDocument:
    return ManagedDocument(path, content, {key: (value,) for key, value in metadata.items()})


async def found(desk: Desk, query: str, contexts=PUBLIC) -> list[str]:
    return [hit.chunk.path for hit in (await desk.search(query, contexts)).hits]


async def test_a_document_is_written_indexed_changed_and_removed(desk):
    lines = await desk.service.upsert("demo", "sent", [sent(), sent("staff/safe.md", SAFE, audience="staff")])
    assert [(line.path, line.status, line.chunk_count) for line in lines] == [
        ("prices.md", FileStatus.INDEXED, 1),
        ("staff/safe.md", FileStatus.INDEXED, 1),
    ]
    assert (desk.managed.root / "prices.md").read_bytes() == PRICES
    assert await found(desk, "what does a parcel cost?") == ["prices.md"]
    assert await found(desk, "safe", [context("staff")]) == ["staff/safe.md"]

    embedded = len(desk.embedder.texts)
    again = await desk.service.upsert("demo", "sent", [sent()])
    assert [line.status for line in again] == [FileStatus.UNCHANGED]
    assert len(desk.embedder.texts) == embedded

    narrowed = await desk.service.upsert("demo", "sent", [sent(audience="members")])
    assert [line.status for line in narrowed] == [FileStatus.INDEXED]
    assert await found(desk, "what does a parcel cost?") == []
    assert await found(desk, "what does a parcel cost?", [context("members")]) == ["prices.md"]

    gone = await desk.service.delete("demo", "sent", ["prices.md", "never.md"])
    assert [(line.path, line.status) for line in gone] == [
        ("prices.md", FileStatus.REMOVED),
        ("never.md", FileStatus.SKIPPED),
    ]
    assert await found(desk, "what does a parcel cost?", [context("members")]) == []
    assert [line.status for line in await desk.service.delete("demo", "sent", ["prices.md"])] == [FileStatus.SKIPPED]
    await desk.service.delete("demo", "sent", ["staff/safe.md"])
    assert [path.name for path in desk.managed.root.rglob("*") if path.is_file() and path.name != "fresh"] == []


async def test_what_is_sent_with_a_document_counts_before_what_it_says_of_itself(desk):
    """Whoever wrote the text must not widen the rights that the backend gave it."""
    front = b"---\naudience: public\n---\n" + SAFE
    await desk.service.upsert("demo", "sent", [sent("safe.md", front, audience="staff")])
    assert await found(desk, "key of the safe") == []
    assert await found(desk, "key of the safe", [context("staff")]) == ["safe.md"]


async def test_a_document_that_cannot_be_indexed_says_why_and_the_others_are_taken(desk):
    lines = await desk.service.upsert("demo", "sent", [sent(audience="everyone"), sent("ok.md")])
    assert [line.status for line in lines] == [FileStatus.REJECTED, FileStatus.INDEXED]
    assert "everyone" in lines[0].reason


async def test_a_restart_and_a_rebuild_keep_what_was_sent(desk):
    await desk.service.upsert("demo", "sent", [sent(audience="members")])
    desk.service, old = desk.fresh(), desk.service
    await old.close()
    await desk.service.start()
    assert await found(desk, "parcel", [context("members")]) == ["prices.md"]
    assert [event async for event in desk.service.rebuild("demo")]
    assert await found(desk, "parcel", [context("members")]) == ["prices.md"]
    lines, _ = await desk.sync(desk.managed)
    assert {path: line.status for path, line in lines.items()} == {"prices.md": FileStatus.UNCHANGED}


async def test_only_the_documents_of_a_call_are_read(desk, monkeypatch):
    await desk.service.upsert("demo", "sent", [sent(), sent("other.md", SAFE)])
    read: list[str] = []
    load = desk.service._parser.load

    async def seen(name, data):
        read.append(name)
        return await load(name, data)

    monkeypatch.setattr(desk.service._parser, "load", seen)
    (desk.managed.root / "other.md").write_bytes(PRICES)  # somebody's hand; the next whole sync will say so
    await desk.service.upsert("demo", "sent", [sent(content=PRICES + b"\nNew prices come in May.\n")])
    assert read == ["prices.md"]
    lines, _ = await desk.sync(desk.managed)
    assert "was not written by Upsert" in lines["other.md"].reason


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/etc/passwd.md",
        "../out.md",
        "a/../../out.md",
        "a//b.md",
        "a/./b.md",
        ".hidden.md",
        ".passeur/prices.md",
        "a\\b.md",
        "tab\there.md",
        "nul\x00.md",
        "half\ud800.md",
        "e\u0301t\u00e9.md",
        "program.exe",
        "no-ending",
        "_metadata.yaml",
        "x" * 201 + ".md",
        "/".join(["long"] * 300) + ".md",
        " .md",
    ],
)
async def test_a_path_that_is_not_plainly_inside_is_refused_and_nothing_is_written(desk, path):
    with pytest.raises(InvalidRequest, match=r"\[1\]\.path"):
        await desk.service.upsert("demo", "sent", [sent(), sent(path)])
    with pytest.raises(InvalidRequest):
        await desk.service.delete("demo", "sent", [path])
    assert not desk.managed.root.exists()


async def test_a_way_through_a_link_is_refused(desk, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    await desk.service.upsert("demo", "sent", [sent()])
    (desk.managed.root / "way").symlink_to(outside)
    (desk.managed.root / "file.md").symlink_to(outside / "file.md")
    for path in ("way/in.md", "file.md"):
        with pytest.raises(InvalidRequest, match="link"):
            await desk.service.upsert("demo", "sent", [sent(path)])
        with pytest.raises(InvalidRequest, match="link"):
            await desk.service.delete("demo", "sent", [path])
    assert list(outside.iterdir()) == []


async def test_counts_and_sizes_are_bounded_and_every_fault_is_named(desk):
    with pytest.raises(InvalidRequest, match="1 to 100"):
        await desk.service.upsert("demo", "sent", [])
    with pytest.raises(InvalidRequest, match="1 to 100"):
        await desk.service.upsert("demo", "sent", [sent(f"{n}.md") for n in range(DOCUMENTS_LIMIT + 1)])
    with pytest.raises(InvalidRequest, match="twice"):
        await desk.service.upsert("demo", "sent", [sent(), sent()])
    wrong = [ManagedDocument("a.md", b"a", {"k": ()}), ManagedDocument("b.md", b"b", {"k": ("x" * 1_001,)})]
    with pytest.raises(InvalidRequest) as failure:
        await desk.service.upsert("demo", "sent", wrong)
    assert [each.field for each in failure.value.violations] == ["documents[0].metadata", "documents[1].metadata"]
    assert not desk.managed.root.exists()


async def test_a_name_cannot_be_a_document_and_a_folder(desk):
    await desk.service.upsert("demo", "sent", [sent("a.md")])
    with pytest.raises(InvalidRequest, match="choose another name"):
        await desk.service.upsert("demo", "sent", [sent("a.md/b.md")])
    await desk.service.upsert("demo", "sent", [sent("d.md/e.md")])
    with pytest.raises(InvalidRequest, match="choose another name"):
        await desk.service.upsert("demo", "sent", [sent("d.md")])
    await desk.service.delete("demo", "sent", ["d.md/e.md"])
    assert [line.status for line in await desk.service.upsert("demo", "sent", [sent("d.md")])] == [FileStatus.INDEXED]


async def test_a_folder_that_somebody_else_writes_takes_no_documents(desk):
    for call in (desk.service.upsert("demo", "handbook", [sent()]), desk.service.delete("demo", "handbook", ["a.md"])):
        with pytest.raises(FolderSource, match="managed = true"):
            await call
    with pytest.raises(NotFound):
        await desk.service.upsert("demo", "nothing", [sent()])
    assert list(desk.docs.iterdir()) == []


async def test_calls_for_one_source_wait_for_each_other(desk):
    lines = await asyncio.gather(
        *(desk.service.upsert("demo", "sent", [sent(f"{number}.md", PRICES + b"%d" % number)]) for number in range(8))
    )
    assert [each[0].status for each in lines] == [FileStatus.INDEXED] * 8
    assert len(await desk.service.documents("demo", "sent", 100, "")) == 8


async def test_a_caller_who_leaves_does_not_leave_files_and_index_apart(desk):
    desk.embedder.gate = asyncio.Event()
    task = asyncio.create_task(desk.service.upsert("demo", "sent", [sent()]))
    while not (desk.managed.root / "prices.md").exists():  # noqa: ASYNC110 - a thread writes it
        await asyncio.sleep(0.005)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    desk.embedder.gate.set()
    await asyncio.gather(*desk.service._writer._running)
    assert await found(desk, "parcel") == ["prices.md"]


class PowerCut(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("operation", ["replace", "fsync", "unlink"])
@pytest.mark.parametrize("steps", range(12))
def test_a_death_at_any_step_leaves_one_version_whole_with_its_own_rights(tmp_path, monkeypatch, operation, steps):
    """Text of one version with the rights of the other would be a leak."""
    folder = ManagedFolder(tmp_path / "root")
    folder.put(sent(audience="public"))
    left = [steps]

    def dying(function):
        def call(*arguments, **named):
            if left[0] == 0:
                raise PowerCut
            left[0] -= 1
            return function(*arguments, **named)

        return call

    monkeypatch.setattr(f"os.{operation}", dying(getattr(os, operation)))
    fresh = sent(content=SAFE, audience="staff")
    try:
        folder.put(fresh)
        folder.remove("prices.md")
        removed = True
    except PowerCut:
        removed = False
    monkeypatch.undo()
    file = tmp_path / "root" / "prices.md"
    if removed or not file.exists():
        assert not file.exists()
    else:
        content = file.read_bytes()
        pairs = {PRICES: "public", SAFE: "staff"}
        assert dict(folder.metadata("prices.md", hashlib.sha256(content).digest())) == {"audience": (pairs[content],)}
    folder.put(fresh)
    assert dict(folder.metadata("prices.md", hashlib.sha256(SAFE).digest())) == {"audience": ("staff",)}


def test_a_disk_that_takes_nothing_more_is_said_and_the_old_version_stays(tmp_path, monkeypatch):
    folder = ManagedFolder(tmp_path / "root")
    folder.put(sent())

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(NotReady, match="No space left"):
        folder.put(sent(content=SAFE))
    assert (tmp_path / "root" / "prices.md").read_bytes() == PRICES


def test_a_damaged_note_rejects_its_document_until_it_is_sent_again(tmp_path):
    folder = ManagedFolder(tmp_path / "root")
    folder.put(sent(audience="staff"))
    (tmp_path / "root" / ".passeur" / "prices.md.json").write_text("{")
    with pytest.raises(Rejected, match="upsert it again"):
        folder.metadata("prices.md", hashlib.sha256(PRICES).digest())
    folder.put(sent(audience="staff"))
    assert folder.metadata("prices.md", hashlib.sha256(PRICES).digest()) == {"audience": ("staff",)}
