"""A real gateway on loopback for the promises about streams, and the barest client that can be cut at any byte."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from gateway.identity.limits import Rate
from gateway.identity.projects import Project
from gateway.storage.contract import NewEvent
from gateway.web.services import LimitSettings, Services
from tests.fakes.assistant import ScriptedAssistant
from tests.fakes.gateway import DEMO, open_services, serving
from tests.sse_parser import Event, SseParser
from tests.torture import shim

UNBOUNDED = Rate(10**9, 10**9)
LIMITS = LimitSettings(requests=UNBOUNDED, sessions=UNBOUNDED, messages=UNBOUNDED, streams_per_visitor=10**6)
READ_S = 30.0
PIECE = 65_536


class Rig:
    """One gateway on a scratch folder that can be ended and started again."""

    def __init__(self, folder: Path, assistant: ScriptedAssistant, projects: Sequence[Project] = (DEMO,)) -> None:
        self.folder = folder
        self.projects = projects
        self.assistant = assistant
        self.services: Services
        self.port = 0
        self._stack = AsyncExitStack()

    async def start(self) -> None:
        self.services = await self._stack.enter_async_context(
            open_services(self.folder, self.assistant, limits=LIMITS, projects=self.projects)
        )
        url = await self._stack.enter_async_context(serving(self.services))
        self.port = int(url.rpartition(":")[2])

    async def end(self) -> None:
        await self._stack.aclose()

    async def visitor(self) -> tuple[str, str]:
        """Make a visitor; tells token and id."""
        project = self.services.projects.get("demo")
        assert project is not None
        issued = await self.services.sessions.open_anonymous(project, "fr")
        return issued.token, issued.visitor.id

    async def publish(self, visitor_id: str, numbers: range, pad: str = "") -> None:
        """Write one event for each number, each in a transaction of its own."""
        for number in numbers:
            async with self.services.store.transaction() as tx:
                await tx.events.append(f"visitor:{visitor_id}", NewEvent("read", {"n": number, "pad": pad}))


@asynccontextmanager
async def rig(assistant: ScriptedAssistant | None = None, projects: Sequence[Project] = (DEMO,)) -> AsyncIterator[Rig]:
    """Run a gateway while the block runs."""
    folder = shim.scratch()
    made = Rig(folder, assistant or ScriptedAssistant(), projects)
    await made.start()
    try:
        yield made
    finally:
        await made.end()
        shutil.rmtree(folder, ignore_errors=True)


class RawStream:
    """An event stream on a bare socket: it is read in pieces of any size, and cut without a goodbye."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.parser = SseParser()
        self.status = 0
        self._raw = b""

    async def head(self) -> int:
        """Read the response's head and tell the status."""
        async with asyncio.timeout(READ_S):
            head = await self.reader.readuntil(b"\r\n\r\n")
        self.status = int(head.split(b" ", 2)[1])
        return self.status

    async def some(self, most: int = PIECE) -> list[Event]:
        """Read at most `most` bytes and return the events that they complete; raises EOFError at the end."""
        async with asyncio.timeout(READ_S):
            piece = await self.reader.read(most)
        if not piece:
            raise EOFError
        self._raw += piece
        events: list[Event] = []
        while (block := self._chunk()) is not None:
            events += self.parser.feed(block)
        return events

    def cut(self) -> None:
        """Leave at once."""
        self.writer.transport.abort()

    def _chunk(self) -> bytes | None:
        size, found, rest = self._raw.partition(b"\r\n")
        if not found:
            return None
        length = int(size, 16)
        if len(rest) < length + 2:
            return None
        if rest[length : length + 2] != b"\r\n":
            raise AssertionError("a chunk does not end where it says")
        self._raw = rest[length + 2 :]
        return rest[:length]


async def open_raw(
    port: int, path: str, *headers: str, method: str = "GET", body: str = "", host: str | None = None
) -> RawStream:
    """Send one request on a connection of its own; `host` is the name that it claims to have called."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**20)
    called = f"127.0.0.1:{port}" if host is None else host
    sent = [f"{method} {path} HTTP/1.1", f"Host: {called}", *headers]
    if body:
        sent += ["Content-Type: application/json", f"Content-Length: {len(body.encode())}"]
    writer.write("\r\n".join([*sent, "", body]).encode())
    return RawStream(reader, writer)


async def follow(port: int, token: str, cursor: str | None) -> RawStream:
    """Open a visitor's event stream from a cursor on."""
    resume = () if cursor is None else (f"Last-Event-ID: {cursor}",)
    stream = await open_raw(port, "/v1/events", f"Authorization: Bearer {token}", *resume)
    status = await stream.head()
    if status != 200:
        raise ConnectionError(f"status {status}")
    return stream
