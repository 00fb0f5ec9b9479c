"""Escalation and the life of tickets. Each act is one transaction: state, messages, notices and events, or nothing."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from gateway.conversation import escalation
from gateway.conversation.escalation import SummaryState, Ticket, TicketState
from gateway.conversation.model import Author, Role, ServerText
from gateway.conversation.unread import staff_reader, visitor_reader
from gateway.storage.again import again
from gateway.storage.contract import KeyRecord
from gateway.tickets.telling import notify, say, tell_ticket
from shared.errors import FailedPrecondition, IdempotencyConflict, InvalidRequest, NotFound, NotReady
from shared.ids import new_id
from shared.logs import logger

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from gateway.conversation.model import Conversation, Message, Visitor
    from gateway.storage.contract import Store
    from gateway.storage.staff import StaffMember
    from gateway.storage.tickets import TicketSight
    from gateway.storage.transaction import Transaction
    from gateway.tickets.contract import PendingQuestions, Silencer
    from gateway.tickets.summaries import Summaries
    from shared.clock import Clock

Done = TypeVar("Done")
NO_TICKET: Final = "There is no such ticket."

log = logger(__name__)


@dataclass(frozen=True, slots=True)
class Escalated:
    """A conversation's ticket, and whether this request made it."""

    sight: TicketSight
    created: bool


