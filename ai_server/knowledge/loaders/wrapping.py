"""Puts together again the lines of a paragraph that was wrapped at a column, so that its sentences are whole.

A line was wrapped where the next word would not have fitted into the longest line. Where most lines of a paragraph
end earlier (addresses, verses, one entry a line), they were meant to end there and stay.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

from ai_server.knowledge import code_marks

NARROWEST: Final = 50
"""A paragraph whose longest line is shorter was not wrapped at a column."""
_BEGINS: Final = re.compile(r"\s|[-*+•–>|#:] ?|\d{1,3}[.)] ")
"""How a line begins that is no continuation: indented, a bullet, a number, a table's bar."""


def unwrap(text: str) -> str:
    """Join the wrapped lines of one paragraph; other line ends stay. Marks of code count for nothing."""
    lines = text.split("\n")
    plain = [code_marks.plain(line) for line in lines]
    width = max(map(len, plain))
    full = [len(before.rstrip()) + 1 + len(line.partition(" ")[0]) > width for before, line in pairwise(plain)]
    if width < NARROWEST or sum(full) * 2 <= len(full):
        return text
    joined = lines[:1]
    for line, said, wrapped in zip(lines[1:], plain[1:], full, strict=True):
        if wrapped and said and not _BEGINS.match(said):
            joined[-1] = f"{joined[-1].rstrip()} {line}"
        else:
            joined.append(line)
    return "\n".join(joined)
