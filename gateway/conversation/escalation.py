"""The life of a ticket: OPEN → IN_PROGRESS → RESOLVED, reopenable. Pure rules; who stores them holds the lock."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from shared.errors import FailedPrecondition

if TYPE_CHECKING:
    from datetime import datetime


class TicketState(StrEnum):
    """Where a ticket stands."""

    OPEN = "OPEN"
    IN_PROGRESS = "IN_PROGRESS"
    RESOLVED = "RESOLVED"


class SummaryState(StrEnum):
    """Where the summary for staff stands. A failed one never harms the ticket."""

    PENDING = "pending"
    DONE = "done"
    FAILED = "failed"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Ticket:
    """What an escalation creates. `opened_position` is where its SYSTEM message stands in the conversation."""

    id: str
    project_id: str
    conversation_id: str
    visitor_id: str
    state: TicketState
    assignee_id: str | None
    opened_position: int
    opened_at: datetime
    updated_at: datetime
    resolved_at: datetime | None = None
    summary_state: SummaryState = SummaryState.NONE
    summary: str = ""

    @property
    def is_open(self) -> bool:
        """Tell whether people are at work on it, so that the AI is silent."""
        return self.state is not TicketState.RESOLVED


def assign(ticket: Ticket, staff_id: str, now: datetime) -> Ticket:
    """Give a ticket to someone.

    Raises:
        FailedPrecondition: it is resolved.
    """
    _must_be_open(ticket)
    return replace(ticket, state=TicketState.IN_PROGRESS, assignee_id=staff_id, updated_at=now)


def reply(ticket: Ticket, staff_id: str, now: datetime) -> Ticket:
    """Answer the visitor; the first one who does has the ticket from then on.

    Raises:
        FailedPrecondition: it is resolved.
    """
    _must_be_open(ticket)
    assignee = staff_id if ticket.assignee_id is None else ticket.assignee_id
    return replace(ticket, state=TicketState.IN_PROGRESS, assignee_id=assignee, updated_at=now)


def resolve(ticket: Ticket, now: datetime) -> Ticket:
    """Close a ticket, taken or not; one that is resolved stays as it is."""
    if not ticket.is_open:
        return ticket
    return replace(ticket, state=TicketState.RESOLVED, updated_at=now, resolved_at=now)


def reopen(ticket: Ticket, now: datetime, *, assignee_is_active: bool) -> Ticket:
    """Take a resolved ticket up again, with its assignee if they still work here; an open one stays as it is."""
    if ticket.is_open:
        return ticket
    assignee = ticket.assignee_id if assignee_is_active else None
    state = TicketState.OPEN if assignee is None else TicketState.IN_PROGRESS
    return replace(ticket, state=state, assignee_id=assignee, updated_at=now, resolved_at=None)


def _must_be_open(ticket: Ticket) -> None:
    if not ticket.is_open:
        raise FailedPrecondition("This ticket is resolved: reopen it first.")
