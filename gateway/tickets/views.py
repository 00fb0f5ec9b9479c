"""The two views of a ticket: what its visitor sees, and what the staff see. Plain data, for REST and events alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from gateway.storage.notifications import Notification
    from gateway.storage.staff import StaffMember
    from gateway.storage.tickets import TicketSight

EXCERPT: Final = 160


def visitor_view(sight: TicketSight) -> dict[str, Any]:
    """Show a ticket to its visitor: nothing of the summary, nothing of the staff but a name."""
    ticket = sight.ticket
    return {
        "id": ticket.id,
        "conversation_id": ticket.conversation_id,
        "title": sight.title,
        "state": ticket.state.value,
        "assignee": _assignee(sight),
        "opened_at": ticket.opened_at.isoformat(),
        "updated_at": ticket.updated_at.isoformat(),
        "resolved_at": None if ticket.resolved_at is None else ticket.resolved_at.isoformat(),
        "unread_count": sight.unread_count,
    }


def staff_view(sight: TicketSight, *, counted: bool = True) -> dict[str, Any]:
    """Show a ticket to the staff.

    Without `counted` the view goes to all of them at once, and `unread_count` is None: each has a marker of their own,
    and works it out from `user_message_count`.
    """
    ticket = sight.ticket
    return {
        **visitor_view(sight),
        "unread_count": sight.unread_count if counted else None,
        "visitor": {"id": ticket.visitor_id, "subject": sight.subject},
        "language": sight.language,
        "summary": ticket.summary,
        "summary_state": ticket.summary_state.value,
        "opened_position": ticket.opened_position,
        "user_message_count": sight.user_message_count,
        "admin_message_count": sight.admin_message_count,
        "last_message": {"role": sight.last_role, "text": excerpt(sight.last_text)} if sight.last_role else None,
    }


def member_view(member: StaffMember) -> dict[str, Any]:
    """Show one of the staff to another."""
    return {
        "id": member.id,
        "login": member.login,
        "name": member.name,
        "role": member.role,
        "active": member.is_active,
    }


def notification_view(notification: Notification) -> dict[str, Any]:
    """Show a notification as kept: its text is rendered for whoever reads it."""
    said = notification.server_text
    return {
        "id": notification.id,
        "kind": notification.kind,
        "target": dict(notification.target),
        "server_text": {"key": said.key, "parameters": dict(said.parameters)},
        "created_at": notification.created_at.isoformat(),
        "read_at": None if notification.read_at is None else notification.read_at.isoformat(),
    }


def excerpt(text: str) -> str:
    """Cut a text to one line of at most `EXCERPT` characters."""
    line = " ".join(text.split())
    return line if len(line) <= EXCERPT else f"{line[: EXCERPT - 1]}…"


def _assignee(sight: TicketSight) -> dict[str, str] | None:
    if sight.ticket.assignee_id is None:
        return None
    return {"id": sight.ticket.assignee_id, "name": sight.assignee_name or ""}
