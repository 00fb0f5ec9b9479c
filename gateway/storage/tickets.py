"""The room of tickets, and of which conversations each of the staff has open."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa

from gateway.conversation.escalation import SummaryState, Ticket, TicketState
from gateway.conversation.model import Role
from gateway.storage.connection import Connection, one
from gateway.storage.support_tables import opened_conversations, staff, tickets
from gateway.storage.tables import conversations, messages, read_markers, visitors

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

OPEN: Final = tickets.c.state != TicketState.RESOLVED.value
LATEST_IN: Final = (
    sa.select(tickets)
    .where(tickets.c.conversation_id == sa.bindparam("of_conversation"))
    .order_by(tickets.c.opened_at.desc(), tickets.c.id.desc())
    .limit(1)
)
OPENED_LIMIT: Final = 20
"""Conversations that one person has open at a time; past it the one opened first is closed."""


@dataclass(frozen=True, slots=True)
class TicketSight:
    """A ticket with what lists show beside it. Counts are of the whole conversation.

    `unread_count` is that of the reader it was read for, and 0 when it was read for nobody.
    """

    ticket: Ticket
    title: str
    language: str
    subject: str | None
    assignee_name: str | None
    user_message_count: int
    admin_message_count: int
    unread_count: int
    last_text: str
    last_role: str


@dataclass(frozen=True, slots=True)
class TicketFilter:
    """Which tickets a list shows; None leaves a side open. `unassigned` wins over `assignee_id`."""

    states: tuple[TicketState, ...] = ()
    assignee_id: str | None = None
    unassigned: bool = False


class Tickets:
    """Tickets by id, by conversation, and as lists."""

    def __init__(self, connection: Connection) -> None:
        """Take the transaction's connection."""
        self._connection = connection

    async def add(self, ticket: Ticket) -> bool:
        """Keep a new ticket; False (and nothing kept) when the conversation has an open one."""
        return await self._connection.run(self._connection.insert_new(tickets), _row(ticket)) == 1

    async def get(self, ticket_id: str) -> Ticket | None:
        """Read one, and hold it against others until the transaction ends."""
        query = sa.select(tickets).where(tickets.c.id == ticket_id).with_for_update()
        found = await one(self._connection, query)
        return None if found is None else _ticket(found)

    async def open_in(self, conversation_id: str) -> Ticket | None:
        """Read the conversation's open ticket, if there is one."""
        query = sa.select(tickets).where(tickets.c.conversation_id == conversation_id, OPEN)
        found = await one(self._connection, query)
        return None if found is None else _ticket(found)

    async def latest_in(self, conversation_id: str) -> Ticket | None:
        """Read the conversation's newest ticket, open or resolved."""
        found = await one(self._connection, LATEST_IN, {"of_conversation": conversation_id})
        return None if found is None else _ticket(found)

    async def of_conversation(self, conversation_id: str) -> Sequence[Ticket]:
        """Read a conversation's tickets, oldest first."""
        query = sa.select(tickets).where(tickets.c.conversation_id == conversation_id)
        rows = await self._connection.rows(query.order_by(tickets.c.opened_at, tickets.c.id))
        return [_ticket(row) for row in rows]

    async def replace(self, ticket: Ticket) -> None:
        """Write a ticket as it is now."""
        row = _row(ticket)
        del row["id"], row["summary"], row["summary_state"]
        await self._connection.run(sa.update(tickets).where(tickets.c.id == ticket.id).values(**row))

    async def set_summary(self, ticket_id: str, state: SummaryState, text: str) -> bool:
        """Write what became of a pending summary; False when it was settled before."""
        pending = tickets.c.summary_state == SummaryState.PENDING.value
        statement = sa.update(tickets).where(tickets.c.id == ticket_id, pending)
        return await self._connection.run(statement.values(summary_state=state.value, summary=text)) == 1

    async def without_summary(self, limit: int) -> Sequence[Ticket]:
        """Read tickets whose summary is still to come, oldest first."""
        query = sa.select(tickets).where(tickets.c.summary_state == SummaryState.PENDING.value)
        rows = await self._connection.rows(query.order_by(tickets.c.opened_at).limit(limit))
        return [_ticket(row) for row in rows]

    async def assignees_of(self, visitor_id: str, limit: int = 100) -> Sequence[str]:
        """Name the staff who have or had a ticket of this visitor."""
        query = sa.select(tickets.c.assignee_id).where(tickets.c.visitor_id == visitor_id).distinct()
        rows = await self._connection.rows(query.where(tickets.c.assignee_id.is_not(None)).limit(limit))
        return [row["assignee_id"] for row in rows]

    async def visitors_of(self, staff_id: str, limit: int = 500) -> Sequence[str]:
        """Name the visitors whose open tickets this person has."""
        query = sa.select(tickets.c.visitor_id).where(tickets.c.assignee_id == staff_id, OPEN).distinct().limit(limit)
        return [row["visitor_id"] for row in await self._connection.rows(query)]

    async def has_open(self, visitor_id: str) -> bool:
        """Tell whether a visitor has a ticket that people work on."""
        query = sa.select(tickets.c.id).where(tickets.c.visitor_id == visitor_id, OPEN).limit(1)
        return await one(self._connection, query) is not None

    # ------------------------------------------------------------------ with what lists show

    async def sight(self, ticket_id: str, reader: str | None = None, role: Role = Role.USER) -> TicketSight | None:
        """Read one ticket with what lists show, unread messages of `role` counted for `reader`."""
        found = await one(self._connection, _sights(reader, role).where(tickets.c.id == ticket_id))
        return None if found is None else _sight(found)

    async def page(
        self, project_id: str, wanted: TicketFilter, reader: str, limit: int, before: tuple[datetime, str] | None = None
    ) -> Sequence[TicketSight]:
        """Read a project's tickets, newest activity first, from just after `before` (its instant and id)."""
        query = _sights(reader, Role.USER).where(tickets.c.project_id == project_id)
        if wanted.states:
            query = query.where(tickets.c.state.in_([each.value for each in wanted.states]))
        if wanted.unassigned:
            query = query.where(tickets.c.assignee_id.is_(None))
        elif wanted.assignee_id is not None:
            query = query.where(tickets.c.assignee_id == wanted.assignee_id)
        if before is not None:
            instant = sa.literal(before[0], tickets.c.updated_at.type)
            key = sa.tuple_(tickets.c.updated_at, tickets.c.id)
            query = query.where(key < sa.tuple_(instant, sa.literal(before[1])))
        query = query.order_by(tickets.c.updated_at.desc(), tickets.c.id.desc()).limit(limit)
        return [_sight(row) for row in await self._connection.rows(query)]

    async def of_visitor(self, visitor_id: str, reader: str, limit: int) -> Sequence[TicketSight]:
        """Read a visitor's own tickets, newest activity first."""
        query = _sights(reader, Role.ADMIN).where(tickets.c.visitor_id == visitor_id)
        query = query.order_by(tickets.c.updated_at.desc(), tickets.c.id.desc()).limit(limit)
        return [_sight(row) for row in await self._connection.rows(query)]

    # ------------------------------------------------------------------ who looks at what

    async def open_for(self, staff_id: str, conversation_id: str, now: datetime) -> Sequence[str]:
        """Note that a person has a conversation open; names those closed to keep to `OPENED_LIMIT`."""
        row = {"staff_id": staff_id, "conversation_id": conversation_id, "opened_at": now}
        insert = self._connection.insert(opened_conversations).values(**row)
        keys = [opened_conversations.c.staff_id, opened_conversations.c.conversation_id]
        await self._connection.run(insert.on_conflict_do_update(index_elements=keys, set_={"opened_at": now}))
        query = sa.select(opened_conversations.c.conversation_id).where(opened_conversations.c.staff_id == staff_id)
        newest_first = query.order_by(opened_conversations.c.opened_at.desc(), opened_conversations.c.conversation_id)
        surplus = [row["conversation_id"] for row in await self._connection.rows(newest_first.offset(OPENED_LIMIT))]
        for each in surplus:
            await self.close_for(staff_id, each)
        return surplus

    async def close_for(self, staff_id: str, conversation_id: str) -> bool:
        """Note that a person looks away; False when they did not look."""
        mine = opened_conversations.c.staff_id == staff_id
        statement = sa.delete(opened_conversations).where(mine)
        return (
            await self._connection.run(statement.where(opened_conversations.c.conversation_id == conversation_id)) == 1
        )

    async def opened_by(self, staff_id: str) -> frozenset[str]:
        """Name the conversations that a person has open."""
        query = sa.select(opened_conversations.c.conversation_id).where(opened_conversations.c.staff_id == staff_id)
        return frozenset(row["conversation_id"] for row in await self._connection.rows(query))


