"""JSON sent over HTTP, answered whole or as server-sent events: all that OpenAI's formats need of a client.

The SDK does the same through three more libraries, each with its own requests, headers and addresses: with a provider
that answers at once they took three quarters of the processor time of a call (decision 0037).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import deque
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import SecretStr

CONNECTIONS: Final = 1_000
"""Most connections to one provider: as many turns may wait for it at once."""

CONNECT_S: Final = 10.0
"""Longest wait for a connection to be made; the caller bounds all that follows."""

BODY_LIMIT: Final = 32 * 1024 * 1024
"""Most bytes of an answer in one piece: 256 vectors of the longest models are a third of it."""

EVENT_LIMIT: Final = 4 * 1024 * 1024
"""Most bytes of one event of a stream."""

REFUSAL_LIMIT: Final = 64 * 1024
"""Most bytes that are read of a refusal, for its words."""

LAST_BYTES_S: Final = 0.2
"""Longest wait, after the last event, for the end of the body: with it the connection serves the next call."""

DONE: Final = b"[DONE]"


class Refusal(Exception):
    """An answer with another status than success. `said` is what its body says of the error, {} where it says nothing
    that can be read.
    """

    def __init__(self, status: int, said: Mapping[str, Any]) -> None:
        """Keep both."""
        super().__init__(f"status {status}")
        self.status = status
        self.said = said


class ErrorEvent(Exception):
    """An error told inside a stream. `said` is what it says, {} where that is not an object."""

    def __init__(self, said: Mapping[str, Any]) -> None:
        """Keep it."""
        super().__init__("an error inside the stream")
        self.said = said


class TooLong(ValueError):
    """An answer, or one event of it, is longer than any that is true."""


class JsonClient:
    """Speaks to one base address with one key: without retries, without redirects, through the proxy that the
    environment names.
    """

    def __init__(self, base_url: str, key: SecretStr) -> None:
        """Make the session, on the running loop; no network."""
        self._base_url = base_url
        secret = key.get_secret_value()
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=CONNECTIONS),
            headers={"Content-Type": "application/json", **({"Authorization": f"Bearer {secret}"} if secret else {})},
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S),
            cookie_jar=aiohttp.DummyCookieJar(),
            proxy=_proxy_for(base_url),
        )

    async def post(self, path: str, body: object, headers: Mapping[str, str]) -> Any:
        """Post, and take the whole answer.

        Raises:
            Refusal, TooLong, ValueError (no JSON), or what aiohttp raises.
        """
        async with await self._sent(path, body, headers) as response:
            return json.loads(await _limited(response, BODY_LIMIT))

    async def stream(self, path: str, body: object, headers: Mapping[str, str]) -> Events:
        """Post, and take the answer as events.

        Raises:
            Refusal, or what aiohttp raises.
        """
        return Events(await self._sent(path, body, headers))

    async def close(self) -> None:
        """Close every connection."""
        await self._session.close()

    async def _sent(self, path: str, body: object, headers: Mapping[str, str]) -> aiohttp.ClientResponse:
        data = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
        response = await self._session.post(self._base_url + path, data=data, headers=headers, allow_redirects=False)
        if response.ok and response.status < 300:  # noqa: PLR2004 - HTTP's own number
            return response
        async with response:
            raise Refusal(response.status, _error_in(await _begin_of(response)))


class Events:
    """The data of each event of one answer, read as JSON; ends at `[DONE]`, or where the body does."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        """Read a response whose body has not been touched."""
        self._response = response
        self._rest = b""
        self._data: list[bytes] = []
        self._told: deque[bytes] = deque()
        self._ended = False

    def __aiter__(self) -> Events:
        """Read on."""
        return self

    async def __anext__(self) -> Any:
        """Give the next event.

        Raises:
            ErrorEvent, TooLong, ValueError (no JSON), or what aiohttp raises.
        """
        while not self._told:
            if self._ended:
                raise StopAsyncIteration
            chunk = await self._response.content.readany()
            self._feed(chunk or b"\n\n")
            self._ended = not chunk
        told = self._told.popleft()
        if told.startswith(DONE):
            await self._finish()
            raise StopAsyncIteration
        return _event(told)

    def close(self) -> None:
        """Hang up; a connection whose answer was read to its end stays open for the next call."""
        self._response.close()

    def _feed(self, chunk: bytes) -> None:
        """Take the events that end in this chunk. A line ends with LF or CRLF, an event with an empty line."""
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        if len(self._rest) > EVENT_LIMIT:
            raise TooLong("an event that does not end")
        for each in lines:
            line = each.removesuffix(b"\r")
            if line.startswith(b"data:"):
                self._data.append(line[5:].strip())
            elif not line and self._data:
                self._told.append(b"\n".join(self._data))
                self._data = []

    async def _finish(self) -> None:
        """Take the end of the body, which comes with the last event or right after it."""
        self._told.clear()
        self._ended = True
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LAST_BYTES_S):
                await self._response.content.readany()


def _event(data: bytes) -> Any:
    found = json.loads(data)
    error = found.get("error") if isinstance(found, dict) else None
    if error:
        raise ErrorEvent(error if isinstance(error, dict) else {})
    return found


async def _limited(response: aiohttp.ClientResponse, limit: int) -> bytes:
    """Read a body to its end.

    Raises:
        TooLong: it has more bytes than the limit.
    """
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > limit:
            raise TooLong("an answer that does not end")
    return bytes(body)


async def _begin_of(response: aiohttp.ClientResponse) -> bytes:
    """Read what a refusal says, as far as it comes; that it breaks off does not make it another refusal."""
    try:
        return await _limited(response, REFUSAL_LIMIT)
    except (aiohttp.ClientError, TooLong):
        return b""


def _error_in(body: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(body)
    except ValueError:
        return {}
    error = found.get("error", found) if isinstance(found, dict) else None
    return error if isinstance(error, dict) else {}


def _proxy_for(url: str) -> str | None:
    """Name the proxy that the environment sets for an address."""
    parts = urlsplit(url)
    if proxy_bypass(parts.hostname or ""):
        return None
    proxies = getproxies()
    return proxies.get(parts.scheme) or proxies.get("all")
