"""Every row of the handed attachments' manifest, and the loaders' own edges."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from pathlib import Path, PurePosixPath

import pytest

from ai_server.knowledge import documents
from ai_server.knowledge.contract import ProjectKnowledge, SourceSpec
from ai_server.knowledge.loaders.model import BlockKind, Loaded, Rejected

FOLDER = Path(os.environ.get("PASSEUR_EVAL_DATA", "")) / "attachments"
MANIFEST = FOLDER / "manifest.jsonl"
ROWS = (
    [json.loads(line) for line in MANIFEST.read_text(encoding="utf-8").splitlines()]
    if os.environ.get("PASSEUR_EVAL_DATA") and MANIFEST.is_file()
    else [None]
)
SOURCE = SourceSpec("attachments", FOLDER, {}, {})
PROJECT = ProjectKnowledge("demo", (SOURCE,), (), ("fr", "en", "es"))
NO_TEXT = {
    "python-docx/blk-containing-table.docx",
    "python-docx/tbl-having-tables.docx",
    "python-docx/having-images.docx",
}
"""Tables with empty cells, and pictures alone: python-docx's own samples hold no word."""


def load(name: str) -> Loaded:
    return documents.load(name, (FOLDER / name).read_bytes())


def text_of(loaded: Loaded) -> str:
    return "\n".join(block.text for block in loaded.blocks)


@pytest.mark.service("data")
@pytest.mark.parametrize("row", ROWS, ids=[row["file"] if row else "no data" for row in ROWS])
def test_a_row_of_the_manifest_gives_its_text_or_its_reason(row):
    """The handed attachments' manifest: what is odd about each file, and how much text pypdf saw."""
    name = row["file"]
    suffix = PurePosixPath(name).suffix.lower()
    if suffix not in documents.SUFFIXES:
        assert suffix in {".json", ".gz"}
        return
    seen = row.get("pdf") or {}
    if seen.get("encrypted") and row.get("password"):
        with pytest.raises(Rejected, match="needs a password"):
            load(name)
    elif seen and seen["chars"] == 0:
        with pytest.raises(Rejected, match=r"no text layer.*OCR"):
            load(name)
    else:
        loaded = load(name)
        if name in NO_TEXT:
            with pytest.raises(Rejected, match="no text"):
                documents.prepare(name, loaded, [], SOURCE, PROJECT)
            return
        pieces = documents.prepare(name, loaded, [], SOURCE, PROJECT).chunks
        assert pieces, "never silently empty"
        words = set(re.findall(r"\w+", text_of(loaded)))
        assert words <= set(re.findall(r"\w+", " ".join(piece.text for piece in pieces)))
        if seen:
            assert loaded.page_count == seen["pages"]
            assert len(text_of(loaded)) >= 0.8 * seen["chars"] - 40
        if "encoding_seen" in row and row["encoding_seen"] == "utf-8-sig":
            assert loaded.encoding == "utf-8-sig"


@pytest.mark.service("data")
@pytest.mark.parametrize("case", ["comma_in_quotes", "escaped_quotes", "newlines_crlf", "utf8", "simple", "empty"])
def test_csv_cells_are_those_that_the_spectrum_expects(case):
    """csv-spectrum: the JSON beside each file says what its rows are."""
    expected = json.loads((FOLDER / f"csv-spectrum/json/{case}.json").read_text(encoding="utf-8"))
    rows = text_of(load(f"csv-spectrum/csvs/{case}.csv")).split("\n")
    assert rows[0] == " | ".join(expected[0])
    assert rows[1:] == [" | ".join(" ".join(value.split()) for value in row.values()) for row in expected]


@pytest.mark.service("data")
def test_ligatures_and_line_ends_are_undone_in_pdf():
    text = text_of(load("sample-files/crazyones-pdfa.pdf"))
    assert "misfits" in text
    assert "ﬁ" not in text


