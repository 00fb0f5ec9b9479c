"""Tickets, for the staff."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gateway.conversation.escalation import TicketState
from gateway.conversation.unread import visitor_reader
from gateway.storage.tickets import TicketFilter
from gateway.tickets.views import staff_view
from gateway.web.answers import answer
from gateway.web.bodies import idempotency_key, page_limit, path_id, read_body
from gateway.web.cursors import activity_cursor, read_activity_cursor, read_position_cursor
from gateway.web.people import StaffCaller, staff_of
from gateway.web.presence import presence_view
from gateway.web.services import SERVICES
from gateway.web.support import SUPPORT
from gateway.web.support_schemas import Assignment, Reply
from gateway.web.views import message_view
from shared.errors import InvalidRequest, NotFound
from shared.ids import is_id

if TYPE_CHECKING:
    from aiohttp import web

    from gateway.storage.tickets import TicketSight
    from gateway.storage.transaction import Transaction

PAGE: Final = 50
STATES: Final = {each.value: each for each in TicketState}


async def index(request: web.Request) -> web.Response:
    """List the project's tickets, newest activity first, with what the caller has not read."""
    services, caller = request.app[SERVICES], await staff_of(request)
    wanted, limit, before = _filter(request, caller), page_limit(request, PAGE), read_activity_cursor(request)
    async with services.store.transaction() as tx:
        found = await tx.tickets.page(caller.project.id, wanted, caller.person, limit + 1, before)
    views = [staff_view(each) for each in found[:limit]]
    last = found[limit - 1].ticket if len(found) > limit else None
    cursor = None if last is None else activity_cursor(last.updated_at, last.id)
    return answer({"tickets": views, "next_cursor": cursor})


async def show(request: web.Request) -> web.Response:
    """Show one ticket, and whether its visitor is there."""
    services, caller = request.app[SERVICES], await staff_of(request)
    async with services.store.transaction() as tx:
        sight = await _sight(tx, caller, request)
        reader = visitor_reader(sight.ticket.visitor_id)
        known = {each.person: each for each in await tx.presence.of((reader,))}
    return answer({"ticket": staff_view(sight), "presence": presence_view(reader, known.get(reader), whole=True)})


async def messages(request: web.Request) -> web.Response:
    """Read the newest messages of a ticket's conversation, oldest first; a cursor leads to older ones."""
    services, caller = request.app[SERVICES], await staff_of(request)
    limit, before = page_limit(request, PAGE), read_position_cursor(request)
    async with services.store.transaction() as tx:
        sight = await _sight(tx, caller, request)
        conversation = await tx.conversations.get(sight.ticket.conversation_id)
        assert conversation is not None
        end = conversation.last_position + 1 if before is None else before
        found = await tx.messages.before(conversation.id, end, limit + 1)
    page = found[-limit:]
    views = [message_view(each, caller.project, caller.language, for_staff=True) for each in page]
    return answer({"messages": views, "next_cursor": str(page[0].position) if len(found) > limit else None})


async def assign(request: web.Request) -> web.Response:
    """Give a ticket to one of the staff."""
    caller, body = await staff_of(request), await read_body(request, Assignment)
    tickets = request.app[SUPPORT].tickets
    return answer(staff_view(await tickets.assign(caller.member, path_id(request, "ticket_id"), body.assignee_id)))


async def reply(request: web.Request) -> web.Response:
    """Answer the visitor; the first one who does has the ticket."""
    caller, body, key = await staff_of(request), await read_body(request, Reply), idempotency_key(request)
    ticket_id = path_id(request, "ticket_id")
    message = await request.app[SUPPORT].tickets.reply(caller.member, ticket_id, body.text, key)
    return answer(message_view(message, caller.project, caller.language, for_staff=True), 201)


async def resolve(request: web.Request) -> web.Response:
    """Close a ticket: the AI speaks again. Doing it again changes nothing."""
    caller = await staff_of(request)
    return answer(staff_view(await request.app[SUPPORT].tickets.resolve(caller.member, path_id(request, "ticket_id"))))


async def reopen(request: web.Request) -> web.Response:
    """Take a resolved ticket up again. Doing it again changes nothing."""
    caller = await staff_of(request)
    return answer(staff_view(await request.app[SUPPORT].tickets.reopen(caller.member, path_id(request, "ticket_id"))))


async def _sight(tx: Transaction, caller: StaffCaller, request: web.Request) -> TicketSight:
    sight = await tx.tickets.sight(path_id(request, "ticket_id"), caller.person)
    if sight is None or sight.ticket.project_id != caller.project.id:
        raise NotFound("There is no such ticket.")
    return sight


def _filter(request: web.Request, caller: StaffCaller) -> TicketFilter:
    text = request.query.get("state", "")
    names = [each for each in text.split(",") if each]
    if any(each not in STATES for each in names):
        raise InvalidRequest.of("state", f"must be among {', '.join(STATES)}, joined by commas")
    assignee = request.query.get("assignee", "")
    if assignee not in {"", "me", "none"} and not is_id(assignee):
        raise InvalidRequest.of("assignee", "must be `me`, `none` or the id of one of the staff")
    return TicketFilter(
        states=tuple(STATES[each] for each in names),
        assignee_id=caller.member.id if assignee == "me" else assignee if is_id(assignee) else None,
        unassigned=assignee == "none",
    )
