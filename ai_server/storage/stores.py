"""The contract's four stores over any `Runner` of programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_server.storage import ledger_audit, ledger_programs, other_programs
from ai_server.storage.ledger_programs import Ending
from ai_server.storage.rules import MAX_PAGE, MAX_REASON, check_budget, check_new, check_settlement
from ai_server.storage.statements import Statement
from shared.errors import InvalidRequest, PasseurError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Collection, Mapping, Sequence
    from datetime import datetime

    from ai_server.storage.index_contract import DocumentRow, IndexRow, SourceRow
    from ai_server.storage.journal_contract import JournalLine
    from ai_server.storage.ledger_contract import (
        Balance,
        Budget,
        BudgetScope,
        LedgerCounts,
        NewReservation,
        Period,
        Reservation,
        ReservationState,
        Settlement,
    )
    from ai_server.storage.requests_contract import RequestKey, StoredRequest
    from ai_server.storage.statements import Program, Runner


class ProgramLedger:
    """`LedgerStore`: checks what comes in, then runs one program a call."""

    def __init__(self, runner: Runner, instance: int) -> None:
        """Write reservations under `instance`, the number of this opening of the store."""
        self._runner = runner
        self._instance = instance

    async def reserve(self, new: NewReservation, defaults: Sequence[Budget]) -> Reservation:
        """Admit or refuse a call."""
        check_new(new)
        for budget in defaults:
            check_budget(budget)
        outcome = await self._runner.run(lambda: ledger_programs.reserve(new, defaults, self._instance))
        if isinstance(outcome, PasseurError):
            raise outcome
        return outcome

    async def settle(self, reservation_id: str, settlement: Settlement) -> Reservation:
        """End at a cost."""
        check_settlement(settlement)
        ending = Ending.settle(settlement)
        return await self._runner.run(lambda: ledger_programs.resolve(reservation_id, ending))

    async def void(self, reservation_id: str, reason: str, at: datetime) -> Reservation:
        """End without cost."""
        ending = Ending.void(storable(reason), at)
        return await self._runner.run(lambda: ledger_programs.resolve(reservation_id, ending))

    async def hold_pending(self, at: datetime, departed: Collection[int] | None = None) -> int:
        """Hold what a dead process left."""
        return await self._runner.run(lambda: ledger_programs.hold_pending(at, departed))

    async def put_budget(self, budget: Budget, at: datetime, *, seed: bool) -> None:
        """Create or change a budget."""
        check_budget(budget)
        await self._runner.run(lambda: ledger_programs.put_budget(budget, at, seed=seed))

    async def balance(self, scope: BudgetScope, period: Period, now: datetime) -> Balance | None:
        """Read one budget."""
        return await self._runner.run(lambda: ledger_programs.balance(scope, period, now))

    async def balances(self, now: datetime) -> Sequence[Balance]:
        """Read all budgets."""
        return await self._runner.run(lambda: ledger_programs.balances(now))

    async def reservation(self, reservation_id: str) -> Reservation | None:
        """Read one reservation."""
        return await self._runner.run(lambda: ledger_programs.reservation(reservation_id))

    async def reservations(
        self, project_id: str, state: ReservationState | None, limit: int, before: str
    ) -> Sequence[Reservation]:
        """List reservations."""
        if not 1 <= limit <= MAX_PAGE:
            raise InvalidRequest.of("page_size", f"must be from 1 to {MAX_PAGE}")
        return await self._runner.run(lambda: ledger_programs.reservations(project_id, state, limit, before))

    async def acknowledge_overrun(self, scope: BudgetScope, at: datetime) -> None:
        """Open budgets that an overrun closed."""
        await self._runner.run(lambda: ledger_programs.acknowledge(scope, at))

    async def audit(self) -> Sequence[str]:
        """Recompute everything."""
        return await ledger_audit.audit(self._runner)

    async def counts(self) -> LedgerCounts:
        """Count entries and reservations."""
        return await self._runner.run(ledger_audit.counts)


def storable(text: str) -> str:
    """Make free text storable: bounded, no NUL, no lone surrogate."""
    return text[:MAX_REASON].replace("\0", "").encode("utf-8", "replace").decode("utf-8")


class ProgramRequests:
    """`RequestStore`."""

    def __init__(self, runner: Runner, instance: int) -> None:
        """Write requests under `instance`."""
        self._runner = runner
        self._instance = instance

    async def claim(self, request: StoredRequest) -> StoredRequest | None:
        """Take a key, or tell who has it."""
        return await self._runner.run(lambda: other_programs.claim(request, self._instance))

    def finish(self, key: RequestKey, result: bytes) -> Awaitable[None]:
        """Begin to store a result, once."""
        return self._runner.run(lambda: other_programs.finish(key, result))

    async def find(self, key: RequestKey) -> StoredRequest | None:
        """Look a request up."""
        return await self._runner.run(lambda: other_programs.find(key))

    async def abandoned(
        self, owner: str, limit: int, departed: Collection[int] | None = None
    ) -> Sequence[StoredRequest]:
        """List what dead processes left running."""
        return await self._runner.run(lambda: other_programs.abandoned(owner, limit, departed))

    async def forget_before(self, instant: datetime) -> int:
        """Remove old finished requests."""
        return await self._runner.run(lambda: other_programs.forget_before(instant))


class ProgramJournal:
    """`JournalStore`."""

    def __init__(self, runner: Runner) -> None:
        """Keep the runner."""
        self._runner = runner

    def append(self, line: JournalLine) -> Awaitable[None]:
        """Begin to write a turn's line, once."""
        return self._runner.run(lambda: other_programs.append_line(line))

    async def line(self, project_id: str, *, turn_id: str = "", client: str = "", key: str = "") -> JournalLine | None:
        """Find a turn's line."""
        return await self._runner.run(lambda: other_programs.find_line(project_id, turn_id, client, key))


