"""HTML: headings, paragraphs, lists, tables and code that a reader would see."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ai_server.knowledge import code_marks
from ai_server.knowledge.loaders.encoding import clean, decode
from ai_server.knowledge.loaders.model import BlockKind, Loaded, Rejected
from ai_server.knowledge.loaders.outline import Outline

if TYPE_CHECKING:
    from bs4 import BeautifulSoup, Tag

_SILENT: Final = ("script", "style", "template", "noscript", "svg", "head", "iframe", "object")
_BLOCK_NAMES: Final = """
address article aside blockquote body br dd details div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6
header hr html li main nav ol p pre section summary table tbody td tfoot th thead tr ul
"""
_BLOCKS: Final = frozenset(_BLOCK_NAMES.split())
_HEADINGS: Final = {f"h{level}": level for level in range(1, 7)}
_DEPTH_LIMIT: Final = 200
_SPACE: Final = re.compile(r"\s+")


def load(data: bytes) -> Loaded:
    """Read an HTML page; its declared encoding is followed.

    Raises:
        Rejected: it cannot be parsed, or is nested too deep.
    """
    soup, encoding = _parsed(data)
    title = clean(soup.title.get_text(" ", strip=True)) if soup.title else ""
    images = len(soup.find_all("img"))
    for each in soup.find_all(_SILENT):
        each.decompose()
    reader = _Reader()
    reader.walk(soup, 0)
    reader.flush()
    return Loaded(title or reader.title, {}, reader.outline.end(), images, 0, encoding)


def _parsed(data: bytes) -> tuple[BeautifulSoup, str]:
    """Parse by the encoding that the page declares, or by what its bytes look like where they are not in that one."""
    from bs4 import BeautifulSoup

    soup = BeautifulSoup(data, "lxml")
    encoding = soup.original_encoding or "utf-8"
    try:
        data.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        text, encoding = decode(data)
        soup = BeautifulSoup(text, "lxml")
    return soup, encoding


class _Reader:
    """Walks the tree; inline text gathers until a block element ends it."""

    def __init__(self) -> None:
        self.outline = Outline()
        self.title = ""
        self._text: list[str] = []
        self._bullet = ""

    def walk(self, node: Tag | BeautifulSoup, depth: int) -> None:
        from bs4.element import NavigableString, PreformattedString, Tag

        if depth > _DEPTH_LIMIT:
            raise Rejected(f"it is nested deeper than {_DEPTH_LIMIT} levels")
        for child in node.children:
            if isinstance(child, Tag):
                self._element(child, depth)
            elif isinstance(child, NavigableString) and not isinstance(child, PreformattedString):
                self._text.append(str(child))

    def flush(self) -> None:
        """End the block that was gathering."""
        text = " ".join(clean("".join(self._text)).split())
        self._text = []
        if text:
            self.outline.add(BlockKind.PROSE, self._bullet + text)
            self._bullet = ""

    def _element(self, tag: Tag, depth: int) -> None:
        block = tag.name in _BLOCKS
        if block:
            self.flush()
        if tag.name in _HEADINGS:
            self._heading(_HEADINGS[tag.name], " ".join(clean(tag.get_text(" ")).split()))
        elif tag.name == "pre":
            text = clean(tag.get_text()).strip("\n")
            if text.strip():
                self.outline.add(BlockKind.CODE, text)
        elif tag.name == "table":
            self._table(tag)
        elif tag.name == "img":
            self._text.append(str(tag.get("alt") or ""))
        elif tag.name == "code" and not tag.find([*_BLOCKS, "img"]):
            self._text.append(code_marks.inline(_SPACE.sub(" ", tag.get_text())))
        else:
            if tag.name == "li":
                self._bullet = "- "
            self.walk(tag, depth + 1)
        if block:
            self.flush()

    def _heading(self, level: int, text: str) -> None:
        if text:
            self.outline.heading(level, text)
            self.title = self.title or text

    def _table(self, table: Tag) -> None:
        lines = [
            " | ".join(" ".join(clean(cell.get_text(" ")).split()) for cell in row.find_all(["th", "td"]))
            for row in table.find_all("tr")
        ]
        lines = [line for line in lines if line.strip(" |")]
        if lines:
            self.outline.add(BlockKind.TABLE, "\n".join(lines))
