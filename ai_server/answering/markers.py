"""Citation markers: opaque, random for each turn, and inert wherever they come from but the model's own text."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from typing import Final

MARKER_BYTES: Final = 3
LONGEST_MARKER: Final = 160

MARKER: Final = re.compile(r"\[\[\s*(?:c\s*:([^\[\]\n]{0,140})|(unsupported))\s*\]\]", re.IGNORECASE)
_BEGUN: Final = re.compile(r"\[(?:\[\s*(?:c\s*(?::[^\[\]\n]{0,140}\]?)?|u[a-z]{0,10}\s*\]?)?)?$", re.IGNORECASE)
_FORGED: Final = re.compile(r"\[(?=\[\s*(?:c\s*:|unsupported))", re.IGNORECASE)
_TAGS: Final = re.compile(r"<(?=/?\s*(?:passage|attachment)\b)", re.IGNORECASE)
_BETWEEN: Final = re.compile(r"\s*[,;\s]\s*")
_CLOSING: Final = ".,;:!?…)]»”"


def new_marker(taken: set[str]) -> str:
    """Make a marker id that this turn does not have yet, and take it."""
    while (made := secrets.token_hex(MARKER_BYTES)) in taken:
        pass
    taken.add(made)
    return made


def written(marker_id: str) -> str:
    """Write a marker as the model is asked to."""
    return f"[[c:{marker_id}]]"


def inert(text: str) -> str:
    """Take the force out of whatever looks like a marker or a frame of ours in a document or a tool's result."""
    return _TAGS.sub("‹", _FORGED.sub("[ ", text))


def holds_marker(text: str) -> bool:
    """Tell whether a text has something that looks like a marker."""
    return _FORGED.search(text) is not None


@dataclass(frozen=True, slots=True)
class Mark:
    """A marker that the model wrote, where it stands in the visible text (code points)."""

    position: int
    marker_id: str


class CitedText:
    """The model's text without its markers, as it grows. A marker that is only begun is held back; spaces around
    one close up; white space at the end waits for what follows it. Once the model began with the unsupported marker,
    nothing that it adds is shown.
    """

    def __init__(self, known: set[str]) -> None:
        """Take the ids that this turn gave out."""
        self._known = known
        self._raw = ""
        self._space = ""
        self._marked = False
        self._parts: list[str] = []
        self.length = 0
        self.marks: list[Mark] = []
        self.dropped = 0
        self.unsupported = False

    @property
    def text(self) -> str:
        """Everything visible so far."""
        return "".join(self._parts)

    def feed(self, delta: str) -> str:
        """Take more of the model's text and return what became visible."""
        self._raw += delta
        return self._advance(final=False)

    def finish(self) -> str:
        """Take the end: what was held back and is no marker becomes visible."""
        return self._advance(final=True)

    def _advance(self, *, final: bool) -> str:
        shown = ""
        while match := MARKER.search(self._raw):
            shown += self._show(self._raw[: match.start()])
            self._take(match)
            self._raw = self._raw[match.end() :]
        begun = None if final else _BEGUN.search(self._raw[-LONGEST_MARKER:])
        cut = len(self._raw) - (len(begun.group()) if begun else 0)
        shown += self._show(self._raw[:cut])
        self._raw = self._raw[cut:]
        return shown

    def _take(self, match: re.Match[str]) -> None:
        self._marked = True
        if match.group(2):
            self.unsupported = self.unsupported or not self.length
            return
        for written_id in _BETWEEN.split(match.group(1).strip().casefold()):
            each = written_id.removeprefix("c:")
            if each not in self._known:
                self.dropped += 1
            elif Mark(self.length, each) not in self.marks[-len(self._known) :]:
                self.marks.append(Mark(self.length, each))

    def _show(self, text: str) -> str:
        if self.unsupported:
            return ""
        body = text.lstrip()
        lead = text[: len(text) - len(body)]
        if self._marked and self._space and lead:
            self._space = max(self._space, lead, key=lambda space: space.count("\n"))
        else:
            self._space += lead
        if not body:
            return ""
        core = body.rstrip()
        space = self._space if self.length else ""
        if self._marked and core[0] in _CLOSING and "\n" not in space:
            space = ""
        self._space, self._marked = body[len(core) :], False
        shown = space + core
        self._parts.append(shown)
        self.length += len(shown)
        return shown
