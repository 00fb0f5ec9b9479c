"""Messages of a conversation: reading them, and saying something."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from gateway.conversation.model import Kind
from gateway.turns.announcement import clarify_data, done_data, message_created
from gateway.turns.service import NewMessage
from gateway.web import schemas
from gateway.web.answers import answer
from gateway.web.bodies import idempotency_key, page_limit, path_id, read_body
from gateway.web.caller import Caller, visitor_of
from gateway.web.conversations import owned
from gateway.web.cursors import read_position_cursor
from gateway.web.frames import HttpEncoder
from gateway.web.services import SERVICES
from gateway.web.sink import EVENT_STREAM, open_stream
from gateway.web.views import message_view, problem_view

if TYPE_CHECKING:
    from aiohttp import web

    from gateway.storage.contract import TurnRecord
    from gateway.turns.service import Finished, Taken
    from gateway.web.services import Services

PAGE: Final = 50


async def index(request: web.Request) -> web.Response:
    """Read the newest messages, oldest first; a cursor leads to older ones."""
    services, caller = request.app[SERVICES], await visitor_of(request)
    limit, before = page_limit(request, PAGE), read_position_cursor(request)
    async with services.store.transaction() as tx:
        conversation = await owned(tx, caller, request)
        end = conversation.last_position + 1 if before is None else before
        found = await tx.messages.before(conversation.id, end, limit + 1)
    page = found[-limit:]
    views = [message_view(each, caller.project, caller.language) for each in page]
    return answer({"messages": views, "next_cursor": str(page[0].position) if len(found) > limit else None})


async def create(request: web.Request) -> web.StreamResponse:
    """Say something: as JSON the answer is the finished turn, as an event stream it is the turn as it goes."""
    services, caller = request.app[SERVICES], await visitor_of(request)
    body, key = await read_body(request, schemas.NewMessage), idempotency_key(request)
    services.limits.messages.take(caller.visitor.id)
    conversation_id, attached = path_id(request, "conversation_id"), tuple(body.attachment_ids)
    message = NewMessage(conversation_id, body.text, body.assistant, caller.language, key, attached)
    taken = await services.turns.send(caller.visitor, caller.project, message)
    if EVENT_STREAM in request.headers.get("Accept", ""):
        return await _stream(request, services, caller, taken)
    return answer(_finished(caller, await services.turns.wait(taken.turn.id)))


async def stop(request: web.Request) -> web.Response:
    """Stop a turn; what was said stays."""
    services, caller = request.app[SERVICES], await visitor_of(request)
    conversation_id, turn_id = path_id(request, "conversation_id"), path_id(request, "turn_id")
    return answer({"was_running": await services.turns.stop(caller.visitor, conversation_id, turn_id)})


async def _stream(request: web.Request, services: Services, caller: Caller, taken: Taken) -> web.StreamResponse:
    response, sink = await open_stream(request)
    if taken.turn.outcome is not None:
        for block in await _replayed(services, caller, taken.turn):
            sink.write(block)
    else:
        async with services.hub.attached(
            caller.visitor.stream_id, sink, cursor=taken.cursor, language=caller.language, turn_id=taken.turn.id
        ):
            await sink.over.wait()
    await response.write_eof()
    return response


async def _replayed(services: Services, caller: Caller, turn: TurnRecord) -> list[bytes]:
    """Make the events of a turn that was over before this request came."""
    encoder = HttpEncoder(services.projects)
    async with services.store.transaction() as tx:
        messages = [await tx.messages.get(turn.user_message_id), await tx.messages.get(turn.ai_message_id)]
    created = [message_created(each, caller.project.id) for each in messages if each is not None]
    done = encoder.view("turn.step", done_data(turn, str(turn.outcome), turn.problem), caller.language)
    views = [(each.type, encoder.view(each.type, each.data, caller.language)) for each in created]
    if messages[-1] is not None and messages[-1].kind is Kind.CLARIFICATION:
        views.insert(1, ("turn.step", clarify_data(turn)))
    return [encoder.passing(*each) for each in (*views, ("turn.step", done))]


def _finished(caller: Caller, finished: Finished) -> dict[str, Any]:
    turn, said = finished.turn, finished.said
    return {
        "outcome": turn.outcome,
        "turn_id": turn.id,
        "user_message": message_view(finished.asked, caller.project, caller.language),
        "ai_message": None if said is None else message_view(said, caller.project, caller.language),
        "problem": None if turn.problem is None else problem_view(turn.problem, caller.language),
    }
