"""Who calls, when it need not be a visitor: staff and operators, each by a bearer token of their kind."""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateway.conversation.unread import staff_reader
from gateway.identity.origins import check_origin
from gateway.identity.sessions import digest
from gateway.identity.staff import TOKEN_PREFIX
from gateway.web.caller import Caller, bearer, reader_language, visitor_of
from gateway.web.services import SERVICES
from gateway.web.support import SUPPORT
from shared.errors import Forbidden, Unauthenticated

if TYPE_CHECKING:
    from aiohttp import web

    from gateway.identity.projects import Project
    from gateway.storage.staff import StaffMember


@dataclass(frozen=True, slots=True)
class StaffCaller:
    """One of the staff, their project, and the language this request is answered in."""

    member: StaffMember
    project: Project
    language: str

    @property
    def person(self) -> str:
        """The member among all people, as presence, notices and read markers name them."""
        return staff_reader(self.member.id)


@dataclass(frozen=True, slots=True)
class Operator:
    """Whoever can read the operator's token on this machine."""


async def staff_of(request: web.Request, *, admin: bool = False) -> StaffCaller:
    """Authenticate the bearer of a staff session, from our own pages or no page.

    Raises:
        Unauthenticated: no token or a wrong one.
        ForbiddenOrigin: another page than ours.
        Forbidden: an admin is asked for, and this is none.
    """
    token = bearer(request)
    if token is None:
        raise Unauthenticated
    called = staff_caller(request, await request.app[SUPPORT].staff.authenticate(token))
    if admin and called.member.role != "admin":
        raise Forbidden("This needs the role `admin`.")
    return called


def staff_caller(request: web.Request, member: StaffMember) -> StaffCaller:
    """Put a proven member of the staff beside their project; only our own pages may act for them.

    Raises:
        Unauthenticated: their project is gone.
        ForbiddenOrigin: another page than ours.
    """
    project = request.app[SERVICES].projects.get(member.project_id)
    if project is None:
        raise Unauthenticated
    check_origin(request.headers.get("Origin"), request.headers.get("Host"), frozenset())
    return StaffCaller(member, project, reader_language(request, project, project.default_language))


async def person_of(request: web.Request) -> Caller | StaffCaller:
    """Authenticate a visitor or one of the staff.

    Raises:
        Unauthenticated: no token or a wrong one.
        ForbiddenOrigin: a page that may not.
    """
    return await staff_of(request) if _is_staff(request) else await visitor_of(request)


async def keeper_of(request: web.Request) -> StaffCaller | Operator:
    """Authenticate someone who may manage accounts and records: an admin, or an operator on this machine.

    Raises:
        Unauthenticated: no token or a wrong one.
        Forbidden: one of the staff who is no admin.
    """
    if _is_staff(request):
        return await staff_of(request, admin=True)
    kept, token = request.app[SUPPORT].operator_token_hash, bearer(request)
    if kept is None or token is None or not hmac.compare_digest(digest(token), kept):
        raise Unauthenticated
    return Operator()


async def owner_of(request: web.Request) -> Caller | StaffCaller | Operator:
    """Authenticate a visitor, an admin or an operator, for what concerns a visitor's own records.

    Raises:
        Unauthenticated: no token or a wrong one.
        Forbidden: one of the staff who is no admin.
    """
    kept, token = request.app[SUPPORT].operator_token_hash, bearer(request)
    is_operator = kept is not None and token is not None and hmac.compare_digest(digest(token), kept)
    return await keeper_of(request) if is_operator or _is_staff(request) else await visitor_of(request)


def _is_staff(request: web.Request) -> bool:
    return (bearer(request) or "").startswith(TOKEN_PREFIX)
