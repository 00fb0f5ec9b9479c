"""What one paid call said about its cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ai_server.ledger.contract import MeteredCall, Quote
    from shared.clock import Clock
    from shared.errors import ProviderError
    from shared.usage import Usage


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One paid call that ended, as the ledger has it. `usage` None: the provider did not say."""

    key: str
    operation: str
    provider: str
    model: str
    price_version: str
    usage: Usage | None
    cost_nanousd: int
    estimated: bool
    error_class: str
    duration_s: float
    lowered_cap: int | None = None
    """The output cap that the call was made with, where a budget had no room for the asked one."""


def turn_of(key: str) -> str:
    """Name the turn, or other work, whose call a ledger key pays: what stands before the first slash."""
    return key.partition("/")[0]


class Account:
    """What one call said about its cost, told to the ledger and to the observer alike."""

    def __init__(self, key: str, quote: Quote, clock: Clock, lowered_cap: int | None = None) -> None:
        """Begin the call's time. `lowered_cap`: the output cap asked for, where it had to be lowered."""
        self._key, self._quote, self._clock, self._lowered_cap = key, quote, clock, lowered_cap
        self._started = clock.monotonic()
        self.usage: Usage | None = None
        self.cost: int | None = None
        self.error_class = ""
        self.voided = False

    def complete(self, call: MeteredCall, usage: Usage | None, cost: int | None) -> None:
        """The call ended; what is None is unknown."""
        self.usage, self.cost = usage, cost
        call.complete(usage, cost)

    def failed(self, call: MeteredCall, error: ProviderError) -> None:
        """The call failed; one that surely did not start costs nothing."""
        self.error_class, self.voided = error.error_class, not error.started
        call.failed(started=error.started)

    def record(self) -> CallRecord:
        """Give the call as it ended."""
        known = self.cost is not None and self.usage is not None
        cost = 0 if self.voided else self.cost if known and self.cost is not None else self._quote.ceiling_nanousd
        return CallRecord(
            key=self._key,
            operation=self._quote.operation,
            provider=self._quote.provider,
            model=self._quote.model,
            price_version=self._quote.price_version,
            usage=self.usage,
            cost_nanousd=cost,
            estimated=not known and not self.voided and self._quote.metered,
            error_class=self.error_class,
            duration_s=self._clock.monotonic() - self._started,
            lowered_cap=self._lowered_cap,
        )
