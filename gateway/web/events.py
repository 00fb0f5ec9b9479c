"""The event streams of visitors and staff."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Final

from aiohttp import web

from gateway.conversation.model import staff_stream_id
from gateway.events.hub import CHANNELS
from gateway.identity.staff import TICKET_PREFIX
from gateway.storage.again import again_unless_changed
from gateway.web.answers import answer
from gateway.web.caller import Caller, caller
from gateway.web.people import StaffCaller, person_of, staff_caller
from gateway.web.services import SERVICES
from gateway.web.sink import Connection, open_long_stream
from gateway.web.support import SUPPORT
from shared.errors import InvalidRequest, NotReady

if TYPE_CHECKING:
    from gateway.events.contract import Audience
    from gateway.events.reader import Reader
    from gateway.presence.service import PresenceService
    from gateway.web.services import Services

PATH: Final = "/v1/events"
TICKET_LIMIT: Final = 128
CURSOR_LIMIT: Final = 128
SUBSETS: Final = {
    subset: subset for count in range(len(CHANNELS) + 1) for subset in map(frozenset, combinations(CHANNELS, count))
}
"""Every choice of channels once, for all who make it."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Who reads which stream, and what they see of it."""

    stream_id: str
    person: str
    project_id: str
    language: str
    audience: Audience | None = None


class _Stay:
    """What one open stream holds of the gateway, from its request until its connection is lost."""

    __slots__ = ("_began", "_presence", "_project_id", "_services", "person", "reader")

    def __init__(self, services: Services, presence: PresenceService | None, reading: Reading) -> None:
        """Count one more stream of a person; `presence` is told where the stream counts as being there.

        Raises:
            RateLimited: the person holds as many as they may.
        """
        services.limits.streams.hold(reading.person, "event streams")
        self._services = services
        self._presence = presence
        self._project_id = reading.project_id
        self._began = services.clock.monotonic()
        self.person = reading.person
        self.reader: Reader | None = None

    def over(self) -> None:
        """Let go of all of it."""
        if self.reader is not None:
            self._services.hub.leave(self.reader)
        if self._presence is not None:
            self._presence.leave(self.person, self._project_id)
        self._services.limits.streams.release(self.person)

    def lost(self) -> None:
        """The connection of a stream that was opened is gone: count the request, which ends with it."""
        self.over()
        seconds = self._services.clock.monotonic() - self._began
        self._services.metrics.request("GET", PATH, web.HTTPOk.status_code, seconds)


async def stream(request: web.Request) -> web.StreamResponse:
    """Follow the caller's stream from a cursor on, or from now; staff follow the one their project shares.

    A stream with the channel `account` counts as being there. The handler returns once the stream is open: a reader
    that waits for events must weigh as little as can be.
    """
    services = request.app[SERVICES]
    channels = _channels(request)
    reading = await again_unless_changed(lambda: _reader(request), services.clock)
    if services.lifecycle.draining:
        raise NotReady("The gateway is stopping: try again in a moment.")
    presence = request.app[SUPPORT].presence if "account" in channels else None
    stay = _Stay(services, presence, reading)
    try:
        if presence is not None:
            await presence.enter(reading.person, reading.project_id)
        return await _open(request, reading, channels, stay)
    except BaseException:
        stay.over()
        raise


async def _open(request: web.Request, reading: Reading, channels: frozenset[str], stay: _Stay) -> web.StreamResponse:
    cursor = request.headers.get("Last-Event-ID") or request.query.get("last_event_id")
    hub, connection = request.app[SERVICES].hub, Connection(request)
    reader = stay.reader = hub.join(
        reading.stream_id, connection, language=reading.language, channels=channels, audience=reading.audience
    )
    beginning = await hub.look(reader, None if cursor is None else cursor[:CURSOR_LIMIT])
    response = await open_long_stream(request)
    connection.take_over(request, stay.lost)
    hub.begin(reader, beginning)
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
    return SUBSETS[asked]
