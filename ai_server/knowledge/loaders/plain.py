"""Plain text and CSV."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from typing import Final

from ai_server.knowledge.loaders import encoding
from ai_server.knowledge.loaders.model import Block, BlockKind, Loaded, Rejected
from ai_server.knowledge.loaders.wrapping import unwrap

_PARAGRAPH: Final = re.compile(r"\n[ \t]*\n+")
_DELIMITERS: Final = (",", ";", "\t", "|")
_SAMPLE_LINES: Final = 50


def load_text(data: bytes) -> Loaded:
    """Read plain text, paragraph by paragraph.

    Raises:
        Rejected: binary, or in no encoding that is recognised.
    """
    text, name = encoding.decode(data)
    paragraphs = [part.strip("\n") for part in _PARAGRAPH.split(text.replace("\r\n", "\n").replace("\r", "\n"))]
    blocks = tuple(Block((), BlockKind.PROSE, unwrap(part)) for part in paragraphs if part.strip())
    return Loaded("", {}, blocks, encoding=name)


def load_csv(data: bytes) -> Loaded:
    """Read CSV in any usual dialect: the header leads, rows follow, what stands before the header is prose.

    Raises:
        Rejected: binary, in no recognised encoding, or a field of more than 131,072 characters.
    """
    text, name = encoding.decode(data)
    delimiter = _delimiter(text)
    try:
        read = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except csv.Error as exc:
        raise Rejected(f"it cannot be read as CSV: {exc}") from exc
    rows = [[" ".join(cell.split()) for cell in row] for row in read]
    rows = [row for row in rows if any(row)]
    if not rows:
        return Loaded("", {}, (), encoding=name)
    width = Counter(len(row) for row in rows).most_common(1)[0][0]
    full = [place for place, row in enumerate(rows) if len(row) == width and (width == 1 or sum(map(bool, row)) > 1)]
    start = full[0] if full else 0
    before = [" ".join(cell for cell in row if cell) for row in rows[:start]]
    blocks = [Block((), BlockKind.PROSE, line) for line in before]
    blocks.append(Block((), BlockKind.TABLE, "\n".join(" | ".join(row) for row in rows[start:])))
    return Loaded("", {}, tuple(blocks), encoding=name)


def _delimiter(text: str) -> str:
    """Choose the delimiter that gives the most columns most often; quoted fields are respected."""
    sample = text.splitlines(keepends=True)[:_SAMPLE_LINES]
    best, best_score = ",", 0.0
    for delimiter in _DELIMITERS:
        try:
            widths = Counter(len(row) for row in csv.reader(sample, delimiter=delimiter) if row)
        except csv.Error:
            continue
        width, count = max(widths.items(), key=lambda item: (item[0] > 1, item[1], item[0]), default=(1, 0))
        score = count * (1 + width / 1000) if width > 1 else 0.0
        if score > best_score:
            best, best_score = delimiter, score
    return best
