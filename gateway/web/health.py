"""Whether the process lives, and whether a question can be answered."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from gateway.web.answers import answer
from gateway.web.services import SERVICES
from shared.errors import NotReady

if TYPE_CHECKING:
    from aiohttp import web

    from gateway.web.services import Services

OK: Final = 200
UNAVAILABLE: Final = 503
PROBE_S: Final = 1.5
"""How long the store may take to show that it works; readiness flips within 2 s."""
APART: Final = "Other gateways are not heard: streams follow the database every second."


async def alive(request: web.Request) -> web.Response:
    """Touch nothing and answer."""
    del request
    return answer({"status": "alive"})


async def ready(request: web.Request) -> web.Response:
    """Tell the truth about new questions: 200 when one can be answered, 503 when not, with the reasons.

    With the AI server away the state is `degraded`, not `down`: messages are still kept and read. A load balancer that
    should go on sending traffic then asks `/readyz?of=gateway`, which is 503 only while the gateway itself is down.
    """
    services = request.app[SERVICES]
    gateway = await _gateway(services)
    if gateway["state"] == "down":
        return answer({"state": "down", "dependencies": {"gateway": gateway}}, UNAVAILABLE)
    if request.query.get("of") == "gateway":
        return answer({"state": gateway["state"], "dependencies": {"gateway": gateway}})
    seen = await services.assistant.readiness()
    dependencies = {"gateway": gateway, "ai_server": {"state": seen.state, "reasons": list(seen.reasons)}}
    if not seen.reachable or seen.state == "down":
        return answer({"state": "degraded", "dependencies": dependencies}, UNAVAILABLE)
    state = gateway["state"] if seen.state == "ready" else seen.state
    return answer({"state": state, "dependencies": dependencies}, OK)


async def _gateway(services: Services) -> dict[str, Any]:
    if services.lifecycle.draining:
        return {"state": "down", "reasons": ["The gateway is stopping."]}
    # A transaction on a database that hangs ends late whatever becomes of us, so it has a task of its own.
    probing = asyncio.create_task(_probe(services), name="readiness")
    await asyncio.wait({probing}, timeout=PROBE_S)
    reason = probing.result() if probing.done() else f"The database did not answer within {PROBE_S:g} s."
    if reason is not None:
        return {"state": "down", "reasons": [reason]}
    if services.relay is not None and services.relay.broken:
        return {"state": "degraded", "reasons": [APART]}
    return {"state": "ready", "reasons": []}


async def _probe(services: Services) -> str | None:
    """Tell why nothing can be stored; None when it can."""
    try:
        async with services.store.transaction():
            return None
    except NotReady as exc:
        return exc.message
