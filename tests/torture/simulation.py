"""A ledger in simulated time: the real rules, service and meter over a store that fails when the dice say so.

Nothing waits for a real clock or disk, and every choice comes from one seed, so a failure replays. The store runs the
SQL programs on an in-memory database and the dictionary twin beside it: each answer of one must be that of the other.
"""

from __future__ import annotations

import asyncio
import random
import selectors
import sqlite3
from collections import Counter
from datetime import UTC, datetime, timedelta
from functools import cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from ai_server.ledger.contract import Payer, Quote
from ai_server.ledger.meter import LedgerMeter
from ai_server.ledger.model import BudgetSeed
from ai_server.ledger.service import Ledger, Reconciliation
from ai_server.storage.ledger_contract import Budget, BudgetScope, Period, ReservationState, ScopeKind
from ai_server.storage.sqlite_connection import operation_error
from ai_server.storage.statements import queries, schema
from ai_server.storage.stores import ProgramLedger
from shared.errors import BudgetExhausted, IdempotencyConflict, NotReady, PasseurError
from shared.usage import Usage
from tests.fakes.clock import ManualClock
from tests.fakes.state_store import MemoryLedger

if TYPE_CHECKING:
    from collections.abc import Callable

    from ai_server.storage.statements import Program

ZONES = ("UTC", "Europe/Paris", "America/St_Johns", "Pacific/Chatham", "Africa/Cairo")
START = datetime(2026, 3, 28, 12, tzinfo=UTC)
"""The day before Europe changes its clocks."""

HOURS = 60
CALLERS = 6
CALLS_EACH = 4
WRITES = ("reserve", "settle", "void", "hold_pending", "put_budget", "acknowledge_overrun")
SEEDS = (
    BudgetSeed(ScopeKind.PROJECT, Period.MONTHLY, 6_000),
    BudgetSeed(ScopeKind.PROJECT, Period.DAILY, 3_000),
    BudgetSeed(ScopeKind.USER, Period.DAILY, 1_500),
)


@cache
def _empty() -> bytes:
    """Make an empty store once: copying it is cheaper than the schema's statements for each of many worlds."""
    connection = sqlite3.connect(":memory:")
    try:
        connection.executescript(schema("sqlite"))
        return connection.serialize()
    finally:
        connection.close()


class StillSelector(selectors.SelectSelector):
    """Never looks at the outside, which a simulated world does not have: half of a loop's own time is that look."""

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout != 0:
            raise AssertionError("the simulated world waits for something outside of it")
        return []


def still_loop() -> asyncio.SelectorEventLoop:
    """Make a loop for worlds: it needs no socket, and says so when a world would wait for ever."""
    return asyncio.SelectorEventLoop(StillSelector())


class InMemory:
    """A `Runner` on an in-memory database: what the writer thread does, without the thread."""

    def __init__(self) -> None:
        self.connection = sqlite3.connect(":memory:", isolation_level=None)
        self.connection.deserialize(_empty())
        self.connection.row_factory = sqlite3.Row
        self.connection.execute("PRAGMA foreign_keys = ON")
        self._queries = queries("sqlite")

    async def run(self, program: Callable[[], Program[Any]]) -> Any:
        self.connection.execute("BEGIN")
        try:
            outcome = self._drive(program())
        except Exception as error:
            self.connection.execute("ROLLBACK")
            mapped = operation_error(error)
            if mapped is None:
                raise
            raise mapped from error
        self.connection.execute("COMMIT")
        return outcome

    def _drive(self, program: Program[Any]) -> Any:
        try:
            statement = next(program)
            while True:
                rows = self.connection.execute(self._queries[statement.name], statement.values).fetchall()
                statement = program.send(rows)
        except StopIteration as end:
            return end.value


