"""A reader's connection as the hub writes to it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from aiohttp import HttpVersion11, web

if TYPE_CHECKING:
    from collections.abc import Callable

EVENT_STREAM: Final = "text/event-stream"
HEADERS: Final = {
    "Content-Type": f"{EVENT_STREAM}; charset=utf-8",
    "Cache-Control": "no-store, no-transform",
    "X-Accel-Buffering": "no",
}
LOW_WATER: Final = 16 * 1024
DRAIN_POLL_S: Final = 0.1
"""How often a reader that lags is looked at; only such readers are."""
LAST_CHUNK: Final = b"0\r\n\r\n"


class TransportSink:
    """Writes ready chunks to one connection's transport, without a task or an await for each reader.

    HTTP/1.0, which nginx speaks to upstreams by default, knows no chunks: there the bytes inside them are written.
    """

    __slots__ = ("_is_chunked", "_transport")

    def __init__(self, request: web.Request) -> None:
        """Take the connection of a request.

        Raises:
            ConnectionResetError: the reader left.
        """
        if request.transport is None:
            raise ConnectionResetError("the reader left before the stream began")
        self._transport: asyncio.Transport = request.transport
        self._is_chunked = request.version >= HttpVersion11

    def write(self, data: bytes) -> None:
        """Hand whole chunks to the transport."""
        if not self._transport.is_closing():
            self._transport.write(data if self._is_chunked else unchunked(data))

    def buffered(self) -> int:
        """Tell how many bytes the transport still holds."""
        return self._transport.get_write_buffer_size()

    def closed(self) -> bool:
        """Tell whether the reader has left."""
        return self._transport.is_closing()

    async def drained(self) -> None:
        """Wait until little is left to send, or the reader left; whoever calls sets the time limit."""
        while self.buffered() > LOW_WATER and not self.closed():  # noqa: ASYNC110 - a transport has no such event
            await asyncio.sleep(DRAIN_POLL_S)

    def abort(self) -> None:
        """Cut the connection at once."""
        self._transport.abort()


class HandlerSink(TransportSink):
    """The sink of a handler that stays until the reader has heard all: it waits for `over`, then ends the response."""

    __slots__ = ("over",)

    def __init__(self, request: web.Request) -> None:
        """Take the connection of a response whose head is sent."""
        super().__init__(request)
        self.over = asyncio.Event()

    def end(self) -> None:
        """Let the handler go on."""
        self.over.set()


class Connection(TransportSink, asyncio.Protocol):
    """The sink of a stream that stays open for hours: it takes the connection out of aiohttp's hands.

    A request that waits keeps its parser, its headers, two tasks and the frames of every layer: 15 KB a reader. Once
    the head is sent none of that is needed, so the handler returns, aiohttp forgets the request, and this small
    protocol hears when the reader leaves.
    """

    __slots__ = ("_has_ended", "_let_go")

    def __init__(self, request: web.Request) -> None:
        """Take the connection of a request; aiohttp keeps it until `take_over`."""
        super().__init__(request)
        self._has_ended = False
        self._let_go: Callable[[], None] | None = None

    def take_over(self, request: web.Request, let_go: Callable[[], None]) -> None:
        """Become the connection's protocol; `let_go` is called once, when it is lost. Return a `HandedOver` after it.

        Raises:
            ConnectionResetError: the reader left before.
        """
        handler = request.protocol
        if handler.transport is not self._transport:
            raise ConnectionResetError("the reader left before the stream began")
        self._let_go = let_go
        self._transport.set_protocol(self)
        handler.transport = None  # aiohttp closes what it thinks is its own when the handler returns
        request.task.add_done_callback(lambda _: handler.connection_lost(None))
        if self._has_ended:
            self.end()

    def end(self) -> None:
        """End the response, and the connection once everything is sent; idempotent."""
        self._has_ended = True
        if self._let_go is not None and not self.closed():
            if self._is_chunked:
                self._transport.write(LAST_CHUNK)
            self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's hook
        """Let go of all that the reader held."""
        let_go, self._let_go = self._let_go, None
        if let_go is not None:
            let_go()


class HandedOver(web.StreamResponse):
    """A response whose head is sent and whose connection belongs to a `Connection`, which ends it and counts it."""

    async def write_eof(self, data: bytes = b"") -> None:
        """Leave the end to the connection."""


def unchunked(data: bytes) -> bytes:
    """Take the framing off whole chunks (RFC 9112 §7.1)."""
    parts: list[bytes] = []
    at = 0
    while at < len(data):
        start = data.index(b"\r\n", at) + 2
        end = start + int(data[at : start - 2], 16)
        parts.append(data[start:end])
        at = end + 2
    return b"".join(parts)


async def open_stream(request: web.Request) -> tuple[web.StreamResponse, HandlerSink]:
    """Send the head of an event stream that its handler stays with; end it with `write_eof`.

    Raises:
        ConnectionResetError: the reader left before.
    """
    response = web.StreamResponse(headers=HEADERS)
    await response.prepare(request)
    return response, HandlerSink(request)


async def open_long_stream(request: web.Request) -> HandedOver:
    """Send the head of an event stream whose connection is taken over next.

    Raises:
        ConnectionResetError: the reader left before.
    """
    response = HandedOver(headers=HEADERS)
    response.force_close()  # nobody reads a further request from this connection
    await response.prepare(request)
    return response
