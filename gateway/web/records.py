"""What is kept of a visitor: handed out whole, removed whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway.web.answers import answer
from gateway.web.bodies import path_id
from gateway.web.people import Operator, StaffCaller, owner_of
from gateway.web.services import SERVICES
from gateway.web.support import SUPPORT
from shared.errors import NotFound

if TYPE_CHECKING:
    from aiohttp import web

    from gateway.conversation.model import Conversation
    from gateway.web.caller import Caller

ME = "me"


async def export_conversation(request: web.Request) -> web.Response:
    """Hand out one conversation whole: to its visitor, to an admin of its project, or to an operator."""
    caller, conversation_id = await owner_of(request), path_id(request, "conversation_id")
    async with request.app[SERVICES].store.transaction() as tx:
        conversation = await tx.conversations.get(conversation_id)
    if conversation is None or not _may_have(caller, conversation):
        raise NotFound("There is no such conversation.")
    return answer(await request.app[SUPPORT].records.export_conversation(conversation_id))


async def export_visitor(request: web.Request) -> web.Response:
    """Hand out everything that is kept of a visitor (`me`: the caller)."""
    visitor_id, project_id = await _whose(request)
    return answer(await request.app[SUPPORT].records.export_visitor(visitor_id, project_id))


async def delete_visitor(request: web.Request) -> web.Response:
    """Remove everything that is kept of a visitor (`me`: the caller), whose session ends with it."""
    visitor_id, project_id = await _whose(request)
    return answer(await request.app[SUPPORT].records.delete_visitor(visitor_id, project_id))


def _may_have(caller: Caller | StaffCaller | Operator, conversation: Conversation) -> bool:
    if isinstance(caller, Operator):
        return True
    if isinstance(caller, StaffCaller):
        return conversation.project_id == caller.project.id
    return conversation.visitor_id == caller.visitor.id


async def _whose(request: web.Request) -> tuple[str, str | None]:
    """Name the visitor meant, and the project they must be of; None lets any be."""
    caller, named = await owner_of(request), request.match_info["visitor_id"]
    if isinstance(caller, Operator):
        return named, None
    if isinstance(caller, StaffCaller):
        return named, caller.project.id
    if named not in {ME, caller.visitor.id}:
        raise NotFound("There is no such visitor.")
    return caller.visitor.id, caller.project.id
