"""Cuts a document into passages along its headings, with overlap where a section is longer than one passage."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Final, TypeAlias

from ai_server.knowledge import sentences
from ai_server.knowledge.loaders.model import Block, BlockKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

VERSION: Final = "1"
"""Changes when the same document would be cut or embedded otherwise, so that a sync cuts it again."""
LIMIT: Final = 1_200
"""Most characters of a passage, overlap included."""
OVERLAP: Final = 160
"""Most characters that a passage repeats from the one before it in its section."""
_SMALL: Final = 160
"""A section below this many characters joins the next one under the same parent."""


_Section: TypeAlias = "tuple[tuple[str, ...], list[Block]]"


@dataclass(frozen=True, slots=True)
class Piece:
    """A passage before it has an id."""

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
    """Give each passage its id: SHA-256 over length-prefixed source, path, text and occurrence number.

    The number counts passages of the same text in the document, so an inserted paragraph renames nothing else.
    """
    seen: Counter[str] = Counter()
    ids: list[str] = []
    for piece in pieces:
        ids.append(_digest(source_id, path, piece.text, str(seen[piece.text])))
        seen[piece.text] += 1
    return ids


def embedded_text(title: str, piece: Piece) -> str:
    """Give the text whose vector stands for a passage: its title and headings lead."""
    return "\n".join(part for part in (title, piece.heading, piece.text) if part)


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
    return sum(len(block.text) for block in blocks)


def _pack(blocks: Sequence[Block]) -> Iterator[str]:
    """Fill passages up to the limit; each after the first begins with the end of the one before."""
    held: list[str] = []
    size = 0
    fresh = False
    for part in (part for block in blocks for part in _parts(block)):
        if held and size + len(part) + 1 > LIMIT:
            if fresh:
                yield "\n".join(held)
            tail = _tail(held[-1]) if fresh else ""
            held = [tail] if tail and len(tail) + len(part) + 1 <= LIMIT else []
            size = sum(len(text) + 1 for text in held)
        held.append(part)
        size += len(part) + 1
        fresh = True
    if fresh:
        yield "\n".join(held)


def _parts(block: Block) -> Iterator[str]:
    """Give a block whole if it fits, else in parts at sentences or lines, a table with its header on each."""
    if len(block.text) <= LIMIT - OVERLAP:
        yield block.text
        return
    room = LIMIT - OVERLAP
    lines = block.text.split("\n")
    if block.kind is BlockKind.TABLE and len(lines) > 1 and len(lines[0]) < room // 2:
        for rows in _fill(lines[1:], room - len(lines[0]) - 1, "\n"):
            yield f"{lines[0]}\n{rows}"
    elif block.kind is BlockKind.PROSE:
        yield from _fill(sentences.pieces(block.text), room, " ")
    else:
        yield from _fill(lines, room, "\n")


def _fill(units: Sequence[str], room: int, joint: str) -> Iterator[str]:
    held = ""
    for unit in (part for whole in units for part in _bounded(whole, room)):
        if held and len(held) + len(joint) + len(unit) > room:
            yield held
            held = ""
        held = f"{held}{joint}{unit}" if held else unit
    if held:
        yield held


def _bounded(unit: str, room: int) -> Iterator[str]:
    """Cut what has no sentence or line ends: at the last space that fits, or hard."""
    while len(unit) > room:
        space = unit.rfind(" ", room // 2, room)
        end = space if space > 0 else room
        yield unit[:end]
        unit = unit[end:].lstrip(" ")
    yield unit


def _tail(text: str) -> str:
    """Give the last whole sentences of a passage that fit the overlap; none when the last is longer."""
    kept: list[str] = []
    size = 0
    for sentence in reversed(sentences.pieces(text.rsplit("\n", 1)[-1])):
        size += len(sentence) + 1
        if size > OVERLAP:
            break
        kept.insert(0, sentence)
    return " ".join(kept)
