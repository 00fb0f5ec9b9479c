"""Staff: signing in and out, and the accounts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateway.tickets.views import member_view
from gateway.web.answers import answer, nothing
from gateway.web.bodies import read_body
from gateway.web.caller import bearer
from gateway.web.middleware import address_of
from gateway.web.people import Operator, StaffCaller, keeper_of, staff_of
from gateway.web.services import SERVICES
from gateway.web.support import SUPPORT
from gateway.web.support_schemas import NewPassword, NewStaff, SignIn
from shared.errors import Forbidden, InvalidRequest, NotFound

if TYPE_CHECKING:
    from aiohttp import web

    from gateway.identity.projects import Project
    from gateway.storage.staff import StaffMember


async def sign_in(request: web.Request) -> web.Response:
    """Open a staff session. Every refusal is the same; a login can be tried a few times a minute."""
    services, support = request.app[SERVICES], request.app[SUPPORT]
    services.limits.sessions.take(address_of(request))
    body = await read_body(request, SignIn)
    support.sign_ins.take(body.login.casefold())
    issued = await support.staff.sign_in(body.login, body.password)
    project = services.projects.get(issued.member.project_id)
    if project is None:
        raise Forbidden("The project of this account is not served here.")
    me = _me(issued.member, project)
    return answer({**me, "token": issued.token, "expires_at": issued.expires_at.isoformat()}, 201)


async def sign_out(request: web.Request) -> web.Response:
    """End the session; a second time is no error."""
    await request.app[SUPPORT].staff.sign_out(bearer(request) or "")
    return nothing()


async def me(request: web.Request) -> web.Response:
    """Tell who is signed in."""
    caller = await staff_of(request)
    return answer(_me(caller.member, caller.project))


async def index(request: web.Request) -> web.Response:
    """List the staff of the project (for operators: of `project_id`, or of all)."""
    caller = await staff_of(request) if request.query.get("project_id") is None else await keeper_of(request)
    project_id = caller.member.project_id if isinstance(caller, StaffCaller) else request.query.get("project_id")
    found = await request.app[SUPPORT].staff.of_project(project_id or None)
    return answer({"staff": [member_view(each) for each in found]})


async def create(request: web.Request) -> web.Response:
    """Make an account."""
    services, support, keeper = request.app[SERVICES], request.app[SUPPORT], await keeper_of(request)
    body = await read_body(request, NewStaff)
    project_id = body.project_id if isinstance(keeper, Operator) else keeper.member.project_id
    if services.projects.get(project_id) is None:
        raise InvalidRequest.of("project_id", "is no project that is served here")
    member, password = await support.staff.add(
        project_id, body.login, name=body.name or body.login, role=body.role, password=body.password
    )
    return answer({"staff": member_view(member), "password": password if body.password is None else None}, 201)


async def set_password(request: web.Request) -> web.Response:
    """Replace a password, which ends every session of the account."""
    support, login = request.app[SUPPORT], await _managed_login(request)
    body = await read_body(request, NewPassword)
    member, password = await support.staff.set_password(login, body.password)
    return answer({"staff": member_view(member), "password": password if body.password is None else None})


async def disable(request: web.Request) -> web.Response:
    """Let someone in no more; what they wrote stays."""
    login = await _managed_login(request)
    return answer({"staff": member_view(await request.app[SUPPORT].staff.disable(login)), "password": None})


async def _managed_login(request: web.Request) -> str:
    """Read the login in the path, if the caller may manage that account."""
    keeper, login = await keeper_of(request), request.match_info["login"]
    if isinstance(keeper, StaffCaller):
        colleagues = await request.app[SUPPORT].staff.of_project(keeper.member.project_id)
        if login.casefold() not in {each.login for each in colleagues}:
            raise NotFound(f"There is nobody with the login {login!r}.")
    return login


def _me(member: StaffMember, project: Project) -> dict[str, Any]:
    return {
        "staff": member_view(member),
        "project_id": project.id,
        "project_name": project.name,
        "languages": list(project.languages),
    }
