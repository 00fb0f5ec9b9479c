"""Ledger servers that can be killed and frozen, forked from one process that has imported everything already.

Starting Python with gRPC takes over a second of processor time; a fork takes some milliseconds. The nursery itself
(`python -m tests.torture.nursery`) has one thread and no socket, which is what makes a fork safe: it looks before each.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.torture import ledger_server, workload

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

READY_SECONDS = 60.0
TASKS = Path("/proc/self/task")


@dataclass(eq=False)
class Server:
    """A server in a process of its own, known by a descriptor that stands for exactly that process."""

    descriptor: int
    lives: bool = True

    def send(self, number: signal.Signals) -> None:
        """Send a signal."""
        signal.pidfd_send_signal(self.descriptor, number)

    async def kill(self) -> None:
        """Kill it and wait until it is gone."""
        self.lives = False
        self.send(signal.SIGKILL)
        loop, gone = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(self.descriptor, gone.set)
        try:
            await asyncio.wait_for(gone.wait(), READY_SECONDS)
        finally:
            loop.remove_reader(self.descriptor)
            os.close(self.descriptor)


class Nursery:
    """Asks the forking process for servers."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.servers: list[Server] = []

    async def start(self, path: Path, port: int, limit: int) -> Server:
        """Start a server on a store and wait until it serves."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{port} {limit} {path}\n".encode())
        line = await asyncio.wait_for(self._process.stdout.readline(), READY_SECONDS)
        word, _, pid = line.decode().strip().partition(" ")
        if word != "ready":
            raise RuntimeError("the ledger's server did not start")
        server = Server(os.pidfd_open(int(pid)))
        self.servers.append(server)
        return server


@asynccontextmanager
async def nursery() -> AsyncIterator[Nursery]:
    """Open a nursery, whose servers are killed when it closes."""
    words = [sys.executable, "-m", "tests.torture.nursery"]
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*words, stdin=pipe, stdout=pipe)
    opened = Nursery(process)
    try:
        yield opened
    finally:
        for server in opened.servers:
            if server.lives:
                await server.kill()
        assert process.stdin is not None
        process.stdin.close()
        await asyncio.wait_for(process.wait(), READY_SECONDS)


def main() -> None:
    """Fork a server for each line read; those that died are reaped by the kernel."""
    workload.quiet()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    gc.freeze()
    while line := sys.stdin.readline():
        port, limit, path = line.rstrip("\n").split(" ", 2)
        if len(list(TASKS.iterdir())) != 1:
            raise RuntimeError("the nursery has more than one thread: forking it is not safe")
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.close(0)
            asyncio.run(ledger_server.main(Path(path), int(port), int(limit)))


if __name__ == "__main__":
    main()
