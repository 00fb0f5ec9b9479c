"""What the rest of the AI server asks of its state store.

Two implementations stand behind these protocols and pass one suite: `sqlite` (one process, one connection, one
writer that drains what is queued into one synced transaction) and, later, `postgres`. Every method is atomic and
durable when it returns; a cancelled caller never leaves a transaction open.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime

    from shared.usage import Usage


# ---------------------------------------------------------------- ledger


class ReservationState(StrEnum):
    """Where a reservation stands; it leaves PENDING once, and HELD once."""

    PENDING = "pending"
    SETTLED = "settled"
    VOIDED = "voided"
    HELD = "held"


class Period(StrEnum):
    """How long a budget's window is, on the calendar of its zone."""

    DAILY = "daily"
    MONTHLY = "monthly"


class ScopeKind(StrEnum):
    """Whose money a budget is."""

    GLOBAL = "global"
    PROJECT = "project"
    ASSISTANT = "assistant"
    USER = "user"


@dataclass(frozen=True, slots=True)
class BudgetScope:
    """One budget's owner. Empty strings where the kind does not need them. `user` is `anonymous` for all
    anonymous visitors of a project together.
    """

    kind: ScopeKind
    project_id: str = ""
    assistant: str = ""
    user: str = ""


@dataclass(frozen=True, slots=True)
class Budget:
    """A limit in nanodollars (≥ 0; 0 closes) for each window of `period` in `time_zone` (IANA)."""

    scope: BudgetScope
    period: Period
    limit_nanousd: int
    time_zone: str = "UTC"
    alert_share: float = 0.8


@dataclass(frozen=True, slots=True)
class Balance:
    """A budget's window. `open_hold` counts pending and held reservations. The sums are kept in the transactions
    that write the entries; `audit` recomputes them.
    """

    budget: Budget
    window_start: datetime
    resets_at: datetime
    settled_nanousd: int
    open_hold_nanousd: int
    held_nanousd: int
    estimated_nanousd: int
    closed_by_overrun: bool

    @property
    def available_nanousd(self) -> int:
        """What the next ceiling may take at most; negative after an overrun or a lowered limit."""
        return self.budget.limit_nanousd - self.settled_nanousd - self.open_hold_nanousd


@dataclass(frozen=True, slots=True)
class NewReservation:
    """What is written at admission. `key` is unique per installation (`turn/round/attempt`)."""

    reservation_id: str
    key: str
    project_id: str
    assistant: str
    user: str
    operation: str
    provider: str
    model: str
    service_tier: str
    price_version: str
    ceiling_nanousd: int
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Reservation:
    """A reservation as its entries tell it now. `cost_nanousd` is None until settled."""

    new: NewReservation
    state: ReservationState
    cost_nanousd: int | None
    estimated: bool
    overrun_nanousd: int
    usage: Usage | None
    resolved_at: datetime | None


@dataclass(frozen=True, slots=True)
class Settlement:
    """How a reservation ends. `cost_nanousd` above the ceiling is recorded in full as an overrun."""

    cost_nanousd: int
    estimated: bool
    usage: Usage | None
    at: datetime


@dataclass(frozen=True, slots=True)
class LedgerCounts:
    """How much there is to audit."""

    entry_count: int
    reservation_count: int


class LedgerStore(Protocol):
    """Append-only money entries. Raises the domain errors of `shared.errors`, mapped from constraints."""

    async def reserve(self, new: NewReservation, defaults: Sequence[Budget]) -> Reservation:
        """Check every window and write the hold, in one transaction; budgets in `defaults` are created if missing.

        The same key with the same body returns the reservation as it is now.

        Raises:
            BudgetExhausted: a window has no room, a budget is closed, or the project has none; nothing is written
                but missing budgets. A ceiling of 0 (free) is always admitted.
            InvalidRequest: an amount or text that no ledger can hold.
            IdempotencyConflict: the key exists with another body.
            NotReady: the store cannot write.
        """
        ...

    async def settle(self, reservation_id: str, settlement: Settlement) -> Reservation:
        """Append the settling entry; the same body again returns the same.

        Raises:
            NotFound: no such reservation.
            AlreadyResolved: it ended otherwise.
        """
        ...

    async def void(self, reservation_id: str, reason: str, at: datetime) -> Reservation:
        """Append the voiding entry; same rules as settle."""
        ...

    async def hold_pending(self, at: datetime, departed: Collection[int] | None = None) -> int:
        """Turn every reservation that is still pending into held, but for those of living servers: called once at
        start, and later for the `departed` servers alone; tells how many.
        """
        ...

    async def put_budget(self, budget: Budget, at: datetime, *, seed: bool) -> None:
        """Create or change a budget; with `seed` an existing one is left alone."""
        ...

    async def balance(self, scope: BudgetScope, period: Period, now: datetime) -> Balance | None:
        """Tell one budget's window at `now`; None when there is no such budget."""
        ...

    async def balances(self, now: datetime) -> Sequence[Balance]:
        """Tell all budgets, at most 10,000, most recent first."""
        ...

    async def reservation(self, reservation_id: str) -> Reservation | None:
        """Tell one reservation as it is now; None when there is none."""
        ...

    async def reservations(
        self, project_id: str, state: ReservationState | None, limit: int, before: str
    ) -> Sequence[Reservation]:
        """List newest first; `before` is the last reservation id seen, or empty."""
        ...

    async def acknowledge_overrun(self, scope: BudgetScope, at: datetime) -> None:
        """Open again the budgets of this scope that an overrun closed."""
        ...

    async def audit(self) -> Sequence[str]:
        """Recompute every balance from entries and check the chain of states; one sentence a finding."""
        ...

    async def counts(self) -> LedgerCounts:
        """Count entries and reservations."""
        ...


