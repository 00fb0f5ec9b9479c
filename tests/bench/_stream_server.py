"""The gateway that the benches of event streams talk to: our real app, with a door that makes it publish.

`python -m tests.bench._stream_server PORT FOLDER`. `POST /_bench` takes `{"do": …}` and answers with JSON. The naive
side, a response a client and an `await` for each, lives in the same process, so that both stand on the same loop.
"""

from __future__ import annotations

import asyncio
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any

from aiohttp import web

from gateway.app import build_app
from gateway.assistant.contract import Delta, Outcome, Result, Step
from gateway.conversation.model import Conversation, visitor_stream_id
from gateway.events.sse import frame
from gateway.events.streams import Stream
from gateway.identity.limits import Rate
from gateway.storage.contract import NewEvent, StoredEvent
from gateway.turns.intake import NewMessage
from gateway.web import sink as sinks
from gateway.web.frames import chunk
from gateway.web.services import LimitSettings, Services
from shared import memory
from shared.ids import new_id
from tests.fakes.assistant import Pause, ScriptedAssistant
from tests.fakes.gateway import open_services

UNBOUNDED = Rate(10**9, 10**9)
LIMITS = LimitSettings(requests=UNBOUNDED, sessions=UNBOUNDED, messages=UNBOUNDED, streams_per_visitor=10**6)
DRAIN_S = 30.0
TOKENS_S = 80.0
EPOCH = "0" * 12


