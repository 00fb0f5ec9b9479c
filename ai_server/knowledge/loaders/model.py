"""What every loader gives, and how it says no."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

FILE_LIMIT: Final = 20 * 1024 * 1024
"""Most bytes of one document, inclusive."""
TEXT_LIMIT: Final = 5_000_000
"""Most characters that one document may give, inclusive."""


INSTALL: Final = "pip install '.[documents]' in Passeur's folder"
"""How the packages behind PDF, DOCX and HTML come in."""


class Rejected(Exception):
    """The document cannot be taken; the message says why and what to do, for the person who wrote it."""


class BlockKind(StrEnum):
    """How a block may be cut: prose at sentences, the others at lines; a table repeats its header."""

    PROSE = "prose"
    CODE = "code"
    TABLE = "table"


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of a document under its headings, outermost first. A table's first line is its header."""

    headings: tuple[str, ...]
    kind: BlockKind
    text: str


@dataclass(frozen=True, slots=True)
class Loaded:
    """A document as its loader understood it. `title` empty: it names none."""

    title: str
    metadata: Mapping[str, tuple[str, ...]]
    blocks: tuple[Block, ...]
    skipped_image_count: int = 0
    page_count: int = 0
    encoding: str = ""
    warnings: tuple[str, ...] = field(default=())
