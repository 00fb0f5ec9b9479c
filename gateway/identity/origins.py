"""Which pages may talk to us: by the Host they call and the Origin they come from."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from shared.errors import Forbidden, ForbiddenOrigin

if TYPE_CHECKING:
    from collections.abc import Iterable


HOST: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\[\]:/@?#\s]+)(?::[0-9]{0,5})?", re.ASCII)
"""A name or address and perhaps a port, and nothing else (RFC 9110 §7.2)."""


class HostGuard:
    """Refuses Host headers that are not ours, which is what DNS rebinding sends."""

    def __init__(self, hosts: Iterable[str]) -> None:
        """Take the host names (no port) under which the gateway is reached."""
        self._hosts = frozenset(host.lower() for host in hosts)

    def check(self, host: str | None) -> None:
        """Let a Host header pass.

        Raises:
            Forbidden: it names another host, or is missing.
        """
        match = HOST.fullmatch(host or "")
        if match is None or match[1].strip("[]").lower() not in self._hosts:
            raise Forbidden("This Host is not served here: add it to PASSEUR_GATEWAY_HOSTS if it should be.")


def check_origin(origin: str | None, host: str | None, allowed: frozenset[str]) -> None:
    """Let a page's Origin pass: none at all, our own, or a listed one. Call it after the Host was checked.

    Raises:
        ForbiddenOrigin: the page is not listed for the project.
    """
    if origin is None or is_own(origin, host) or origin.lower() in allowed:
        return
    raise ForbiddenOrigin("Pages of this origin may not use this project: add it to the key's allowed_origins.")


def is_own(origin: str, host: str | None) -> bool:
    """Tell whether an Origin is the very host that was called."""
    scheme, _, authority = origin.lower().partition("://")
    return scheme in {"http", "https"} and bool(authority) and authority == (host or "").lower()
