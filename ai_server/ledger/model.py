"""The rules of paid calls, without I/O: what is asked, how it ends, what still fits, when to warn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ai_server.storage.ledger_contract import Budget, BudgetScope, ScopeKind
from ai_server.storage.rules import MAX_CALL
from shared.errors import InvalidRequest
from shared.usage import TOKEN_BUCKETS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ai_server.ledger.contract import Payer, Quote
    from ai_server.storage.ledger_contract import Balance, Period
    from shared.usage import Usage

NOT_STARTED: Final = "the call surely did not start"


@dataclass(frozen=True, slots=True)
class BudgetSeed:
    """A budget that configuration asks for. Kind USER is a template: each user who pays for the first time gets one.
    `user` narrows it to one user, such as `anonymous`, who then gets this in place of the template of the same period.
    """

    kind: ScopeKind
    period: Period
    limit_nanousd: int
    time_zone: str = "UTC"
    alert_share: float = 0.8
    assistant: str = ""
    user: str = ""

    def budget(self, project_id: str, user: str = "") -> Budget:
        """Make the budget for a project, and for `user` where the seed is a template."""
        match self.kind:
            case ScopeKind.GLOBAL:
                scope = BudgetScope(ScopeKind.GLOBAL)
            case ScopeKind.PROJECT:
                scope = BudgetScope(ScopeKind.PROJECT, project_id)
            case ScopeKind.ASSISTANT:
                scope = BudgetScope(ScopeKind.ASSISTANT, project_id, assistant=self.assistant)
            case _:
                scope = BudgetScope(ScopeKind.USER, project_id, user=self.user or user)
        return Budget(scope, self.period, self.limit_nanousd, self.time_zone, self.alert_share)

    @property
    def is_template(self) -> bool:
        """Tell whether users get their own copy as they come."""
        return self.kind is ScopeKind.USER and not self.user


@dataclass(frozen=True, slots=True)
class Ending:
    """How a call ends in the ledger. `cost_nanousd` None: voided."""

    cost_nanousd: int | None
    estimated: bool
    usage: Usage | None


def check_quote(quote: Quote) -> None:
    """Refuse a quote that would let paid work pass as free, or the reverse.

    Raises:
        InvalidRequest: a metered quote of 0, or a free one above it.
    """
    if quote.metered and quote.ceiling_nanousd <= 0:
        raise InvalidRequest.of("ceiling_nanousd", f"must be above 0: {quote.model} is metered")
    if not quote.metered and quote.ceiling_nanousd != 0:
        raise InvalidRequest.of("ceiling_nanousd", f"must be 0: {quote.model} is free")


def ending(quote: Quote, usage: Usage | None, cost_nanousd: int | None) -> Ending:
    """End a call that may have been billed. What is not surely known is charged at the ceiling and flagged."""
    if not quote.metered:
        return Ending(0, estimated=False, usage=usage)
    if usage is None or cost_nanousd is None or not _plausible(usage, cost_nanousd):
        return Ending(quote.ceiling_nanousd, estimated=True, usage=usage)
    return Ending(cost_nanousd, estimated=False, usage=usage)


def _plausible(usage: Usage, cost_nanousd: int) -> bool:
    """A negative or absurd cost, and a cost of 0 for metered tokens, are mistakes of pricing, not prices."""
    used = any(getattr(usage, name) for name in TOKEN_BUCKETS) or any(usage.units.values())
    return (1 if used else 0) <= cost_nanousd <= MAX_CALL


def lowered_cap(room_nanousd: int, ceiling_of: Callable[[int], int], asked: int, least: int) -> int | None:
    """Find the largest output cap from `least` to `asked` whose ceiling fits the room; None when none does.

    `ceiling_of` never falls as the cap grows. Where the cap does not bind (billed reasoning escapes it) the ceiling
    stays at the model's maximum, and so nothing fits that did not fit before.
    """
    if least > asked or ceiling_of(least) > room_nanousd:
        return None
    low, high = least, asked
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if ceiling_of(middle) <= room_nanousd else (low, middle - 1)
    return low


def room(balances: Sequence[Balance]) -> int:
    """Tell what the next ceiling may be at most under all these budgets; 0 without a project budget."""
    if not any(each.budget.scope.kind is ScopeKind.PROJECT for each in balances):
        return 0
    return max(0, min(0 if each.closed_by_overrun else each.available_nanousd for each in balances))


def alerts(balance: Balance) -> bool:
    """Tell whether a window reached its alert share; never with share 0."""
    share = balance.budget.alert_share
    taken = balance.settled_nanousd + balance.open_hold_nanousd
    return balance.closed_by_overrun or (share > 0 and taken > 0 and taken >= share * balance.budget.limit_nanousd)


def estimated_share(balance: Balance) -> float:
    """Tell which part of what was settled is estimated, from 0 to 1."""
    return balance.estimated_nanousd / balance.settled_nanousd if balance.settled_nanousd else 0.0


def scopes_of_payer(payer: Payer) -> tuple[BudgetScope, ...]:
    """Name every budget that a payer's call is checked against, if it exists."""
    scopes = [BudgetScope(ScopeKind.GLOBAL), BudgetScope(ScopeKind.PROJECT, payer.project_id)]
    if payer.assistant:
        scopes.append(BudgetScope(ScopeKind.ASSISTANT, payer.project_id, assistant=payer.assistant))
    if payer.user:
        scopes.append(BudgetScope(ScopeKind.USER, payer.project_id, user=payer.user))
    return tuple(scopes)
