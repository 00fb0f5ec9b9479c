"""The state store in plain dictionaries: written apart from the SQL, so that each checks the other."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING

from ai_server.storage.ledger_contract import (
    Balance,
    Budget,
    BudgetScope,
    LedgerCounts,
    NewReservation,
    Period,
    Reservation,
    ReservationState,
    ScopeKind,
)
from ai_server.storage.rules import MAX_PAGE, check_budget, check_new, check_settlement, same_body, scopes_of
from ai_server.storage.windows import Window, window_at
from shared.errors import (
    AlreadyResolved,
    BudgetExhausted,
    IdempotencyConflict,
    InvalidRequest,
    NotFound,
    NotReady,
)

if TYPE_CHECKING:
    from datetime import datetime

PENDING, HELD = ReservationState.PENDING, ReservationState.HELD
BudgetKey = tuple[BudgetScope, Period]


@dataclass
class _Kept:
    now: Reservation
    windows: dict[BudgetKey, Window]
    reason: str = ""


@dataclass
class MemoryLedger:
    """`LedgerStore` in memory. Every call is atomic because nothing in it awaits."""

    budgets: dict[BudgetKey, Budget] = field(default_factory=dict)
    overruns: set[BudgetKey] = field(default_factory=set)
    kept: dict[str, _Kept] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    broken: str = ""
    """Set it to a sentence and every write raises NotReady with it."""

    def _writable(self):
        if self.broken:
            raise NotReady(self.broken)

    async def reserve(self, new: NewReservation, defaults) -> Reservation:
        self._writable()
        check_new(new)
        for budget in defaults:
            check_budget(budget)
        if new.key in self.keys:
            found = self.kept[self.keys[new.key]]
            if not same_body(found.now.new, new):
                raise IdempotencyConflict(f"The key {new.key} was used for another reservation.")
            return found.now
        if new.reservation_id in self.kept:
            raise IdempotencyConflict("The reservation id exists already.")
        for budget in defaults:
            self.budgets.setdefault((budget.scope, budget.period), budget)
        windows = self._check(new)
        reservation = Reservation(
            new, PENDING, cost_nanousd=None, estimated=False, overrun_nanousd=0, usage=None, resolved_at=None
        )
        self.kept[new.reservation_id] = _Kept(reservation, windows)
        self.keys[new.key] = new.reservation_id
        return reservation

    def _check(self, new: NewReservation) -> dict[BudgetKey, Window]:
        windows: dict[BudgetKey, Window] = {}
        short: list[Balance] = []
        for scope in scopes_of(new):
            for period in Period:
                if (scope, period) in self.budgets:
                    balance = self._balance((scope, period), new.created_at)
                    windows[scope, period] = Window(balance.window_start, balance.resets_at)
                    if balance.closed_by_overrun or new.ceiling_nanousd > balance.available_nanousd:
                        short.append(balance)
        if not new.ceiling_nanousd:
            return windows
        if short:
            hopeless = any(each.closed_by_overrun or new.ceiling_nanousd > each.budget.limit_nanousd for each in short)
            raise BudgetExhausted("A budget has no room.", None if hopeless else max(each.resets_at for each in short))
        if not any(scope.kind is ScopeKind.PROJECT for scope, _ in windows):
            raise BudgetExhausted("The project has no budget.", None)
        return windows

    async def settle(self, reservation_id, settlement) -> Reservation:
        self._writable()
        check_settlement(settlement)
        kept = self._find(reservation_id)
        ended = replace(
            kept.now,
            state=ReservationState.SETTLED,
            cost_nanousd=settlement.cost_nanousd,
            estimated=settlement.estimated,
            overrun_nanousd=max(0, settlement.cost_nanousd - kept.now.new.ceiling_nanousd),
            usage=settlement.usage,
            resolved_at=settlement.at,
        )
        return self._resolve(kept, ended, "")

    async def void(self, reservation_id, reason, at) -> Reservation:
        self._writable()
        kept = self._find(reservation_id)
        return self._resolve(kept, replace(kept.now, state=ReservationState.VOIDED, resolved_at=at), reason)

    def _find(self, reservation_id) -> _Kept:
        if reservation_id not in self.kept:
            raise NotFound(f"There is no reservation {reservation_id}.")
        return self.kept[reservation_id]

    def _resolve(self, kept: _Kept, ended: Reservation, reason: str) -> Reservation:
        if kept.now.state not in {PENDING, HELD}:
            if replace(ended, resolved_at=kept.now.resolved_at) == kept.now and reason == kept.reason:
                return kept.now
            raise AlreadyResolved("The reservation was already resolved, otherwise.")
        kept.now, kept.reason = ended, reason
        if ended.overrun_nanousd:
            self.overruns.update(kept.windows)
        return ended

    async def hold_pending(self, at, departed=None) -> int:
        """There is no other server in memory: what is held must have been left by «us», before a restart."""
        self._writable()
        pending = [kept for kept in self.kept.values() if kept.now.state is PENDING]
        for kept in pending:
            kept.now = replace(kept.now, state=HELD)
        return len(pending)

    async def put_budget(self, budget, at, *, seed) -> None:
        self._writable()
        check_budget(budget)
        if not seed or (budget.scope, budget.period) not in self.budgets:
            self.budgets[budget.scope, budget.period] = budget

    async def balance(self, scope, period, now) -> Balance | None:
        return self._balance((scope, period), now) if (scope, period) in self.budgets else None

    async def balances(self, now) -> list[Balance]:
        return [self._balance(key, now) for key in reversed(self.budgets)]

    def _balance(self, key: BudgetKey, now: datetime) -> Balance:
        budget = self.budgets[key]
        charged = [kept for kept in self.kept.values() if key in kept.windows]
        spans = {
            kept.windows[key] for kept in charged if kept.windows[key].starts_at <= now < kept.windows[key].ends_at
        }
        window = max(spans, key=lambda each: each.starts_at, default=None)
        window = window or window_at(budget.period, budget.time_zone, now)
        mine = [kept.now for kept in charged if kept.windows[key] == window]
        held = sum(each.new.ceiling_nanousd for each in mine if each.state is HELD)
        return Balance(
            budget,
            window.starts_at,
            window.ends_at,
            settled_nanousd=sum(each.cost_nanousd or 0 for each in mine),
            open_hold_nanousd=held + sum(each.new.ceiling_nanousd for each in mine if each.state is PENDING),
            held_nanousd=held,
            estimated_nanousd=sum(each.cost_nanousd or 0 for each in mine if each.estimated),
            closed_by_overrun=key in self.overruns,
        )

    async def reservation(self, reservation_id) -> Reservation | None:
        kept = self.kept.get(reservation_id)
        return kept.now if kept else None

    async def reservations(self, project_id, state, limit, before) -> list[Reservation]:
        if not 1 <= limit <= MAX_PAGE:
            raise InvalidRequest.of("page_size", f"must be from 1 to {MAX_PAGE}")
        if before and before not in self.kept:
            raise NotFound(f"There is no reservation {before} to go on from.")
        order = list(self.kept)
        order = order[: order.index(before)] if before else order
        found = [self.kept[each].now for each in reversed(order)]
        wanted = [each for each in found if project_id in {"", each.new.project_id} and state in {None, each.state}]
        return wanted[:limit]

    async def acknowledge_overrun(self, scope, at) -> None:
        self._writable()
        self.overruns = {key for key in self.overruns if key[0] != scope}

    async def audit(self) -> list[str]:
        return []

    async def counts(self) -> LedgerCounts:
        ended = {ReservationState.SETTLED, ReservationState.VOIDED}
        return LedgerCounts(
            len(self.kept) + sum(each.now.state in ended for each in self.kept.values()), len(self.kept)
        )


@dataclass
class MemoryRequests:
    """`RequestStore` in memory."""

    rows: dict = field(default_factory=dict)

    async def claim(self, request):
        found = self.rows.setdefault(request.key, request)
        if found is request:
            return None
        if found.body_digest != request.body_digest:
            raise IdempotencyConflict("The idempotency key was used with another body: use a new key.")
        return found

    async def finish(self, key, result) -> None:
        if key in self.rows and self.rows[key].result is None:
            self.rows[key] = replace(self.rows[key], result=result)

    async def find(self, key):
        return self.rows.get(key)

    async def abandoned(self, owner, limit, departed=None):
        running = [each for each in self.rows.values() if each.result is None and each.owner != owner]
        return sorted(running, key=lambda each: each.created_at)[:limit]

    async def forget_before(self, instant) -> int:
        old = [key for key, each in self.rows.items() if each.result is not None and each.created_at < instant]
        for key in old:
            del self.rows[key]
        return len(old)


MAX_BODY = 256 * 1024


@dataclass
class MemoryJournal:
    """`JournalStore` in memory."""

    lines: dict = field(default_factory=dict)

    async def append(self, line) -> None:
        if len(line.body.encode()) > MAX_BODY:
            raise InvalidRequest.of("body", "is over 256 KiB")
        self.lines.setdefault(line.turn_id, line)

    async def line(self, project_id, *, turn_id="", client="", key=""):
        for line in reversed(self.lines.values()):
            same = line.turn_id == turn_id if turn_id else (line.client, line.key) == (client, key)
            if line.project_id == project_id and same:
                return line
        return None


@dataclass
class MemoryIndex:
    """`IndexRegistry` in memory."""

    rows: dict = field(default_factory=dict)
    indexes: dict = field(default_factory=dict)
    leases: dict = field(default_factory=dict)
    folders: dict = field(default_factory=dict)

    async def documents(self, project_id, source_id):
        mine = [row for row in self.rows.values() if row.project_id == project_id]
        if source_id:
            return {row.path: row for row in mine if row.source_id == source_id}
        return {f"{row.source_id}/{row.path}": row for row in mine}

    async def put_documents(self, rows, removed) -> None:
        for key in removed:
            self.rows.pop(tuple(key), None)
        for row in rows:
            self.rows[row.project_id, row.source_id, row.path] = row

    async def index(self, project_id):
        return self.indexes.get(project_id)

    async def put_index(self, row) -> None:
        self.indexes[row.project_id] = row

    async def sources(self, project_id):
        return [row for (project, _), row in sorted(self.folders.items()) if project == project_id]

    async def put_source(self, row) -> None:
        self.folders[row.project_id, row.source_id] = row

    async def remove_source(self, project_id, source_id) -> None:
        self.folders.pop((project_id, source_id), None)

    async def take_lease(self, name, owner, now, until) -> bool:
        holder, ends = self.leases.get(name, (owner, now))
        if holder != owner and ends > now:
            return False
        self.leases[name] = (owner, until)
        return True

    async def drop_lease(self, name, owner) -> None:
        if self.leases.get(name, ("", None))[0] == owner:
            del self.leases[name]


class MemoryStateStore:
    """`StateStore` in memory. `disk` may be handed to a second store: what a restarted process would find."""

    def __init__(self, disk: SimpleNamespace | None = None) -> None:
        self.disk = disk or SimpleNamespace(
            ledger=MemoryLedger(), requests=MemoryRequests(), journal=MemoryJournal(), index=MemoryIndex()
        )

    @property
    def ledger(self) -> MemoryLedger:
        return self.disk.ledger

    @property
    def requests(self) -> MemoryRequests:
        return self.disk.requests

    @property
    def journal(self) -> MemoryJournal:
        return self.disk.journal

    @property
    def index(self) -> MemoryIndex:
        return self.disk.index

    async def open(self) -> None:
        return None

    async def probe(self) -> None:
        if self.ledger.broken:
            raise NotReady(self.ledger.broken)

    async def departed(self) -> frozenset[int]:
        return frozenset()

    async def close(self) -> None:
        return None
