"""The marks of code in a passage's shown text, and the plain text under them that is embedded and searched.

Shown: `` `make run` `` within a line, or lines of code between two lines of backticks. Plain: the same without the
marks. Search knows plain text alone, so that marks change nothing in what is found (decision 0028).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FENCES: Final = range(3, 11)
"""Backticks of a line that may fence code in; more are text."""
_RUN: Final = re.compile(r"`+")
_FENCE: Final = re.compile(r"`{3,10}")
_INLINE: Final = re.compile(r"(?<!`)(`{1,3})(?!`)(.+?)(?<!`)\1(?!`)")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a text that is no fence."""

    start: int
    """Where in the text it begins."""
    shown: str
    plain: str
    runs: Sequence[tuple[int, int]]
    """Where a run of `plain` without a mark in it begins, and where in `shown`; ascending, the first at 0."""
    fenced: bool
    """Whether it is a line of code between fences."""

    def shown_slice(self, start: int, end: int) -> slice:
        """Say where in the text the shown form of `plain[start:end]`, not empty, stands: with the marks around it."""
        first = self._place(start - 1) + 1 if start else 0
        last = self._place(end) if end < len(self.plain) else len(self.shown)
        return slice(self.start + first, self.start + last)

    def _place(self, at: int) -> int:
        plain, shown = self.runs[bisect_right(self.runs, at, key=itemgetter(0)) - 1]
        return shown + at - plain


def inline(code: str) -> str:
    """Mark code within a line; spaces around it stay outside. Code that no mark can hold is given back as it is."""
    core = code.strip()
    longest = _longest(core)
    if not core or "\n" in core or "`" in {core[0], core[-1]} or longest >= FENCES.start - 1:
        return code
    mark = "`" * (longest + 1)
    before = code[: len(code) - len(code.lstrip())]
    return f"{before}{mark}{core}{mark}{code[len(code.rstrip()) :]}"


def fenced(code: str) -> str:
    """Set lines of code between fences longer than any backticks in them; as they are where none is long enough."""
    length = max(FENCES.start, _longest(code) + 1)
    fence = "`" * length
    return f"{fence}\n{code}\n{fence}" if length in FENCES else code


def plain(text: str) -> str:
    """Take the marks out."""
    if "```" in text:
        return "\n".join(line.plain for line in lines(text))
    parts = _INLINE.split(text)
    del parts[1::3]  # the marks; between them, in turn, what stands outside and inside
    return "".join(parts)


def size(text: str) -> int:
    """Count characters without the marks."""
    return len(plain(text))


def lines(text: str) -> Iterator[Line]:
    """Give a text's lines without the fences; a fence that nothing closes is a line as any other."""
    every = text.split("\n")
    closed = _closed(every) if "```" in text else {}
    start = until = 0
    for number, line in enumerate(every):
        if number in closed:
            until = closed[number]
        elif until and number == until:
            until = 0
        else:
            yield _line(start, line, fenced=until > 0)
        start += len(line) + 1


def _closed(every: Sequence[str]) -> dict[int, int]:
    """Pair each opening fence with the line of the same length or more that closes it."""
    pairs: dict[int, int] = {}
    opened: int | None = None
    lengths = {number: len(line) for number, line in enumerate(every) if _FENCE.fullmatch(line)}
    longest_after = _running_max(lengths)
    for number, length in lengths.items():
        if opened is None:
            opened = number if longest_after[number] >= length else None
        elif length >= lengths[opened]:
            pairs[opened] = number
            opened = None
    return pairs


def _running_max(lengths: dict[int, int]) -> dict[int, int]:
    """Tell for each fence how long the longest one after it is; 0 for the last."""
    longest = 0
    after: dict[int, int] = {}
    for number in reversed(lengths):
        after[number] = longest
        longest = max(longest, lengths[number])
    return after


def _line(start: int, shown: str, *, fenced: bool) -> Line:
    if fenced or "`" not in shown:
        return Line(start, shown, shown, ((0, 0),), fenced)
    parts: list[str] = []
    runs: list[tuple[int, int]] = []
    length = at = 0
    for span in _INLINE.finditer(shown):
        for begin, end in ((at, span.start()), span.span(2)):
            runs.append((length, begin))
            parts.append(shown[begin:end])
            length += end - begin
        at = span.end()
    runs.append((length, at))
    return Line(start, shown, "".join([*parts, shown[at:]]), runs, fenced)


def _longest(code: str) -> int:
    return max(map(len, _RUN.findall(code)), default=0)
