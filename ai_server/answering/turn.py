"""One running turn: what it said so far, who reads it, and how it is stopped.

Readers hold no queue: each has a place in what was said, and is woken to read on from there. So a slow reader costs
nothing and skips nothing, and one that comes late gets the text so far as a single delta.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from enum import StrEnum
from typing import TYPE_CHECKING

from ai_server.answering.contract import AnswerResult, Delta, Step, StepKind

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

    from ai_server.answering.contract import TurnEvent


class Ending(StrEnum):
    """Why a turn is made to end before its work does."""

    STOPPED = "stopped"
    """Somebody said stop, or the caller of a turn that is not detached left."""

    INTERRUPTED = "interrupted"
    """The server is going away."""


class Turn:
    """The state that the work writes and readers read; all on one event loop."""

    def __init__(self, turn_id: str, message_id: str, *, detached: bool) -> None:
        """Begin silent. `message_id` is what deltas carry: the caller's key, or the turn's own id."""
        self.turn_id = turn_id
        self.message_id = message_id
        self.detached = detached
        self.ending: Ending | None = None
        self.task: asyncio.Task[None] | None = None
        self._steps: list[Step] = []
        self._text = ""
        self._result: AnswerResult | None = None
        self._error: BaseException | None = None
        self._begun = False
        self._concluded = False
        self._readers = 0
        self._moved: asyncio.Event | None = None
        self._over = asyncio.Event()

    # ------------------------------------------------------------ what the work says

    @property
    def text(self) -> str:
        """What was said so far."""
        return self._text

    def begin(self) -> bool:
        """Say that the work starts now; False: it was stopped before that, and must not."""
        self._begun = True
        return self.ending is None

    def conclude(self) -> None:
        """Say that the work is over and only its record remains to be written: nothing stops it any more."""
        self._concluded = True

    def step(self, kind: StepKind, detail: str = "") -> None:
        """Say what is being done."""
        self._steps.append(Step(kind, detail))
        self._wake()

    def say(self, text: str) -> None:
        """Add to the text."""
        if text:
            self._text += text
            self._wake()

    def end(self, result: AnswerResult) -> None:
        """Give the result: the last event."""
        self._result = result
        self._over.set()
        self._wake()

    def fail(self, error: BaseException) -> None:
        """The turn never came to be; every reader gets the error."""
        self._error = error
        self._over.set()
        self._wake()

    # ------------------------------------------------------------ what readers do

    @property
    def ended(self) -> bool:
        """Whether the last event was given."""
        return self._result is not None or self._error is not None

    @property
    def readers(self) -> int:
        """How many callers are attached."""
        return self._readers

    @asynccontextmanager
    async def attached(self) -> AsyncIterator[None]:
        """Count a caller; the last one that leaves a running turn stops it, unless it is detached."""
        self._readers += 1
        try:
            yield
        finally:
            self._readers -= 1
            if self._readers == 0 and not self.detached and not self.ended:
                self.stop(Ending.STOPPED)

    async def events(self) -> AsyncGenerator[TurnEvent, None]:
        """Replay what was said, then go on live; the result comes last.

        Raises:
            PasseurError: the turn never came to be.
        """
        steps = position = 0
        while True:
            while steps < len(self._steps):
                steps += 1
                yield self._steps[steps - 1]
            if position < len(self._text):
                start, position = position, len(self._text)
                yield Delta(self.message_id, start, self._text[start:])
                continue
            if self._error is not None:
                raise self._error
            if self._result is not None:
                yield self._result
                return
            await self._move()

    async def result(self) -> AnswerResult:
        """Wait for the end; nothing that is said before wakes who waits here.

        Raises:
            PasseurError: the turn never came to be.
        """
        await self._over.wait()
        if self._error is not None:
            raise self._error
        assert self._result is not None
        return self._result

    def stop(self, ending: Ending) -> bool:
        """Make the work end where it is; what was said is kept. Tells whether it was running."""
        if self.ended or self._concluded or self.ending is not None:
            return False
        self.ending = ending
        if self.task is not None and self._begun:
            self.task.cancel()
        return True

    async def _move(self) -> None:
        """Wait until something more is said."""
        if self._moved is None:
            self._moved = asyncio.Event()
        await self._moved.wait()

    def _wake(self) -> None:
        moved, self._moved = self._moved, None
        if moved is not None:
            moved.set()
