"""Whether the documents can be searched, and what is done about it: loading, watching the index child, mending."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Final

import structlog

from ai_server.knowledge.contract import KnowledgeState
from ai_server.knowledge.durable import IndexLost
from shared.errors import NotReady, PasseurError, SyncRunning

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    from ai_server.knowledge.durable import DurableIndex
    from ai_server.knowledge.leases import SyncLeases
    from ai_server.knowledge.library import Library
    from shared.clock import Clock

WATCH_SECONDS: Final = 1.0
"""How often the durable index is looked at, and, where servers share a registry, what others published."""
HEAL_SECONDS: Final = (1.0, 2.0, 5.0, 15.0, 30.0)
"""Pauses after failed attempts to bring a lost index back; then the watch begins again."""
QUARANTINE_AT: Final = 1
"""The attempt (0 is first) after which an index that still kills its reader is put aside."""

log = structlog.get_logger(__name__)


class Upkeep:
    """Keeps the readiness of retrieval true. Answers go on from the snapshots while it mends the durable index."""

    def __init__(
        self,
        index: DurableIndex,
        libraries: Mapping[str, Library],
        leases: SyncLeases,
        clock: Clock,
    ) -> None:
        """Watch nothing yet."""
        self._index = index
        self._leases = leases
        self._libraries = libraries
        self._clock = clock
        self._state = KnowledgeState("down", "The documents are still being loaded.", clock.now())
        self._watching: asyncio.Task[None] | None = None

    @property
    def state(self) -> KnowledgeState:
        """Readiness now."""
        return self._state

    def watch(self, put_back: Callable[[], Awaitable[None]], refresh: Callable[[], Awaitable[bool]] | None) -> None:
        """Look after the index from now on.

        `put_back` indexes again what the durable index lost; `refresh` takes over what other servers published, None
        where there are none.
        """
        self._watching = asyncio.create_task(self._watch(put_back, refresh), name="knowledge-watch")

    async def close(self) -> None:
        """Stop watching; idempotent."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)
            self._watching = None

    async def load_all(self) -> None:
        """Load every project that is not loaded.

        Raises:
            NotReady: the index cannot be opened or read.
        """
        for project_id, library in self._libraries.items():
            if library.snapshot is not None:
                continue
            try:
                await self._load(library)
            except IndexLost:
                raise
            except NotReady as exc:
                # Another model's vectors: this project refuses, the others serve.
                log.warning("project not loaded", project=project_id, reason=exc.message)

    async def _load(self, library: Library) -> None:
        """Load a project; an index that kills its reader twice is put aside and begun anew."""
        async with self._alone(library) as alone:
            try:
                await library.load(alone=alone)
            except IndexLost as exc:
                log.warning("index did not open, trying again", reason=exc.message)
                try:
                    await library.load(alone=alone)
                except IndexLost as again:
                    log.exception("index is damaged: put aside and rebuilt", reason=again.message)
                    await self._index.quarantine()
                    await library.load(alone=alone)

    @asynccontextmanager
    async def _alone(self, library: Library) -> AsyncIterator[bool]:
        """Keep other servers from writing, where none writes already; tells whether that is so."""
        async with AsyncExitStack() as stack:
            try:
                await stack.enter_async_context(self._leases.held(library.project.project_id))
                alone = True
            except SyncRunning:
                alone = False
            yield alone

    def settle(self) -> None:
        """Work the state out from the libraries."""
        problems = [library.problem for library in self._libraries.values() if library.problem]
        missing = sum(len(library.lost) for library in self._libraries.values())
        if problems and all(library.snapshot is None for library in self._libraries.values()):
            self.set("down", problems[0])
        elif problems:
            self.set("degraded", problems[0])
        elif missing:
            hindrances = "; ".join(library.hindrance for library in self._libraries.values() if library.hindrance)
            lost = f"{missing:,} passage{'s are' if missing > 1 else ' is'} missing from the index"
            if any(library.being_restored() for library in self._libraries.values()):
                self.set("degraded", f"{lost} and read again; until then questions that find nothing must wait.")
            else:
                self.set("degraded", f"{lost}: {hindrances}" if hindrances else f"{lost} and put back; answers go on.")
        else:
            self.set("ready", "")

    def set(self, state: str, reason: str) -> None:
        """Tell a state; its instant is that of the last change."""
        since = self._state.since if self._state.state == state else self._clock.now()
        self._state = KnowledgeState(state, reason, since)  # pyright: ignore[reportArgumentType]

    async def _watch(
        self, put_back: Callable[[], Awaitable[None]], refresh: Callable[[], Awaitable[bool]] | None
    ) -> None:
        """Notice that the index is gone, bring it back, take over from others, and put back what was lost."""
        away = False
        while True:
            try:
                gone = not await self._answers()
                if gone and not self._index.owned:
                    away = True
                    await self._clock.sleep(WATCH_SECONDS)
                    continue
                if gone or away:
                    away = False
                    await self._heal()
                if refresh is not None and await refresh():
                    self.settle()
                if any(library.lost for library in self._libraries.values()):
                    await put_back()
                    if any(library.lost for library in self._libraries.values()):
                        await self._clock.sleep(HEAL_SECONDS[-1])  # A source is gone: someone must sync it.
            except PasseurError as exc:
                log.warning("index not mended yet", reason=exc.message)
                self.set("degraded", exc.message)
            await self._clock.sleep(WATCH_SECONDS)

    async def _answers(self) -> bool:
        try:
            await self._index.probe()
        except IndexLost as exc:
            self.set("degraded", f"{exc.message} It is being brought back; answers go on.")
            return False
        return True

    async def _heal(self) -> None:
        for attempt, pause in enumerate(HEAL_SECONDS):
            try:
                for library in self._libraries.values():
                    if library.snapshot is not None:
                        async with self._alone(library) as alone:
                            await library.check(alone=alone)
            except IndexLost as exc:
                self.set("degraded", exc.message)
                if attempt == QUARANTINE_AT:
                    log.exception("index is damaged: put aside and rebuilt", reason=exc.message)
                    await self._index.quarantine()
                await self._clock.sleep(pause)
                continue
            self.settle()
            return
