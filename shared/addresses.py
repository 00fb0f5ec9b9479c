"""Addresses as settings write them: `host:port`, IPv6 hosts in brackets."""

from __future__ import annotations

import ipaddress
from typing import Final

HIGHEST_PORT: Final = 65_535


def split_address(address: str) -> tuple[str, int]:
    """Split `host:port`; IPv6 hosts stand in brackets.

    Raises:
        ValueError: it is not that.
    """
    host, colon, port = address.rpartition(":")
    if not colon or not host or not port.isascii() or not port.isdigit() or int(port) > HIGHEST_PORT:
        raise ValueError(f"{address!r} is not host:port")
    return host.removeprefix("[").removesuffix("]"), int(port)


def is_loopback(host: str) -> bool:
    """Tell whether a host name or address stays on this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
