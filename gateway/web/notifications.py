"""Notices: what a person should know when they come back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gateway.tickets.views import notification_view
from gateway.web.answers import answer
from gateway.web.bodies import page_limit, path_id
from gateway.web.notices import rendered
from gateway.web.people import person_of
from gateway.web.services import SERVICES
from shared.errors import NotFound

if TYPE_CHECKING:
    from aiohttp import web

PAGE: Final = 50


async def index(request: web.Request) -> web.Response:
    """List the caller's notices, newest first."""
    services, caller = request.app[SERVICES], await person_of(request)
    limit = page_limit(request, PAGE)
    unread_only = request.query.get("unread") == "true"
    async with services.store.transaction() as tx:
        found = await tx.notifications.page(caller.person, limit, unread_only=unread_only)
        unread = await tx.notifications.unread_count(caller.person)
    views = [rendered(notification_view(each), caller.language) for each in found]
    return answer({"notifications": views, "unread_count": unread})


async def mark_read(request: web.Request) -> web.Response:
    """Mark a notice as read; a second time changes nothing."""
    services, caller = request.app[SERVICES], await person_of(request)
    async with services.store.transaction() as tx:
        notification_id = path_id(request, "notification_id")
        found = await tx.notifications.mark_read(caller.person, notification_id, services.clock.now())
    if found is None:
        raise NotFound("There is no such notification.")
    return answer(rendered(notification_view(found), caller.language))
