"""The event streams of visitors and staff."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gateway.conversation.model import staff_stream_id
from gateway.events.hub import CHANNELS
from gateway.identity.staff import TICKET_PREFIX
from gateway.storage.again import again_unless_changed
from gateway.web.answers import answer
from gateway.web.caller import Caller, caller
from gateway.web.people import StaffCaller, person_of, staff_caller
from gateway.web.services import SERVICES
from gateway.web.sink import open_stream
from gateway.web.support import SUPPORT
from shared.errors import InvalidRequest, NotReady

if TYPE_CHECKING:
    from aiohttp import web

    from gateway.events.contract import Audience

TICKET_LIMIT: Final = 128
CURSOR_LIMIT: Final = 128


@dataclass(frozen=True, slots=True)
class Reading:
    """Who reads which stream, and what they see of it."""

    stream_id: str
    person: str
    project_id: str
    language: str
    audience: Audience | None = None


async def stream(request: web.Request) -> web.StreamResponse:
    """Follow the caller's stream from a cursor on, or from now; staff follow the one their project shares.

    A stream with the channel `account` counts as being there.
    """
    services = request.app[SERVICES]
    channels = _channels(request)
    reading = await again_unless_changed(lambda: _reader(request), services.clock)
    if services.lifecycle.draining:
        raise NotReady("The gateway is stopping: try again in a moment.")
    services.limits.streams.hold(reading.person, "event streams")
    try:
        if "account" not in channels:
            return await _follow(request, reading, channels)
        presence = request.app[SUPPORT].presence
        await presence.enter(reading.person, reading.project_id)
        try:
            return await _follow(request, reading, channels)
        finally:
            presence.leave(reading.person, reading.project_id)
    finally:
        services.limits.streams.release(reading.person)


async def _follow(request: web.Request, reading: Reading, channels: frozenset[str]) -> web.StreamResponse:
    cursor = request.headers.get("Last-Event-ID") or request.query.get("last_event_id")
    response, sink = await open_stream(request)
    async with request.app[SERVICES].hub.attached(
        reading.stream_id,
        sink,
        cursor=None if cursor is None else cursor[:CURSOR_LIMIT],
        language=reading.language,
        channels=channels,
        audience=reading.audience,
    ) as reader:
        await reader.finished.wait()
    await response.write_eof()
    return response


async def ticket(request: web.Request) -> web.Response:
    """Give a single-use ticket to those who cannot send headers."""
    who = await person_of(request)
    if isinstance(who, StaffCaller):
        issued = await request.app[SUPPORT].staff.open_ticket(who.member)
    else:
        issued = await request.app[SERVICES].sessions.open_ticket(who.visitor)
    return answer({"ticket": issued.ticket, "expires_at": issued.expires_at.isoformat()}, 201)


async def _reader(request: web.Request) -> Reading:
    given = request.query.get("ticket")
    if given is not None and "Authorization" not in request.headers:
        who = await _ticket_holder(request, given[:TICKET_LIMIT])
    else:
        who = await person_of(request)
    if not isinstance(who, StaffCaller):
        return Reading(who.visitor.stream_id, who.person, who.project.id, who.language)
    audience = await request.app[SUPPORT].attention.audience_of(who.member)
    return Reading(staff_stream_id(who.project.id), who.person, who.project.id, who.language, audience)


async def _ticket_holder(request: web.Request, given: str) -> Caller | StaffCaller:
    if given.startswith(TICKET_PREFIX):
        return staff_caller(request, await request.app[SUPPORT].staff.redeem_ticket(given))
    return caller(request, await request.app[SERVICES].sessions.redeem_ticket(given))


def _channels(request: web.Request) -> frozenset[str]:
    text = request.query.get("channels")
    if text is None:
        return CHANNELS
    asked = frozenset(text.split(","))
    if not asked <= CHANNELS:
        raise InvalidRequest.of("channels", f"must be among {', '.join(sorted(CHANNELS))}, joined by commas")
    return asked
