"""Sequences of folded words, looked up by their first word: a message is compared with hundreds of them each turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class Phrases:
    """An ordered set of word sequences; where several fit, the longest one does, then the earlier one."""

    def __init__(self, phrases: Iterable[tuple[str, ...]]) -> None:
        """Take sequences of at least one folded word."""
        self._ordered = tuple(sorted(dict.fromkeys(phrases), key=len, reverse=True))
        self._by_first: dict[str, list[tuple[str, ...]]] = {}
        for each in self._ordered:
            self._by_first.setdefault(each[0], []).append(each)
        self._longest = max(map(len, self._ordered), default=0)

    @classmethod
    def parse(cls, text: str) -> Phrases:
        """Read a comma-separated list."""
        return cls(tuple(each.split()) for each in text.split(","))

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        """Go through them, longest first."""
        return iter(self._ordered)

    def __contains__(self, forms: tuple[str, ...]) -> bool:
        """Tell whether one of them is exactly these words."""
        return bool(forms) and forms in self._by_first.get(forms[0], ())

    def at(self, forms: tuple[str, ...], at: int) -> int:
        """Count the words of the phrase that stands at `at`; 0 when none does."""
        if at >= len(forms):
            return 0
        for each in self._by_first.get(forms[at], ()):
            if forms[at : at + len(each)] == each:
                return len(each)
        return 0

    def at_end(self, forms: tuple[str, ...]) -> int:
        """Count the words of the phrase at the end of more words than its own; 0 when none is there."""
        return next((size for size in range(min(self._longest, len(forms) - 1), 0, -1) if forms[-size:] in self), 0)

    def inside(self, forms: tuple[str, ...]) -> list[tuple[tuple[str, ...], int]]:
        """List the phrases that stand anywhere, longest first, each with its first place."""
        found: dict[tuple[str, ...], int] = {}
        for at, form in enumerate(forms):
            for each in self._by_first.get(form, ()):
                if each not in found and forms[at : at + len(each)] == each:
                    found[each] = at
        return sorted(found.items(), key=lambda item: self._ordered.index(item[0])) if found else []
