"""Runs one turn against the AI server until it has a result, whatever happens to browsers meanwhile."""

from __future__ import annotations

import asyncio
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
        self._stop = asyncio.Event()
        self._hushed = False
        self._text = ""
        self._step = ""

    async def converse(self, *, attached_again: bool) -> Result:
        """Get the turn's result. With `attached_again` the turn was started before, perhaps by another process."""
        self._tell("saving")
        conversation = asyncio.ensure_future(self._persist(known=attached_again))
        stopping = asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait({conversation, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if conversation.done():
                return conversation.result()
            return await self._stopped(conversation)
        finally:
            for task in (conversation, stopping):
                task.cancel()
            await asyncio.gather(conversation, stopping, return_exceptions=True)

    def stop(self) -> None:
        """Ask the AI server to stop; what was said so far stays."""
        self._stop.set()

    def hush(self) -> None:
        """Say no more, and stop: people have the word."""
        self._hushed = True
        self._stop.set()

    async def _stopped(self, conversation: asyncio.Future[Result]) -> Result:
        """Stop at the AI server and wait for its word; when it cannot be reached, end with what was heard."""
        try:
            await self._assistant.cancel(self._question.project_id, self._question.idempotency_key)
            async with asyncio.timeout(STOP_WAIT_S):
                return await asyncio.shield(conversation)
        except (PasseurError, TimeoutError) as exc:
            log.warning("stop_unanswered", turn_id=self.turn.id, reason=str(exc))
        return Result(Outcome.STOPPED, self._text, self._question.language_hint)

    async def _persist(self, *, known: bool) -> Result:
        heard = known
        for delay in (0.0, *REATTACH_DELAYS_S):
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
        async for event in self._assistant.answer(self._question):
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
