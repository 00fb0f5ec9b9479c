"""Trying the same provider again: only what surely did not start, a few times, after waits that grow and vary.

SDKs never retry for us: they would send a paid request twice (github.com/Comfy-Org/ComfyUI/pull/16204). Here each try
has its own reservation, and what may have begun is never sent again.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from shared.errors import ProviderOverloaded

if TYPE_CHECKING:
    from shared.clock import Clock
    from shared.errors import ProviderError

SPREAD: Final = 0.5
"""Share of a wait that chance takes or adds, so that callers refused together do not come back together."""

PASSING: Final = frozenset({"overloaded", "rate", "unreachable", "hung-up", "timeout"})
"""Error classes that a moment may cure; a spent quota, a wrong key or a bad request stays what it is."""

_CHANCE: Final = random.SystemRandom()


@dataclass(frozen=True, slots=True)
class Patience:
    """Attributes:
    tries: most attempts, the first one included.
    first_s: mean seconds before the second attempt; each later wait is twice the one before.
    """

    tries: int
    first_s: float

    @property
    def longest_s(self) -> float:
        """Most seconds that all waits together can take."""
        return (1 + SPREAD) * self.first_s * (2 ** (self.tries - 1) - 1)


AT_ONCE: Final = Patience(1, 0.0)
"""Another model can answer now, so nobody waits."""

FOR_AN_ANSWER: Final = Patience(3, 0.25)
"""Somebody waits, and only quoting stands behind this model: at most 1.2 s."""

FOR_DOCUMENTS: Final = Patience(5, 0.5)
"""Nobody waits, and one refused batch would end a long sync: at most 11.3 s."""

FOR_A_QUESTION: Final = Patience(2, 0.25)
"""Somebody waits, and words alone find much: at most 0.4 s."""


class Tries:
    """The tries of one call."""

    def __init__(self, patience: Patience, clock: Clock) -> None:
        """Begin with the first."""
        self._patience = patience
        self._clock = clock
        self._made = 1

    async def again_after(self, error: ProviderError) -> bool:
        """Wait until the next try; False at once where there must be none."""
        passing = isinstance(error, ProviderOverloaded) and error.error_class in PASSING
        if error.started or not passing or self._made >= self._patience.tries:
            return False
        wait = self._patience.first_s * 2 ** (self._made - 1)
        self._made += 1
        await self._clock.sleep(wait * _CHANCE.uniform(1 - SPREAD, 1 + SPREAD))
        return True
