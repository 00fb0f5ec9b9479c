"""Code is shown as code; what is embedded, searched and named is the text without its marks (decision 0028)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_server.knowledge import chunking, code_marks, documents, sentences
from ai_server.knowledge.chunking import LIMIT, SHOWN_LIMIT, Piece, cut
from ai_server.knowledge.loaders import markdown
from ai_server.knowledge.loaders.model import Block, BlockKind
from tests.fakes.library import PUBLIC

CODE = "".join(f"step {number} --of many\n" for number in range(90)).strip()
TEXT = """Run `make run. Now` first, then wait for it. `Make stop` ends it. It ends `now.` Look at the page.
```
a `b`
```
Done."""
SENTENCES = [
    "Run `make run. Now` first, then wait for it.",
    "`Make stop` ends it. It ends `now.` Look at the page.",
    "a `b`",
    "Done.",
]


@st.composite
def written(draw):
    """Text of words, code and backticks in any order, some of them pairing by chance."""
    part = st.sampled_from(["`", "``", "```", "\n", "\n```\n", " ", "word. ", "A `b` ", "x"])
    return "".join(draw(st.lists(part, max_size=40)))


@given(st.text(alphabet="ab` .", max_size=30))
def test_code_marked_within_a_line_is_the_same_without_its_marks(code):
    assert code_marks.plain(code_marks.inline(code)) == code or code_marks.inline(code) == code


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("make run", "`make run`"),
        (" make ", " `make` "),
        ("a`b", "``a`b``"),
        ("`a", "`a"),
        ("```", "```"),
        ("  ", "  "),
        ("two\nlines", "two\nlines"),
    ],
)
def test_marks_within_a_line_are_longer_than_what_they_hold(code, shown):
    assert code_marks.inline(code) == shown


@given(st.text(alphabet="a`\n", min_size=1, max_size=30))
def test_fenced_code_is_the_same_without_its_fences(code):
    assert code_marks.plain(f"before\n{code_marks.fenced(code)}\nafter") == f"before\n{code}\nafter" or (
        "`" * max(code_marks.FENCES) in code
    )


@given(written())
def test_sentences_as_shown_and_as_embedded_are_as_many_and_in_the_order_of_the_text(text):
    shown, spoken = sentences.split(text), sentences.spoken(text)
    assert len(shown) == len(spoken)
    position = 0
    for sentence in shown:
        position = text.index(sentence, position) + len(sentence)


@given(written())
def test_sentences_are_those_of_the_text_without_marks(text):
    plain = code_marks.plain(text)
    if "`" not in plain:
        assert sentences.spoken(text) == sentences.split(plain)


def test_a_sentence_keeps_the_marks_that_stand_at_its_ends():
    assert sentences.pieces(TEXT) == SENTENCES


def test_markdown_keeps_the_marks_of_code_where_a_reader_sees_code():
    source = "# The `x` tool\n\nUse `x`, or ``a`b``.\n\n- `one`\n\n| a |\n|---|\n| `c` |\n\n"
    loaded = markdown.load_markdown(f"{source}```sh\nx --now\n```\n\n    indented\n".encode())
    assert loaded.title == "The x tool"
    assert [chunking.shown(block) for block in loaded.blocks] == [
        "Use `x`, or ``a`b``.",
        "- `one`",
        "a\n`c`",
        "```\nx --now\n```",
        "```\nindented\n```",
    ]


@pytest.mark.parametrize("source", [r"A \` and `code`.", "Write `{% tag %}` here."])
def test_code_has_no_marks_beside_what_could_pass_for_one_or_when_it_would_be_empty(source):
    [block] = markdown.load_markdown(source.encode()).blocks
    assert block.text in {"A ` and code.", "Write  here."}


def test_html_keeps_them_too():
    page = b"<p>Run <code>make\n run</code> or<code> x </code>now.</p><pre>a\n  b</pre><code><p>block</p></code>"
    blocks = documents.load("a.html", page).blocks
    assert [chunking.shown(block) for block in blocks] == ["Run `make run` or `x` now.", "```\na\n  b\n```", "block"]


def test_long_code_is_fenced_in_each_passage_and_its_lines_are_whole():
    pieces = cut([Block((), BlockKind.PROSE, "Run these:"), Block((), BlockKind.CODE, CODE)])
    assert len(pieces) > 1
    for piece in pieces:
        found = list(code_marks.lines(piece.text))
        assert {line.shown for line in found if line.fenced} <= set(CODE.split("\n"))
        assert {line.shown for line in found if not line.fenced} <= {"Run these:"}
    assert code_marks.plain(pieces[1].text).split("\n")[0] == code_marks.plain(pieces[0].text).split("\n")[-1]


def test_passages_are_cut_as_if_there_were_no_marks():
    marked = [f"The `tool{n}` of `many` says `no.` Then `it` stops here for {n}." for n in range(90)]
    for size in (5, 30, 90):
        text = " ".join(marked[:size])
        plain = cut([Block((), BlockKind.PROSE, code_marks.plain(text))])
        assert [code_marks.plain(each.text) for each in cut([Block((), BlockKind.PROSE, text)])] == [
            each.text for each in plain
        ]


def test_a_passage_with_more_marks_than_its_bound_is_shown_without():
    pieces = cut([Block((), BlockKind.PROSE, " ".join(["`a`"] * 500))])
    assert [len(piece.text) <= LIMIT and "`" not in piece.text for piece in pieces] == [True] * len(pieces)
    fits = cut([Block((), BlockKind.PROSE, " ".join(["`several words of it`"] * 40))])
    assert all("`" in piece.text and len(piece.text) <= SHOWN_LIMIT for piece in fits)


@given(written(), st.sampled_from(BlockKind))
def test_no_passage_is_longer_than_its_bounds_whatever_the_marks(text, kind):
    for piece in cut([Block((), kind, text * 40)]):
        assert len(piece.text) <= SHOWN_LIMIT


def test_one_endless_line_of_marks_is_cut_in_no_time():
    """A line of half a million characters: measured again after each cut, it would take minutes."""
    pieces = cut([Block((), BlockKind.PROSE, "`a" * 250_000)])
    assert max(len(piece.text) for piece in pieces) <= SHOWN_LIMIT
    assert sum(piece.text.count("a") for piece in pieces) >= 250_000


def test_marks_change_neither_what_is_embedded_nor_a_passages_name():
    marked, plain = Piece("H", "Run `make`:\n```\nmake\n```"), Piece("H", "Run make:\nmake")
    assert chunking.embedded_text("T", marked) == chunking.embedded_text("T", plain)
    assert chunking.chunk_ids("s", "p", [marked, plain]) == chunking.chunk_ids("s", "p", [plain, marked])


async def test_documents_of_an_index_without_marks_are_read_again_and_embedded_only_by_their_cache(desk, monkeypatch):
    """An upgrade: ids stay, so that kept citations open; vectors come from the cache, so that nothing is paid."""
    desk.write(
        "run.md",
        "# Run\n\nRun it with `make run`, which takes long. Then wait for the seconds:\n\n```sh\nsleep 5\n```\n",
    )
    with monkeypatch.context() as before:
        before.setattr(documents, "LOADERS_VERSION", "2")
        before.setattr(code_marks, "inline", str)
        before.setattr(code_marks, "fenced", str)
        await desk.sync()
    old = (await desk.search("Run it", PUBLIC)).hits[0]
    lines, summary = await desk.sync()
    new = (await desk.search("Run it", PUBLIC)).hits[0]
    assert lines["run.md"].status == "indexed"
    assert (summary.chunks_embedded, summary.chunks_reused) == (0, 1)
    assert old.chunk.text == "Run it with make run, which takes long. Then wait for the seconds:\nsleep 5"
    assert new.chunk.text == "Run it with `make run`, which takes long. Then wait for the seconds:\n```\nsleep 5\n```"
    assert (new.chunk.chunk_id, new.score, new.distance) == (old.chunk.chunk_id, old.score, old.distance)
    assert [each.similarity for each in new.sentences] == [each.similarity for each in old.sentences]
    assert new.sentences[0].text == "Run it with `make run`, which takes long."
