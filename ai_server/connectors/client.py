"""The only way a connector speaks HTTP: to one origin, to allowed addresses, for a bounded time and size.

The address is checked where the socket is made, after every resolver: a name that changes between a check and the
dial, a number in octal and an IPv6 form of a private address all end at the same gate. A redirect is followed on the
same origin only, each hop dialled through that gate; credentials therefore never leave the origin.
"""

from __future__ import annotations

import asyncio
import json
import socket
from typing import TYPE_CHECKING, Any, Final

import aiohttp
from yarl import URL

from ai_server.connectors.addresses import may_dial
from shared.errors import ProviderOverloaded, ProviderRefused

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from aiohttp.abc import AbstractResolver

    from ai_server.connectors.contract import ConnectorSpec, Network

BODY_LIMIT: Final = 2 * 1024 * 1024
"""Most bytes of an answer: ten results of any of these services are far below."""
CHUNK: Final = 64 * 1024
HOP_LIMIT: Final = 3
CONNECT_TIMEOUT_S: Final = 3.0
CONNECTION_LIMIT: Final = 8
URL_LIMIT: Final = 4_000

AddrInfo = tuple[int, int, int, str, tuple[Any, ...]]
"""As `socket.getaddrinfo` gives it: family, type, protocol, canonical name, address."""

_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_RETRY_LATER: Final = frozenset({408, 425, 429, 500, 502, 503, 504})


class AddressNotAllowed(OSError):
    """A socket was about to be made to an address that is neither public nor listed."""


def open_socket(info: AddrInfo) -> socket.socket:
    """Make the socket that will be connected to an address."""
    family, kind, protocol, _, _ = info
    return socket.socket(family=family, type=kind, proto=protocol)


def guarded(
    networks: tuple[Network, ...], make: Callable[[AddrInfo], socket.socket] = open_socket
) -> Callable[[AddrInfo], socket.socket]:
    """Make a socket factory that refuses what may not be dialled, before there is a socket. `make` is for tests."""

    def factory(info: AddrInfo) -> socket.socket:
        address = str(info[4][0])
        if not may_dial(address, networks):
            raise AddressNotAllowed(f"the address {address} is neither public nor listed")
        return make(info)

    return factory


def origin_of(text: str) -> URL:
    """Read a configured base address.

    Raises:
        ValueError: not http(s), no host, credentials inside, a query or a fragment; the message says which.
    """
    url = URL(text)
    if url.scheme not in {"http", "https"}:
        raise ValueError("must begin with https:// or http://")
    if not url.host:
        raise ValueError("has no host")
    if url.user is not None or url.password is not None:
        raise ValueError("holds credentials: put them in `user` and `secret`")
    if url.query_string or url.fragment:
        raise ValueError("must end with its path")
    return url


