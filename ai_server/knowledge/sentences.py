"""Cuts a passage into sentences, verbatim: every sentence is a piece of the text, in order.

Where one ends is read from the plain text, so that the marks of code move no end.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ai_server.knowledge import code_marks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MOST: Final = 32
"""Most sentences of one passage; the last one takes the rest."""
_SHORTEST: Final = 25
"""Pieces below this many characters are joined with the next one of the same line."""
_END: Final = re.compile(
    r"""
    (?<=[.!?…])(?:[ \u00a0\u202f]?["»”’')\]])*   # an ending mark, with what closes behind it
    [ \t\u00a0\u202f]+
    (?=["«“‘'(¿¡\[\-–—]*\s?[A-ZÀ-ÖØ-ÞŒ0-9])   # and something that begins
    """,
    re.VERBOSE,
)
_ABBREVIATION: Final = re.compile(
    r"(?:\b(?:M|MM|Mr|Mrs|Ms|Dr|Pr|Me|St|Ste|art|al|cf|p|pp|vol|fig|n|no|env|etc|ex|Sr|Sra|Ud|Uds|vs|e\.g|i\.e|[A-Z])\.)$"
)


def pieces(text: str) -> list[str]:
    """Cut a text into sentences, however many; lines end sentences, abbreviations and initials do not."""
    return [text[shown] for shown, _ in _places(text)]


def split(text: str) -> list[str]:
    """Cut a text into at most `MOST` sentences.

    Deterministic: the vectors stored for a text are those of `spoken(text)`, as many and in the same order.
    """
    return _bounded(text, [shown for shown, _ in _places(text)])


def spoken(text: str) -> list[str]:
    """Give the sentences of `split` without the marks of code: what is embedded."""
    return _bounded(code_marks.plain(text), [plain for _, plain in _places(text)])


def _bounded(text: str, places: Sequence[slice]) -> list[str]:
    if len(places) <= MOST:
        return [text[place] for place in places]
    return [*(text[place] for place in places[: MOST - 1]), text[places[MOST - 1].start :].strip()]


def _places(text: str) -> Iterator[tuple[slice, slice]]:
    """Give each sentence's place in the text, and in the plain text."""
    before = 0
    for line in code_marks.lines(text):
        for start, end in _ends(line.plain):
            yield line.shown_slice(start, end), slice(before + start, before + end)
        before += len(line.plain) + 1


def _ends(line: str) -> list[tuple[int, int]]:
    cut: list[tuple[int, int]] = []
    start = 0
    for end in _END.finditer(line):
        piece = line[start : end.end()].strip()
        if len(piece) >= _SHORTEST and not _ABBREVIATION.search(piece):
            cut.append(_trimmed(line, start, end.end()))
            start = end.end()
    rest = _trimmed(line, start, len(line))
    length = rest[1] - rest[0]
    if length > 0 and cut and length < _SHORTEST:
        return [*cut[:-1], (cut[-1][0], rest[1])]
    return [*cut, rest] if length > 0 else cut


def _trimmed(line: str, start: int, end: int) -> tuple[int, int]:
    """Leave out the spaces around a piece; an empty one ends before it begins, or where."""
    piece = line[start:end]
    return start + len(piece) - len(piece.lstrip()), end - len(piece) + len(piece.rstrip())
