"""One worker process for work that may crash, starve or grow: it dies with its parent, and its death is an answer.

A child ignores the terminal's and the supervisor's signals, so that a drain can still use it; when its parent is
gone, however it went, the child leaves at once and frees what it locks.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import threading
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

START_LIMIT_S: Final = 60.0
"""Longest wait for a child to start and run its initializer."""

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


class ChildDied(Exception):
    """The worker process ended, was killed, or took too long and was killed; what it did is unknown."""


class Child:
    """Runs module-level functions in one spawned process; starts it at need, again after a death.

    Calls queue up behind each other: there is one worker.
    """

    def __init__(self, initializer: Callable[..., None], *arguments: Any, niceness: int = 0) -> None:
        """Remember how to start; nothing runs yet. `initializer(*arguments)` runs first in each new process."""
        self._initializer = initializer
        self._arguments = arguments
        self._niceness = niceness
        self._pool: ProcessPoolExecutor | None = None
        self._pid: int | None = None
        self._starting = asyncio.Lock()

    @property
    def pid(self) -> int | None:
        """The worker's process id; None before the first call and after a death."""
        return self._pid

    @property
    def alive(self) -> bool:
        """Whether the worker's process exists; a killed one is noticed at once."""
        if self._pid is None:
            return False
        try:
            os.kill(self._pid, 0)
        except ProcessLookupError:
            return False
        return True

    async def call(
        self,
        function: Callable[_Given, _Result],
        *arguments: _Given.args,
        **named: _Given.kwargs,
    ) -> _Result:
        """Run a module-level function in the child; arguments and result are pickled.

        Raises:
            ChildDied: the process is gone; the next call starts a new one.
        """
        return await self.call_within(None, function, *arguments, **named)

    async def call_within(
        self,
        limit_s: float | None,
        function: Callable[_Given, _Result],
        *arguments: _Given.args,
        **named: _Given.kwargs,
    ) -> _Result:
        """Do the same, and kill the child when it takes longer than `limit_s` (None: no limit)."""
        pool = await self._running()
        try:
            async with asyncio.timeout(limit_s):
                # The future has no name here: it holds what it raised, whose traceback would hold it and the arguments.
                return await asyncio.wrap_future(pool.submit(function, *arguments, **named))
        except BrokenProcessPool as exc:
            self._forget(pool)
            raise ChildDied("the worker process died") from exc
        except TimeoutError as exc:
            self.kill()
            self._forget(pool)
            raise ChildDied(f"the worker process took longer than {limit_s:g} s and was stopped") from exc

    def kill(self) -> None:
        """End the process at once, as a power cut would; harmless when there is none."""
        if self._pid is not None:
            with suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
            self._pid = None

    def discard(self) -> None:
        """End the process at once, and let the next call start a new one."""
        pool = self._pool
        self.kill()
        if pool is not None:
            self._forget(pool)

    async def close(self) -> None:
        """Let what runs finish, then end the process; idempotent."""
        pool, self._pool = self._pool, None
        self._pid = None
        if pool is not None:
            await asyncio.to_thread(pool.shutdown, wait=True, cancel_futures=True)

    async def _running(self) -> ProcessPoolExecutor:
        async with self._starting:
            if self._pool is None:
                pool = ProcessPoolExecutor(
                    max_workers=1,
                    mp_context=multiprocessing.get_context("spawn"),
                    initializer=_begin,
                    initargs=(self._niceness, self._initializer, self._arguments),
                )
                try:
                    async with asyncio.timeout(START_LIMIT_S):
                        self._pid = await asyncio.wrap_future(pool.submit(os.getpid))
                except (BrokenProcessPool, TimeoutError) as exc:
                    pool.shutdown(wait=False, cancel_futures=True)
                    raise ChildDied("the worker process did not start: see its message above") from exc
                self._pool = pool
            return self._pool

    def _forget(self, pool: ProcessPoolExecutor) -> None:
        if self._pool is pool:
            self._pool = None
            self._pid = None
            pool.shutdown(wait=False, cancel_futures=True)


def _begin(niceness: int, initializer: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    threading.Thread(target=_leave_with_parent, name="leave-with-parent", daemon=True).start()
    if niceness:
        os.nice(niceness)
    initializer(*arguments)


def _leave_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
