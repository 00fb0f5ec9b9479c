"""What a reader of the page reads is what is indexed."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from ai_server.knowledge.loaders import markdown
from ai_server.knowledge.loaders.model import BlockKind, Rejected


def load(text: str, *, mdx: bool = False):
    return markdown.load(text.encode(), mdx=mdx)


def texts(text: str, *, mdx: bool = False) -> list[str]:
    return [block.text for block in load(text, mdx=mdx).blocks]


def test_headings_lead_to_each_block_and_the_first_is_the_title():
    loaded = load("# Guide\n\nIntro.\n\n## Install {#install}\n\nRun it.\n\n### Docker\n\nPull.\n\n## Use\n\nClick.\n")
    assert loaded.title == "Guide"
    assert [(block.headings, block.text) for block in loaded.blocks] == [
        (("Guide",), "Intro."),
        (("Guide", "Install"), "Run it."),
        (("Guide", "Install", "Docker"), "Pull."),
        (("Guide", "Use"), "Click."),
    ]


def test_marks_links_and_images_leave_their_words():
    loaded = load("See **the [guide](https://x.example/a)** and `make run` ![a chart](chart.png).\n")
    assert [block.text for block in loaded.blocks] == ["See the guide and `make run` a chart."]
    assert loaded.skipped_image_count == 1


def test_lists_keep_their_bullets_numbers_and_depth():
    assert texts("1. one\n2. two\n   - inner\n3. three\n") == ["1. one", "2. two", "  - inner", "3. three"]


def test_a_table_is_one_block_with_its_header_first():
    block = load("| name | price |\n|---|---|\n| a | 1 |\n| b | 2 |\n").blocks[0]
    assert (block.kind, block.text) == (BlockKind.TABLE, "name | price\na | 1\nb | 2")


def test_code_stays_as_it_is():
    block = load("```html\n{% for post in posts %}\n<b>x</b>\n```\n").blocks[0]
    assert (block.kind, block.text) == (BlockKind.CODE, "{% for post in posts %}\n<b>x</b>")


def test_html_in_markdown_gives_its_text_but_no_script():
    assert texts("<div><p>Hello <b>you</b></p><script>evil()</script></div>\n") == ["Hello you"]


def test_template_tags_and_containers_are_layout():
    assert texts("{{<toc>}}\n\n::: tip New guides\nRead them.\n:::\n\n{% filename %}a.py{% endfilename %}\n") == [
        "New guides\nRead them.",
        "a.py",
    ]


MDX = """import { Card } from '@site/card'
export const meta = {
  a: 1,
}

{/* a comment */}

<CardGroup cols={2}>
  <Card
    title="Installation & Setup"
    icon="server"
    href="/x"
  >
    Deploy with Docker
    ```bash
    docker run <image>
    ```
  </Card>
</CardGroup>

Version {frontmatter.version} of {"literal"} and `{kept}` and `<Kept>`. a < b and 3 > 2.
"""


def test_jsx_is_taken_out_and_its_words_stay():
    found = texts(MDX, mdx=True)
    assert found == [
        "Installation & Setup",
        "Deploy with Docker",
        "docker run <image>",
        "Version  of literal and `{kept}` and `<Kept>`. a < b and 3 > 2.",
    ]


@pytest.mark.parametrize("text", ["<Card title=", "{ never closed", "<Card {...props", "``` open", "`"])
def test_unfinished_jsx_is_text_and_never_an_error(text):
    load(text, mdx=True)


def test_a_file_of_front_matter_alone_has_no_blocks():
    assert load("---\ntitle: Admin\n---\n").blocks == ()


def test_binary_is_rejected_and_western_text_is_read():
    with pytest.raises(Rejected, match="binary"):
        markdown.load(bytes(range(256)) * 20, mdx=False)
    loaded = markdown.load("L'été à Besançon coûte 5 €.".encode("cp1252"), mdx=False)
    assert (loaded.encoding, loaded.blocks[0].text) == ("cp1252", "L'été à Besançon coûte 5 €.")


TABLE = "| phrase | correcte | séance |\n| Le | nom | de |\n| « | cadavre | exquis |\n| » | vient | à |"


@pytest.mark.parametrize("name", ["cp1252", "mac_roman"])
def test_a_table_of_single_words_is_read_as_it_was_written(name):
    assert markdown.load(TABLE.encode(name), mdx=False).encoding == name


@dataclass
class Match:
    """What the statistics say of one encoding."""

    encoding: str
    coherence: float


class Matches(list[Match]):
    def best(self) -> Match:
        return self[0]


@pytest.mark.parametrize(("windows", "expected"), [(0.868, "cp1252"), (0.6, "mac_roman")])
def test_windows_is_believed_before_an_old_mac_where_it_reads_more_like_a_language(monkeypatch, windows, expected):
    """P28, seed 204632: 3,498 bytes with quotes in cells of their own, mac_roman .786 before cp1252 .868."""
    found = Matches([Match("mac_roman", 0.786), Match("cp1252", windows)])
    monkeypatch.setattr("charset_normalizer.from_bytes", lambda *_, **__: found)
    assert markdown.load(TABLE.encode("cp1252"), mdx=False).encoding == expected


def test_an_escaped_brace_or_bracket_in_mdx_is_text():
    """P28, seed 204286: a set in braces was taken for an expression, and was gone."""
    text = r"The language \{xx \| x is any string\} is solved, {1 + 1} and \<b> too."
    assert texts(text, mdx=True) == ["The language {xx | x is any string} is solved,  and <b> too."]


def test_dashes_and_quotes_alone_are_windows_ones():
    """P28, seed 300059: `1–4` was read as `1ñ4`, as if an old Mac had written it."""
    text = "Throughout the century “ideas” of reason were spread; pages 1–4 and 4–5 say more of the author’s power."
    loaded = markdown.load(text.encode("cp1252"), mdx=False)
    assert (loaded.encoding, loaded.blocks[0].text) == ("cp1252", text)


def test_decomposed_accents_are_composed():
    assert texts("e\u0301te\u0301") == ["été"]
