"""P35 for money: any entry or reservation that is changed, removed or moved is found by the audit."""

from __future__ import annotations

import random
import sqlite3
from collections import Counter

from ai_server.storage.ledger_audit import audit
from ai_server.storage.stores import ProgramLedger
from shared.errors import PasseurError
from tests.torture import workload
from tests.torture.figure import Figure, span
from tests.torture.simulation import InMemory

PROMISE = "a ledger row that was changed, removed, swapped or re-dated by hand is found, 100 %"
FULL = 5_000
SHORT = 100
CALLS = 12
TRIGGERS = ("entries_never_change", "entries_never_go", "reservations_never_change", "reservations_never_go")
TEXTS = ("reservation_id", "key", "project_id", "assistant", "user_name", "operation", "provider", "model",
         "service_tier", "price_version")  # fmt: skip


async def run(n: int, seed: int) -> Figure:
    """Tamper `n` times, each with its own ledger."""
    hits: Counter[str] = Counter()
    failures: list[str] = []
    for each in range(seed, seed + n):
        failures += await one(each, hits)
    return Figure(n, span(seed, n), failures, dict(sorted(hits.items())))


async def one(seed: int, hits: Counter[str]) -> list[str]:
    """Write a ledger, change one thing behind its back, audit."""
    dice = random.Random(seed)
    runner = InMemory()
    ledger = ProgramLedger(runner, 0)
    await ledger.put_budget(workload.budget(), workload.NOW, seed=True)
    for number in range(CALLS):
        await ledger.reserve(workload.call(f"{number}", dice.randrange(0, 100)), [])
        match dice.randrange(4):
            case 0:
                await ledger.void(f"r-{number}", "torture", workload.NOW)
            case 1:
                await ledger.hold_pending(workload.NOW)
            case _:
                await ledger.settle(f"r-{number}", workload.at_cost(0))
    if clean := await audit(runner):
        return [f"seed {seed}: not clean before: {clean}"]
    what = tamper(runner.connection, dice)
    hits[what.split(" ", 1)[0]] += 1
    try:
        found = await audit(runner)
    except PasseurError as error:
        found = [error.message]
    runner.connection.close()
    return [] if found else [f"seed {seed}: not found: {what}"]


def tamper(connection: sqlite3.Connection, dice: random.Random) -> str:
    """Change one thing and say what; tried again while the database itself refuses it."""
    for trigger in TRIGGERS:
        connection.execute(f"DROP TRIGGER {trigger}")
    connection.execute("PRAGMA foreign_keys = OFF")
    connection.execute("PRAGMA ignore_check_constraints = ON")
    while True:
        sql = draw(connection, dice)
        try:
            if connection.execute(sql).rowcount:
                return sql
        except sqlite3.IntegrityError:
            continue


def draw(connection: sqlite3.Connection, dice: random.Random) -> str:
    """Draw a statement."""
    entry = dice.choice([row[0] for row in connection.execute("SELECT entry_number FROM entries")])
    number = dice.choice([row[0] for row in connection.execute("SELECT number FROM reservations")])
    return dice.choice(
        [
            f"DELETE FROM entries WHERE entry_number = {entry}",
            f"DELETE FROM reservations WHERE number = {number}",
            f"UPDATE entries SET amount_nanousd = amount_nanousd + 1 WHERE entry_number = {entry}",
            f"UPDATE entries SET estimated = 1 - estimated WHERE entry_number = {entry}",
            f"UPDATE entries SET overrun_nanousd = overrun_nanousd + 1 WHERE entry_number = {entry}",
            f"UPDATE entries SET at = at - 1 WHERE entry_number = {entry}",
            f"UPDATE entries SET reason = reason || '.' WHERE entry_number = {entry}",
            f"UPDATE entries SET usage = '{{}}' WHERE entry_number = {entry}",
            f"UPDATE entries SET kind = 'void' WHERE entry_number = {entry} AND kind <> 'void'",
            f"UPDATE entries SET number = {number} WHERE entry_number = {entry} AND number <> {number}",
            f"UPDATE entries SET digest = zeroblob(32) WHERE entry_number = {entry}",
            f"UPDATE entries SET entry_number = 1000 WHERE entry_number = {entry}",
            f"UPDATE reservations SET ceiling_nanousd = ceiling_nanousd + 1 WHERE number = {number}",
            f"UPDATE reservations SET created_at = created_at + 1 WHERE number = {number}",
            f"UPDATE reservations SET {dice.choice(TEXTS)} = 'forged' WHERE number = {number}",
            f"DELETE FROM open_reservations WHERE number = {number}",
            f"INSERT INTO open_reservations VALUES ({number}, 0, 0)",
            "UPDATE windows SET settled_nanousd = settled_nanousd + 1",
            "UPDATE windows SET open_nanousd = open_nanousd + 1",
        ]
    )
