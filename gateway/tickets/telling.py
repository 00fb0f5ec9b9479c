"""Writes what happened to a ticket into the streams of those concerned, in the transaction in which it happens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gateway.conversation.model import Kind, Message, Role, staff_stream_id, visitor_stream_id
from gateway.conversation.unread import STAFF, id_of, kind_of, visitor_reader
from gateway.events import announcement
from gateway.storage.contract import NewEvent
from gateway.storage.notifications import Notification
from gateway.tickets.views import notification_view, staff_view, visitor_view
from shared.ids import new_id

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from gateway.conversation.escalation import Ticket
    from gateway.conversation.model import Author, Conversation, ServerText
    from gateway.storage.transaction import Transaction

TICKET_UPDATED: Final = "ticket.updated"
NOTIFICATION_CREATED: Final = "notification.created"
CONVERSATION_OPENED: Final = "conversation.opened"
CONVERSATION_CLOSED: Final = "conversation.closed"
"""These two never leave the gateway: they tell every gateway what one of the staff looks at."""


async def say(
    tx: Transaction,
    conversation: Conversation,
    now: datetime,
    *,
    text: str = "",
    server_text: ServerText | None = None,
    author: Author | None = None,
) -> Message:
    """Add a message of the staff, or of the server when `server_text` speaks, and tell both sides."""
    message = Message(
        id=new_id(now),
        conversation_id=conversation.id,
        position=await tx.conversations.take_position(conversation.id, now),
        role=Role.SYSTEM if author is None else Role.ADMIN,
        kind=Kind.NOTICE if author is None else None,
        text=text,
        created_at=now,
        server_text=server_text,
        author=author,
    )
    await tx.messages.add(message)
    event = announcement.message_created(message, conversation.project_id)
    for stream_id in (visitor_stream_id(conversation.visitor_id), staff_stream_id(conversation.project_id)):
        await tx.events.append(stream_id, event)
    return message


async def tell_ticket(tx: Transaction, ticket: Ticket, *, visitor_too: bool = True) -> None:
    """Tell how a ticket stands, in two views."""
    of_visitor = await tx.tickets.sight(ticket.id, visitor_reader(ticket.visitor_id), Role.ADMIN)
    assert of_visitor is not None
    if visitor_too:
        event = _ticket_updated(ticket, visitor_view(of_visitor))
        await tx.events.append(visitor_stream_id(ticket.visitor_id), event)
    event = _ticket_updated(ticket, staff_view(of_visitor, counted=False))
    await tx.events.append(staff_stream_id(ticket.project_id), event)


async def notify(
    tx: Transaction, ticket: Ticket, person: str, kind: str, said: ServerText, now: datetime, **target: str
) -> None:
    """Leave someone a notice and tell them; one unread notice of a kind about a ticket is enough."""
    about = {"ticket_id": ticket.id, "conversation_id": ticket.conversation_id, **target}
    if await tx.notifications.is_waiting(person, kind, ticket.conversation_id):
        return
    notification = Notification(new_id(now), person, ticket.project_id, kind, about, said, ticket.conversation_id, now)
    await tx.notifications.add(notification)
    data = {"person": person, "notification": notification_view(notification)}
    event = NewEvent(NOTIFICATION_CREATED, data, "account", ticket.conversation_id)
    await tx.events.append(stream_of(person, ticket.project_id), event)


async def tell_looking(tx: Transaction, project_id: str, staff_id: str, conversation_id: str, *, opened: bool) -> None:
    """Tell every gateway that one of the staff opened or closed a conversation."""
    data = {"staff_id": staff_id, "conversation_id": conversation_id}
    event = NewEvent(CONVERSATION_OPENED if opened else CONVERSATION_CLOSED, data, conversation_id=conversation_id)
    await tx.events.append(staff_stream_id(project_id), event)


def stream_of(person: str, project_id: str) -> str:
    """Name the stream on which a person is told."""
    return staff_stream_id(project_id) if kind_of(person) == STAFF else visitor_stream_id(id_of(person))


def _ticket_updated(ticket: Ticket, view: Mapping[str, object]) -> NewEvent:
    return NewEvent(TICKET_UPDATED, {"ticket": view}, conversation_id=ticket.conversation_id)