class SafeClient:
    """HTTP to the origin of one connector instance. Made on first use, inside the running loop."""

    def __init__(
        self,
        spec: ConnectorSpec,
        headers: Mapping[str, str],
        *,
        resolver: AbstractResolver | None = None,
        make_socket: Callable[[AddrInfo], socket.socket] = open_socket,
    ) -> None:
        """Take the declared instance and the headers that carry its credentials; the last two are for tests."""
        self._spec = spec
        self._base = origin_of(spec.url)
        self._headers = dict(headers)
        self._resolver = resolver
        self._make_socket = make_socket
        self._session: aiohttp.ClientSession | None = None

    async def json(self, path: str, query: Mapping[str, str]) -> Any:
        """GET `path` under the base address and parse the answer as JSON.

        Raises:
            ProviderOverloaded, ProviderRefused: as `Connector.search`.
        """
        body, kind = await self.fetch("GET", path, query, accept="application/json")
        if "json" not in kind:
            raise self._refused("not_json", f"answered {kind or 'without a type'} instead of JSON: check `url`")
        try:
            return json.loads(body)
        except (ValueError, RecursionError) as fault:
            raise self._refused("not_json", "answered JSON that does not parse") from fault

    async def fetch(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        *,
        accept: str,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
    ) -> tuple[bytes, str]:
        """Send one request and read the whole bounded answer; returns it with its media type, lower case."""
        url = self._url(path, query)
        try:
            async with asyncio.timeout(self._spec.timeout_s):
                return await self._follow(method, url, {"Accept": accept, **(headers or {})}, body)
        except TimeoutError as fault:
            raise self._overloaded("timeout", f"did not answer within {self._spec.timeout_s:g} s") from fault
        except AddressNotAllowed as fault:
            raise self._refused(
                "forbidden_address", f"{fault}: list its network in `networks` if it is meant"
            ) from fault
        except aiohttp.InvalidURL as fault:
            raise self._refused("forbidden_address", "has an address that is written in no usual way") from fault
        except aiohttp.ClientConnectorError as fault:
            if isinstance(fault.os_error, AddressNotAllowed):
                raise self._refused("forbidden_address", f"{fault.os_error}: list its network in `networks`") from fault
            raise self._overloaded("unreachable", "cannot be reached") from fault
        except (aiohttp.ClientError, OSError) as fault:
            # aiohttp's own texts may hold the address with its query, so only the class is told.
            raise self._overloaded("unreachable", f"broke the connection ({type(fault).__name__})") from fault
        except ValueError as fault:
            raise self._refused("bad_answer", "answered something that is not HTTP") from fault

    async def close(self) -> None:
        """Close all connections; idempotent."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _url(self, path: str, query: Mapping[str, str]) -> URL:
        base = self._base.path.rstrip("/")
        url = self._base.with_path(f"{base}/{path.lstrip('/')}", encoded=True).with_query(dict(query))
        if len(str(url)) > URL_LIMIT:
            raise self._refused("too_long", "the search is too long for it: shorten it")
        return url

    async def _follow(self, method: str, url: URL, headers: Mapping[str, str], body: bytes | None) -> tuple[bytes, str]:
        for _ in range(HOP_LIMIT + 1):
            async with self._open().request(
                method, url, headers={**self._headers, **headers}, data=body, allow_redirects=False
            ) as answer:
                if answer.status not in _REDIRECTS:
                    self._check_status(answer)
                    return await self._read(answer), answer.content_type.lower()
                url = self._same_origin(url, answer.headers.get("Location", ""))
        raise self._refused("redirected", f"redirects more than {HOP_LIMIT} times")

    def _same_origin(self, at: URL, location: str) -> URL:
        try:
            target = at.join(URL(location))
            same = bool(location) and target.user is None and target.origin() == self._base.origin()
        except ValueError:  # no address at all, or one of another scheme
            same, target = False, at
        if not same:
            raise self._refused("redirected", "redirects to another place: set `url` to where it really is")
        return target

    def _check_status(self, answer: aiohttp.ClientResponse) -> None:
        if answer.status in {401, 407}:
            raise self._refused("unauthorised", "refuses our credentials: check `secret_env`")
        if answer.status == 403 and answer.headers.get("X-RateLimit-Remaining") == "0":  # noqa: PLR2004 - forbidden
            raise self._overloaded("rate_limited", "has no quota left for now")
        if answer.status in _RETRY_LATER:
            kind = "rate_limited" if answer.status == 429 else "overloaded"  # noqa: PLR2004 - too many requests
            raise self._overloaded(kind, f"answered {answer.status}")
        if answer.status >= 300:  # noqa: PLR2004 - whatever is no success
            raise self._refused("refused", f"answered {answer.status}")

    async def _read(self, answer: aiohttp.ClientResponse) -> bytes:
        if answer.headers.get("Content-Encoding", "identity").lower() != "identity":
            raise self._refused("not_json", "packs its answers though we ask it not to")
        if (answer.content_length or 0) > BODY_LIMIT:
            raise self._too_large()
        body = bytearray()
        async for chunk in answer.content.iter_chunked(CHUNK):
            body += chunk
            if len(body) > BODY_LIMIT:
                raise self._too_large()
        return bytes(body)

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(
                limit=CONNECTION_LIMIT,
                resolver=self._resolver,
                socket_factory=guarded(self._spec.networks, self._make_socket),
                use_dns_cache=False,
            )
            self._session = aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=False,
                auto_decompress=False,  # a small packed body could unpack to gigabytes
                timeout=aiohttp.ClientTimeout(total=None, connect=CONNECT_TIMEOUT_S),
                headers={"User-Agent": "passeur-connector", "Accept-Encoding": "identity"},
            )
        return self._session

    def _too_large(self) -> ProviderRefused:
        return self._refused("too_large", f"answers more than {BODY_LIMIT // 1024 // 1024} MiB")

    def _refused(self, kind: str, message: str) -> ProviderRefused:
        return ProviderRefused(self._spec.key, f"{self._spec.name} {message}", started=False, error_class=kind)

    def _overloaded(self, kind: str, message: str) -> ProviderOverloaded:
        return ProviderOverloaded(self._spec.key, f"{self._spec.name} {message}", started=False, error_class=kind)
