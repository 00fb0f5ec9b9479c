"""What happens around every request: its id, whose host and origin, how often, errors, and headers for safety."""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING, Final

import structlog
from aiohttp import web

from gateway.identity.origins import check_origin, is_own
from gateway.storage.again import again_unless_changed
from gateway.storage.contract import Undone
from gateway.web import problems
from gateway.web.services import REQUEST_ID, SERVICES
from gateway.web.sink import HandedOver
from shared.errors import NotReady, PasseurError
from shared.ids import new_id
from shared.logs import logger

if TYPE_CHECKING:
    from aiohttp.typedefs import Handler

    from gateway.web.services import Services

PROBE_PATHS: Final = frozenset({"/healthz", "/readyz"})
"""Asked by machines that call us by address, so their Host is not checked; they say nothing about anyone."""
API_PREFIX: Final = "/v1/"
REQUEST_ID_SHAPE: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
FORWARDED_LIMIT: Final = 10
SECURITY_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(self)",
}
API_CSP: Final = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
ALLOWED_HEADERS: Final = "Authorization, Content-Type, Accept-Language, Idempotency-Key, Last-Event-ID"
ANSWERING: Final = web.RequestKey("answering", bool)
"""Set on a request whose answer has begun."""
EXPOSED_HEADERS: Final = "Retry-After, X-Request-Id"
PREFLIGHT_AGE_S: Final = 600

log = logger(__name__)


@web.middleware
async def errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Give the request its id and turn whatever is raised into a problem document."""
    services = request.app[SERVICES]
    given = request.headers.get("X-Request-Id", "")
    request_id = given if REQUEST_ID_SHAPE.fullmatch(given) else new_id(services.clock.now())
    request[REQUEST_ID] = request_id
    began = services.clock.monotonic()
    with structlog.contextvars.bound_contextvars(request_id=request_id):
        response = await _guarded(request, handler, services, request_id)
    if not isinstance(response, HandedOver):  # whoever has its connection counts it at its end
        services.metrics.request(request.method, route_of(request), response.status, services.clock.monotonic() - began)
    return response


def route_of(request: web.Request) -> str:
    """Name the request's route by its pattern, which no caller chooses; `unknown` where there is none."""
    resource = request.match_info.route.resource
    return "unknown" if resource is None else resource.canonical


async def _guarded(request: web.Request, handler: Handler, services: Services, request_id: str) -> web.StreamResponse:
    try:
        return await handler(request)
    except PasseurError as exc:
        return problems.problem_of(exc, request_id, services.clock.now())
    except web.HTTPException as exc:
        return problems.problem_of_http(exc, request_id)
    except ConnectionError:
        raise
    except Exception:  # the edge of the process: the log gets the trace, the caller an id
        log.exception("request_broken", method=request.method, path=request.path)
        return problems.internal(request_id)


@web.middleware
async def doors(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Check Host, answer preflights, and hold back addresses that ask too much."""
    services = request.app[SERVICES]
    if request.path in PROBE_PATHS:
        return await handler(request)
    services.hosts.check(request.headers.get("Host"))
    if request.path.startswith(API_PREFIX):
        if request.method == "OPTIONS" and "Access-Control-Request-Method" in request.headers:
            return _preflight(request, services)
        services.limits.requests.take(address_of(request))
    return await handler(request)


def repeatable(handler: Handler) -> Handler:
    """Answer a request again that the database undid, while nothing was changed and nothing was answered yet.

    Its body must be one that `request.read` keeps.
    """

    async def answered(request: web.Request) -> web.StreamResponse:
        async def act() -> web.StreamResponse:
            try:
                return await handler(request)
            except Undone as exc:
                if request.get(ANSWERING):
                    raise NotReady(exc.message) from exc
                raise

        return await again_unless_changed(act, request.app[SERVICES].clock)

    return answered


async def add_headers(request: web.Request, response: web.StreamResponse) -> None:
    """Put the headers for safety on every response; a signal of the application."""
    request[ANSWERING] = True
    for name, value in SECURITY_HEADERS.items():
        response.headers.setdefault(name, value)
    response.headers.setdefault("Content-Security-Policy", API_CSP)
    response.headers["Server"] = "passeur"
    response.headers["X-Request-Id"] = request.get(REQUEST_ID, "")
    if request.path.startswith(API_PREFIX):
        response.headers["Vary"] = "Origin, Accept, Accept-Language, Authorization"
        origin = request.headers.get("Origin")
        if origin is not None and _listed(origin, request.app[SERVICES]):
            response.headers["Access-Control-Allow-Origin"] = origin
            response.headers["Access-Control-Expose-Headers"] = EXPOSED_HEADERS


def address_of(request: web.Request) -> str:
    """Find the caller's address: behind proxies that we trust, the last one that they did not add themselves."""
    trusted = request.app[SERVICES].trusted_proxies
    address = request.remote or ""
    hops = request.headers.get("X-Forwarded-For", "").split(",")[-FORWARDED_LIMIT:]
    while trusted and hops and _inside(address, trusted):
        address = hops.pop().strip() or address
    return address


def _inside(address: str, networks: tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]) -> bool:
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    return any(parsed in network for network in networks)


def _listed(origin: str, services: Services) -> bool:
    return any(origin.lower() in project.allowed_origins for project in services.projects)


def _preflight(request: web.Request, services: Services) -> web.Response:
    origin, host = request.headers.get("Origin"), request.headers.get("Host")
    everyone = frozenset().union(*(project.allowed_origins for project in services.projects))
    check_origin(origin, host, everyone)
    headers = {
        "Access-Control-Allow-Methods": "GET, POST, PUT, DELETE",
        "Access-Control-Allow-Headers": ALLOWED_HEADERS,
        "Access-Control-Max-Age": str(PREFLIGHT_AGE_S),
    }
    if origin is not None and is_own(origin, host):
        headers["Access-Control-Allow-Origin"] = origin
    return web.Response(status=204, headers=headers)
