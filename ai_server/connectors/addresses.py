"""Which IP addresses may be dialled: public ones, and the private networks that an operator listed."""

from __future__ import annotations

import ipaddress
from ipaddress import IPv4Address, IPv6Address
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ai_server.connectors.contract import Network

Address = IPv4Address | IPv6Address

_NAT64: Final = (ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("64:ff9b:1::/48"))
_V4_COMPATIBLE: Final = ipaddress.IPv6Network("::/96")
_REFUSED: Final = tuple(
    ipaddress.ip_network(text)
    for text in (
        "0.0.0.0/8",  # this network: Linux dials 127.0.0.1
        "100.64.0.0/10",  # carrier-grade NAT, and clouds' inner services
        "192.0.0.0/24",  # IETF protocol assignments, whatever Python calls global in it
        "192.88.99.0/24",  # 6to4 relays
        "240.0.0.0/4",  # reserved, broadcast
        "fec0::/10",  # site-local, deprecated but routed on some networks
    )
)


def embedded(address: Address) -> tuple[Address, ...]:
    """List the address and every IPv4 address that it carries inside: mapped, compatible, 6to4, Teredo, NAT64."""
    if isinstance(address, IPv4Address):
        return (address,)
    inner: list[Address] = [address]
    if address.ipv4_mapped is not None:
        inner.append(address.ipv4_mapped)
    if address.sixtofour is not None:
        inner.append(address.sixtofour)
    if address.teredo is not None:
        inner.extend(address.teredo)
    if address in _V4_COMPATIBLE or any(address in network for network in _NAT64):
        inner.append(IPv4Address(int(address) & 0xFFFF_FFFF))
    return tuple(inner)


def _is_public(address: Address) -> bool:
    if any(address.version == network.version and address in network for network in _REFUSED):
        return False
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


def may_dial(text: str, listed: Iterable[Network]) -> bool:
    """Tell whether an address in text form (a zone after `%` is ignored) may be connected to.

    An address that carries another one must pass for both, so `::ffff:127.0.0.1` is as private as `127.0.0.1`; a
    listed network allows what lies in it, in either form. What is no address at all may not be dialled.
    """
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    forms = embedded(address)
    networks = tuple(listed)
    if any(form.version == network.version and form in network for form in forms for network in networks):
        return True
    # A mapped address is a way to write the IPv4 one: Python does not call the outer form global.
    checked = forms[1:] if isinstance(address, IPv6Address) and address.ipv4_mapped is not None else forms
    return all(_is_public(form) for form in checked)
