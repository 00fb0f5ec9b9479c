"""What a reader of the page reads is what is indexed."""

from __future__ import annotations

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


ENGLISH = "Reserved matters are subjects that are outside the legislative competence of the parliament. " * 9
FRENCH = "L'été dernier, le père Benoît a été identifié à Besançon ; où sont passées ses œuvres théologiques ?"


@pytest.mark.parametrize(("text", "name"), [(FRENCH, "cp1252"), (FRENCH.replace("œ", "oe"), "mac_roman")])
def test_a_little_french_behind_much_english_is_read_as_it_was_written(text, name):
    """P28, seeds 204632, 503151 and 509586: statistics took Windows files for an old Mac's (`thÈologiques`)."""
    loaded = markdown.load(f"{ENGLISH}\n\n{text}".encode(name), mdx=False)
    assert (loaded.encoding, loaded.blocks[-1].text) == (name, text)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (
            " ".join(["Toghun Temür was the last of the successors of Kublai Khan; Tugh Temür died in 1332."] * 20),
            "cp1252",
        ),
        ("这份文件说明如何申请退款，以及在哪里可以找到办公时间。请把收据带到服务台。" * 5, "gb18030"),
        ("Возврат денег занимает десять дней после того, как чек показан на стойке." * 3, "cp1251"),
    ],
)
def test_a_few_umlauts_are_not_taken_for_chinese_nor_chinese_for_windows(text, name):
    loaded = markdown.load(text.encode(name), mdx=False)
    assert (loaded.encoding, loaded.blocks[0].text) == (name, text.strip())


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
