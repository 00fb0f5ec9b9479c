"""Runs one turn against the AI server until it has a result, whatever happens to browsers meanwhile."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING, Final

from gateway.assistant.contract import Delta, Outcome, Result, Step
from gateway.events.contract import Running
from gateway.turns.question import from_plain
from gateway.turns.reply import failure
from shared.errors import NotReady, PasseurError
from shared.logs import logger

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateway.assistant.contract import Assistant, Question
    from gateway.events.contract import Announcer
    from gateway.storage.contract import TurnRecord
    from gateway.turns.desk import Enclosures
    from shared.clock import Clock

REATTACH_DELAYS_S: Final = (0.2, 0.5, 1.0, 2.0, 3.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0)
"""Waits between attempts to find the AI server again: about a minute in all, then the turn fails as not ready."""

STOP_WAIT_S: Final = 10.0
"""How long a stopped turn waits for the AI server's last word."""

STEPS: Final[Mapping[str, str]] = {
    "intent": "intent",
    "retrieve": "retrieval",
    "decide": "retrieval",
    "generate": "api_call",
    "tool": "tool_preview",
    "cite": "formatting",
}

log = logger(__name__)


class TurnRun:
    """One turn under way in this process."""

    def __init__(
        self,
        turn: TurnRecord,
        stream_ids: tuple[str, ...],
        assistant: Assistant,
        announcer: Announcer,
        clock: Clock,
        enclosures: Enclosures | None = None,
    ) -> None:
        """Take a turn that this process owns, and the streams whose readers watch it."""
        self.turn = turn
        self.running = Running(stream_ids, turn.conversation_id, turn.id, turn.ai_message_id)
        self._question: Question = from_plain(turn.question)
        self._enclosures = enclosures
        self._enclosed = enclosures is None
        self._assistant = assistant
        self._announcer = announcer
        self._clock = clock
        self._listening = asyncio.timeout(None)
        self._stopping: asyncio.Task[None] | None = None
        self._is_over = False
        self._hushed = False
        self._text = ""
        self._step = ""

    async def converse(self, *, attached_again: bool) -> Result:
        """Get the turn's result. With `attached_again` the turn was started before, perhaps by another process."""
        self._tell("saving")
        try:
            async with self._listening:
                return await self._persist(known=attached_again)
        except TimeoutError:
            if not self._listening.expired():
                raise
            log.warning("stop_unanswered", turn_id=self.turn.id)
            return Result(Outcome.STOPPED, self._text, self._question.language_hint)
        finally:
            self._is_over = True
            if self._stopping is not None:
                self._stopping.cancel()

    def stop(self) -> None:
        """Ask the AI server to stop; what was said so far stays."""
        if self._stopping is None and not self._is_over:
            self._stopping = asyncio.create_task(self._stop(), name=f"stop of turn {self.turn.id}")

    def hush(self) -> None:
        """Say no more, and stop: people have the word."""
        self._hushed = True
        self.stop()

    async def _stop(self) -> None:
        """Stop at the AI server, whose last word is the turn's result; where none comes, end with what was heard."""
        patience_s = STOP_WAIT_S
        try:
            await self._assistant.cancel(self._question.project_id, self._question.idempotency_key)
        except PasseurError as exc:
            log.warning("stop_refused", turn_id=self.turn.id, reason=exc.message)
            patience_s = 0.0
        if not self._is_over:
            self._listening.reschedule(asyncio.get_running_loop().time() + patience_s)

    async def _persist(self, *, known: bool) -> Result:
        heard = known
        for delay in (0.0, *REATTACH_DELAYS_S):
            if delay:
                await self._clock.sleep(delay)
            try:
                if heard and not await self._assistant.knows(self._question.project_id, self.turn.id):
                    return Result(Outcome.INTERRUPTED, self._text, self._question.language_hint)
                return await self._listen()
            except NotReady as exc:
                log.warning("assistant_lost", turn_id=self.turn.id, reason=exc.message)
                if not heard and not self._step_beyond_saving():
                    return self._failed(exc)
                heard = True
            except PasseurError as exc:
                return self._failed(exc)
        return self._failed(NotReady("The AI server did not come back within a minute."))

    async def _listen(self) -> Result:
        if self._enclosures is not None and not self._enclosed:
            self._question = await self._enclosures.enclose(self.turn, self._question)
            self._enclosed = True
        async with aclosing(self._assistant.answer(self._question)) as events:
            async for event in events:
                match event:
                    case Result():
                        return event
                    case Delta(start=start, text=text):
                        self._text = self._text[:start] + text
                        if not self._hushed:
                            self._announcer.delta(self.running, start, text)
                    case Step(kind=kind, detail=detail):
                        self._tell(STEPS.get(kind, "api_call"), detail)
        raise NotReady("The AI server ended the turn without a result.")

    def _tell(self, step: str, detail: str = "") -> None:
        if step != self._step or detail:
            self._step = step
            self._announcer.step(self.running, step, detail)

    def _step_beyond_saving(self) -> bool:
        return self._step != "saving" or bool(self._text)

    def _failed(self, error: PasseurError) -> Result:
        log.warning("turn_failed", turn_id=self.turn.id, slug=error.slug, reason=error.message)
        return failure(error, self._text, self._question.language_hint)
