"""Markdown to HTML that is safe to show: nothing in it loads, runs or sends anything.

Raw HTML in the text is shown as text, an image becomes its description, and a link can be clicked but tells nobody
where it was clicked. What comes out is cleaned once more by an allowlist, so that a mistake here alone changes nothing.
"""

from __future__ import annotations

import html
import re
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import nh3
from markdown_it import MarkdownIt
from markdown_it.token import Token

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from markdown_it.renderer import RendererProtocol
    from markdown_it.rules_core import StateCore

TAGS: Final = frozenset({
    "p", "br", "strong", "em", "s", "code", "pre", "ul", "ol", "li", "blockquote", "hr", "a", "sup",
    "h1", "h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td",
})  # fmt: skip
ATTRIBUTES: Final = {"*": set(), "a": {"href"}, "ol": {"start"}, "sup": {"data-citation"}}
SCHEMES: Final = frozenset({"http", "https", "mailto"})
CACHED_TEXTS: Final = 512

OPEN: Final = "\ue000"
CLOSE: Final = "\ue001"
"""Private-use characters that stand around a citation's number while Markdown is parsed; text loses any of its own."""
PRIVATE: Final = re.compile("[\ue000\ue001]")
MARK: Final = re.compile("\ue000(\\d+)\ue001")
FENCE: Final = re.compile(r"^[ \t]*(?:`{3,}|~{3,})[ \t]*\Z", re.MULTILINE)
LEFT_OVER: Final = re.compile("\ue000\\d+\ue001|%EE%80%80\\d+%EE%80%81|[\ue000\ue001]")


@lru_cache(maxsize=CACHED_TEXTS)
def render_markdown(text: str, marks: tuple[tuple[int, str], ...] = ()) -> str:
    """Render Markdown, with citation marks (code point position, citation id) in their places.

    Marks are numbered by the first appearance of their id. A mark that stands where HTML has no room for one (in a code
    block or a link's address) goes to the end, so that no citation is lost.
    """
    numbers = numbered(marks)
    source = _with_marks(text, marks, numbers)
    ids = {number: citation_id for citation_id, number in numbers.items()}
    placed: set[int] = set()
    body = _MARKDOWN.render(source, {"citations": ids, "placed": placed})
    body = LEFT_OVER.sub("", body)
    missing = [number for number in ids if number not in placed]
    if missing:
        body += f"<p>{''.join(_mark(number, ids[number]) for number in missing)}</p>"
    return _clean(body)


@lru_cache(maxsize=CACHED_TEXTS)
def render_plain(text: str) -> str:
    """Show what a person wrote as they wrote it: paragraphs and line breaks, nothing else."""
    paragraphs = re.split(r"\n{2,}", text.replace("\r\n", "\n").replace("\r", "\n").strip())
    return _clean("".join(f"<p>{html.escape(each).replace(chr(10), '<br>')}</p>" for each in paragraphs))


def numbered(marks: Sequence[tuple[int, str]]) -> dict[str, int]:
    """Give each citation id its number, from 1, by where it first stands."""
    numbers: dict[str, int] = {}
    for _, citation_id in sorted(marks, key=lambda mark: mark[0]):
        numbers.setdefault(citation_id, len(numbers) + 1)
    return numbers


def _with_marks(text: str, marks: Sequence[tuple[int, str]], numbers: dict[str, int]) -> str:
    parts: list[str] = []
    at = 0
    for position, citation_id in sorted(marks, key=lambda mark: mark[0]):
        here = min(max(position, at), len(text))
        said = PRIVATE.sub("", text[at:here])
        # On the line of a fence, a mark would leave its code open to the end of the text.
        below = "\n" if FENCE.search(said) else ""
        parts.extend((said, f"{below}{OPEN}{numbers[citation_id]}{CLOSE}"))
        at = here
    parts.append(PRIVATE.sub("", text[at:]))
    return "".join(parts)


def _mark(number: int, citation_id: str) -> str:
    return f'<sup data-citation="{html.escape(citation_id, quote=True)}">[{number}]</sup>'


def _clean(body: str) -> str:
    return nh3.clean(
        body,
        tags=set(TAGS),
        attributes={tag: set(names) for tag, names in ATTRIBUTES.items()},
        url_schemes=set(SCHEMES),
        link_rel="noopener noreferrer nofollow",
        set_tag_attribute_values={"a": {"target": "_blank"}},
    )


def _citation_rule(state: StateCore) -> None:
    """Turn the marks in running text into tokens of their own; marks elsewhere are found missing and go to the end."""
    for block in state.tokens:
        if block.type == "inline" and block.children and OPEN in block.content:
            block.children = [piece for token in block.children for piece in _split(token)]


def _split(token: Token) -> list[Token]:
    if token.type != "text" or OPEN not in token.content:
        return [token]
    pieces: list[Token] = []
    for place, part in enumerate(MARK.split(token.content)):
        if place % 2:
            pieces.append(Token("citation", "", 0, meta={"number": int(part)}))
        elif part:
            pieces.append(replace(token, content=part))
    return pieces


def _render_citation(_self: RendererProtocol, tokens: Sequence[Token], index: int, _options: Any, env: Any) -> str:
    number = tokens[index].meta["number"]
    env["placed"].add(number)
    return _mark(number, env["citations"][number])


def _render_image(_self: RendererProtocol, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    return html.escape(PRIVATE.sub("", tokens[index].content))


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["table", "strikethrough"])
    parser.core.ruler.push("citation", _citation_rule)
    parser.add_render_rule("citation", _render_citation)
    parser.add_render_rule("image", _render_image)
    return parser


_MARKDOWN: Final = _parser()
