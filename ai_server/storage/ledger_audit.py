"""Recompute everything from the entries and tell what differs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ai_server.storage.ledger_contract import LedgerCounts
from ai_server.storage.rules import ENTRY_FIELDS, FIRST_DIGEST, RESERVATION_FIELDS, chain
from ai_server.storage.statements import Statement

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ai_server.storage.statements import Program, Row, Runner

ENTRIES_AT_ONCE: Final = 2_000
"""Entries read in one transaction, so that an audit of millions never keeps admissions waiting long."""

MAX_FINDINGS: Final = 1_000
SUMS: Final = ("settled", "open", "held", "estimated")


async def audit(runner: Runner) -> Sequence[str]:
    """Check the chain entry by entry, then every window's sums and every reservation's state."""
    findings: list[str] = []
    after, digest = 0, FIRST_DIGEST
    while True:
        rows = await runner.run(lambda after=after: entries_after(after))
        for row in rows:
            findings.extend(_chain_faults(row, after, digest))
            after, digest = row["entry_number"], bytes(row["digest"])
        if len(rows) < ENTRIES_AT_ONCE or len(findings) >= MAX_FINDINGS:
            break
    findings.extend(await runner.run(states_and_sums))
    return findings[:MAX_FINDINGS]


def entries_after(after: int) -> Program[Sequence[Row]]:
    """Read the next entries with their reservations."""
    return (yield Statement("entries_after", {"after": after, "count": ENTRIES_AT_ONCE}))


def _chain_faults(row: Row, after: int, digest: bytes) -> Iterator[str]:
    number = row["entry_number"]
    if number != after + 1:
        yield f"Entries {after + 1} to {number - 1} are missing."
        return
    if row["reservation_id"] is None:
        yield f"Entry {number} belongs to no reservation."
        return
    entry = {name: row[name] for name in ENTRY_FIELDS}
    reservation = {name: row[name] for name in RESERVATION_FIELDS}
    if chain(digest, entry, reservation) != bytes(row["digest"]):
        yield f"Entry {number} or reservation {row['reservation_id']} was changed: the chain breaks there."
    if row["kind"] == "reserve" and row["amount_nanousd"] != row["ceiling_nanousd"]:
        yield f"Entry {number} reserves another amount than the ceiling of {row['reservation_id']}."
    if row["kind"] == "settle" and row["overrun_nanousd"] != max(0, row["amount_nanousd"] - row["ceiling_nanousd"]):
        yield f"Entry {number} states another overrun than cost and ceiling give."


def states_and_sums() -> Program[Sequence[str]]:
    """Compare what is kept for speed with what the entries say."""
    yield Statement("lock_ledger", {})
    missing = yield Statement("audit_reservations_without_entry", {"count": MAX_FINDINGS})
    findings = [f"Reservation {row['reservation_id']} has no reserving entry." for row in missing]
    wrong = yield Statement("audit_open_mismatch", {"count": MAX_FINDINGS})
    findings += [f"Reservation {row['reservation_id']} is listed open or held against its entries." for row in wrong]
    for row in (yield Statement("audit_windows", {})):
        findings.extend(_sum_faults(row))
    return findings


def _sum_faults(row: Row) -> Iterator[str]:
    owner = "/".join(part for part in (row["kind"], row["project_id"], row["assistant"], row["user_name"]) if part)
    for name in SUMS:
        kept, counted = row[f"{name}_nanousd"], row[f"{name}_sum"]
        if kept != counted:
            yield f"Window {row['window_id']} of {owner} ({row['period']}) keeps {name} {kept}, entries give {counted}."


def counts() -> Program[LedgerCounts]:
    """Count what the audit looked at."""
    rows = yield Statement("ledger_counts", {})
    return LedgerCounts(rows[0]["entry_count"], rows[0]["reservation_count"])