class Bench:
    """What the door does."""

    def __init__(self, services: Services) -> None:
        self.services = services
        self.naive: list[web.StreamResponse] = []
        self.visitor_id = ""
        self.offset = 10**6
        self.writes = 0
        self.tasks: set[asyncio.Task[Any]] = set()

    # ------------------------------------------------------------------ doors

    async def door(self, request: web.Request) -> web.Response:
        """Do one thing."""
        asked = await request.json()
        return web.json_response(await getattr(self, f"do_{asked.pop('do')}")(**asked) or {})

    async def follow_naively(self, request: web.Request) -> web.StreamResponse:
        """Stream as the manual shows it."""
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"})
        await response.prepare(request)
        self.naive.append(response)
        await asyncio.Event().wait()
        return response

    async def do_visitor(self) -> dict[str, str]:
        """Make the visitor whose stream all readers follow."""
        project = self.services.projects.get("demo")
        assert project is not None
        issued = await self.services.sessions.open_anonymous(project, "en")
        self.visitor_id = issued.visitor.id
        return {"token": issued.token}

    async def do_state(self) -> dict[str, float]:
        """Tell what the process uses and holds."""
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])  # noqa: ASYNC240 - no disk
        used = resource.getrusage(resource.RUSAGE_SELF)
        return {
            "resident": pages * os.sysconf("SC_PAGE_SIZE"),
            "cpu_s": used.ru_utime + used.ru_stime,
            "readers": self.services.hub.readers(),
            "cut": self.services.hub.catch_up.cut_count,
            "writes": self.writes,
        }

    # ------------------------------------------------------------------ fan-out

    async def do_publish(self, side: str, events: int, size: int, burst: int) -> dict[str, float]:
        """Bring events to every client of a side, as fast as they take them, `burst` before all buffers are empty."""
        write = {"ours": self._ours, "tight": self._tight, "naive": self._naive}[side]
        for reader in self._readers():
            reader.epoch, reader.sent = EPOCH, self.offset  # nothing is stored here: no side has a store to pay for
        pad = "x" * size
        for number in range(events):
            await write(pad)
            if number % burst == burst - 1 or number == events - 1:
                await self._drained(side)
            await asyncio.sleep(0)
        return {}

    async def _ours(self, pad: str) -> None:
        stream_id = visitor_stream_id(self.visitor_id)
        self.offset += 1
        now = self.services.clock.now()
        event = StoredEvent(stream_id, EPOCH, self.offset, "read", {"pad": pad}, "support", None, None, now)
        self.services.hub.committed((event,))

    async def _tight(self, pad: str) -> None:
        data = chunk(frame("read", f'{{"pad":"{pad}"}}', f"{EPOCH}.1000000"))
        for reader in self._readers():
            reader.sink._transport.write(data)

    async def _naive(self, pad: str) -> None:
        for response in self.naive:  # each client's event is written down for it, as `aiohttp-sse` does
            await response.write(frame("read", f'{{"pad":"{pad}"}}', f"{EPOCH}.1000000"))

    def _stream(self) -> Stream:
        return self.services.hub.streams.by_id[visitor_stream_id(self.visitor_id)]

    def _readers(self) -> list[Any]:
        return list(self._stream().readers.values())

    async def _drained(self, side: str) -> None:
        ends = time.monotonic() + DRAIN_S
        if side == "naive":
            transports = [response._payload_writer.transport for response in self.naive]
        else:
            transports = [reader.sink._transport for reader in self._readers()]
        stream = self._stream()
        while stream.waiting or any(each.get_write_buffer_size() for each in transports):
            if time.monotonic() > ends:
                raise TimeoutError("the clients do not read")
            await asyncio.sleep(0)

    # ------------------------------------------------------------------ slow readers

    async def do_pace(self, rate: float, seconds: float, size: int) -> dict[str, float]:
        """Publish real events at a steady rate; each says when its transaction was given to the store."""
        stream_id = visitor_stream_id(self.visitor_id)
        loop = asyncio.get_running_loop()
        began = loop.time()
        late = 0.0
        for number in range(int(rate * seconds)):
            due = began + number / rate
            await asyncio.sleep(max(0.0, due - loop.time()))
            late = max(late, loop.time() - due)
            async with self.services.store.transaction() as tx:
                data = {"pad": "x" * size, "t": time.monotonic_ns()}
                await tx.events.append(stream_id, NewEvent("read", data, "support"))
        return {"late_s": late}

    # ------------------------------------------------------------------ coalescing

    async def do_turn(self, seconds: float) -> dict[str, str]:
        """Begin an answer of `TOKENS_S` tokens a second; each token says when it was made."""
        services = self.services
        project = services.projects.get("demo")
        assert project is not None
        async with services.store.transaction() as tx:
            visitor = await tx.visitors.get(self.visitor_id)
            assert visitor is not None
            now = services.clock.now()
            conversation = Conversation(new_id(now), "demo", visitor.id, "", "en", now, now)
            await tx.conversations.add(conversation)
        assert isinstance(services.assistant, ScriptedAssistant)
        services.assistant.script = lambda _: _Tokens(int(TOKENS_S * seconds))
        taken = await services.turns.send(visitor, project, NewMessage(conversation.id, "?", "", "en", None))
        return {"turn_id": taken.turn.id, "conversation_id": conversation.id}

    async def do_said(self, conversation_id: str) -> dict[str, Any]:
        """Tell what was published, and how often the model was asked."""
        async with self.services.store.transaction() as tx:
            messages = await tx.messages.after(conversation_id, 0, 10)
        assert isinstance(self.services.assistant, ScriptedAssistant)
        return {"text": messages[-1].text, "asked_count": len(self.services.assistant.questions)}

    def count_writes(self) -> None:
        """Count what is handed to transports from now on."""
        write = sinks.TransportSink.write

        def counted(sink: sinks.TransportSink, data: bytes) -> None:
            self.writes += 1
            write(sink, data)

        sinks.TransportSink.write = counted  # type: ignore[method-assign]


class _Tokens:
    """A script that makes each token when it is due, so that it can carry its own time."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __iter__(self):
        began = time.monotonic()
        text = ""
        yield Step("generate")
        for number in range(self.count):
            yield Pause(max(0.0, began + number / TOKENS_S - time.monotonic()))
            token = f"{time.monotonic_ns()} "
            yield Delta(len(text), token)
            text += token
        yield Result(Outcome.ANSWERED, text, "en")


async def main(port: int, folder: Path) -> None:
    """Serve until the process is ended."""
    async with open_services(folder, ScriptedAssistant(), limits=LIMITS) as services:
        bench = Bench(services)
        bench.count_writes()
        memory.keep_what_is_there()
        app = build_app(services)
        app.router.add_post("/_bench", bench.door)
        app.router.add_get("/_naive", bench.follow_naively)
        runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", port, backlog=4096).start()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), Path(sys.argv[2])))
