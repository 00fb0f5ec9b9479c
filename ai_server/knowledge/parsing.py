"""Where documents are parsed: a child process with limits on time, memory and output, behind one small door.

A file from outside may be made to loop, to unpack without end, or to crash its reader. The child takes the blow; the
server says so in that file's line and goes on with the next.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import resource
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from ai_server.knowledge import documents
from ai_server.knowledge.loaders.model import TEXT_LIMIT, Rejected
from shared.children import Child, ChildDied

if TYPE_CHECKING:
    from types import FrameType

    from ai_server.knowledge.loaders.model import Loaded

PROCESSOR_SECONDS: Final = 5.0
"""Most processor time for one file."""
WALL_SECONDS: Final = 60.0
"""Most time on the wall for one file, on however busy a machine; then the child is killed."""
MEMORY_LIMIT: Final = 512 * 1024 * 1024
"""Most address space that the child may take beyond what it has when it starts."""
NICENESS: Final = 10


@dataclass(frozen=True, slots=True)
class Limits:
    """What one file may take; `memory` is counted beyond what the child has when it starts."""

    processor_s: float = PROCESSOR_SECONDS
    wall_s: float = WALL_SECONDS
    memory: int = MEMORY_LIMIT
    characters: int = TEXT_LIMIT


class Parser(Protocol):
    """Turns a file's bytes into headed text."""

    async def load(self, name: str, data: bytes) -> Loaded:
        """Read a document by the ending of its name.

        Raises:
            Rejected: why not, and what to do.
        """
        ...

    async def close(self) -> None:
        """Release what parsing took; idempotent."""
        ...


class ThreadParser:
    """Parses in a thread of this process: for tests, and for files that are our own."""

    async def load(self, name: str, data: bytes) -> Loaded:
        """Read a document; see `Parser`."""
        return await asyncio.to_thread(documents.load, name, data)

    async def close(self) -> None:
        """Nothing to release."""


class ChildParser:
    """Parses in a child process that is begun anew after any file that hit a limit."""

    def __init__(self, limits: Limits | None = None) -> None:
        """Start nothing yet; None: the limits of the constants above."""
        self._limits = limits or Limits()
        self._child = Child(_limit_memory, self._limits.memory, niceness=NICENESS)
        # One file at a time: each has the whole time on the wall, and none dies with another's child.
        self._turn = asyncio.Lock()

    @property
    def pid(self) -> int | None:
        """The child's process id, while it lives."""
        return self._child.pid

    async def load(self, name: str, data: bytes) -> Loaded:
        """Read a document; see `Parser`."""
        async with self._turn:
            try:
                return await self._child.call_within(self._limits.wall_s, load_within_limits, name, data, self._limits)
            except OutOfBounds as exc:
                self._child.discard()  # What is left of its memory and state is not to be trusted.
                raise Rejected(str(exc)) from exc
            except ChildDied as exc:
                raise Rejected(f"its reader broke off: {exc}") from exc

    async def close(self) -> None:
        """End the child; idempotent."""
        await self._child.close()


class OutOfBounds(Rejected):
    """A file that hit a limit."""


class _OutOfTime(BaseException):
    """Raised by the timer; not an `Exception`, lest a loader that forgives faults goes on."""


def _limit_memory(beyond: int) -> None:
    with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123 - a kernel table, not a file
        pages = int(file.read().split()[0])
    limit = pages * resource.getpagesize() + beyond
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    signal.signal(signal.SIGPROF, _out_of_time)
    # Left without a handler, what pypdf warns of goes to the server's standard error: thousands of lines for one file.
    logging.getLogger().addHandler(logging.NullHandler())


def _out_of_time(_: int, __: FrameType | None) -> None:
    raise _OutOfTime


def load_within_limits(name: str, data: bytes, limits: Limits) -> Loaded:
    """Read a document in the child; its limits are on.

    Raises:
        OutOfBounds: too much time, memory or text.
        Rejected: its loader says why.
    """
    signal.setitimer(signal.ITIMER_PROF, limits.processor_s)
    gc.disable()  # Loaders make many small objects and keep them: looking for garbage meanwhile is half of their time.
    try:
        loaded = documents.load(name, data)
    except _OutOfTime as exc:
        raise OutOfBounds(f"it takes more than {limits.processor_s:g} s of processor time to read") from exc
    except MemoryError as exc:
        raise OutOfBounds(f"it takes more than {limits.memory // 1024 // 1024} MiB of memory to read") from exc
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        gc.enable()
    if sum(len(block.text) for block in loaded.blocks) > limits.characters:
        raise OutOfBounds(f"it holds more than {limits.characters:,} characters: split it")
    return loaded