def _sights(reader: str | None, role: Role) -> sa.Select[Any]:
    of_conversation = messages.c.conversation_id == tickets.c.conversation_id
    marker = (
        sa.select(read_markers.c.position)
        .where(read_markers.c.conversation_id == tickets.c.conversation_id, read_markers.c.reader == (reader or ""))
        .scalar_subquery()
    )

    def count(of: Role, *conditions: Any) -> Any:
        counting = sa.select(sa.func.count()).select_from(messages)
        return counting.where(of_conversation, messages.c.role == of.value, *conditions).scalar_subquery()

    unread = sa.literal(0) if reader is None else count(role, messages.c.position > sa.func.coalesce(marker, 0))
    last = sa.select(messages.c.id).where(of_conversation, messages.c.role.in_([Role.USER.value, Role.ADMIN.value]))
    last_id = last.order_by(messages.c.position.desc()).limit(1).correlate(tickets).scalar_subquery()
    last_message = messages.alias("last_message")
    return (
        sa.select(
            tickets,
            conversations.c.title,
            conversations.c.language,
            visitors.c.subject,
            staff.c.name.label("assignee_name"),
            count(Role.USER).label("user_message_count"),
            count(Role.ADMIN).label("admin_message_count"),
            unread.label("unread_count"),
            last_message.c.text.label("last_text"),
            last_message.c.role.label("last_role"),
        )
        .join(conversations, conversations.c.id == tickets.c.conversation_id)
        .join(visitors, visitors.c.id == tickets.c.visitor_id)
        .outerjoin(staff, staff.c.id == tickets.c.assignee_id)
        .outerjoin(last_message, last_message.c.id == last_id)
    )


TICKET_FIELDS: Final = tuple(each.name for each in fields(Ticket))


def _row(ticket: Ticket) -> dict[str, Any]:
    return {**asdict(ticket), "state": ticket.state.value, "summary_state": ticket.summary_state.value}


def _ticket(row: Mapping[str, Any]) -> Ticket:
    values = {name: row[name] for name in TICKET_FIELDS}
    return Ticket(**{**values, "state": TicketState(row["state"]), "summary_state": SummaryState(row["summary_state"])})


def _sight(row: Mapping[str, Any]) -> TicketSight:
    return TicketSight(
        ticket=_ticket(row),
        title=row["title"],
        language=row["language"],
        subject=row["subject"],
        assignee_name=row["assignee_name"],
        user_message_count=int(row["user_message_count"]),
        admin_message_count=int(row["admin_message_count"]),
        unread_count=int(row["unread_count"]),
        last_text=row["last_text"] or "",
        last_role=row["last_role"] or "",
    )
