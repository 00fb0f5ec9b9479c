"""Which domain error each rule of the schema becomes when the database refuses a row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from shared.errors import AlreadyResolved, Conflict, IdempotencyConflict, InvalidRequest, NotFound, PasseurError

Maker = Callable[[], PasseurError]


def _field(name: str, problem: str) -> Maker:
    return lambda: InvalidRequest.of(name, problem)


def _resolved() -> PasseurError:
    return AlreadyResolved("The reservation was already resolved, otherwise.")


def _twice(what: str) -> Maker:
    return lambda: IdempotencyConflict(f"{what} exists already, with another body.")


RULES: Final[Mapping[str, Maker]] = {
    "budgets_kind": _field("scope.kind", "must be global, project, assistant or user"),
    "budgets_period": _field("period", "must be daily or monthly"),
    "budgets_limit": _field("limit_nanousd", "must be from 0 to 2^62"),
    "budgets_alert_share": _field("alert_share", "must be from 0 to 1"),
    "budgets_one_each": _twice("The budget"),
    "windows_span": _field("time_zone", "gives a window that ends before it starts"),
    "windows_sums": _field("cost_nanousd", "would take a window's sums out of their bounds"),
    "windows_one_each": _twice("The window"),
    "reservations_id": _twice("The reservation id"),
    "reservations_key": _twice("The reservation key"),
    "reservations_ceiling": _field("ceiling_nanousd", "must be from 0 to 10^15"),
    "charges_once": _twice("The charge"),
    "entries_kind": _field("kind", "must be reserve, hold, settle or void"),
    "entries_amount": _field("cost_nanousd", "must be from 0 to 10^15"),
    "entries_overrun": _field("overrun_nanousd", "must be from 0 to the cost"),
    "entries_estimated": _field("estimated", "must be 0 or 1"),
    "entries_void_costs_nothing": _field("cost_nanousd", "must be 0 in a voiding entry"),
    "entries_one_of_a_kind": _resolved,
    "entries_one_resolution": _resolved,
    "open_held": _field("held", "must be 0 or 1"),
    "requests_one_each": _twice("The idempotency key"),
    "journal_one_a_turn": _twice("The turn's journal line"),
    "journal_body": _field("body", "is over 256 KiB"),
    "documents_one_each": _twice("The document"),
    "indexes_one_a_project": _twice("The project's index"),
    "sources_one_each": _twice("The source"),
    "leases_one_each": lambda: Conflict("The lease is held already."),
    "ledger_is_append_only": lambda: Conflict("Ledger entries and reservations never change and never go."),
    "foreign_key": lambda: NotFound("The row refers to something that does not exist."),
}
"""By constraint name, as in both schemas."""

UNIQUE_COLUMNS: Final[Mapping[str, str]] = {
    "budgets.kind, budgets.project_id, budgets.assistant, budgets.user_name, budgets.period": "budgets_one_each",
    "windows.budget_id, windows.starts_at": "windows_one_each",
    "reservations.reservation_id": "reservations_id",
    "reservations.key": "reservations_key",
    "charges.number, charges.window_id": "charges_once",
    "entries.number, entries.kind": "entries_one_of_a_kind",
    "entries.number": "entries_one_resolution",
    "requests.client, requests.key": "requests_one_each",
    "journal.turn_id": "journal_one_a_turn",
    "documents.project_id, documents.source_id, documents.path": "documents_one_each",
    "indexes.project_id": "indexes_one_a_project",
    "leases.name": "leases_one_each",
    "sources.project_id, sources.source_id": "sources_one_each",
}
"""SQLite names a UNIQUE rule by its columns."""


def domain_error(constraint: str) -> PasseurError | None:
    """Make the error for a broken rule; None when the name is not one of ours."""
    maker = RULES.get(constraint)
    return maker() if maker else None


def sqlite_constraint(message: str) -> str:
    """Find the rule's name in SQLite's message, such as `CHECK constraint failed: windows_sums`."""
    kind, _, rest = message.partition(" constraint failed: ")
    if kind == "UNIQUE":
        return UNIQUE_COLUMNS.get(rest, rest)
    if message.startswith("FOREIGN KEY"):
        return "foreign_key"
    return rest or message
