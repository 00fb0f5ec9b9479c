"""A conversation's title: the first words that were asked."""

from __future__ import annotations

from typing import Final

LIMIT: Final = 80


def title_of(text: str) -> str:
    """Cut the first question to one line of at most `LIMIT` characters, at a word where there is one."""
    line = " ".join(text.split())
    if len(line) <= LIMIT:
        return line
    cut = line[: LIMIT - 1]
    head, _, _ = cut.rpartition(" ")
    return f"{head or cut}…"
