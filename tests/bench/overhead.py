"""Overhead: what a turn costs beside an empty gRPC call on the same machine, in the same minutes.

The server side (echo and Passeur) runs in a child process on one core, the caller on the other. Passeur does what it
does for every turn: authenticates, reserves durably, generates (in process, 0 ms), settles durably, writes its journal.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import tempfile
import time
from contextlib import asynccontextmanager
from pathlib import Path

import grpc.aio

from ai_server.answering.contract import Mode
from ai_server.storage.sqlite import SqliteStateStore
from shared import logs
from shared.clock import SystemClock
from shared.pb.passeur.v1 import assistant_pb2
from tests.bench.measure import Measure, interleaved, same_side
from tests.fakes.ai_server import ai_server, asked
from tests.fakes.documents import FakeKnowledge, chunk, hit
from tests.fakes.generation import ScriptedGenerator, saying

WHAT = "Answer with a 0 ms in-process generator ÷ raw grpc.aio echo; c=1, 1 KB in, 2 KB out"
GOAL = 2.0
CALLS = 150
ECHO = "/bench.Echo/Call"
QUESTION = ("How do I export my data? " * 41)[:1024]
ANSWER = ("An export is made in the settings. " * 59)[:2048]


async def run() -> list[Measure]:
    """Measure both sides in turn."""
    with tempfile.TemporaryDirectory(prefix="passeur-bench-") as folder:
        async with served(Path(folder)) as sides:
            rounds = {
                "echo": lambda: p50(sides["echo"]),
                "echo again": lambda: p50(sides["echo"]),
                "chat": lambda: p50(sides["chat"]),
                "documents": lambda: p50(sides["documents"]),
            }
            found = await interleaved(rounds)
    echo = found["echo"]
    measures = [Measure("echo p50", echo.median * 1000, "ms", note=same_side(echo, found["echo again"]))]
    notes = {
        "chat": "reserve; settle with journal: 2 synced commits",
        "documents": "the query embedding reserved and settled too: 4 commits",
    }
    for name in ("chat", "documents"):
        ratio, spread = found[name].over(echo)
        note = f"{spread}; {notes[name]}"
        measures.append(Measure(f"answer p50 ({name})", found[name].median * 1000, "ms", "echo", ratio, GOAL, note))
    return measures


async def p50(call) -> float:
    """Median seconds of one call after another."""
    seconds = []
    for _ in range(CALLS):
        started = time.perf_counter()
        await call()
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds)


@asynccontextmanager
async def served(folder: Path):
    """Start the server process on the first core; keep this one on the last."""
    cores = sorted(os.sched_getaffinity(0))
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.bench.overhead", str(folder), str(cores[0]), stdout=asyncio.subprocess.PIPE
    )
    os.sched_setaffinity(0, {cores[-1]})
    channels = []
    try:
        async with asyncio.timeout(60):
            addresses = (await process.stdout.readline()).decode().split()
        calls = {}
        for name, address in zip(("echo", "chat", "documents"), addresses, strict=True):
            channel = grpc.aio.insecure_channel(address)
            channels.append(channel)
            calls[name] = echo_call(channel) if name == "echo" else answer_call(channel)
        yield calls
    finally:
        for channel in channels:
            await channel.close()
        process.terminate()
        await process.wait()
        os.sched_setaffinity(0, set(cores))


def echo_call(channel):
    stub = channel.unary_unary(ECHO)
    request = QUESTION.encode()

    async def call():
        await stub(request)

    return call


def answer_call(channel):
    stub = channel.unary_unary(
        "/passeur.v1.AssistantService/Answer",
        request_serializer=assistant_pb2.AnswerRequest.SerializeToString,
        response_deserializer=assistant_pb2.AnswerResponse.FromString,
    )
    request = assistant_pb2.AnswerRequest(input=asked(QUESTION, language_hint="en"))
    metadata = (("authorization", "Bearer gateway-token"),)

    async def call():
        response = await stub(request, metadata=metadata)
        assert response.result.text == ANSWER.strip()

    return call


async def serve(folder: Path) -> None:
    """Run echo and two Passeurs on sockets in `folder`, until terminated."""
    logs.configure("bench", "ERROR")

    async def echo(request, context):
        return ANSWER.encode()

    handler = grpc.method_handlers_generic_handler("bench.Echo", {"Call": grpc.unary_unary_rpc_method_handler(echo)})
    echo_server = grpc.aio.server()
    echo_server.add_generic_rpc_handlers((handler,))
    echo_server.add_insecure_port(f"unix:{folder / 'echo.sock'}")
    await echo_server.start()
    generator = ScriptedGenerator(lambda _: saying(ANSWER))
    async with (
        _passeur(folder / "chat", generator, Mode.CHAT) as chat,
        _passeur(folder / "documents", generator, Mode.DOCUMENTS) as documents,
    ):
        print(f"unix:{folder / 'echo.sock'}", chat.address, documents.address, flush=True)
        await asyncio.Event().wait()


def _passeur(folder: Path, generator: ScriptedGenerator, mode: Mode):
    folder.mkdir()
    store = SqliteStateStore(folder / "state.sqlite", SystemClock())
    knowledge = FakeKnowledge(hits=(hit(chunk("An export is made in the settings.")),))
    return ai_server(generator, knowledge=knowledge, store=store, budget=2**60, mode=mode)


if __name__ == "__main__":
    os.sched_setaffinity(0, {int(sys.argv[2])})
    asyncio.run(serve(Path(sys.argv[1])))
