"""A reader's connection as the hub writes to it."""

from __future__ import annotations

import asyncio
from typing import Final

from aiohttp import HttpVersion11, web

EVENT_STREAM: Final = "text/event-stream"
HEADERS: Final = {
    "Content-Type": f"{EVENT_STREAM}; charset=utf-8",
    "Cache-Control": "no-store, no-transform",
    "X-Accel-Buffering": "no",
}
LOW_WATER: Final = 16 * 1024
DRAIN_POLL_S: Final = 0.1
"""How often a reader that lags is looked at; only such readers are."""


class TransportSink:
    """Writes ready chunks to one connection's transport, without a task or an await for each reader."""

    __slots__ = ("_transport",)

    def __init__(self, transport: asyncio.WriteTransport) -> None:
        """Take the connection of a response whose headers are sent."""
        self._transport = transport

    def write(self, data: bytes) -> None:
        """Hand one chunk to the transport."""
        if not self._transport.is_closing():
            self._transport.write(data)

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


class UnchunkedSink(TransportSink):
    """The same for HTTP/1.0, which knows no chunks; nginx speaks it to upstreams by default."""

    __slots__ = ()

    def write(self, data: bytes) -> None:
        """Hand the bytes inside one chunk to the transport."""
        super().write(data[data.index(b"\r\n") + 2 : -2])


async def open_stream(request: web.Request) -> tuple[web.StreamResponse, TransportSink]:
    """Send the headers of an event stream, and hand over the connection; end it with `write_eof`.

    Raises:
        ConnectionResetError: the reader left before.
    """
    response = web.StreamResponse(headers=HEADERS)
    await response.prepare(request)
    await response.write(b":\n\n")
    transport = request.transport
    if transport is None:
        raise ConnectionResetError("the reader left before the stream began")
    return response, (TransportSink if request.version >= HttpVersion11 else UnchunkedSink)(transport)
