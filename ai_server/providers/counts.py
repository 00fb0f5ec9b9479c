"""Believes or refuses the numbers that a provider reports: absent, zero and impossible are three different things."""

from __future__ import annotations

from typing import Final

from shared.usage import Usage

COUNT_LIMIT: Final = 2**40
"""No call uses so many tokens; a larger count is a mistake, not a bill."""


class NotBelievable(ValueError):
    """A reported number cannot be true, so the usage counts as absent."""


def whole(value: object, *, absent: int | None = 0) -> int:
    """Read a count. None gives `absent`, or refuses when that is None.

    Raises:
        NotBelievable: no whole number from 0 on.
    """
    if value is None:
        if absent is None:
            raise NotBelievable("a count is missing")
        return absent
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= COUNT_LIMIT:
        raise NotBelievable(f"{value!r} is not a count")
    return value


def remainder(total: int, *parts: int) -> int:
    """Take parts out of a total that includes them.

    Raises:
        NotBelievable: the parts are more than the total.
    """
    rest = total - sum(parts)
    if rest < 0:
        raise NotBelievable("the parts of a count are more than the whole")
    return rest


def embedding_usage(tokens: object) -> Usage | None:
    """Read the input count of an embedding call; None when absent, zero or impossible."""
    try:
        counted = whole(tokens)
    except NotBelievable:
        return None
    return Usage(input=counted) if counted else None
