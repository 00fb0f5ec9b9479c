"""Visitor sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway.conversation.texts import primary
from gateway.identity.origins import check_origin
from gateway.identity.proofs import verify_hmac, verify_jwt
from gateway.web.answers import answer
from gateway.web.bodies import read_body
from gateway.web.caller import bearer, reader_language
from gateway.web.middleware import address_of
from gateway.web.schemas import NewSession
from gateway.web.services import SERVICES
from shared.errors import Unauthenticated
from shared.logs import logger

if TYPE_CHECKING:
    from datetime import datetime

    from aiohttp import web

    from gateway.identity.projects import Project
    from gateway.identity.proofs import Proven
    from gateway.identity.sessions import IssuedSession

log = logger(__name__)


async def open_session(request: web.Request) -> web.Response:
    """Open a session for a new visitor, or renew the bearer's.

    The response holds a secret, so an Idempotency-Key is not honoured here: repeating makes another anonymous visitor.
    """
    services = request.app[SERVICES]
    services.limits.sessions.take(address_of(request))
    body = await read_body(request, NewSession)
    found = services.projects.by_public_key(body.public_key)
    if found is None:
        log.info("session_refused", reason="public_key")
        raise Unauthenticated
    project, key = found
    check_origin(request.headers.get("Origin"), request.headers.get("Host"), key.allowed_origins)
    try:
        issued = await _issue(request, body, project)
    except Unauthenticated as exc:
        log.info("session_refused", reason=exc.cause, project=project.id)
        raise
    session = {"token": issued.token, "visitor_id": issued.visitor.id, "expires_at": issued.expires_at.isoformat()}
    return answer(session, 201)


async def _issue(request: web.Request, body: NewSession, project: Project) -> IssuedSession:
    """Open what the body proves, or renew the bearer's, or begin a new visitor."""
    services = request.app[SERVICES]
    token = bearer(request)
    asked = primary(body.language)
    language = asked if asked in project.languages else reader_language(request, project, project.default_language)
    proven = _proven(body, project, services.clock.now())
    if proven is not None:
        return await services.sessions.open_proven(project, proven, language)
    if token is not None:
        return await services.sessions.renew(token, project)
    return await services.sessions.open_anonymous(project, language)


def _proven(body: NewSession, project: Project, now: datetime) -> Proven | None:
    """Check what the host says about its user; None when it says nothing. An empty proof is a wrong one."""
    if body.jwt is not None:
        return verify_jwt(body.jwt, project.host, now)
    if body.user is not None:
        user = body.user
        return verify_hmac(project.id, user.user_id, user.issued_at, user.signature, project.host, now)
    return None