class FaultyLedger:
    """Both ledgers in step. Before or after a write it may refuse, or the process may die."""

    def __init__(self, dice: random.Random, clock: ManualClock, hits: Counter[str], faults: list[str]) -> None:
        self.runner = InMemory()
        self.sql = ProgramLedger(self.runner, 0)
        self.twin = MemoryLedger()
        self._dice, self._clock, self._hits, self._faults = dice, clock, hits, faults
        self.failing = 0.0
        """How likely a write fails."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        async def both(*words: Any, **named: Any) -> Any:
            if name in WRITES:
                await self._clock.sleep(self._dice.random())
                self._maybe("before the write")
            outcomes = [await _told(getattr(each, name)(*words, **named)) for each in (self.sql, self.twin)]
            if name not in {"audit", "counts"} and not alike(*outcomes):
                self._faults.append(f"{name}{words}: SQL says {outcomes[0]!r}, the twin {outcomes[1]!r}")
            if name in WRITES:
                self._maybe("after the write")
            if isinstance(outcomes[0], Exception):
                raise outcomes[0]
            return outcomes[0]

        return both

    def _maybe(self, when: str) -> None:
        if self._dice.random() < self.failing:
            self._hits[f"refused {when}"] += 1
            raise NotReady(f"simulated, {when}")


async def _told(work: Any) -> Any:
    try:
        return await work
    except PasseurError as error:
        return error


def alike(one: Any, other: Any) -> bool:
    """Compare answers; errors by class and reset time, which is what callers see."""
    if isinstance(one, Exception) or isinstance(other, Exception):
        return type(one) is type(other) and getattr(one, "resets_at", None) == getattr(other, "resets_at", None)
    return one == other


class World:
    """One seed's run."""

    def __init__(self, seed: int, hits: Counter[str]) -> None:
        self.seed, self.hits = seed, hits
        self.dice = random.Random(seed)
        self.clock = ManualClock(START + timedelta(hours=self.dice.randrange(24)))
        self.faults: list[str] = []
        self.store = FaultyLedger(self.dice, self.clock, hits, self.faults)
        self.zone = self.dice.choice(ZONES)
        self.invoice: dict[str, int] = {}
        self.admitted: set[str] = set()
        self.overran = self.limits_changed = False
        self.looked_at = 0
        self.generation = 0

    async def run(self) -> list[str]:
        """Live through a few processes, each of which dies or stops, then look at what is left."""
        for _ in range(self.dice.randrange(1, 4)):
            await self.process()
            self.generation += 1
        self.store.failing = 0.0
        ledger = self.ledger()
        await self._driven(self.settle_up(ledger))
        return [f"seed {self.seed}: {fault}" for fault in self.faults]

    def ledger(self) -> Ledger:
        return Ledger(SimpleNamespace(ledger=self.store), self.clock)

    async def process(self) -> None:
        """Start, serve callers, and end: by a crash (every task vanishes) or by draining."""
        self.store.failing = 0.0
        ledger = self.ledger()
        meter = LedgerMeter(ledger, self.clock)
        await self._driven(self._start(ledger))
        self.store.failing = self.dice.choice([0.0, 0.02, 0.1])
        callers = [asyncio.create_task(self.caller(meter, number)) for number in range(CALLERS)]
        operator = asyncio.create_task(self.operator(ledger))
        crash_after = self.dice.randrange(20, 400) if self.dice.random() < 0.6 else None
        await self._turn([*callers, operator], crash_after)
        if crash_after is None:
            self.store.failing = 0.0
            await self._driven(meter.drain(60))
            self.hits["drained"] += 1
        else:
            self.hits["crashed"] += 1
        rest = [each for each in asyncio.all_tasks() if each is not asyncio.current_task()]
        if crash_after is None and rest:
            self.faults.append(f"{len(rest)} tasks are left after draining")
        await vanish(rest)

    async def _start(self, ledger: Ledger) -> None:
        await ledger.recover()
        await ledger.seed("demo", [BudgetSeed(s.kind, s.period, s.limit_nanousd, self.zone) for s in SEEDS])

    async def caller(self, meter: LedgerMeter, number: int) -> None:
        """Make calls, some under a key that was used, some of which are cancelled on the way."""
        for each in range(CALLS_EACH):
            await self.clock.sleep(self.dice.random() * HOURS * 3600 / CALLS_EACH)
            name = f"{self.generation}.{number}.{each}"
            if self.admitted and self.dice.random() < 0.1:
                name = self.dice.choice(sorted(self.admitted))
            task = asyncio.create_task(self.one_call(meter, name, f"user-{number % 2}"))
            if self.dice.random() < 0.2:
                await self.clock.sleep(self.dice.random() * 3)
                self.hits["cancelled"] += not task.done()
                task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def one_call(self, meter: LedgerMeter, name: str, user: str) -> None:
        """Make one paid call: the invoice is written when it is sent."""
        ceiling = self.dice.randrange(1, 900)
        quote = Quote("answer", "fake", "fake-1", "", "v1", ceiling, metered=True)
        try:
            async with meter.call(name, Payer("demo", "documents", user), quote) as call:
                if name in self.admitted:
                    self.faults.append(f"{name} was let through twice")
                self.admitted.add(name)
                await self.clock.sleep(self.dice.random())
                if self.dice.random() < 0.1:
                    call.failed(started=False)
                    self.hits["not started"] += 1
                    return
                cost = self.dice.randrange(1, ceiling + 1)
                if self.dice.random() < 0.02:
                    cost = ceiling + self.dice.randrange(1, 500)
                    self.overran = True
                    self.hits["overrun"] += 1
                self.invoice[name] = cost
                await self.clock.sleep(self.dice.random() * 5)
                if self.dice.random() < 0.1:
                    self.hits["no usage"] += 1
                    return
                call.complete(Usage(output=cost), cost)
        except BudgetExhausted:
            self.hits["refused by budget"] += 1
        except IdempotencyConflict:
            self.hits["key used again"] += 1
        except NotReady:
            self.hits["not ready"] += 1

    async def operator(self, ledger: Ledger) -> None:
        """Lower and raise limits, change the zone, acknowledge overruns, reconcile, set the clock back."""
        for _ in range(self.dice.randrange(4)):
            await self.clock.sleep(self.dice.random() * 20 * 3600)
            what = self.dice.choice(["limit", "acknowledge", "reconcile", "clock"])
            self.hits[f"operator: {what}"] += 1
            try:
                await self._operate(ledger, what)
            except NotReady:
                self.hits["operator refused"] += 1

    async def _operate(self, ledger: Ledger, what: str) -> None:
        match what:
            case "limit":
                scope = BudgetScope(ScopeKind.PROJECT, "demo")
                limit = self.dice.choice([0, 500, 3_000, 10_000])
                self.limits_changed = True
                await ledger.set_budget(Budget(scope, Period.DAILY, limit, self.dice.choice(ZONES)))
            case "acknowledge":
                for scope in (
                    BudgetScope(ScopeKind.PROJECT, "demo"),
                    BudgetScope(ScopeKind.USER, "demo", user="user-0"),
                ):
                    await ledger.acknowledge(scope)
            case "reconcile":
                for each in await ledger.reservations("", ReservationState.HELD, 10, ""):
                    await self._reconcile(ledger, each.new.reservation_id, each.new.key)
            case _:
                self.clock.jump(self.clock.now() - timedelta(seconds=self.dice.randrange(7200)))

    async def _reconcile(self, ledger: Ledger, identity: str, key: str) -> None:
        cost = self.invoice.get(key)
        await ledger.reconcile(Reconciliation(identity, cost_nanousd=cost, void=cost is None))

    async def settle_up(self, ledger: Ledger) -> None:
        """Recover, reconcile with the invoice, and hold the sums against each other."""
        await ledger.recover()
        for each in await ledger.reservations("", ReservationState.HELD, 1000, ""):
            await self._reconcile(ledger, each.new.reservation_id, each.new.key)
        found = {each.new.key: each for each in await ledger.reservations("", None, 1000, "")}
        for name, cost in self.invoice.items():
            settled = found[name].cost_nanousd or 0
            if settled < min(cost, found[name].new.ceiling_nanousd) or (settled != cost and not found[name].estimated):
                self.faults.append(f"{name} was billed {cost}, and settled at {settled}")
        pending = [each for each in found.values() if each.state in {ReservationState.PENDING, ReservationState.HELD}]
        self.faults += [f"{each.new.key} is {each.state}" for each in pending]
        self.faults += await self.store.sql.audit()
        for balance in await ledger.balances():
            if balance.open_hold_nanousd:
                self.faults.append(f"{balance.budget.scope} keeps a hold of {balance.open_hold_nanousd}")

    async def _driven(self, work: Any) -> None:
        """Let the clock run until `work` is done."""
        task = asyncio.ensure_future(work)
        await self._turn([task], None)
        await task

    async def _turn(self, tasks: list[asyncio.Task[Any]], steps: int | None) -> None:
        """Advance to the next sleeper again and again, until the tasks are done or the steps are used up."""
        count = 0
        while not all(each.done() for each in tasks) and (steps is None or count < steps):
            await self._settled()
            sleepers = self.clock._sleepers
            if sleepers:
                self.clock.advance(max(0.0, sleepers[0][0] - self.clock.monotonic()))
            count += 1
            self.check_limits()

    async def _settled(self) -> None:
        """Let everybody go on until all wait for the clock."""
        ready = asyncio.get_running_loop()._ready  # pyright: ignore[reportAttributeAccessIssue]
        while True:
            await asyncio.sleep(0)
            if not ready:
                return

    def check_limits(self) -> None:
        """P3 after every change, until an overrun or a changed limit lets a window hold more than it may now take."""
        changes = self.store.runner.connection.total_changes
        if self.overran or self.limits_changed or changes == self.looked_at:
            return
        self.looked_at = changes
        rows = self.store.runner.connection.execute(
            "SELECT w.settled_nanousd + w.open_nanousd AS taken, b.limit_nanousd AS most FROM windows AS w "
            "JOIN budgets AS b ON b.budget_id = w.budget_id"
        )
        self.faults += [f"{row['taken']} taken of {row['most']}" for row in rows if row["taken"] > row["most"]]


async def vanish(tasks: list[asyncio.Task[Any]]) -> None:
    """Make a process's tasks disappear as a kill does. A write begins with a sleep on the clock, which stands still
    here, so nothing that a cancelled task would still write arrives.
    """
    while tasks:
        for each in tasks:
            each.cancel()
        await asyncio.sleep(0)
        tasks = [each for each in asyncio.all_tasks() if each is not asyncio.current_task()]
