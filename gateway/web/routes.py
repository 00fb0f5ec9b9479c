"""Every path of the gateway in one table: the router and `/openapi.json` are both made of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gateway.web import citations, conversations, events, health, messages, openapi, pages, schemas, sessions
from gateway.web.middleware import repeatable
from gateway.web.route import Route
from gateway.web.support_routes import SUPPORT_ROUTES

if TYPE_CHECKING:
    from aiohttp import web


IN_CONVERSATION: Final = "/v1/conversations/{conversation_id}"
PAGING: Final = {"limit": "1 to 100", "cursor": "`next_cursor` of the page before"}

ROUTES: Final = (
    Route("POST", "/v1/sessions", sessions.open_session, {201: schemas.Session}, schemas.NewSession,
          callers=(), problems=(400, 403, 413, 415)),
    Route("POST", "/v1/conversations", conversations.create, {201: schemas.Conversation}, schemas.NewConversation,
          takes_key=True, problems=(400, 409, 413, 415)),
    Route("GET", "/v1/conversations", conversations.index, {200: schemas.Conversations}, query=PAGING,
          problems=(400,)),
    Route("GET", IN_CONVERSATION, conversations.show, {200: schemas.Conversation}, problems=(404,)),
    Route("DELETE", IN_CONVERSATION, conversations.delete, {204: None}, problems=(404, 409)),
    Route("GET", f"{IN_CONVERSATION}/messages", messages.index, {200: schemas.Messages}, query=PAGING,
          problems=(400, 404)),
    Route("POST", f"{IN_CONVERSATION}/messages", messages.create, {200: schemas.Turn}, schemas.NewMessage,
          streams=True, takes_key=True, problems=(400, 404, 409, 413, 415)),
    Route("POST", f"{IN_CONVERSATION}/turns/{{turn_id}}/stop", messages.stop, {200: schemas.Stopped},
          problems=(404,)),
    Route("GET", f"{IN_CONVERSATION}/citations/{{citation_id}}", citations.show, {200: schemas.Passage},
          problems=(404,)),
    Route("GET", events.PATH, events.stream, {200: None}, streams=True, again=False, callers=("visitor", "staff"),
          problems=(400,), query={
        "channels": "`account`, `support` or both, joined by a comma; both when absent",
        "last_event_id": "where to go on, when the Last-Event-ID header cannot be sent",
        "ticket": "from POST /v1/events/ticket, in place of the Authorization header",
        "language": "the reader's language, in place of Accept-Language",
    }),
    Route("POST", "/v1/events/ticket", events.ticket, {201: schemas.StreamTicket}, callers=("visitor", "staff")),
    Route("GET", "/healthz", health.alive, {200: schemas.Alive}, callers=()),
    Route("GET", "/readyz", health.ready, {200: schemas.Readiness, 503: schemas.Readiness}, callers=(),
          query={"of": "`gateway`: only whether the gateway itself takes requests"}),
    *SUPPORT_ROUTES,
)  # fmt: skip


def add_routes(app: web.Application) -> None:
    """Put every operation, the document that describes them and the pages on an application."""
    for route in ROUTES:
        handler = repeatable(route.handler) if route.again else route.handler
        app.router.add_route(route.method, route.path, handler)
    document = openapi.build(ROUTES)
    app.router.add_get("/openapi.json", openapi.handler(document))
    app.router.add_get("/", pages.root)
    app.router.add_get("/chat", pages.chat)
    app.router.add_get("/inbox", pages.inbox)
    app.router.add_get("/status", pages.status)
    app.router.add_get(f"/{pages.MANIFEST}", pages.manifest)
    app.router.add_get("/static/{path:.+}", pages.static)
