"""Paragraphs that were wrapped at a column have whole sentences again; lines that were meant stay."""

from __future__ import annotations

import textwrap

import pytest

from ai_server.knowledge import documents, sentences
from ai_server.knowledge.loaders.wrapping import unwrap

PARAGRAPH = (
    "Refunds are paid within ten days after the receipt was shown at the desk, provided that the goods came back "
    "unopened and in the box that they were sold in. Whoever lost the receipt may bring the statement of the bank "
    "instead; the desk then needs two days more. Vouchers are never paid out."
)
ADDRESS = (
    "Town hall of the quarter, office of the registrar, second floor\n5 Main Street\nOpen: 9 to 12\nClosed: Sunday"
)


@pytest.mark.parametrize("column", [60, 72, 80, 100])
@pytest.mark.parametrize("name", ["a.md", "a.txt", "a.mdx"])
def test_a_wrapped_paragraph_gives_the_sentences_of_the_unwrapped_one(name, column):
    wrapped = "\n".join(textwrap.wrap(PARAGRAPH, column))
    [block] = documents.load(name, wrapped.encode()).blocks
    assert block.text == PARAGRAPH
    assert len(sentences.split(block.text)) == 3


@pytest.mark.parametrize(
    "text",
    [
        "Address: 5 Main Street\nTelephone: 0123\nClosed on Sunday",
        "Roses are red,\nViolets are blue,\nSugar is sweet,\nAnd so are you.",
        "one line",
        "",
        "A line of more than fifty characters that somebody wrote by hand\nshort\nshort",
    ],
)
def test_lines_that_end_earlier_were_meant_to_end_there(text):
    assert unwrap(text) == text


def test_a_line_that_was_meant_to_end_stays_inside_a_wrapped_paragraph():
    wrapped = textwrap.wrap(PARAGRAPH, 70)
    text = "\n".join([*wrapped[:3], "Yours,", "the desk"])
    assert unwrap(text) == "\n".join([" ".join(wrapped[:3]) + " Yours,", "the desk"])
    assert unwrap(ADDRESS) == ADDRESS


def test_bullets_tables_and_indented_lines_begin_anew():
    long = "x" * 70
    for begins in ("- item", "* item", "• item", "12. item", "3) item", "| cell", "    code", "# title"):
        assert unwrap(f"{long}\n{begins}") == f"{long}\n{begins}"
    assert unwrap(f"{long}\n2026 was a year") == f"{long} 2026 was a year"


def test_line_ends_that_the_author_asked_for_stay():
    long = "word " * 14
    for mark in ("  \n", "\\\n", "<br>"):
        [block] = documents.load("a.md", f"{long.strip()}{mark}Next line of its own".encode()).blocks
        assert block.text.split("\n")[1] == "Next line of its own"


def test_a_list_item_that_was_wrapped_is_one_line():
    item = "\n  ".join(textwrap.wrap(PARAGRAPH, 70))
    blocks = documents.load("a.md", f"- {item}\n- second item\n".encode()).blocks
    assert [block.text for block in blocks] == [f"- {PARAGRAPH}", "- second item"]
