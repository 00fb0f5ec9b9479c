"""Presence: saying how one is, and seeing how others are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from gateway.conversation.presence import Status
from gateway.conversation.unread import id_of, kind_of, staff_reader, visitor_reader
from gateway.web.answers import answer
from gateway.web.bodies import read_body
from gateway.web.people import StaffCaller, person_of
from gateway.web.services import SERVICES
from gateway.web.support import SUPPORT
from gateway.web.support_schemas import NewPresence
from shared.errors import Forbidden, InvalidRequest

if TYPE_CHECKING:
    from aiohttp import web

    from gateway.conversation.presence import Presence

ASKED_LIMIT: Final = 100


async def put(request: web.Request) -> web.Response:
    """Say how one is: status, current product, and telemetry under consent."""
    caller, body = await person_of(request), await read_body(request, NewPresence)
    known = await request.app[SUPPORT].presence.declare(
        caller.person,
        caller.project.id,
        chosen=Status(body.status),
        product=body.product or None,
        consent=body.consent,
        telemetry=body.telemetry,
    )
    return answer(presence_view(caller.person, known, whole=True))


async def index(request: web.Request) -> web.Response:
    """See how others are: visitors the staff of their tickets, staff their colleagues and visitors they name."""
    services, caller = request.app[SERVICES], await person_of(request)
    asked_staff, asked_visitors = _ids(request, "staff"), _ids(request, "visitor")
    async with services.store.transaction() as tx:
        if isinstance(caller, StaffCaller):
            colleagues = [each.id for each in await tx.staff.of_project(caller.project.id) if each.is_active]
            allowed = frozenset(colleagues)
            visitors = [await tx.visitors.get(each) for each in asked_visitors]
            if any(each is None or each.project_id != caller.project.id for each in visitors):
                raise Forbidden("Only visitors of your own project can be looked up.")
        else:
            allowed = frozenset(await tx.tickets.assignees_of(caller.visitor.id))
            if asked_visitors:
                raise Forbidden("Visitors cannot look up visitors.")
        if not frozenset(asked_staff) <= allowed:
            raise Forbidden("Only the staff of your own tickets can be looked up.")
        everyone = not asked_staff and not asked_visitors
        people = [staff_reader(each) for each in (sorted(allowed) if everyone else asked_staff)]
        people += [visitor_reader(each) for each in asked_visitors]
        known = {each.person: each for each in await tx.presence.of(people)}
    whole = isinstance(caller, StaffCaller)
    return answer({"people": [presence_view(each, known.get(each), whole=whole) for each in people]})


def presence_view(person: str, known: Presence | None, *, whole: bool) -> dict[str, Any]:
    """Show a presence; not `whole`, only whether the person is there."""
    return {
        "person": id_of(person),
        "kind": kind_of(person),
        "status": Status.OFFLINE.value if known is None else known.seen.value,
        "product": known.product if known is not None and whole else None,
        "telemetry": known.telemetry if known is not None and whole else None,
        "consent": known.consent if known is not None and whole else None,
        "updated_at": None if known is None else known.updated_at.isoformat(),
    }


def _ids(request: web.Request, name: str) -> list[str]:
    found = [each for each in request.query.get(name, "").split(",") if each]
    if len(found) > ASKED_LIMIT:
        raise InvalidRequest.of(name, f"names more than {ASKED_LIMIT} people")
    return found
