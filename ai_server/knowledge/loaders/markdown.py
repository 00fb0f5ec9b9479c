"""Markdown and MDX: headings, prose, lists, tables and code, as a reader sees them."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Final

from markdown_it import MarkdownIt

from ai_server.knowledge import code_marks
from ai_server.knowledge.loaders import encoding, front_matter, jsx
from ai_server.knowledge.loaders.model import BlockKind, Loaded
from ai_server.knowledge.loaders.outline import Outline
from ai_server.knowledge.loaders.wrapping import unwrap

if TYPE_CHECKING:
    from markdown_it.token import Token

_NESTING_LIMIT: Final = 60
_TEMPLATE_TAG: Final = re.compile(r"\{%-?\s*/?[\w#]+[^%\n]*-?%\}|\{\{(?:[<%][^}\n]*[>%])?\}\}")
"""Liquid and Hugo tags; a Hugo tag like `{{<toc>}}` arrives empty, since Markdown takes its inside for HTML."""
_CONTAINER: Final = re.compile(r"^:{3,}\s*(?:[\w-]+(?=\s|$))?[ \t]*", re.MULTILINE)
_HARD_BREAK: Final = "\u2028"
"""Stands for a line end that the author asked for, while lines are unwrapped; decoding leaves none of its own."""
_ANCHOR: Final = re.compile(r"\s*\{#[\w-]+\}\s*$")


def load(data: bytes, *, mdx: bool) -> Loaded:
    """Read a Markdown document; with `mdx`, JSX is taken out first.

    Raises:
        Rejected: undecodable, or broken front matter.
    """
    text, name = encoding.decode(data)
    metadata, body = front_matter.divide(text)
    reader = _Reader(mdx=mdx)
    reader.read(jsx.strip(body) if mdx else body)
    return Loaded(
        title=reader.title,
        metadata=metadata,
        blocks=reader.outline.end(),
        skipped_image_count=reader.images,
        encoding=name,
    )


def load_markdown(data: bytes) -> Loaded:
    """Read Markdown."""
    return load(data, mdx=False)


def load_mdx(data: bytes) -> Loaded:
    """Read MDX."""
    return load(data, mdx=True)


class _Reader:
    """Walks the tokens of one document."""

    def __init__(self, *, mdx: bool) -> None:
        self.outline = Outline()
        self.title = ""
        self.images = 0
        self._lists: list[int | None] = []
        self._bullet = ""
        self._rows: list[str] = []
        self._cells: list[str] = []
        self._markdown = MarkdownIt("commonmark", {"maxNesting": _NESTING_LIMIT}).enable("table")
        if mdx:
            self._markdown.disable("code")  # In MDX, indentation is layout.

    def read(self, body: str) -> None:
        tokens = self._markdown.parse(body)
        for position, token in enumerate(tokens):
            handler = _HANDLERS.get(token.type)
            if handler is not None:
                handler(self, token)
            elif token.type == "inline":
                self._inline(token, tokens[position - 1])

    def _add(self, kind: BlockKind, text: str) -> None:
        self.outline.add(kind, text.strip("\n"))

    def _inline(self, token: Token, opened: Token) -> None:
        text = self._spoken(token, marked=opened.type != "heading_open")
        if opened.type == "heading_open":
            self._heading(int(opened.tag[1]), _ANCHOR.sub("", text.replace(_HARD_BREAK, "\n")).strip())
        elif opened.type in {"th_open", "td_open"}:
            self._cells.append(text.replace("\n", " ").replace(_HARD_BREAK, " ").strip())
        else:
            prefix, self._bullet = self._bullet, ""
            text = unwrap(_CONTAINER.sub("", _TEMPLATE_TAG.sub("", text)).strip()).replace(_HARD_BREAK, "\n")
            if text:
                self._add(BlockKind.PROSE, prefix + text)

    def _heading(self, level: int, text: str) -> None:
        if level == 1 and not self.title:
            self.title = text
        self.outline.heading(level, text)

    def _spoken(self, token: Token, *, marked: bool) -> str:
        """Write a run of text as a reader sees it; `marked`: with the marks of code, where nothing can pass for one."""
        parts: list[str] = []
        children = token.children or []
        marked = marked and not any(child.type == "text" and "`" in child.content for child in children)
        for child in children:
            if child.type == "image":
                self.images += 1
                parts.append(child.content)
            elif child.type == "softbreak":
                parts.append("\n")
            elif child.type == "hardbreak":
                parts.append(_HARD_BREAK)
            elif child.type == "html_inline":
                parts.append(_HARD_BREAK if child.content.lower().startswith("<br") else "")
            elif child.type == "code_inline" and marked and not _TEMPLATE_TAG.search(child.content):
                parts.append(code_marks.inline(child.content))
            else:
                parts.append(child.content)
        return "".join(parts)

    def _code(self, token: Token) -> None:
        self._add(BlockKind.CODE, token.content)

    def _html(self, token: Token) -> None:
        parser = _HtmlText()
        parser.feed(token.content)
        parser.close()
        self.images += parser.images
        self._add(BlockKind.PROSE, _TEMPLATE_TAG.sub("", "".join(parser.parts)).strip())

    def _list(self, token: Token) -> None:
        self._lists.append(int(token.attrGet("start") or 1) if token.type == "ordered_list_open" else None)

    def _list_end(self, _: Token) -> None:
        self._lists.pop()

    def _item(self, _: Token) -> None:
        number = self._lists[-1]
        indent = "  " * (len(self._lists) - 1)
        self._bullet = f"{indent}- " if number is None else f"{indent}{number}. "
        if number is not None:
            self._lists[-1] = number + 1

    def _row_end(self, _: Token) -> None:
        self._rows.append(" | ".join(self._cells))
        self._cells = []

    def _table_end(self, _: Token) -> None:
        self._add(BlockKind.TABLE, "\n".join(self._rows))
        self._rows = []


_HANDLERS: Final = {
    "fence": _Reader._code,  # noqa: SLF001 - the table of the class's own handlers
    "code_block": _Reader._code,  # noqa: SLF001
    "html_block": _Reader._html,  # noqa: SLF001
    "bullet_list_open": _Reader._list,  # noqa: SLF001
    "ordered_list_open": _Reader._list,  # noqa: SLF001
    "bullet_list_close": _Reader._list_end,  # noqa: SLF001
    "ordered_list_close": _Reader._list_end,  # noqa: SLF001
    "list_item_open": _Reader._item,  # noqa: SLF001
    "tr_close": _Reader._row_end,  # noqa: SLF001
    "table_close": _Reader._table_end,  # noqa: SLF001
}


class _HtmlText(HTMLParser):
    """Text of an HTML block inside Markdown; scripts and styles are not text."""

    _SILENT: Final = frozenset({"script", "style"})
    _INLINE: Final = frozenset(
        {"a", "abbr", "b", "code", "em", "i", "kbd", "mark", "small", "span", "strong", "sub", "sup", "u"}
    )

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.images = 0
        self._silent = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in self._SILENT:
            self._silent += 1
        elif tag == "img":
            self.images += 1
            self.parts.append(dict(attrs).get("alt") or "")
        elif tag not in self._INLINE:
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in self._SILENT:
            self._silent = max(0, self._silent - 1)
        elif tag not in self._INLINE:
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.parts.append(data)
