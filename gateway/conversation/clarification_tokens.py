"""Turns a reply into folded tokens and finds which options it names. Pure; any input, bounded by the caller."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gateway.conversation import clarification_words as words
from shared.text import fold

if TYPE_CHECKING:
    from collections.abc import Mapping

NUMBER_DIGITS: Final = 2
"""A choice has at most this many digits: "007" and "1984" are never options."""

_NUMBER_SIGN: Final = re.compile(r"\b(?:n\s?\.?\s?[°º]|n[uú]m\.|nro\.|no\.(?=\s?\d)|nr\.)|№", re.IGNORECASE)
_ORDINAL_SIGN: Final = re.compile(r"(?<=\d)\.?[ºª]")
_TOKEN: Final = re.compile(r"(?<!\w)[-−]\d+|\w+|[^\w\s]")
_SUFFIXED: Final = re.compile(r"(\d{1,2})([a-z]+)")
_SEPARATORS: Final = frozenset(",;/|-–—")
_IGNORED: Final = frozenset(".,;:!()[]{}\"'’‘“”«»‹›*_`~/|-–—…<>¡👍🙏😊🙂👌✅😀😁😉🎬🎵📁")
_KEYCAP: Final = "\u20e3"
_NUMBER_NAMES: Final = ("CIRCLED", "PARENTHESIZED", "DIGIT", "NUMBER", "NEGATIVE CIRCLED", "DINGBAT", "DOUBLE CIRCLED")


_CORES: Final = frozenset({"digits", "ordinal", "cardinal", "name"})
_LEADS: Final = (
    words.ARTICLES | words.OPTION_WORDS | words.CHOOSING | words.FILLERS | words.TAKING | words.PREPOSITIONS
    | words.PLACES | words.SEARCHING | words.JUST | {words.THE}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Found:
    """What the closed grammar read: options by index from 0 (`-1` for a number that is no option).

    `several` is true for two or more different options, or the same number twice; `questioned` when a question mark
    stands behind it.
    """

    indexes: frozenset[int]
    several: bool
    questioned: bool


def _plain_digit(character: str) -> str:
    """Write any usual number sign in ASCII, set apart where it stood for itself; superscripts and fractions stay."""
    if unicodedata.category(character) == "Nd":
        return str(unicodedata.decimal(character))
    if unicodedata.category(character) == "No" and unicodedata.name(character, "").startswith(_NUMBER_NAMES):
        value = unicodedata.numeric(character, -1.0)
        return f" {int(value)} " if value >= 0 and value == int(value) else character
    return " 10 " if character == "🔟" else character


def tokens(reply: str) -> tuple[str, ...]:
    """Split into folded words and single signs. Invisible format characters vanish."""
    text = _ORDINAL_SIGN.sub("e", _NUMBER_SIGN.sub(" # ", reply.replace(_KEYCAP, " ")))
    visible = "".join(
        _plain_digit(character)
        for character in text
        if unicodedata.category(character) != "Cf" and not "\ufe00" <= character <= "\ufe0f"
    )
    return tuple(_TOKEN.findall(fold(visible)))


def plain(parts: tuple[str, ...]) -> tuple[str, ...]:
    """Keep the words alone."""
    return tuple(part for part in parts if part[0].isalnum() or part in "#&")


def begins(parts: tuple[str, ...], start: tuple[str, ...]) -> bool:
    """Tell whether `parts` begins with `start`."""
    return parts[: len(start)] == start


def _length(parts: tuple[str, ...], name: tuple[str, ...]) -> int:
    """Count the tokens that spell `name` from the start of `parts`, signs between its words included; 0: it is not."""
    at = 0
    for number, word in enumerate(name):
        while number and at < len(parts) and parts[at] in _IGNORED:
            at += 1
        if at >= len(parts) or parts[at] != word:
            return 0
        at += 1
    return at


class _Scan:
    """One walk over the tokens of a reply; `run` gives None as soon as a word is not of the closed grammar."""

    def __init__(
        self, parts: tuple[str, ...], names: Mapping[tuple[str, ...], frozenset[int]], count: int, *, words_lead: bool
    ) -> None:
        self._parts = parts
        self._names = sorted(((name, found) for name, found in names.items() if name), key=lambda item: -len(item[0]))
        self._count = count
        self._words_lead = words_lead
        self._hits: list[tuple[str, frozenset[int]]] = []
        self._before = ""
        self._separated = True
        self._after_ordinal = False
        self._questioned = False
        self._searching = False
        self._dangling = False

    def run(self) -> Found | None:
        """Walk to the end."""
        at = 0
        while at < len(self._parts):
            step = (
                self._sign(self._parts[at])
                or self._name(at)
                or self._number(self._parts[at])
                or self._word(self._parts[at])
            )
            if step == 0:
                return None
            at += step
        return self._verdict() if self._hits and not self._dangling else None

    def _verdict(self) -> Found:
        indexes = frozenset[int]().union(*(found for _, found in self._hits))
        common = self._hits[0][1].intersection(*(found for _, found in self._hits[1:]))
        kinds = [kind for kind, _ in self._hits]
        one = len(common) == 1 and (len(self._hits) == 1 or sorted(kinds) == ["name", "number"])
        return Found(common if one else indexes, several=not one, questioned=self._questioned)

    def _sign(self, part: str) -> int:
        if part in {"?", "¿"}:
            self._questioned = True
            return 1
        if part == "#":
            return self._word(part)
        if part in _IGNORED:
            self._separated = self._separated or part in _SEPARATORS
            return 1
        return 0

    def _hit(self, kind: str, found: frozenset[int]) -> bool:
        """Take one option; a second of the same kind must be set apart, except digits beside digits."""
        crowded = bool(self._hits) and not self._separated and self._hits[-1][0] == kind
        if crowded and not (kind == "number" and self._before == "digits"):
            return False
        self._hits.append((kind, found))
        self._separated = self._dangling = False
        return True

    def _name(self, at: int) -> int:
        for name, found in self._names:
            length = _length(self._parts[at:], name)
            if length:
                if (self._searching and not self._words_lead) or not self._hit("name", found):
                    return 0
                self._before, self._after_ordinal = "name", False
                return length
        return 0

    def _number(self, part: str) -> int:
        ordinal = _SUFFIXED.fullmatch(part)
        if part.isascii() and part.isdigit():
            # A leading zero is a way to write one digit; more digits are a number, never an option.
            value, kind, fits = (int(part) if len(part) <= NUMBER_DIGITS else -1), "digits", self._number_may_follow()
        elif ordinal and ordinal[2] in words.ORDINAL_SUFFIXES:
            value, kind, fits = int(ordinal[1]), "ordinal", self._ordinal_may_follow()
        elif part in words.ORDINALS or part in words.LAST:
            value, kind, fits = words.ORDINALS.get(part, self._count), "ordinal", self._ordinal_may_follow()
        elif part in words.CARDINALS and not (self._after_ordinal and part in words.ORDINAL_TAILS):
            value, kind, fits = words.CARDINALS[part], "cardinal", self._cardinal_may_follow()
        else:
            return 0
        index = value - 1 if 1 <= value <= self._count else -1
        if not fits or not self._hit("number", frozenset({index})):
            return 0
        self._before, self._after_ordinal = kind, kind == "ordinal"
        return 1

    def _number_may_follow(self) -> bool:
        plain_leads = words.ARTICLES | words.OPTION_WORDS | words.CHOOSING | words.FILLERS | words.CONJUNCTIONS
        return not self._searching and self._before in plain_leads | {"", words.THE, *_CORES}

    def _cardinal_may_follow(self) -> bool:
        leads = (words.ARTICLES - {"l", "lo"}) | words.OPTION_WORDS | words.CONJUNCTIONS | {""}
        return not self._searching and (self._before in leads or (self._before in _CORES and self._separated))

    def _ordinal_may_follow(self) -> bool:
        return not self._searching and (self._before not in _CORES or self._separated)

    def _word(self, part: str) -> int:
        if part in words.CONJUNCTIONS and self._hits:
            self._separated = self._dangling = True
        elif self._hits and not self._separated:
            alone = self._words_lead and part in words.ALONE
            if part not in words.TAILS and not alone and not (self._after_ordinal and part in words.ORDINAL_TAILS):
                return 0
        elif part in _LEADS:
            self._dangling = part not in words.TAILS | words.FILLERS
        elif part not in words.TAILS or (part in words.THANKS and not self._hits):
            return 0
        self._searching = (self._searching or part in words.SEARCHING) and part not in words.PLACES
        self._before = part
        return 1


def find(
    parts: tuple[str, ...],
    names: Mapping[tuple[str, ...], frozenset[int]],
    count: int,
    *,
    words_lead: bool = False,
) -> Found | None:
    """Read a reply that is nothing but one or several options; None when any word says more than that.

    `names` maps folded token sequences to the options they stand for; `count` options are numbered from 1.
    `words_lead` allows "cherche X" and "X seul", for options that are search words.
    """
    return _Scan(parts, names, count, words_lead=words_lead).run()
