"""From chosen sentences to a readable quotation: whole blocks where they belong together, in reading order."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ai_server.providers.embedded.blocks import FENCE, INLINE, Block, Kind, blocks, sentences

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from ai_server.providers.contract import Passage

SHORT_PARAGRAPH: Final = 320
"""Characters up to which a paragraph is quoted whole: cutting it saves nothing and costs the context."""

LOOK_BACK: Final = 3
"""Most sentences that are added before one that points back: what it points at may point back as well."""

POINTS_BACK: Final = re.compile(
    r"[\"'«“(\s]*(?:il|ils|elle|elles|cela|ceci|ça|celui-ci|celle-ci|ceux-ci|celles-ci|c['’]est|ce sont|ces|cet|cette"
    r"|it|its|they|their|them|this|that|these|those|he|she"
    r"|él|ella|ellos|ellas|ello|eso|esto|esta|este|estos|estas|ese|esa|esos|esas)(?![\w-])(?!\s+(?:y|faut|suffit)\b)",
    re.IGNORECASE,
)
"""How a sentence begins that has its subject in the one before; "il y a" and "il faut" have none to look for."""

LONGEST_BLOCK_LINES: Final = 24
GAP: Final = " … "
OPENING: Final = 600
"""Characters of a file that stand for the whole of it."""

MARKUP: Final = re.compile(r"([\\`*_\[\]<>])")
LINK: Final = re.compile(rf"(?P<code>{INLINE.pattern})|!?\[(?P<words>[^\]]*)\]\([^)]*\)")
"""A link or an image, or code in which nothing is one."""


def quotation(passage: Passage, chosen: Mapping[int, Collection[int]]) -> str:
    """Write one passage's part of the answer, ending in its marker. `chosen`: sentence numbers by block number."""
    cut = blocks(passage.text)
    wanted = _with_neighbours(cut, chosen)
    parts = [_block_text(cut[number], wanted[number]) for number in sorted(wanted)]
    return _marked("\n\n".join(parts), cut[max(wanted)].kind, passage)


def opening(passage: Passage) -> str:
    """Write how a passage begins, whole blocks as far as they fit; "" for one without text."""
    parts: list[str] = []
    room = OPENING
    for block in blocks(passage.text):
        text = _unlinked(block.kind, _table(block) if block.kind is Kind.TABLE else _bounded(block))
        if parts and len(text) > room:
            break
        parts.append(text if len(text) <= OPENING or block.kind is not Kind.PARAGRAPH else f"{text[:OPENING]}…")
        room -= len(text)
    text = "\n\n".join(parts)
    return _marked(text, Kind.PARAGRAPH, passage) if text else ""


def _with_neighbours(cut: list[Block], chosen: Mapping[int, Collection[int]]) -> dict[int, set[int]]:
    """Add what a block leans on: the line that introduces a list, table or sample, and the one a line announces."""
    wanted = {number: set(found) for number, found in chosen.items()}
    for number in chosen:
        before, after = number - 1, number + 1
        if cut[number].kind is not Kind.PARAGRAPH and before >= 0 and cut[before].kind is Kind.PARAGRAPH:
            last = len(sentences(cut[before].text)) - 1
            if cut[before].text.rstrip().endswith(":") or cut[number].kind is Kind.CODE:
                wanted.setdefault(before, set()).add(last)
        announces = cut[number].text.rstrip().endswith(":")
        if announces and after < len(cut) and cut[after].kind is not Kind.HEADING:
            wanted.setdefault(after, set()).add(0)
            wanted[number].add(len(sentences(cut[number].text)) - 1)
    _anchor(cut, wanted)
    return wanted


def _anchor(cut: Sequence[Block], wanted: dict[int, set[int]]) -> None:
    """Add the sentence before one that begins by pointing at it: "It quotes…" says nothing without what it is."""
    for number in [each for each in wanted if cut[each].kind is Kind.PARAGRAPH]:
        parts = sentences(cut[number].text)
        whole = len(cut[number].text) <= SHORT_PARAGRAPH
        for chosen in [0] if whole else sorted(wanted[number]):
            wanted[number].update(_before(parts, chosen))
        if 0 in wanted[number] or whole:
            _anchor_paragraph(cut, number, parts[0], wanted)


def _before(parts: Sequence[str], chosen: int) -> Iterator[int]:
    """Give the sentences that one leans on, nearest first; a question is answered, not pointed at."""
    for number in range(chosen, max(0, chosen - LOOK_BACK), -1):
        if not POINTS_BACK.match(parts[number]) or parts[number - 1].endswith("?"):
            return
        yield number - 1


def _anchor_paragraph(cut: Sequence[Block], number: int, first: str, wanted: dict[int, set[int]]) -> None:
    if number == 0 or cut[number - 1].kind is not Kind.PARAGRAPH or not POINTS_BACK.match(first):
        return
    before = sentences(cut[number - 1].text)
    if not before[-1].endswith("?"):
        wanted.setdefault(number - 1, set()).add(len(before) - 1)


def _unlinked(kind: Kind, text: str) -> str:
    """Leave the words of links alone: where they lead comes from metadata. Code stays as it is."""
    return text if kind is Kind.CODE else LINK.sub(lambda found: found["code"] or found["words"], text)


def _block_text(block: Block, chosen: Collection[int]) -> str:
    return _unlinked(block.kind, _chosen_text(block, chosen))


def _chosen_text(block: Block, chosen: Collection[int]) -> str:
    if block.kind is Kind.TABLE:
        return _table(block)
    if block.kind is not Kind.PARAGRAPH:
        return _bounded(block)
    parts = sentences(block.text)
    if len(block.text) <= SHORT_PARAGRAPH:
        return " ".join(block.lines)
    numbers = sorted(chosen)
    if len(numbers) == 1 and numbers[0] + 1 < len(parts):
        numbers.append(numbers[0] + 1)
    text = ""
    for place, number in enumerate(numbers):
        joint = "" if place == 0 else " " if numbers[place - 1] == number - 1 else GAP
        text += joint + " ".join(parts[number].split("\n"))
    return text


def _bounded(block: Block) -> str:
    """Keep a long list, table or sample to its first lines, with its fence closed."""
    lines = block.lines
    if len(lines) <= LONGEST_BLOCK_LINES:
        return block.text
    kept = [*lines[:LONGEST_BLOCK_LINES], "…"]
    fence = FENCE.match(lines[0]) if block.kind is Kind.CODE else None
    return "\n".join([*kept, fence[1]] if fence else kept)


def _table(block: Block) -> str:
    """Write rows of cells as the Markdown table that they were; a passage keeps only the bars between cells."""
    lines = block.lines[:LONGEST_BLOCK_LINES]
    if lines[0].lstrip().startswith("|"):
        return "\n".join(lines)
    rows = [f"| {line.strip()} |" for line in lines]
    columns = lines[0].count(" | ") + 1
    return "\n".join([rows[0], "|" + " --- |" * columns, *rows[1:]])


def _marked(text: str, last: Kind, passage: Passage) -> str:
    """Set the marker at the end of the words, or below what a marker would break; a sent file is named above them."""
    if not passage.marker:
        name = MARKUP.sub(r"\\\1", passage.title)
        return f"**{name}**\n\n{text}"
    return f"{text}\n\n{passage.marker}" if last in {Kind.CODE, Kind.TABLE} else f"{text} {passage.marker}"
