"""A passage as blocks, so that a quotation never tears a list, a table or a code sample apart.

Passages come with one paragraph a line; Markdown marks are understood where a document kept them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

FENCE: Final = re.compile(r"\s*(`{3,}|~{3,})")
INLINE: Final = re.compile(r"(?<!`)(?P<mark>`{1,3})(?!`).+?(?<!`)(?P=mark)(?!`)")
"""Code within a line, with its marks."""
HEADING: Final = re.compile(r"\s{0,3}#{1,6}\s")
ITEM: Final = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+\S")
TABLE: Final = re.compile(r"\s*\|.*\|\s*$|(?!\s*\d{1,3}[.)]\s)[^.!?|]{0,200}\s\|\s.*\S")
LABEL_LIMIT: Final = 80
ENDING: Final = '.!?:;…»”"'
"""A short line that ends no sentence: a heading that lost its mark, or a command."""

CONTINUED: Final = re.compile(r"\s{2,}\S")
ENDS: Final = re.compile(r"(?P<end>[.!?…][\"'»”)\]]*)\s+(?=[\"'«“(\[*_`]*[^\W\d_a-zà-ÿ]|[\"'«“(\[*_`¿¡]*\d|[¿¡])")
"""Where a sentence may end: its mark, then space, then what may begin another one (not a small letter)."""


class Kind(StrEnum):
    """What a block is."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    LABEL = "label"
    LIST = "list"
    TABLE = "table"
    CODE = "code"


_WRAPPED: Final = {Kind.PARAGRAPH, Kind.LABEL}


@dataclass(frozen=True, slots=True)
class Block:
    """Whole lines of a passage, verbatim, without the blank lines around them."""

    kind: Kind
    text: str

    @property
    def lines(self) -> list[str]:
        """Its lines."""
        return self.text.split("\n")


def blocks(text: str) -> list[Block]:
    """Cut a passage into blocks, in order. An unclosed fence lasts to the end."""
    found: list[Block] = []
    lines: list[str] = []
    kind: Kind | None = None
    for line_kind, line in _kinds(text):
        if line_kind is not kind or line_kind in {Kind.HEADING, Kind.PARAGRAPH}:
            _close(found, kind, lines)
            kind, lines = line_kind, []
        lines.append(line)
    _close(found, kind, lines)
    return found


def sentences(text: str) -> list[str]:
    """Cut a paragraph into sentences, verbatim; none ends inside code."""
    code = [each.span() for each in INLINE.finditer(text)]
    ends = (match.end("end") for match in ENDS.finditer(text))
    cuts = [0, *(end for end in ends if not any(start < end < stop for start, stop in code)), len(text)]
    return [each for start, end in pairwise(cuts) if (each := text[start:end].strip())]


def _close(found: list[Block], kind: Kind | None, lines: list[str]) -> None:
    text = "\n".join(lines).strip("\n")
    if kind is None or not text.strip():
        return
    if found and {kind, found[-1].kind} <= _WRAPPED and text[0].islower() and found[-1].text[-1] not in ENDING:
        before = found.pop()  # one paragraph that its author broke into lines
        found.append(Block(Kind.PARAGRAPH, f"{before.text}\n{text}"))
        return
    found.append(Block(kind, text))


def _kinds(text: str) -> Iterator[tuple[Kind | None, str]]:
    """Name each line; None for a blank one that separates."""
    fence = ""
    before: Kind | None = None
    for line in text.split("\n"):
        opened = FENCE.match(line)
        if fence:
            yield Kind.CODE, line
            if opened and opened.group(1).startswith(fence) and line.strip() == opened.group(1):
                fence, before = "", None
                yield None, ""  # a sample that follows at once is one of its own
            continue
        if opened:
            fence = opened.group(1)
            yield Kind.CODE, line
            continue
        before = _kind_of(line, before)
        yield before, line


def _kind_of(line: str, before: Kind | None) -> Kind | None:
    if not line.strip():
        return None
    if HEADING.match(line):
        return Kind.HEADING
    if TABLE.match(line):
        return Kind.TABLE
    if ITEM.match(line) or (before is Kind.LIST and CONTINUED.match(line)):
        return Kind.LIST
    return Kind.LABEL if len(line) <= LABEL_LIMIT and line.rstrip()[-1] not in ENDING + "," else Kind.PARAGRAPH