# ---------------------------------------------------------------- requests


@dataclass(frozen=True, slots=True)
class RequestKey:
    """Names a request: the client that sent it, and its idempotency key."""

    client: str
    key: str


@dataclass(frozen=True, slots=True)
class StoredRequest:
    """A request known by key. `result` is None while it runs, and for ever if its process died (`owner` tells)."""

    key: RequestKey
    body_digest: bytes
    turn_id: str
    owner: str
    result: bytes | None
    created_at: datetime


class RequestStore(Protocol):
    """Requests and their results by idempotency key, kept for 24 h."""

    async def claim(self, request: StoredRequest) -> StoredRequest | None:
        """Write a new request, or return the one that holds the key; None means that it is now ours.

        Raises:
            IdempotencyConflict: the key is held with another body digest.
        """
        ...

    async def finish(self, key: RequestKey, result: bytes) -> None:
        """Store the result, once; later calls change nothing."""
        ...

    async def find(self, key: RequestKey) -> StoredRequest | None:
        """Look a request up."""
        ...

    async def abandoned(
        self, owner: str, limit: int, departed: Collection[int] | None = None
    ) -> Sequence[StoredRequest]:
        """List running requests whose owner is not `owner`: left by a process that died, or by `departed` servers
        alone.
        """
        ...

    async def forget_before(self, instant: datetime) -> int:
        """Remove finished requests older than `instant`; tells how many."""
        ...


# ---------------------------------------------------------------- journal


@dataclass(frozen=True, slots=True)
class JournalLine:
    """What one turn did. `body` is JSON text, at most 256 KiB, without prompts or secrets."""

    turn_id: str
    project_id: str
    client: str
    key: str
    started_at: datetime
    ended_at: datetime
    body: str


class JournalStore(Protocol):
    """One line a turn, append-only."""

    async def append(self, line: JournalLine) -> None:
        """Write the line; the same turn id again changes nothing."""
        ...

    async def line(self, project_id: str, *, turn_id: str = "", client: str = "", key: str = "") -> JournalLine | None:
        """Find a line by turn id, or by client and idempotency key (the newest)."""
        ...


# ---------------------------------------------------------------- index registry


@dataclass(frozen=True, slots=True)
class DocumentRow:
    """One file that a sync saw. `metadata` and `chunk_ids` as they were indexed; `reason` why it was rejected."""

    project_id: str
    source_id: str
    path: str
    status: str
    reason: str
    content_sha256: bytes
    settings_sha256: bytes
    title: str
    language: str
    metadata: Mapping[str, Sequence[str]]
    chunk_ids: Sequence[str]
    synced_at: datetime


@dataclass(frozen=True, slots=True)
class KeptIndex:
    """The collection that served before the last change of the embedding model."""

    collection: str
    fingerprint: str
    calibration: str


@dataclass(frozen=True, slots=True)
class IndexRow:
    """Which collection serves a project. `fingerprint` names embedding model and dimension."""

    project_id: str
    collection: str
    fingerprint: str
    generation: int
    calibration: str
    kept: KeptIndex | None = None


class IndexRegistry(Protocol):
    """What the index ought to hold: the truth that Chroma is compared with."""

    async def documents(self, project_id: str, source_id: str) -> Mapping[str, DocumentRow]:
        """All rows of a source (all sources when empty), by path (`source_id/path` when empty)."""
        ...

    async def put_documents(self, rows: Sequence[DocumentRow], removed: Sequence[tuple[str, str, str]]) -> None:
        """Write rows and remove (project, source, path) keys, in one transaction."""
        ...

    async def index(self, project_id: str) -> IndexRow | None:
        """Tell which collection serves the project."""
        ...

    async def put_index(self, row: IndexRow) -> None:
        """Create or replace the project's index row."""
        ...

    async def take_lease(self, name: str, owner: str, now: datetime, until: datetime) -> bool:
        """Take a lease, or renew one's own, until `until`; False while another's is not over at `now`."""
        ...

    async def drop_lease(self, name: str, owner: str) -> None:
        """Give a lease back; nothing when it is not `owner`'s."""
        ...


class StateStore(Protocol):
    """All of it, with its life cycle. `ledger`, `requests`, `journal` and `index` share one database."""

    @property
    def ledger(self) -> LedgerStore:
        """Money."""
        ...

    @property
    def requests(self) -> RequestStore:
        """Requests by key."""
        ...

    @property
    def journal(self) -> JournalStore:
        """Turn by turn."""
        ...

    @property
    def index(self) -> IndexRegistry:
        """Documents and collections."""
        ...

    async def open(self) -> None:
        """Create or migrate the schema and take the instance lock.

        Raises:
            NotReady: unreachable, unwritable, locked by another process, or a newer schema; says which and what to do.
        """
        ...

    async def probe(self) -> None:
        """Write and sync something small; cheap enough for once a second.

        Raises:
            NotReady: the store cannot write now, with the cause.
        """
        ...

    async def departed(self) -> frozenset[int]:
        """Name other openings of this store that left work behind and do not live now: they crashed, or were cut off
        for a moment. Always empty where one process has the store to itself.
        """
        ...

    async def close(self) -> None:
        """Finish what is queued and release the lock; idempotent."""
        ...
