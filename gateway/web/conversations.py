"""Conversations of a visitor."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

from gateway.conversation.model import Conversation, Role
from gateway.conversation.title import title_of
from gateway.storage.contract import KeyRecord
from gateway.tickets.views import visitor_view
from gateway.web.answers import answer, dump, nothing
from gateway.web.bodies import idempotency_key, page_limit, path_id, read_body
from gateway.web.caller import Caller, visitor_of
from gateway.web.cursors import activity_cursor, read_activity_cursor
from gateway.web.schemas import NewConversation
from gateway.web.services import SERVICES
from gateway.web.support import SUPPORT
from gateway.web.views import conversation_view
from shared.errors import IdempotencyConflict, NotFound, TurnRunning
from shared.ids import new_id

if TYPE_CHECKING:
    from aiohttp import web

    from gateway.storage.transaction import Transaction

PAGE: Final = 20


async def create(request: web.Request) -> web.Response:
    """Begin a conversation; the same Idempotency-Key gives the same one."""
    services, caller = request.app[SERVICES], await visitor_of(request)
    body, key = await read_body(request, NewConversation), idempotency_key(request)
    digest = hashlib.sha256(dump(["conversation", body.title]).encode()).digest()
    now = services.clock.now()
    async with services.store.transaction() as tx:
        known = None if key is None else await tx.keys.find(caller.visitor.id, key)
        if known is not None:
            return answer(await _again(tx, caller, known, digest), 201)
        conversation = Conversation(
            id=new_id(now),
            project_id=caller.project.id,
            visitor_id=caller.visitor.id,
            title=title_of(body.title),
            language=caller.language,
            created_at=now,
            updated_at=now,
        )
        await tx.conversations.add(conversation)
        if key is not None:
            await tx.keys.add(caller.visitor.id, key, KeyRecord(digest, conversation.id), now)
        return answer(conversation_view(conversation, 0, None), 201)


async def _again(tx: Transaction, caller: Caller, known: KeyRecord, digest: bytes) -> dict[str, Any]:
    conversation = await tx.conversations.owned(known.created_id, caller.visitor.id)
    if known.body_hash != digest or conversation is None:
        raise IdempotencyConflict("This Idempotency-Key came before with another body: use a new key.")
    return await _view(tx, caller, conversation)


async def index(request: web.Request) -> web.Response:
    """List the visitor's conversations, newest activity first."""
    services, caller = request.app[SERVICES], await visitor_of(request)
    limit, before = page_limit(request, PAGE), read_activity_cursor(request)
    async with services.store.transaction() as tx:
        found = await tx.conversations.page(caller.visitor.id, limit + 1, before)
        views = [await _view(tx, caller, each) for each in found[:limit]]
    last = found[limit - 1] if len(found) > limit else None
    cursor = None if last is None else activity_cursor(last.updated_at, last.id)
    return answer({"conversations": views, "next_cursor": cursor})


async def show(request: web.Request) -> web.Response:
    """Show one conversation."""
    services, caller = request.app[SERVICES], await visitor_of(request)
    async with services.store.transaction() as tx:
        return answer(await _view(tx, caller, await owned(tx, caller, request)))


async def delete(request: web.Request) -> web.Response:
    """Remove a conversation with all that was said in it, also from the event stream."""
    services, caller = request.app[SERVICES], await visitor_of(request)
    async with services.store.transaction() as tx:
        conversation = await owned(tx, caller, request)
        if running := await tx.turns.running_in(conversation.id):
            raise TurnRunning(running.id)
    await request.app[SUPPORT].records.delete_conversation(conversation.id)
    return nothing()


async def owned(tx: Transaction, caller: Caller, request: web.Request) -> Conversation:
    """Read the conversation in the path, if it is the caller's.

    Raises:
        NotFound: not there, or not theirs.
    """
    conversation = await tx.conversations.owned(path_id(request, "conversation_id"), caller.visitor.id)
    if conversation is None:
        raise NotFound("There is no such conversation.")
    return conversation


async def _view(tx: Transaction, caller: Caller, conversation: Conversation) -> dict[str, Any]:
    marker = await tx.read_markers.position(conversation.id, caller.person)
    unread = await tx.messages.unread(conversation.id, Role.ADMIN, marker)
    running = await tx.turns.running_in(conversation.id)
    ticket = await tx.tickets.latest_in(conversation.id)
    sight = None if ticket is None else await tx.tickets.sight(ticket.id, caller.person, Role.ADMIN)
    shown = None if sight is None else visitor_view(sight)
    return conversation_view(conversation, unread, None if running is None else running.id, shown)
