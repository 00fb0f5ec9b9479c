"""What paid work asks of the ledger.

A provider's `generate` and `embed` take a `Permit`; only a ledger makes one. So no paid call can be written that
was not reserved first: the type checker refuses it, and `tests/architecture` walks the call sites.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager

    from shared.usage import Usage


@dataclass(frozen=True, slots=True)
class Payer:
    """Whose budgets a call is checked against. `user` is namespaced by client; `anonymous` is shared."""

    project_id: str
    assistant: str
    user: str


@dataclass(frozen=True, slots=True)
class Quote:
    """What a call may cost at most, and by which price row. `metered` false: the ceiling is 0 and stays 0."""

    operation: str
    provider: str
    model: str
    service_tier: str
    price_version: str
    ceiling_nanousd: int
    metered: bool


@dataclass(frozen=True, slots=True)
class Permit:
    """Leave to make one paid call. Made by `Meter.call` only."""

    reservation_id: str
    key: str
    quote: Quote


class MeteredCall(Protocol):
    """One paid call under way. Exactly one of the three is said; saying nothing settles at the ceiling, estimated."""

    @property
    def permit(self) -> Permit:
        """Hand this to the provider."""
        ...

    def complete(self, usage: Usage | None, cost_nanousd: int | None) -> None:
        """The call ended and this is what it cost; None for either means unknown: the ceiling, flagged."""
        ...

    def failed(self, *, started: bool, usage: Usage | None = None, cost_nanousd: int | None = None) -> None:
        """The call failed. Surely not started: voided. Started: the cost if known, else the ceiling, flagged."""
        ...


class Meter(Protocol):
    """The only door to paid work."""

    async def lowered_cap(
        self, payer: Payer, ceiling_of: Callable[[int], int], *, asked: int, least: int
    ) -> int | None:
        """Find the largest output cap from `least` to `asked` whose ceiling fits the payer's budgets now; None when
        none does. It promises nothing: admission decides.
        """
        ...

    def call(self, key: str, payer: Payer, quote: Quote) -> AbstractAsyncContextManager[MeteredCall]:
        """Reserve on entry; settle or void on exit, shielded from cancellation and outliving the client.

        Raises (on entry):
            BudgetExhausted: the ceiling does not fit a window; with its reset time.
            IdempotencyConflict: the key was used by another call.
            NotReady: the ledger cannot write.
        """
        ...