class TicketService:
    """Tickets of every project."""

    def __init__(
        self, store: Store, clock: Clock, summaries: Summaries, pending: PendingQuestions | None = None
    ) -> None:
        """Take the seams. `silencer` is set once the turns' service exists, which itself needs this one."""
        self._store = store
        self._clock = clock
        self._summaries = summaries
        self._pending = pending
        self.silencer: Silencer | None = None
        self._acts: set[asyncio.Task[Any]] = set()

    # ------------------------------------------------------------------ escalation

    async def escalate(self, visitor: Visitor, conversation_id: str, key: str | None = None) -> Escalated:
        """Pass a visitor's conversation to the staff. With an open ticket already, that one.

        Raises:
            NotFound: the conversation is not there, or not theirs.
            IdempotencyConflict: the key came before for another conversation.
        """
        return await self._act(lambda: self._escalate(visitor, conversation_id, key))

    async def _escalate(self, visitor: Visitor, conversation_id: str, key: str | None) -> Escalated:
        digest = hashlib.sha256(f"escalate {conversation_id}".encode()).digest()
        async with self._store.transaction() as tx:
            conversation = await tx.conversations.hold(conversation_id)
            if conversation is None or conversation.visitor_id != visitor.id:
                raise NotFound("There is no such conversation.")
            known = None if key is None else await tx.keys.find(visitor.id, key)
            ticket = await tx.tickets.open_in(conversation_id) if known is None else None
            if known is not None:
                ticket = await tx.tickets.get(known.created_id)
                if known.body_hash != digest or ticket is None:
                    raise IdempotencyConflict("This Idempotency-Key came before with another body: use a new key.")
            created = ticket is None
            if ticket is None:
                ticket = await self._open(tx, conversation, ServerText("support_ticket_opened"), None)
            if key is not None and known is None:
                await tx.keys.add(visitor.id, key, KeyRecord(digest, ticket.id), self._clock.now())
            sight = await tx.tickets.sight(ticket.id, visitor_reader(visitor.id), Role.ADMIN)
        assert sight is not None
        if created:
            await self._after_opening(ticket)
        return Escalated(sight, created)

    async def take_over(self, member: StaffMember, conversation_id: str) -> Escalated:
        """Step into a conversation unasked: its ticket is this person's from the start. An open one stays as it is.

        Raises:
            NotFound: the conversation is not there, or of another project.
        """
        return await self._act(lambda: self._take_over(member, conversation_id))

    async def _take_over(self, member: StaffMember, conversation_id: str) -> Escalated:
        async with self._store.transaction() as tx:
            conversation = await tx.conversations.hold(conversation_id)
            if conversation is None or conversation.project_id != member.project_id:
                raise NotFound("There is no such conversation.")
            ticket = await tx.tickets.open_in(conversation_id)
            created = ticket is None
            if ticket is None:
                said = ServerText("support_ticket_taken_over", {"name": member.name})
                ticket = await self._open(tx, conversation, said, member)
            sight = await tx.tickets.sight(ticket.id, staff_reader(member.id))
        assert sight is not None
        if created:
            await self._after_opening(ticket)
        return Escalated(sight, created)

    async def _open(
        self, tx: Transaction, conversation: Conversation, said: ServerText, member: StaffMember | None
    ) -> Ticket:
        now = self._clock.now()
        if not await tx.conversations.escalate(conversation.id):
            raise NotReady("This conversation is being passed on right now: try again.")
        await tx.conversations.change(conversation.id, insufficient_count=0)
        if self._pending is not None:
            await self._pending.cancel_all(tx, conversation.id)
        asked = await tx.messages.unread(conversation.id, Role.USER, conversation.boundary)
        message = await say(tx, conversation, now, server_text=said)
        ticket = Ticket(
            id=new_id(now),
            project_id=conversation.project_id,
            conversation_id=conversation.id,
            visitor_id=conversation.visitor_id,
            state=TicketState.OPEN if member is None else TicketState.IN_PROGRESS,
            assignee_id=None if member is None else member.id,
            opened_position=message.position,
            opened_at=now,
            updated_at=now,
            summary_state=SummaryState.PENDING if asked else SummaryState.NONE,
        )
        if not await tx.tickets.add(ticket):
            raise NotReady("This conversation is being passed on right now: try again.")
        await tell_ticket(tx, ticket)
        return ticket

    async def _after_opening(self, ticket: Ticket) -> None:
        log.info("ticket_opened", ticket_id=ticket.id, conversation_id=ticket.conversation_id)
        await self._silence(ticket.conversation_id)
        if ticket.summary_state is SummaryState.PENDING:
            self._summaries.begin(ticket)

    # ------------------------------------------------------------------ work on a ticket

    async def assign(self, member: StaffMember, ticket_id: str, assignee_id: str) -> TicketSight:
        """Give a ticket to one of the staff.

        Raises:
            NotFound: the ticket is not there, or of another project.
            InvalidRequest: the assignee is nobody who works in this project.
            FailedPrecondition: the ticket is resolved.
        """
        return await self._act(lambda: self._assign(member, ticket_id, assignee_id))

    async def _assign(self, member: StaffMember, ticket_id: str, assignee_id: str) -> TicketSight:
        now = self._clock.now()
        async with self._store.transaction() as tx:
            ticket, conversation = await self._held(tx, member, ticket_id)
            assignee = await tx.staff.get(assignee_id)
            if assignee is None or not assignee.is_active or assignee.project_id != member.project_id:
                raise InvalidRequest.of("assignee_id", "must be someone of this project's staff")
            changed = escalation.assign(ticket, assignee.id, now)
            if ticket.assignee_id != assignee.id:
                await tx.tickets.replace(changed)
                said = ServerText("support_ticket_assigned", {"name": assignee.name})
                await say(tx, conversation, now, server_text=said)
                await tell_ticket(tx, changed)
                if assignee.id != member.id:
                    about = ServerText(
                        "support_notification_assigned", {"name": member.name, "title": conversation.title}
                    )
                    await notify(tx, ticket, staff_reader(assignee.id), "assigned", about, now)
            return await _sight(tx, ticket_id, member)

    async def reply(self, member: StaffMember, ticket_id: str, text: str, key: str | None = None) -> Message:
        """Answer the visitor; the first one who does has the ticket.

        Raises:
            NotFound: the ticket is not there, or of another project.
            FailedPrecondition: the ticket is resolved.
            IdempotencyConflict: the key came before with another body.
        """
        return await self._act(lambda: self._reply(member, ticket_id, text, key))

    async def _reply(self, member: StaffMember, ticket_id: str, text: str, key: str | None) -> Message:
        now = self._clock.now()
        digest = hashlib.sha256(f"reply {ticket_id} {text}".encode()).digest()
        async with self._store.transaction() as tx:
            ticket, conversation = await self._held(tx, member, ticket_id)
            known = None if key is None else await tx.keys.find(member.id, key)
            if known is not None:
                before = await tx.messages.get(known.created_id)
                if known.body_hash != digest or before is None:
                    raise IdempotencyConflict("This Idempotency-Key came before with another body: use a new key.")
                return before
            changed = escalation.reply(ticket, member.id, now)
            await tx.tickets.replace(changed)
            author = Author(member.id, member.name)
            message = await say(tx, conversation, now, text=text, author=author)
            if key is not None:
                await tx.keys.add(member.id, key, KeyRecord(digest, message.id), now)
            await tx.read_markers.advance(conversation.id, staff_reader(member.id), message.position, now)
            await tell_ticket(tx, changed)
            said = ServerText("support_notification_reply", {"name": member.name})
            await notify(tx, ticket, visitor_reader(ticket.visitor_id), "reply", said, now, message_id=message.id)
            return message

    async def resolve(self, member: StaffMember, ticket_id: str) -> TicketSight:
        """Close a ticket: the AI speaks again, and what came before is behind a boundary. Idempotent.

        Raises:
            NotFound: the ticket is not there, or of another project.
        """
        return await self._act(lambda: self._resolve(member, ticket_id))

    async def _resolve(self, member: StaffMember, ticket_id: str) -> TicketSight:
        now = self._clock.now()
        async with self._store.transaction() as tx:
            ticket, conversation = await self._held(tx, member, ticket_id)
            if ticket.is_open:
                changed = escalation.resolve(ticket, now)
                await tx.tickets.replace(changed)
                message = await say(tx, conversation, now, server_text=ServerText("support_ticket_resolved"))
                values = {"escalated": False, "boundary": message.position, "insufficient_count": 0}
                await tx.conversations.change(conversation.id, **values)
                await tell_ticket(tx, changed)
                said = ServerText("support_notification_resolved")
                await notify(tx, ticket, visitor_reader(ticket.visitor_id), "resolved", said, now)
            return await _sight(tx, ticket_id, member)

    async def reopen(self, member: StaffMember, ticket_id: str) -> TicketSight:
        """Take a resolved ticket up again. Idempotent.

        Raises:
            NotFound: the ticket is not there, or of another project.
            FailedPrecondition: the conversation has a newer ticket that is open.
        """
        sight, reopened = await self._act(lambda: self._reopen(member, ticket_id))
        if reopened:
            await self._silence(sight.ticket.conversation_id)
        return sight

    async def _reopen(self, member: StaffMember, ticket_id: str) -> tuple[TicketSight, bool]:
        now = self._clock.now()
        async with self._store.transaction() as tx:
            ticket, conversation = await self._held(tx, member, ticket_id)
            if ticket.is_open:
                return await _sight(tx, ticket_id, member), False
            if await tx.tickets.open_in(conversation.id) is not None:
                raise FailedPrecondition("This conversation has a newer ticket that is open: work on that one.")
            assignee = None if ticket.assignee_id is None else await tx.staff.get(ticket.assignee_id)
            active = assignee is not None and assignee.is_active
            changed = escalation.reopen(ticket, now, assignee_is_active=active)
            await tx.conversations.escalate(conversation.id)
            if self._pending is not None:
                await self._pending.cancel_all(tx, conversation.id)
            await tx.tickets.replace(changed)
            await say(tx, conversation, now, server_text=ServerText("support_ticket_reopened"))
            await tell_ticket(tx, changed)
            said = ServerText("support_notification_reopened")
            await notify(tx, ticket, visitor_reader(ticket.visitor_id), "reopened", said, now)
            return await _sight(tx, ticket_id, member), True

    # ------------------------------------------------------------------ the desk

    async def heard(self, tx: Transaction, conversation: Conversation, message: Message) -> None:
        """Take note that the visitor wrote while a ticket is open; see `gateway.turns.desk.Desk`."""
        ticket = await tx.tickets.open_in(conversation.id)
        assert ticket is not None
        changed = replace(ticket, updated_at=message.created_at)
        await tx.tickets.replace(changed)
        await tell_ticket(tx, changed, visitor_too=False)

    async def close(self) -> None:
        """Let what was begun come to its end."""
        await asyncio.gather(*self._acts, return_exceptions=True)
        await self._summaries.close()

    # ------------------------------------------------------------------ inside

    async def _held(self, tx: Transaction, member: StaffMember, ticket_id: str) -> tuple[Ticket, Conversation]:
        """Hold a ticket's conversation first, then the ticket: in one order, so that no two acts wait in turn."""
        sight = await tx.tickets.sight(ticket_id)
        if sight is None or sight.ticket.project_id != member.project_id:
            raise NotFound(NO_TICKET)
        conversation = await tx.conversations.hold(sight.ticket.conversation_id)
        ticket = await tx.tickets.get(ticket_id)
        if conversation is None or ticket is None:
            raise NotFound(NO_TICKET)
        return ticket, conversation

    async def _silence(self, conversation_id: str) -> None:
        if self.silencer is None:
            return
        try:
            await self.silencer.silence(conversation_id)
        except NotReady as exc:
            log.warning("not_silenced", conversation_id=conversation_id, reason=exc.message)

    async def _act(self, act: Callable[[], Awaitable[Done]]) -> Done:
        """Do it to its end even when the caller leaves: what follows a commit must follow it."""
        task = asyncio.create_task(again(act, self._clock))
        self._acts.add(task)
        task.add_done_callback(self._acts.discard)
        return await asyncio.shield(task)


async def _sight(tx: Transaction, ticket_id: str, member: StaffMember) -> TicketSight:
    sight = await tx.tickets.sight(ticket_id, staff_reader(member.id))
    if sight is None:
        raise NotFound(NO_TICKET)
    return sight
