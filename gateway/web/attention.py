"""What visitors and staff do alike in a conversation: pass it on, read, write, look."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway.tickets.views import staff_view, visitor_view
from gateway.web.answers import answer, nothing
from gateway.web.bodies import idempotency_key, path_id, read_body
from gateway.web.conversations import owned
from gateway.web.people import StaffCaller, person_of
from gateway.web.schemas import ReadUpTo
from gateway.web.services import SERVICES
from gateway.web.support import SUPPORT
from gateway.web.support_schemas import Typing

if TYPE_CHECKING:
    from aiohttp import web


async def escalate(request: web.Request) -> web.Response:
    """Pass the conversation to the staff (201), or show the ticket it has (200). Staff take it over themselves."""
    caller, tickets = await person_of(request), request.app[SUPPORT].tickets
    conversation_id, key = path_id(request, "conversation_id"), idempotency_key(request)
    if isinstance(caller, StaffCaller):
        taken = await tickets.take_over(caller.member, conversation_id)
        return answer(staff_view(taken.sight), 201 if taken.created else 200)
    passed = await tickets.escalate(caller.visitor, conversation_id, key)
    return answer(visitor_view(passed.sight), 201 if passed.created else 200)


async def mark_read(request: web.Request) -> web.Response:
    """Remember how far the caller has read; a marker never goes back."""
    caller, body = await person_of(request), await read_body(request, ReadUpTo)
    attention, conversation_id = request.app[SUPPORT].attention, path_id(request, "conversation_id")
    if isinstance(caller, StaffCaller):
        await attention.staff_read(caller.member, conversation_id, body.message_id)
    else:
        await attention.visitor_read(caller.visitor, conversation_id, body.message_id)
    return nothing()


async def typing(request: web.Request) -> web.Response:
    """Tell the others in the conversation that the caller is writing, or stopped."""
    caller, body, support = await person_of(request), await read_body(request, Typing), request.app[SUPPORT]
    conversation_id = path_id(request, "conversation_id")
    support.typing.take(caller.person)
    if isinstance(caller, StaffCaller):
        await support.attention.staff_types(caller.member, conversation_id, typing=body.typing)
    else:
        await support.attention.visitor_types(caller.visitor, conversation_id, typing=body.typing)
    return nothing()


async def open_conversation(request: web.Request) -> web.Response:
    """Follow the conversation on the caller's stream. A visitor's stream follows all of theirs anyway."""
    return await _look(request, opened=True)


async def close_conversation(request: web.Request) -> web.Response:
    """Follow the conversation no longer."""
    return await _look(request, opened=False)


async def _look(request: web.Request, *, opened: bool) -> web.Response:
    caller, conversation_id = await person_of(request), path_id(request, "conversation_id")
    if isinstance(caller, StaffCaller):
        await request.app[SUPPORT].attention.look(caller.member, conversation_id, opened=opened)
    else:
        async with request.app[SERVICES].store.transaction() as tx:
            await owned(tx, caller, request)
    return nothing()
