"""Housekeeping of the store: hold what dead processes left, forget old requests, refresh the operator's view."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final, Protocol

from ai_server.ledger.model import alerts
from ai_server.storage.ledger_programs import name_of
from shared import logs
from shared.errors import NotReady
from shared.money import text_usd

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Sequence
    from datetime import datetime

    from ai_server.ledger.service import Ledger
    from ai_server.storage.contract import StateStore
    from ai_server.storage.ledger_contract import Balance, BudgetScope, Period
    from shared.clock import Clock

KEEP_REQUESTS: Final = timedelta(hours=24)
ROUND_SECONDS: Final = 15.0
AWAY_SECONDS: Final = 30.0
"""How long another server must be away before it is taken for dead: one that lost its connection is back within a few
seconds, and what a dead one left waits for an operator anyway.
"""

FORGET_EVERY: Final = 240
"""Rounds between two removals of old requests: hourly."""

log = logs.logger(__name__)


class BalanceView(Protocol):
    """Who shows balances: the metrics."""

    def show(self, balances: Sequence[Balance]) -> None:
        """Replace what is shown."""
        ...


class Sweeper:
    """`recover` once, then `run` until cancelled."""

    def __init__(
        self,
        store: StateStore,
        ledger: Ledger,
        clock: Clock,
        view: BalanceView | None = None,
        interrupt: Callable[[Collection[int]], Awaitable[int]] | None = None,
    ) -> None:
        """Sweep `store` and show balances in `view`; `interrupt` ends the turns of servers that departed."""
        self._store = store
        self._ledger = ledger
        self._clock = clock
        self._view = view
        self._interrupt = interrupt
        self._away: dict[int, float] = {}
        self._warned: set[tuple[BudgetScope, Period, datetime]] = set()

    async def recover(self) -> int:
        """Hold what was pending when the last process ended; tells how many."""
        held = await self._ledger.recover()
        if held:
            log.warning("reservations held: reconcile them with the provider's invoice", count=held)
        return held

    async def run(self) -> None:
        """Sweep for ever; a store that cannot write is tried again in the next round."""
        number = 0
        while True:
            try:
                if number % FORGET_EVERY == 0:
                    await self.forget()
                await self.bury()
                await self.refresh()
            except NotReady as error:
                log.warning("sweep put off", reason=error.message)
            number += 1
            await self._clock.sleep(ROUND_SECONDS)

    async def bury(self) -> int:
        """Hold what other servers left pending that have been away for `AWAY_SECONDS`, and end their turns; tells how
        many servers.
        """
        now = self._clock.monotonic()
        self._away = {each: self._away.get(each, now) for each in await self._store.departed()}
        dead = [each for each, since in self._away.items() if now - since >= AWAY_SECONDS]
        if dead:
            held = await self._ledger.recover(dead)
            interrupted = await self._interrupt(dead) if self._interrupt else 0
            log.warning("another server died at work", servers=dead, held=held, interrupted=interrupted)
        return len(dead)

    async def forget(self) -> int:
        """Remove finished requests older than 24 h."""
        return await self._store.requests.forget_before(self._clock.now() - KEEP_REQUESTS)

    async def refresh(self) -> None:
        """Show all balances, and warn once for each window that reaches its alert share."""
        balances = await self._ledger.balances()
        if self._view is not None:
            self._view.show(balances)
        reached = {
            (each.budget.scope, each.budget.period, each.window_start): each for each in balances if alerts(each)
        }
        for key in reached.keys() - self._warned:
            self._warn(reached[key])
        self._warned = set(reached)

    @staticmethod
    def _warn(balance: Balance) -> None:
        log.warning(
            "budget alert",
            budget=name_of(balance.budget.scope),
            period=balance.budget.period.value,
            limit=text_usd(balance.budget.limit_nanousd),
            settled=text_usd(balance.settled_nanousd),
            open=text_usd(balance.open_hold_nanousd),
            closed_by_overrun=balance.closed_by_overrun,
        )
