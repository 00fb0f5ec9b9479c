"""Sends the frames of a stream, with the faults that its script asks for."""

from __future__ import annotations

import asyncio
import time

from aiohttp import web

from tests.simulator.plan import Frame
from tests.simulator.script import STAMP, Script

STALL_LIMIT_S = 600.0
LOOK_EVERY_S = 0.1
"""How soon a stalled answer sees that its reader has gone; hundreds may stall at once."""


class Broken(Exception):
    """The script breaks the connection here."""


async def send_stream(
    request: web.Request, frames: list[Frame], script: Script, error_frame: bytes
) -> web.StreamResponse:
    """Write all frames, or as many as the script lets through."""
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"})
    await response.prepare(request)
    sent_texts = 0
    sent_bytes = 0
    try:
        for frame in frames:
            if frame.kind == "text" and script.error_after == sent_texts:
                await response.write(error_frame)
                break
            if frame.kind == "text" and script.stall_after == sent_texts:
                await _stall(request)
            if frame.kind == "text" and script.cut_after == sent_texts:
                raise Broken  # noqa: TRY301 - the handler below is where connections are broken
            data = _stamped(frame.data) if script.stamped else frame.data
            sent_bytes = await _write(response, data, script, sent_bytes)
            sent_texts += frame.kind == "text"
            if script.pace_s and frame.kind == "text":
                await asyncio.sleep(script.pace_s)
        await response.write_eof()
        if script.hang_up and request.transport is not None:
            request.transport.close()
    except Broken:
        abort(request)
    except ConnectionResetError:
        # The client went away: nothing is left to send, and the bill stands.
        return response
    return response


async def _write(response: web.StreamResponse, data: bytes, script: Script, sent: int) -> int:
    limit = script.cut_at_byte
    if limit is not None and sent + len(data) >= limit:
        await response.write(data[: max(0, limit - sent)])
        await asyncio.sleep(0)
        raise Broken
    size = script.split or len(data)
    for start in range(0, len(data), size):
        await response.write(data[start : start + size])
        if script.split:
            await asyncio.sleep(0)
    return sent + len(data)


def _stamped(data: bytes) -> bytes:
    return data.replace(STAMP.encode(), f"@{time.monotonic_ns():019d} ".encode())


async def _stall(request: web.Request) -> None:
    loop = asyncio.get_running_loop()
    ends = loop.time() + STALL_LIMIT_S
    while loop.time() < ends:
        if request.transport is None or request.transport.is_closing():
            raise Broken
        await asyncio.sleep(LOOK_EVERY_S)
    raise Broken


def abort(request: web.Request) -> None:
    """Break the connection without a goodbye."""
    if request.transport is not None:
        request.transport.abort()
