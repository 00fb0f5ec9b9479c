"""Cuts a passage into sentences, verbatim: every sentence is a piece of the text, in order."""

from __future__ import annotations

import re
from typing import Final

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
    return [piece for line in text.split("\n") for piece in _split_line(line)]


def split(text: str) -> list[str]:
    """Cut a text into at most `MOST` sentences.

    Deterministic: the vectors stored for a text are those of `split(text)`, in this order.
    """
    found = pieces(text)
    if len(found) > MOST:
        start = text.index(found[MOST - 1], _offset(text, found[: MOST - 1]))
        found = [*found[: MOST - 1], text[start:].strip()]
    return found


def _offset(text: str, before: list[str]) -> int:
    position = 0
    for piece in before:
        position = text.index(piece, position) + len(piece)
    return position


def _split_line(line: str) -> list[str]:
    cut: list[str] = []
    start = 0
    for end in _END.finditer(line):
        piece = line[start : end.end()].strip()
        if len(piece) >= _SHORTEST and not _ABBREVIATION.search(piece):
            cut.append(piece)
            start = end.end()
    rest = line[start:].strip()
    if rest and cut and len(rest) < _SHORTEST:
        return [*cut[:-1], line[line.rindex(cut[-1]) :].strip()]
    return [*cut, rest] if rest else cut
