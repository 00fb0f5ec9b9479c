"""How a file of this folder offers its service to the server."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from google.protobuf.descriptor import ServiceDescriptor

    from ai_server.clients import Scope
    from ai_server.services import Services


@dataclass(frozen=True, slots=True)
class Offer:
    """One service: its descriptor, what makes its servicer, and what adds that to a server.

    `scope` is needed by every rpc that `exceptions` (rpc name to scope) does not name; None lets any client in.
    `needs` names the dependencies without which its health is NOT_SERVING.
    """

    descriptor: ServiceDescriptor
    servicer: Callable[[Services], Any]
    add: Callable[[Any, Any], None]
    scope: Scope | None
    exceptions: Mapping[str, Scope | None] = field(default_factory=dict)
    needs: tuple[str, ...] = ()

    @property
    def full_name(self) -> str:
        """The service's name on the wire."""
        return self.descriptor.full_name

    def scopes(self) -> dict[str, Scope | None]:
        """Map each full method name to the scope it needs."""
        return {
            f"/{self.full_name}/{method.name}": self.exceptions.get(method.name, self.scope)
            for method in self.descriptor.methods
        }
