"""What both processes ask of text that comes from outside."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from shared.errors import Violation

ASCII_KEY_LIMIT: Final = 128

_LATIN_MARKS: Final = re.compile("[\u0300-\u034e\u0350-\u036f]+")
_BEYOND_LATIN: Final = re.compile("[\u0370-\U0010ffff]+")


def text_violation(field: str, value: str, *, limit: int, blank_allowed: bool = False) -> Violation | None:
    """Say what is wrong with a text from outside, or None.

    A text must encode as UTF-8 (no lone surrogate), hold no NUL, have at most `limit` characters (inclusive),
    and not be blank.
    """
    if len(value) > limit:
        return Violation(field, f"has {len(value):,} characters; the limit is {limit:,}: shorten it")
    if "\x00" in value:
        return Violation(field, "holds a NUL character: remove it")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return Violation(field, "holds half of a surrogate pair, which is not text: remove it")
    if not blank_allowed and not value.strip():
        return Violation(field, "is empty or blank: write something")
    return None


def key_violation(field: str, value: str) -> Violation | None:
    """Say what is wrong with an idempotency key: 1 to 128 printable ASCII characters."""
    if not value or len(value) > ASCII_KEY_LIMIT or not value.isascii() or not value.isprintable():
        return Violation(field, f"must be 1 to {ASCII_KEY_LIMIT} printable ASCII characters")
    return None


def fold(text: str) -> str:
    """Fold case and accents for comparing: `Où` and `ou` become alike."""
    folded = text.casefold()
    if folded.isascii():
        return folded
    # The marks of Latin letters go in one pass; only what lies beyond is looked at one by one.
    plain = _LATIN_MARKS.sub("", unicodedata.normalize("NFKD", folded))
    return plain if plain.isascii() else _BEYOND_LATIN.sub(_unmarked, plain)


def _unmarked(run: re.Match[str]) -> str:
    return "".join(character for character in run[0] if not unicodedata.combining(character))
