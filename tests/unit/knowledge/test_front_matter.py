"""Front matter edge cases: CASES I10 and I12, and what a broken one must never do."""

from __future__ import annotations

import pytest

from ai_server.knowledge.loaders import front_matter, markdown
from ai_server.knowledge.loaders.model import Rejected

BOMB = "---\na: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c]\n---\n"
YAML = "---\ntitle: Guide\naudience: staff\n---\n# Body\n\nText.\n"


@pytest.mark.parametrize(
    "text",
    [YAML, "\ufeff" + YAML, YAML.replace("\n", "\r\n"), "\n" + YAML, "\ufeff\r\n" + YAML.replace("\n", "\r\n")],
    ids=["plain", "bom", "crlf", "leading blank line", "all three"],
)
def test_front_matter_is_read_whatever_the_editor_left_around_it(text):
    """CASES I10 (gsd-core issue 2977): a BOM before `---` had it silently ignored."""
    metadata, body = front_matter.divide(text)
    assert metadata == {"title": ("Guide",), "audience": ("staff",)}
    assert body.strip().startswith("# Body")


def test_a_file_with_a_bom_and_crlf_keeps_its_rights():
    loaded = markdown.load(b"\xef\xbb\xbf" + YAML.replace("\n", "\r\n").encode(), mdx=False)
    assert loaded.metadata["audience"] == ("staff",)
    assert loaded.encoding == "utf-8-sig"


def test_yaml_values_stay_what_was_written():
    """CASES I12 (lithos issue 407): a bare date is an object in YAML, and 746 notes were skipped for it."""
    source = "created: 2026-07-30\non: yes\nversion: 1.10\ntags: [a, null, 3]\nnested:\n  deep: {x: 1.0}\nempty:\n"
    assert front_matter.parse_yaml(source) == {
        "created": ("2026-07-30",),
        "on": ("yes",),
        "version": ("1.10",),
        "tags": ("a", "null", "3"),
        "nested.deep.x": ("1.0",),
    }


def test_toml_values_become_text():
    source = 'title = "Backup"\ndate = 2026-07-30\nweight = 1.10\ndraft = true\ntags = ["a", "b"]\n'
    assert front_matter.parse_toml(source) == {
        "title": ("Backup",),
        "date": ("2026-07-30",),
        "weight": ("1.10",),
        "draft": ("true",),
        "tags": ("a", "b"),
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("---\ntitle: [unclosed\n---\nx", "not YAML at line"),
        ("+++\ntitle = \n+++\nx", "not TOML"),
        ("---\ntitle: x\naudience: staff\n\nno end", "not closed"),
        ("+++\na = 1\n", "not closed"),
        ("---\n" + "a: " + "x" * 70_000 + "\n---\n", "longer than"),
        ("---\n" + "\n".join(f"k{i}: v" for i in range(1_100)) + "\n---\n", "more than 1,000 values"),
        (BOMB, "more than 1,000 values"),
        ("---\na: !!python/object/apply:os.system ['true']\n: :\n---\n", "front matter"),
    ],
)  # fmt: skip
def test_broken_front_matter_rejects_the_file_and_says_why(text, said):
    """Reading on without it could publish what its author kept for the staff."""
    with pytest.raises(Rejected, match=said):
        front_matter.divide(text)


def test_python_tags_construct_nothing():
    assert front_matter.parse_yaml("a: !!python/object/apply:os.system ['true']") == {"a": ("true",)}


def test_a_rule_at_the_top_is_not_front_matter():
    text = "---\n\nProse between two rules.\n\n---\n\nMore."
    assert front_matter.divide(text) == ({}, text)
    assert front_matter.divide("---\nJust a rule") == ({}, "---\nJust a rule")
