"""The visitor's event stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gateway.events.hub import CHANNELS
from gateway.web.answers import answer
from gateway.web.caller import Caller, caller, visitor_of
from gateway.web.services import SERVICES
from gateway.web.sink import open_stream
from shared.errors import InvalidRequest, NotReady

if TYPE_CHECKING:
    from aiohttp import web

TICKET_LIMIT: Final = 128
CURSOR_LIMIT: Final = 128


async def stream(request: web.Request) -> web.StreamResponse:
    """Follow the visitor's stream from a cursor on, or from now."""
    services = request.app[SERVICES]
    channels = _channels(request)
    reading = await _reader(request)
    if services.lifecycle.draining:
        raise NotReady("The gateway is stopping: try again in a moment.")
    cursor = request.headers.get("Last-Event-ID") or request.query.get("last_event_id")
    services.limits.streams.hold(reading.visitor.id, "event streams")
    try:
        response, sink = await open_stream(request)
        async with services.hub.attached(
            reading.visitor.stream_id,
            sink,
            cursor=None if cursor is None else cursor[:CURSOR_LIMIT],
            language=reading.language,
            channels=channels,
        ) as reader:
            await reader.finished.wait()
        await response.write_eof()
        return response
    finally:
        services.limits.streams.release(reading.visitor.id)


async def ticket(request: web.Request) -> web.Response:
    """Give a single-use ticket to those who cannot send headers."""
    services, reading = request.app[SERVICES], await visitor_of(request)
    issued = await services.sessions.open_ticket(reading.visitor)
    return answer({"ticket": issued.ticket, "expires_at": issued.expires_at.isoformat()}, 201)


async def _reader(request: web.Request) -> Caller:
    given = request.query.get("ticket")
    if given is None or "Authorization" in request.headers:
        return await visitor_of(request)
    return caller(request, await request.app[SERVICES].sessions.redeem_ticket(given[:TICKET_LIMIT]))


def _channels(request: web.Request) -> frozenset[str]:
    text = request.query.get("channels")
    if text is None:
        return CHANNELS
    asked = frozenset(text.split(","))
    if not asked <= CHANNELS:
        raise InvalidRequest.of("channels", f"must be among {', '.join(sorted(CHANNELS))}, joined by commas")
    return asked
