"""A circuit breaker for one provider: leaves it alone after repeated failures, then tries once before trusting it."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final

from shared.errors import ProviderError, ProviderRefused

if TYPE_CHECKING:
    from shared.clock import Clock

FAILURES_TO_OPEN: Final = 3
FIRST_REST_S: Final = 15.0
LONGEST_REST_S: Final = 240.0
OURS: Final = frozenset(
    {"bad-request", "too-large", "policy", "unsupported-image", "image-size", "unsupported-tools", "output-cap"}
)
"""Error classes of refusals that say nothing of the provider's health: the next request may well be taken."""


class BreakerState(StrEnum):
    """Closed lets calls through, open refuses them, half-open lets one probe through."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


class Breaker:
    """Counts consecutive failures. Every `admit()` that said yes is followed by one of the three endings."""

    def __init__(self, clock: Clock) -> None:
        """Begin closed."""
        self._clock = clock
        self._failures = 0
        self._rest = FIRST_REST_S
        self._open_until: float | None = None
        self._probing = False
        self._blocked = False
        self.reason = ""

    def block(self, reason: str) -> None:
        """Leave the provider alone until `succeeded`: it could not even be made."""
        self._blocked, self.reason = True, reason

    @property
    def state(self) -> BreakerState:
        """Where it stands now."""
        if self._blocked:
            return BreakerState.OPEN
        if self._open_until is None:
            return BreakerState.CLOSED
        return BreakerState.OPEN if self._clock.monotonic() < self._open_until else BreakerState.HALF_OPEN

    def admit(self) -> bool:
        """Tell whether a call may be made; a half-open breaker takes one at a time."""
        state = self.state
        if state is BreakerState.CLOSED:
            return True
        if state is BreakerState.OPEN or self._probing:
            return False
        self._probing = True
        return True

    def succeeded(self) -> None:
        """The provider did its part: close."""
        self._failures, self._open_until, self._probing, self._blocked = 0, None, False, False
        self._rest, self.reason = FIRST_REST_S, ""

    def failed(self, error: ProviderError) -> None:
        """The provider failed: open after `FAILURES_TO_OPEN` in a row, and for longer each time a probe fails."""
        if isinstance(error, ProviderRefused) and error.error_class in OURS:
            self.abandoned()
            return
        probed, self._probing = self._probing, False
        self._failures += 1
        self.reason = error.message
        if probed:
            self._rest = min(self._rest * 2, LONGEST_REST_S)
        if probed or self._failures >= FAILURES_TO_OPEN:
            self._open_until = self._clock.monotonic() + self._rest

    def abandoned(self) -> None:
        """The call told nothing of the provider (no money, the reader left): give a probe's place back."""
        self._probing = False
