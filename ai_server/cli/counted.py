"""Numbers of things, as commands print them."""

from __future__ import annotations


def counted(count: int, word: str) -> str:
    """Say `1 passage`, `2 passages`, `1,200 passages`."""
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"
