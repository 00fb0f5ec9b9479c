"""Passages: no word lost, ids that stay, bounds that hold."""

from __future__ import annotations

import hashlib
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from ai_server.knowledge import chunking, sentences
from ai_server.knowledge.chunking import LIMIT, Piece, chunk_ids, cut
from ai_server.knowledge.loaders.model import Block, BlockKind


def prose(text: str, *headings: str) -> Block:
    return Block(headings, BlockKind.PROSE, text)


LONG = " ".join(f"Sentence number {i} says something about topic {i % 7}." for i in range(80))


def test_a_section_is_one_passage_under_its_headings():
    text = "Enough words to stand alone. " * 8
    pieces = cut([prose(text, "A"), prose(text, "A", "B")])
    assert [piece.heading for piece in pieces] == ["A", "A › B"]


def test_small_sections_are_joined_and_keep_their_names():
    pieces = cut([prose("Intro.", "A"), prose("One.", "A", "B"), prose("Two.", "A", "C")])
    assert pieces == [Piece("A", "Intro.\nB\nOne.\nC\nTwo.")]


def test_sections_of_different_chapters_are_not_joined():
    assert [piece.heading for piece in cut([prose("x", "A"), prose("y", "B")])] == ["A", "B"]


def test_a_long_section_overlaps_by_whole_sentences():
    pieces = cut([prose(part, "A") for part in (LONG[:900], LONG[900:1800])])
    assert len(pieces) == 2
    repeated = pieces[1].text.split("\n")[0]
    assert sentences.pieces(repeated) == sentences.pieces(pieces[0].text)[-len(sentences.pieces(repeated)) :]
    assert 0 < len(repeated) <= chunking.OVERLAP


def test_a_table_that_is_cut_repeats_its_header():
    rows = "\n".join(f"row {i} | {'x' * 60}" for i in range(60))
    pieces = cut([Block((), BlockKind.TABLE, f"name | value\n{rows}")])
    assert len(pieces) > 2
    assert all("name | value" in piece.text for piece in pieces)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["A", "B", ""]), st.text(min_size=0, max_size=3_000)), max_size=8))
def test_no_word_is_lost_and_no_passage_is_too_long(blocks):
    made = [prose(text, *([heading] if heading else [])) for heading, text in blocks]
    pieces = cut(made)
    assert all(len(piece.text) <= LIMIT for piece in pieces)
    wanted = {word for block in made for word in re.findall(r"\w+", block.text) if len(word) < 400}
    found = {word for piece in pieces for word in re.findall(r"\w+", piece.text)}
    assert {word for word in wanted if word not in found and not any(word in other for other in found)} == set()


def test_an_id_is_the_digest_of_its_length_prefixed_parts():
    """CONTRACTS, Knowledge: SHA-256 of length-prefixed source id, path, text, occurrence number."""
    digest = hashlib.sha256()
    for part in ("s", "a.md", "Text é", "0"):
        data = part.encode()
        digest.update(len(data).to_bytes(8, "big") + data)
    assert chunk_ids("s", "a.md", [Piece("h", "Text é")]) == [digest.hexdigest()]


def test_an_inserted_paragraph_renames_nothing_else():
    before = [Piece("", "one"), Piece("", "same"), Piece("", "same"), Piece("", "two")]
    after = [before[0], Piece("", "new"), *before[1:]]
    ids = chunk_ids("s", "p", before)
    assert len(set(ids)) == 4
    assert set(ids) < set(chunk_ids("s", "p", after))


def test_parts_cannot_be_shifted_between_fields():
    assert chunk_ids("ab", "c", [Piece("", "x")]) != chunk_ids("a", "bc", [Piece("", "x")])


def test_sentences_are_verbatim_in_order_and_bounded():
    spoken = "M. Dupont est venu hier soir. Il a dit : « Bonjour à tous les amis. » Puis il est parti en train."
    text = f"{spoken}\n- une ligne\n{LONG}"
    found = sentences.split(text)
    assert len(found) == sentences.MOST
    position = 0
    for sentence in found:
        position = text.index(sentence, position) + len(sentence)
    assert found[0] == "M. Dupont est venu hier soir."
    assert found[1] == "Il a dit : « Bonjour à tous les amis. »"


def test_the_text_hash_changes_with_the_cutting():
    assert chunking.text_hash("x") != chunking.text_hash("y")
