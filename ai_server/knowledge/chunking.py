"""Cuts a document into passages along its headings, with overlap where a section is longer than one passage."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Final, TypeAlias

from ai_server.knowledge import code_marks, sentences
from ai_server.knowledge.loaders.model import Block, BlockKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

VERSION: Final = "1"
"""Changes when the same document would be cut or embedded otherwise, so that a sync cuts it again."""
LIMIT: Final = 1_200
"""Most characters of a passage, overlap included, marks of code not counted."""
SHOWN_LIMIT: Final = 1_600
"""Most characters with the marks; a passage that has more of them is shown without."""
OVERLAP: Final = 160
"""Most characters that a passage repeats from the one before it in its section."""
_MARKED: Final = 4
"""A text so many times too long is too long without its marks as well, or near enough: it is not measured again."""
_SMALL: Final = 160
"""A section below this many characters joins the next one under the same parent."""


_Section: TypeAlias = "tuple[tuple[str, ...], list[Block]]"


@dataclass(frozen=True, slots=True)
class Piece:
    """A passage before it has an id, with the marks of code in its text."""

    heading: str
    text: str


def cut(blocks: Sequence[Block]) -> list[Piece]:
    """Cut blocks into passages, in order; blocks of nothing but space give none."""
    pieces: list[Piece] = []
    sections = [(headings, list(group)) for headings, group in groupby(blocks, key=lambda block: block.headings)]
    for headings, group in _joined(sections):
        heading = " › ".join(headings)
        pieces += [Piece(heading, text) for text in _pack(group) if text.strip()]
    return pieces


def chunk_ids(source_id: str, path: str, pieces: Iterable[Piece]) -> list[str]:
    """Give each passage its id: SHA-256 over length-prefixed source, path, plain text and occurrence number.

    The number counts passages of the same text in the document, so an inserted paragraph renames nothing else.
    """
    seen: Counter[str] = Counter()
    ids: list[str] = []
    for piece in pieces:
        text = code_marks.plain(piece.text)
        ids.append(_digest(source_id, path, text, str(seen[text])))
        seen[text] += 1
    return ids


def embedded_text(title: str, piece: Piece) -> str:
    """Give the text whose vector stands for a passage: its title and headings lead, code has no marks."""
    return "\n".join(part for part in (title, piece.heading, code_marks.plain(piece.text)) if part)


def shown(block: Block) -> str:
    """Give a block's text as it is shown: lines of code have their fences."""
    return code_marks.fenced(block.text) if block.kind is BlockKind.CODE else block.text


def text_hash(text: str) -> str:
    """Name an embedded text, for reusing its vectors."""
    return _digest(VERSION, text)


def _digest(*parts: str) -> str:
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode()
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()


def _joined(sections: list[_Section]) -> Iterator[_Section]:
    """Join a section too small to stand alone with the next one under a common heading; their own names stay."""
    waiting: _Section | None = None
    for section in sections:
        waiting, done = _join(waiting, section)
        if done is not None:
            yield done
        if _size(waiting[1]) >= _SMALL:
            yield waiting
            waiting = None
    if waiting is not None:
        yield waiting


def _join(waiting: _Section | None, section: _Section) -> tuple[_Section, _Section | None]:
    """Give what waits now, and what could not be joined with it."""
    if waiting is None:
        return section, None
    (held, blocks), (headings, group) = waiting, section
    common = held[
        : next(
            (i for i, pair in enumerate(zip(held, headings, strict=False)) if pair[0] != pair[1]),
            min(len(held), len(headings)),
        )
    ]
    if not common or _size(blocks) + _size(group) > LIMIT // 2:
        return section, waiting
    return (common, [*_named(common, held), *blocks, *_named(common, headings), *group]), None


def _named(common: tuple[str, ...], headings: tuple[str, ...]) -> list[Block]:
    own = headings[len(common) :]
    return [Block(common, BlockKind.PROSE, " › ".join(own))] if own else []


def _size(blocks: Sequence[Block]) -> int:
    return sum(map(_measure, blocks))


def _measure(block: Block) -> int:
    return len(block.text) if block.kind is BlockKind.CODE else code_marks.size(block.text)


def _pack(blocks: Sequence[Block]) -> Iterator[str]:
    """Fill passages up to the limit; each after the first begins with the end of the one before."""
    held: list[str] = []
    size = 0
    fresh = False
    for part in (part for block in blocks for part in _parts(block)):
        length = code_marks.size(part) + 1
        if held and size + length > LIMIT:
            if fresh:
                yield _written(held)
            tail = _tail(held[-1]) if fresh else ""
            room = code_marks.size(tail) + 1
            held, size = ([tail], room) if tail and room + length - 1 <= LIMIT else ([], 0)
        held.append(part)
        size += length
        fresh = True
    if fresh:
        yield _written(held)


def _written(parts: Sequence[str]) -> str:
    text = "\n".join(parts)
    return text if len(text) <= SHOWN_LIMIT else "\n".join(map(code_marks.plain, parts))


def _parts(block: Block) -> Iterator[str]:
    """Give a block whole if it fits, else in parts at sentences or lines, a table with its header on each."""
    room = LIMIT - OVERLAP
    if _measure(block) <= room:
        yield shown(block)
        return
    lines = block.text.split("\n")
    header = code_marks.size(lines[0])
    if block.kind is BlockKind.TABLE and len(lines) > 1 and header < room // 2:
        for rows in _fill(lines[1:], room - header - 1, "\n"):
            yield f"{lines[0]}\n{rows}"
    elif block.kind is BlockKind.PROSE:
        yield from _fill(sentences.pieces(block.text), room, " ")
    elif block.kind is BlockKind.CODE:
        for part in _fill(lines, room, "\n", size=len):
            yield code_marks.fenced(part)
    else:
        yield from _fill(lines, room, "\n")


def _fill(
    units: Sequence[str], room: int, joint: str, *, size: Callable[[str], int] = code_marks.size
) -> Iterator[str]:
    held = ""
    length = 0
    for unit in (part for whole in units for part in _bounded(whole, room, size)):
        more = size(unit)
        if held and length + len(joint) + more > room:
            yield held
            held = ""
        held, length = (f"{held}{joint}{unit}", length + len(joint) + more) if held else (unit, more)
    if held:
        yield held


def _bounded(unit: str, room: int, size: Callable[[str], int]) -> Iterator[str]:
    """Cut what has no sentence or line ends: at the last space that fits, or hard."""
    while not _fits(unit, room, size):
        space = unit.rfind(" ", room // 2, room)
        end = space if space > 0 else room
        yield unit[:end]
        unit = unit[end:].lstrip(" ")
    yield unit


def _fits(unit: str, room: int, size: Callable[[str], int]) -> bool:
    return len(unit) <= room or (len(unit) <= _MARKED * room and size(unit) <= room)


def _tail(part: str) -> str:
    """Give the last whole sentences of a part that fit the overlap; none when the last is longer."""
    kept: list[str] = []
    length = 0
    *_, last = code_marks.lines(part)
    for sentence in reversed(sentences.pieces(last.shown)):
        length += code_marks.size(sentence) + 1
        if length > OVERLAP:
            break
        kept.insert(0, sentence)
    text = " ".join(kept)
    return code_marks.fenced(text) if text and last.fenced else text
