"""Everything that may lie in a folder at once: each ends as a line, nothing else is lost, and the index answers."""

from __future__ import annotations

import io
import os
import zipfile

import docx
import pytest

from ai_server.knowledge.contract import FileStatus
from shared.errors import NotReady
from tests.fakes.library import PUBLIC, Desk, collect, context

GOOD = "# Refunds\n\nRefunds are paid within ten days after the receipt was shown at the desk.\n"
REPEATED = "The same sentence stands here three times over, word by word, to the very end.\n"
MIB = 1024 * 1024


async def test_an_empty_folder_is_a_summary_without_lines(desk):
    lines, summary = await desk.sync()
    assert lines == {}
    assert summary.files == {}


@pytest.mark.parametrize("declared", ["utf-8", "no-such-charset", "utf-16"])
async def test_a_page_that_declares_the_wrong_encoding_is_read_in_the_right_one(desk, declared):
    page = f'<html><head><meta charset="{declared}"><title>Péage</title></head><body><p>{{}}</p></body></html>'
    text = "Le péage du pont de Brôme coûte sept euros trente à l’été."
    (desk.docs / "bridge.html").write_bytes(page.format(text).encode("cp1252"))
    await desk.sync()
    hit = (await desk.search("péage du pont", PUBLIC)).hits[0]
    assert (hit.chunk.title, text in hit.chunk.text) == ("Péage", True)


async def test_a_folder_of_everything_bad_costs_the_good_files_nothing(desk):
    desk.write("good.md", GOOD)
    desk.write("repeated.md", "\n\n".join(f"# Part {n}\n\n{REPEATED * 3}" for n in range(3)))
    desk.write("twin.md", GOOD)
    desk.write("undeclared.md", f"---\naudience: everybody\n---\n{GOOD}")
    desk.write("caf\u00e9.md", GOOD)
    desk.write("cafe\u0301.md", GOOD)
    (desk.docs / "large.md").touch()
    os.truncate(desk.docs / "large.md", 200 * MIB)
    (desk.docs / "noise.pdf").write_bytes(b"%PDF-1.7\n" + bytes(range(256)) * 40)
    (desk.docs / "bomb.docx").write_bytes(b"PK\x03\x04" + b"\0" * 400)
    os.mkfifo(desk.docs / "pipe.md")
    (desk.docs / "nowhere.md").symlink_to(desk.docs / "gone.md")

    lines, summary = await desk.sync()
    rejected = {path: line.reason for path, line in lines.items() if line.status is FileStatus.REJECTED}
    assert sorted(rejected) == [
        "bomb.docx",
        "caf\u00e9.md (2)",
        "large.md",
        "noise.pdf",
        "nowhere.md",
        "pipe.md",
        "undeclared.md",
    ]
    assert all(rejected.values())
    assert "larger than 20 MiB" in rejected["large.md"]
    assert "everybody" in rejected["undeclared.md"]
    indexed = {path for path, line in lines.items() if line.status is FileStatus.INDEXED}
    assert indexed == {"good.md", "repeated.md", "twin.md", "caf\u00e9.md"}
    assert sum(summary.files.values()) == len(lines)
    found = {hit.chunk.path for hit in (await desk.search("when are refunds paid?")).hits}
    assert {"good.md", "twin.md", "caf\u00e9.md"} <= found
    _, chunks = await desk.service.explain("demo", "handbook", "repeated.md")
    assert len({chunk.chunk_id for chunk in chunks}) == len(chunks)
    assert (await desk.service.audit("demo")).clean


def damaged_docx() -> bytes:
    """A Word file whose directory is sound and whose text cannot be unpacked, as a bad disk leaves it."""
    made = docx.Document()
    made.add_paragraph(" ".join(str(number * 7919) for number in range(400)))
    out = io.BytesIO()
    made.save(out)
    data = bytearray(out.getvalue())
    entry = zipfile.ZipFile(out).getinfo("word/document.xml")
    start = entry.header_offset + 30 + len(entry.filename)
    data[start : start + 30] = b"\xff" * 30
    return bytes(data)


async def test_a_file_that_its_reader_breaks_off_at_costs_the_others_nothing(desk):
    """P28, seed 200000 on: zlib's error came through and ended the sync."""
    (desk.docs / "damaged.docx").write_bytes(damaged_docx())
    desk.write("good.md", GOOD)
    lines, _ = await desk.sync()
    assert lines["damaged.docx"].status is FileStatus.REJECTED
    assert "cannot be read" in lines["damaged.docx"].reason
    assert lines["good.md"].status is FileStatus.INDEXED


async def test_a_filter_with_an_empty_list_gives_nothing_rather_than_everything(desk):
    """CASES C4."""
    desk.write("good.md", GOOD)
    await desk.sync()
    for contexts in ([], [{}], [context()], [{**context("public"), "language": frozenset()}]):
        assert (await desk.search("refunds", contexts)).hits == ()
    assert (await desk.search("refunds", PUBLIC)).hits


async def test_an_index_whose_disk_is_full_loses_no_answer_and_says_so_by_file(tmp_path):
    desk = Desk(tmp_path)
    await desk.service.start()
    try:
        desk.write("good.md", GOOD)
        await desk.sync()
        desk.write("new.md", GOOD.replace("ten", "twenty"))
        desk.index.lost = True
        lines = {}
        with pytest.raises(NotReady, match="index of documents"):
            await collect(desk.service.sync("demo", desk.source()), lines)
        assert "not done" in lines["new.md"].reason
        assert (await desk.search("when are refunds paid?")).hits[0].chunk.path == "good.md"
        assert desk.service.state().state == "degraded"
        desk.index.lost = False
        lines, _ = await desk.sync()
        assert lines["new.md"].status is FileStatus.INDEXED
    finally:
        await desk.service.close()