class ProgramIndex:
    """`IndexRegistry`."""

    def __init__(self, runner: Runner) -> None:
        """Keep the runner."""
        self._runner = runner

    async def documents(self, project_id: str, source_id: str) -> Mapping[str, DocumentRow]:
        """Read rows of a source, or of all."""
        return await self._runner.run(lambda: other_programs.documents(project_id, source_id))

    async def put_documents(self, rows: Sequence[DocumentRow], removed: Sequence[tuple[str, str, str]]) -> None:
        """Write and remove rows together."""
        await self._runner.run(lambda: other_programs.put_documents(rows, removed))

    async def index(self, project_id: str) -> IndexRow | None:
        """Read a project's index row."""
        return await self._runner.run(lambda: other_programs.index(project_id))

    async def put_index(self, row: IndexRow) -> None:
        """Write a project's index row."""
        await self._runner.run(lambda: other_programs.put_index(row))

    async def sources(self, project_id: str) -> Sequence[SourceRow]:
        """Read the folders remembered for a project."""
        return await self._runner.run(lambda: other_programs.sources(project_id))

    async def put_source(self, row: SourceRow) -> None:
        """Remember a folder."""
        await self._runner.run(lambda: other_programs.put_source(row))

    async def remove_source(self, project_id: str, source_id: str) -> None:
        """Remember a folder no more."""
        await self._runner.run(lambda: other_programs.remove_source(project_id, source_id))

    async def take_lease(self, name: str, owner: str, now: datetime, until: datetime) -> bool:
        """Take or renew a lease."""
        return await self._runner.run(lambda: other_programs.take_lease(name, owner, now, until))

    async def drop_lease(self, name: str, owner: str) -> None:
        """Give a lease back."""
        await self._runner.run(lambda: other_programs.drop_lease(name, owner))


def probe() -> Program[None]:
    """Write and sync something small."""
    yield Statement("probe", {})


class ProgramStores:
    """The four rooms of a state store, over one runner."""

    def __init__(self, runner: Runner, instance: int) -> None:
        """Make the rooms; nothing runs until the runner does."""
        self._runner = runner
        self._ledger = ProgramLedger(runner, instance)
        self._requests = ProgramRequests(runner, instance)
        self._journal = ProgramJournal(runner)
        self._index = ProgramIndex(runner)

    async def departed(self) -> frozenset[int]:
        """Name the openings that left work behind and do not live."""
        return await self._runner.run(other_programs.departed)

    @property
    def ledger(self) -> ProgramLedger:
        """Money."""
        return self._ledger

    @property
    def requests(self) -> ProgramRequests:
        """Requests by key."""
        return self._requests

    @property
    def journal(self) -> ProgramJournal:
        """Turn by turn."""
        return self._journal

    @property
    def index(self) -> ProgramIndex:
        """Documents and collections."""
        return self._index