@pytest.mark.service("data")
def test_docx_counts_images_and_reads_headers():
    assert load("python-docx/having-images.docx").skipped_image_count > 0
    assert "header" in text_of(load("python-docx/hdr-header-footer.docx")).lower()


@pytest.mark.parametrize(
    ("data", "header", "encoding"),
    [
        ("name;price\nThé;1,50\nCafé;2,00\n".encode("utf-8-sig"), "name | price", "utf-8-sig"),
        ("name;price\nThé vert;1,50\nCafé crème glacé;2,00\n".encode("cp1252"), "name | price", "cp1252"),
        ("name\tprice\nThé\t1,50\n".encode("utf-16"), "name | price", "utf-16"),
        (b"a|b\n1|2\n", "a | b", "utf-8"),
    ],
    ids=["Excel UTF-8 with BOM", "Windows with semicolons", "UTF-16 tabs", "bars"],
)
def test_csv_headers_are_exact_whatever_saved_the_file(data, header, encoding):
    """CASES I13 (docling issue 4097): the BOM stayed in the first header, invisible."""
    loaded = documents.load("prices.csv", data)
    assert loaded.blocks[0].text.split("\n")[0] == header
    assert loaded.encoding == encoding
    assert "Th" not in text_of(loaded) or "Thé" in text_of(loaded)


def test_lines_before_a_csv_header_are_prose():
    data = b"Export of 2026;;\n;;\nname;price;unit\ntea;1;g\nmilk;2;l\n"
    loaded = documents.load("x.csv", data)
    assert [block.kind for block in loaded.blocks] == [BlockKind.PROSE, BlockKind.TABLE]
    assert loaded.blocks[1].text.split("\n")[0] == "name | price | unit"


def test_an_overlong_csv_field_is_a_reason_and_nothing_else():
    out = io.StringIO()
    csv.writer(out).writerows([["a", "b"], ["x" * 200_000, "y"]])
    with pytest.raises(Rejected, match="CSV"):
        documents.load("x.csv", out.getvalue().encode())


def test_html_gives_what_a_reader_sees():
    page = (
        b"<html lang=fr><head><title>Aide</title><style>x</style></head><body><nav>Menu</nav><h1>Ouvrir</h1>"
        b"<p>Un <b>compte</b> se cr&eacute;e <br>en ligne.</p><!-- hidden --><script>x</script><ul><li>un<li>deux</ul>"
        b"<table><tr><th>a<th>b<tr><td>1<td>2</table><pre>code  here</pre><img src=x alt='un plan'></body></html>"
    )
    loaded = documents.load("a.html", page)
    assert loaded.title == "Aide"
    assert [(block.kind.value, block.text) for block in loaded.blocks] == [
        ("prose", "Menu"),
        ("prose", "Un compte se crée"),
        ("prose", "en ligne."),
        ("prose", "- un"),
        ("prose", "- deux"),
        ("table", "a | b\n1 | 2"),
        ("code", "code  here"),
        ("prose", "un plan"),
    ]
    assert loaded.blocks[1].headings == ("Ouvrir",)
    assert loaded.skipped_image_count == 1


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("a.pdf", b"%PDF-1.7\nnothing", "PDF"),
        ("a.pdf", b"", "PDF"),
        ("a.docx", b"PK not a zip", "not a DOCX"),
        ("a.docx", b"\xd0\xcf\x11\xe0 old word", "old or a password-protected"),
        ("a.txt", bytes(range(256)) * 9, "binary"),
        ("a.html", b"<div>" * 5_000 + b"x", "nested|cannot"),
    ],
)
def test_what_cannot_be_read_says_why(name, data, said):
    try:
        loaded = documents.load(name, data)
    except Rejected as refused:
        assert re.search(said, str(refused))  # noqa: PT017 - deep HTML may also be cut by the parser
    else:
        assert name == "a.html"
        assert "x" in text_of(loaded) or not loaded.blocks
