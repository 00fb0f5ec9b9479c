"""Brings dependencies up in the background, watches them, and writes what it sees on the board.

Each dependency is started by the timer, or earlier by a request that needs it; once up it is probed. A change shows
within `PROBE_SECONDS + PROBE_LIMIT_S`, which is under two seconds, both ways.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ai_server.readiness import State
from shared import logs
from shared.errors import NotReady, PasseurError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from ai_server.readiness import Board

PROBE_SECONDS: Final = 0.5
PROBE_LIMIT_S: Final = 1.0
REQUEST_WAIT_S: Final = 5.0
"""Longest that a request waits for a dependency that is being started."""

LOG = logs.logger(__name__)


@dataclass(frozen=True, slots=True)
class Health:
    """What a probe saw."""

    state: State
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Dependency:
    """One thing that the server needs. `start` may be called again after it failed; `probe` is cheap.

    Both may raise `PasseurError`: its message becomes the reason on the board.
    """

    name: str
    start: Callable[[], Awaitable[None]]
    probe: Callable[[], Awaitable[Health]]
    after: tuple[str, ...] = ()


class Supervisor:
    """Owns one task for each dependency."""

    def __init__(self, board: Board, dependencies: Sequence[Dependency]) -> None:
        """Take the dependencies in the order in which they build on each other."""
        self._board = board
        self._dependencies = {each.name: each for each in dependencies}
        self._up: set[str] = set()
        self._starting: dict[str, asyncio.Task[None]] = {}
        self._tasks: list[asyncio.Task[None]] = []

    def launch(self) -> None:
        """Begin to start and watch everything."""
        self._tasks = [
            asyncio.create_task(self._watch(each), name=f"watch {each.name}") for each in self._dependencies.values()
        ]

    async def stop(self) -> None:
        """Stop watching; what is up stays up. Idempotent."""
        tasks = [*self._tasks, *self._starting.values()]
        for each in tasks:
            each.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._tasks = []

    def up(self, name: str) -> bool:
        """Tell whether a dependency was started."""
        return name in self._up

    async def require(self, name: str, wait_s: float = REQUEST_WAIT_S) -> None:
        """Start a dependency if it is not up, and wait for it, at most `wait_s`.

        Raises:
            NotReady: it did not come up, with the cause.
        """
        if name in self._up:
            return
        try:
            async with asyncio.timeout(wait_s):
                await asyncio.shield(self._start(name))
        except TimeoutError:
            raise NotReady(f"{name} is still starting: try again in a moment.") from None
        except PasseurError as error:
            raise NotReady(f"{name}: {error.message}") from error
        if name not in self._up:
            raise NotReady(f"{name}: {self._board.standing(name).reason}")

    def _start(self, name: str) -> asyncio.Task[None]:
        """Join the start that is under way, or begin one."""
        running = self._starting.get(name)
        if running is None:
            running = self._starting[name] = asyncio.create_task(self._start_now(name), name=f"start {name}")
            running.add_done_callback(lambda done: done.cancelled() or done.exception())
        return running

    async def _start_now(self, name: str) -> None:
        dependency = self._dependencies[name]
        try:
            for each in dependency.after:
                if each not in self._up:
                    await self._start(each)
            if name not in self._up:
                await dependency.start()
                self._up.add(name)
                LOG.info("dependency up", dependency=name)
                await self._look(dependency)
        except PasseurError as error:
            self._board.set(name, State.DOWN, error.message)
            raise
        except Exception as error:
            LOG.exception("dependency failed to start", dependency=name)
            self._board.set(name, State.DOWN, f"it failed to start ({type(error).__name__}): see the log")
            raise NotReady(f"{name} failed to start: see the log.") from error
        finally:
            self._starting.pop(name, None)

    async def _watch(self, dependency: Dependency) -> None:
        while True:
            if dependency.name in self._up:
                await self._look(dependency)
            else:
                await asyncio.wait({self._start(dependency.name)})
            await asyncio.sleep(PROBE_SECONDS)

    async def _look(self, dependency: Dependency) -> None:
        """Probe once, and write what it says."""
        try:
            async with asyncio.timeout(PROBE_LIMIT_S):
                seen = await dependency.probe()
        except TimeoutError:
            seen = Health(State.DOWN, f"it did not answer within {PROBE_LIMIT_S:.0f} s")
        except PasseurError as error:
            seen = Health(State.DOWN, error.message)
        except Exception:
            LOG.exception("probe failed", dependency=dependency.name)
            seen = Health(State.DOWN, "its probe failed: see the log")
        self._board.set(dependency.name, seen.state, seen.reason)
