"""Runs the simulator until it is stopped: `python -m tests.simulator --port 8300`."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal

from tests.simulator.script import Script
from tests.simulator.server import Simulator


async def main() -> None:
    """Serve until SIGINT or SIGTERM."""
    parser = argparse.ArgumentParser(prog="tests.simulator", description="Simulated providers on loopback")
    parser.add_argument("--port", type=int, default=8300, help="0 takes a free one")
    parser.add_argument("--caching", action="store_true", help="apply the providers' prefix-cache rules")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before an answer begins")
    parser.add_argument("--pace", type=float, default=0.0, help="seconds between two pieces of text")
    parser.add_argument("--chunks", type=int, default=0, help="pieces of text in an answer; 0 keeps the default")
    options = parser.parse_args()
    simulator = Simulator(caching=options.caching)
    chunks = tuple(f"word{index} " for index in range(options.chunks)) or Script().chunks
    simulator.default = Script(chunks=chunks, latency_s=options.latency, pace_s=options.pace)
    await simulator.start(options.port)
    print(f"simulator: {simulator.url}", flush=True)
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    await stopped.wait()
    await simulator.stop()


with contextlib.suppress(KeyboardInterrupt):
    asyncio.run(main())
