"""Numbers and names of things, as commands print them."""

from __future__ import annotations


def counted(count: int, word: str) -> str:
    """Say `1 passage`, `2 passages`, `1,200 passages`."""
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


def shown(name: str) -> str:
    """Give a file's name on one line: whoever named it must not be able to write lines of ours."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in name)
