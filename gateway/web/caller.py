"""Who calls: a visitor by bearer token, from a page that may, in a language they read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gateway.conversation.texts import preferred, primary
from gateway.conversation.unread import visitor_reader
from gateway.identity.origins import check_origin
from gateway.web.services import SERVICES
from shared.errors import Unauthenticated

if TYPE_CHECKING:
    from aiohttp import web

    from gateway.conversation.model import Visitor
    from gateway.identity.projects import Project

SCHEME: Final = "bearer"


@dataclass(frozen=True, slots=True)
class Caller:
    """A visitor, their project, and the language this request is answered in."""

    visitor: Visitor
    project: Project
    language: str

    @property
    def person(self) -> str:
        """The visitor among all people, as presence, notices and read markers name them."""
        return visitor_reader(self.visitor.id)


async def visitor_of(request: web.Request) -> Caller:
    """Authenticate the bearer of a visitor session.

    Raises:
        Unauthenticated: no token or a wrong one.
        ForbiddenOrigin: the page's origin is not listed for the visitor's project.
    """
    token = bearer(request)
    if token is None:
        raise Unauthenticated
    return caller(request, await request.app[SERVICES].sessions.authenticate(token))


def caller(request: web.Request, visitor: Visitor) -> Caller:
    """Check the origin of an authenticated visitor and choose their language."""
    project = request.app[SERVICES].projects.get(visitor.project_id)
    if project is None:
        raise Unauthenticated
    check_origin(request.headers.get("Origin"), request.headers.get("Host"), project.allowed_origins)
    return Caller(visitor, project, reader_language(request, project, visitor.language))


def bearer(request: web.Request) -> str | None:
    """Read the token of `Authorization: Bearer …`; None when there is none."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() if scheme.lower() == SCHEME and token.strip() else None


def reader_language(request: web.Request, project: Project, otherwise: str) -> str:
    """Choose a language of the project: the query's `language`, else Accept-Language, else `otherwise`."""
    asked = primary(request.query.get("language", ""))
    if asked in project.languages:
        return asked
    fallback = otherwise if otherwise in project.languages else project.default_language
    return preferred(request.headers.get("Accept-Language", ""), project.languages, fallback)
