"""Reservations to torture a store with, and the check that nothing acknowledged was lost."""

from __future__ import annotations

import contextlib
import sqlite3
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ai_server.storage.ledger_contract import (
    Budget,
    BudgetScope,
    NewReservation,
    Period,
    ReservationState,
    ScopeKind,
    Settlement,
)
from ai_server.storage.sqlite import SqliteStateStore
from shared.errors import PasseurError
from shared.usage import Usage
from tests.fakes.clock import ManualClock

if TYPE_CHECKING:
    import random
    from collections.abc import Callable
    from pathlib import Path

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
PROJECT = BudgetScope(ScopeKind.PROJECT, "demo")
LIMIT = 10**12


def budget(limit: int = LIMIT) -> Budget:
    return Budget(PROJECT, Period.DAILY, limit, "Europe/Paris")


def call(name: str, ceiling: int, user: str = "ada") -> NewReservation:
    return NewReservation(
        reservation_id=f"r-{name}",
        key=f"k-{name}",
        project_id="demo",
        assistant="documents",
        user=user,
        operation="answer",
        provider="fake",
        model="fake-1",
        service_tier="",
        price_version="v1",
        ceiling_nanousd=ceiling,
        created_at=NOW,
    )


def at_cost(cost: int, *, estimated: bool = False) -> Settlement:
    return Settlement(cost, estimated, Usage(input=cost, output=1), NOW)


def quiet() -> None:
    """Log nothing: thousands of stores are opened."""
    import logging

    import structlog

    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))


async def one_call(store: SqliteStateStore, name: str, dice: random.Random, ack: Callable[[str], None]) -> None:
    """Reserve and end one call, telling what was acknowledged. A refusal by the store is no acknowledgement."""
    ceiling = dice.randrange(1, 1000)
    with contextlib.suppress(PasseurError):
        await store.ledger.reserve(call(name, ceiling), [])
        ack(f"reserved {name} {ceiling}")
        if dice.random() < 0.1:
            return
        if dice.random() < 0.3:
            await store.ledger.void(f"r-{name}", "torture", NOW)
            ack(f"voided {name} 0")
        else:
            cost = dice.randrange(0, ceiling + 1)
            await store.ledger.settle(f"r-{name}", at_cost(cost))
            ack(f"settled {name} {cost}")


async def check(path: Path, acknowledged: list[str]) -> list[str]:
    """Reopen what a crash left and compare it with what was acknowledged; one sentence a fault."""
    store = SqliteStateStore(path, ManualClock(NOW))
    faults: list[str] = []
    try:
        await store.open()
        found = {each.new.key: each for each in await store.ledger.reservations("", None, 1000, "")}
        for line in acknowledged:
            word, name, amount = line.split()
            kept = found.get(f"k-{name}")
            if kept is None:
                faults.append(f"lost: {line}")
            elif word == "reserved" and kept.new.ceiling_nanousd != int(amount):
                faults.append(f"changed: {line}")
            else:
                ended = {"settled": (ReservationState.SETTLED, int(amount)), "voided": (ReservationState.VOIDED, None)}
                if word in ended and ended[word] != (kept.state, kept.cost_nanousd):
                    faults.append(f"lost: {line}")
        faults += await store.ledger.audit()
        pending = sum(each.state is ReservationState.PENDING for each in found.values())
        if await store.ledger.hold_pending(NOW) != pending:
            faults.append("recovery held another number than was pending")
        faults += await store.ledger.audit()
    except PasseurError as error:
        faults.append(f"does not open: {error.message}")
    finally:
        await store.close()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        verdict = connection.execute("PRAGMA integrity_check").fetchone()[0]
    return faults if verdict == "ok" else [*faults, f"integrity: {verdict}"]
