"""Builds the web application of services that others have opened."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from aiohttp import web

from gateway.attachments.service import sweep_for_ever
from gateway.storage import upkeep
from gateway.web import middleware
from gateway.web.bodies import BODY_LIMIT
from gateway.web.routes import add_routes
from gateway.web.services import SERVICES
from gateway.web.support import SUPPORT

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from gateway.web.services import Services


def build_app(services: Services) -> web.Application:
    """Make the application; its background work runs from start-up to clean-up."""
    app = web.Application(middlewares=[middleware.errors, middleware.doors], client_max_size=BODY_LIMIT)
    app[SERVICES] = services
    app[SUPPORT] = services.support
    app.on_response_prepare.append(middleware.add_headers)
    app.on_shutdown.append(_farewell)
    app.cleanup_ctx.append(_background)
    add_routes(app)
    return app


async def _farewell(app: web.Application) -> None:
    """End the event streams, whose connections are not aiohttp's any more."""
    hub = app[SERVICES].hub
    hub.close()
    await hub.emptied()


async def _background(app: web.Application) -> AsyncIterator[None]:
    services, support = app[SERVICES], app[SUPPORT]
    services.metrics.watch(services.hub, services.turns)
    services.pending.watchers.append(services.metrics.clarification)
    tasks = [
        asyncio.create_task(services.turns.serve(), name="turn leases"),
        asyncio.create_task(services.hub.ping_for_ever(), name="stream pings"),
        asyncio.create_task(upkeep.tidy_for_ever(services.store, services.clock), name="upkeep"),
        asyncio.create_task(support.presence.serve(), name="presence leases"),
        asyncio.create_task(sweep_for_ever(support.attachments, services.clock), name="attachments"),
        asyncio.create_task(support.summaries.serve(), name="summaries"),
    ]
    if services.relay is not None:
        tasks.append(asyncio.create_task(services.relay.serve(), name="relay"))
    yield
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
