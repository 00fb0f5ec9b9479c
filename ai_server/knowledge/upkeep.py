"""Whether the documents can be searched, and what is done about it: loading, watching the index child, mending."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

import structlog

from ai_server.knowledge.contract import KnowledgeState
from ai_server.knowledge.durable import IndexLost
from shared.errors import NotReady, PasseurError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from ai_server.knowledge.durable import DurableIndex
    from ai_server.knowledge.library import Library
    from shared.clock import Clock

WATCH_SECONDS: Final = 1.0
"""How often the index child is looked at."""
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
        clock: Clock,
        put_back: Callable[[], Awaitable[None]],
    ) -> None:
        """Watch nothing yet. `put_back` indexes again what the durable index lost."""
        self._index = index
        self._libraries = libraries
        self._clock = clock
        self._put_back = put_back
        self._state = KnowledgeState("down", "The documents are still being loaded.", clock.now())
        self._watching: asyncio.Task[None] | None = None

    @property
    def state(self) -> KnowledgeState:
        """Readiness now."""
        return self._state

    def watch(self) -> None:
        """Look after the index from now on."""
        self._watching = asyncio.create_task(self._watch(), name="knowledge-watch")

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
        try:
            await library.load()
        except IndexLost as exc:
            log.warning("index did not open, trying again", reason=exc.message)
            try:
                await library.load()
            except IndexLost as again:
                log.exception("index is damaged: put aside and rebuilt", reason=again.message)
                await self._index.quarantine()
                await library.load()

    def settle(self) -> None:
        """Work the state out from the libraries."""
        problems = [library.problem for library in self._libraries.values() if library.problem]
        missing = sum(len(library.lost) for library in self._libraries.values())
        if problems and all(library.snapshot is None for library in self._libraries.values()):
            self.set("down", problems[0])
        elif problems:
            self.set("degraded", problems[0])
        elif missing:
            self.set("degraded", f"{missing:,} passages are missing from the index and are put back; answers go on.")
        else:
            self.set("ready", "")

    def set(self, state: str, reason: str) -> None:
        """Tell a state; its instant is that of the last change."""
        since = self._state.since if self._state.state == state else self._clock.now()
        self._state = KnowledgeState(state, reason, since)  # pyright: ignore[reportArgumentType]

    async def _watch(self) -> None:
        """Notice that the index child died, bring it back, and put back what it lost."""
        while True:
            try:
                if not self._index.alive:
                    await self._heal()
                elif any(library.lost for library in self._libraries.values()):
                    await self._put_back()
                    if any(library.lost for library in self._libraries.values()):
                        await self._clock.sleep(HEAL_SECONDS[-1])  # A source is gone: someone must sync it.
            except PasseurError as exc:
                log.warning("index not mended yet", reason=exc.message)
                self.set("degraded", exc.message)
            await self._clock.sleep(WATCH_SECONDS)

    async def _heal(self) -> None:
        self.set("degraded", "The index of documents died and is being started again; answers go on.")
        for attempt, pause in enumerate(HEAL_SECONDS):
            try:
                for library in self._libraries.values():
                    if library.snapshot is not None:
                        await library.check()
            except IndexLost as exc:
                self.set("degraded", exc.message)
                if attempt == QUARANTINE_AT:
                    log.exception("index is damaged: put aside and rebuilt", reason=exc.message)
                    await self._index.quarantine()
                await self._clock.sleep(pause)
                continue
            self.settle()
            return
