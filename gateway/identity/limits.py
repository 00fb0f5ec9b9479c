"""Token buckets: how much one address or one visitor may ask, refilled steadily."""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from shared.errors import RateLimited

if TYPE_CHECKING:
    from shared.clock import Clock

KEY_LIMIT: Final = 20_000
"""Buckets remembered; past it the one idle longest is forgotten, which can only be kind to its owner."""


@dataclass(frozen=True, slots=True)
class Rate:
    """`burst` at once, then `per_minute` steadily; both at least 1."""

    burst: int
    per_minute: int


class TokenBuckets:
    """One bucket for each key, all with the same rate."""

    def __init__(self, rate: Rate, clock: Clock) -> None:
        """Begin with full buckets."""
        self._rate = rate
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, key: str) -> None:
        """Take one token from the key's bucket.

        Raises:
            RateLimited: the bucket is empty; says when the next token is there.
        """
        now = self._clock.monotonic()
        tokens, since = self._buckets.pop(key, (float(self._rate.burst), now))
        tokens = min(self._rate.burst, tokens + (now - since) * self._rate.per_minute / 60)
        allowed = tokens >= 1
        self._buckets[key] = (tokens - 1 if allowed else tokens, now)
        if len(self._buckets) > KEY_LIMIT:
            self._buckets.popitem(last=False)
        if not allowed:
            wait_s = math.ceil((1 - tokens) * 60 / self._rate.per_minute)
            raise RateLimited(
                f"Too many requests: at most {self._rate.burst} at once and {self._rate.per_minute} a minute. "
                f"Try again in {wait_s} s.",
                self._clock.now() + timedelta(seconds=wait_s),
            )


class Gauge:
    """Counts what one key holds open at the same time, up to a limit."""

    def __init__(self, limit: int) -> None:
        """Allow `limit` for each key."""
        self._limit = limit
        self._held: dict[str, int] = {}

    def hold(self, key: str, what: str) -> None:
        """Count one more for the key.

        Raises:
            RateLimited: the key holds its limit already.
        """
        held = self._held.get(key, 0)
        if held >= self._limit:
            raise RateLimited(f"At most {self._limit} {what} at the same time: close one first.", None)
        self._held[key] = held + 1

    def release(self, key: str) -> None:
        """Count one less."""
        held = self._held[key] - 1
        if held:
            self._held[key] = held
        else:
            del self._held[key]
