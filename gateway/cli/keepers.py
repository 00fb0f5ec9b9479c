"""The two ways in which operator commands reach the data; both answer with the same plain data as the HTTP API."""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.parse
import urllib.request
from typing import TYPE_CHECKING, Any, Final, Protocol

from gateway.tickets.views import member_view
from shared.errors import InvalidRequest, NotReady, PasseurError

if TYPE_CHECKING:
    from gateway.identity.projects import Projects
    from gateway.identity.staff import StaffService
    from gateway.retention.service import RecordsService
    from gateway.storage.staff import StaffRole

TIMEOUT_S: Final = 60.0


class Keeper(Protocol):
    """What operators do with accounts and records."""

    async def add_staff(
        self, project_id: str, login: str, *, name: str, role: StaffRole, password: str | None
    ) -> dict[str, Any]:
        """Make an account; tells the password when it was generated."""
        ...

    async def set_password(self, login: str, password: str | None) -> dict[str, Any]:
        """Replace a password; tells it when it was generated."""
        ...

    async def disable_staff(self, login: str) -> dict[str, Any]:
        """Let someone in no more."""
        ...

    async def list_staff(self, project_id: str) -> dict[str, Any]:
        """List the staff of a project; of all when it is empty."""
        ...

    async def export_visitor(self, visitor_id: str) -> dict[str, Any]:
        """Hand out everything that is kept of a visitor."""
        ...

    async def export_conversation(self, conversation_id: str) -> dict[str, Any]:
        """Hand out one conversation whole."""
        ...

    async def delete_visitor(self, visitor_id: str) -> dict[str, Any]:
        """Remove everything that is kept of a visitor."""
        ...


class LocalKeeper:
    """Works on the data of a gateway that does not run; the store's lock keeps one from starting meanwhile."""

    def __init__(self, staff: StaffService, records: RecordsService, projects: Projects) -> None:
        """Take the use cases."""
        self._staff = staff
        self._records = records
        self._projects = projects

    async def add_staff(
        self, project_id: str, login: str, *, name: str, role: StaffRole, password: str | None
    ) -> dict[str, Any]:
        """Make an account."""
        if self._projects.get(project_id) is None:
            raise InvalidRequest.of("project", "is no project that is served here")
        member, chosen = await self._staff.add(project_id, login, name=name or login, role=role, password=password)
        return {"staff": member_view(member), "password": chosen if password is None else None}

    async def set_password(self, login: str, password: str | None) -> dict[str, Any]:
        """Replace a password."""
        member, chosen = await self._staff.set_password(login, password)
        return {"staff": member_view(member), "password": chosen if password is None else None}

    async def disable_staff(self, login: str) -> dict[str, Any]:
        """Let someone in no more."""
        return {"staff": member_view(await self._staff.disable(login)), "password": None}

    async def list_staff(self, project_id: str) -> dict[str, Any]:
        """List the staff."""
        return {"staff": [member_view(each) for each in await self._staff.of_project(project_id or None)]}

    async def export_visitor(self, visitor_id: str) -> dict[str, Any]:
        """Hand out everything that is kept of a visitor."""
        return await self._records.export_visitor(visitor_id)

    async def export_conversation(self, conversation_id: str) -> dict[str, Any]:
        """Hand out one conversation whole."""
        return await self._records.export_conversation(conversation_id)

    async def delete_visitor(self, visitor_id: str) -> dict[str, Any]:
        """Remove everything that is kept of a visitor."""
        return dict(await self._records.delete_visitor(visitor_id))


class RemoteKeeper:
    """Asks the running gateway, with the operator's token."""

    def __init__(self, url: str, token: str) -> None:
        """Take the gateway's address (`http://host:port`) and the token from its data folder."""
        self._url = url
        self._token = token

    async def add_staff(
        self, project_id: str, login: str, *, name: str, role: StaffRole, password: str | None
    ) -> dict[str, Any]:
        """Make an account."""
        body = {"project_id": project_id, "login": login, "name": name, "role": role, "password": password}
        return await self._ask("POST", "/v1/staff", body)

    async def set_password(self, login: str, password: str | None) -> dict[str, Any]:
        """Replace a password."""
        return await self._ask("POST", f"/v1/staff/{_part(login)}/password", {"password": password})

    async def disable_staff(self, login: str) -> dict[str, Any]:
        """Let someone in no more."""
        return await self._ask("POST", f"/v1/staff/{_part(login)}/disable")

    async def list_staff(self, project_id: str) -> dict[str, Any]:
        """List the staff."""
        return await self._ask("GET", f"/v1/staff?project_id={_part(project_id)}")

    async def export_visitor(self, visitor_id: str) -> dict[str, Any]:
        """Hand out everything that is kept of a visitor."""
        return await self._ask("GET", f"/v1/visitors/{_part(visitor_id)}/export")

    async def export_conversation(self, conversation_id: str) -> dict[str, Any]:
        """Hand out one conversation whole."""
        return await self._ask("GET", f"/v1/conversations/{_part(conversation_id)}/export")

    async def delete_visitor(self, visitor_id: str) -> dict[str, Any]:
        """Remove everything that is kept of a visitor."""
        return await self._ask("DELETE", f"/v1/visitors/{_part(visitor_id)}")

    async def _ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        return await asyncio.to_thread(self._send, method, path, body)

    def _send(self, method: str, path: str, body: dict[str, Any] | None) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._url + path, data, headers, method=method)  # noqa: S310 - our own gateway
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as response:  # noqa: S310
                return json.load(response)
        except urllib.error.HTTPError as exc:
            raise Refused(_detail(exc)) from exc
        except OSError as exc:
            raise NotReady(f"The gateway at {self._url} does not answer: {exc}.") from exc


class Refused(PasseurError):
    """What the running gateway refused, in its own words."""


def _detail(error: urllib.error.HTTPError) -> str:
    try:
        return str(json.load(error)["detail"])
    except (ValueError, KeyError):
        return f"HTTP {error.code}"


def _part(text: str) -> str:
    return urllib.parse.quote(text, safe="")
