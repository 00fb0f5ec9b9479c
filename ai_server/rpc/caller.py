"""Who is calling, for the handler that runs."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shared.errors import InvalidRequest

if TYPE_CHECKING:
    from ai_server.clients import Client


@dataclass(frozen=True, slots=True)
class Caller:
    """The authenticated client, and its id for this request (correlation only)."""

    client: Client
    request_id: str


CURRENT: ContextVar[Caller] = ContextVar("passeur_caller")
"""Set by the edge before a handler runs; each call has its own task, hence its own value."""


def current() -> Caller:
    """Return the caller of the running handler."""
    return CURRENT.get()


def client_for(project_id: str) -> Client:
    """Return the calling client, if the project is its own.

    Raises:
        InvalidRequest: none is named.
        Forbidden: it is not.
    """
    client = CURRENT.get().client
    if not project_id:
        raise InvalidRequest.of("project_id", "is empty: name one of your projects")
    client.require_project(project_id)
    return client
