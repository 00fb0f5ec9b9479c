"""Headings name what stands below them; one with nothing below is text of its own, so that no word is lost."""

from __future__ import annotations

import io

from ai_server.knowledge import documents

MARKDOWN = b"# Desk\n\n## Call 0123\n\n## Hours\n\nFrom nine.\n\n### Closed on Sunday\n\n## Last words\n"
HTML = (
    b"<html><body><h1>Desk</h1><h2>Call 0123</h2><h2>Hours</h2><p>From nine.</p><h3>Closed on Sunday</h3>"
    b"<h2>Last words</h2></body></html>"
)
EXPECTED = [
    (("Desk",), "Call 0123"),
    (("Desk", "Hours"), "From nine."),
    (("Desk", "Hours"), "Closed on Sunday"),
    (("Desk",), "Last words"),
]


def word_file() -> bytes:
    from docx import Document

    made = Document()
    for level, text in ((1, "Desk"), (2, "Call 0123"), (2, "Hours"), (0, "From nine."), (3, "Closed on Sunday")):
        made.add_paragraph(text, style=f"Heading {level}" if level else None)
    made.add_paragraph("Last words", style="Heading 2")
    out = io.BytesIO()
    made.save(out)
    return out.getvalue()


def test_a_heading_under_which_nothing_stands_is_text_in_every_format():
    """Found by P28: a Word file of headings alone was refused as empty, and the last heading of others was lost."""
    for name, data in (("a.md", MARKDOWN), ("a.html", HTML), ("a.docx", word_file())):
        blocks = documents.load(name, data).blocks
        assert [(block.headings, block.text) for block in blocks] == EXPECTED, name


def test_a_document_of_one_heading_is_taken():
    [block] = documents.load("a.md", b"# Closed until Monday\n").blocks
    assert (block.headings, block.text) == ((), "Closed until Monday")
