"""The twin of `gateway.assistant.grpc_client`: an AI server that says what its script says.

It keeps the promises of the real one: a turn belongs to its key, the same key attaches again (replay, then live), the
caller's leaving does not stop it, and `cancel` does.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gateway.assistant.contract import (
    Citation,
    Delta,
    Extracted,
    HistoryMessage,
    NearPassage,
    Outcome,
    Passage,
    Question,
    Readiness,
    Result,
    Sight,
    Step,
    TurnEvent,
)
from shared.errors import NotReady, PasseurError

Script = Callable[[Question], Sequence["TurnEvent | PasseurError | Pause"]]


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait: for seconds, or until `release` of the fake is called."""

    seconds: float | None = None


@dataclass(slots=True)
class _Turn:
    question: Question
    heard: list[TurnEvent] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None
    error: PasseurError | None = None

    def tell(self, event: TurnEvent) -> None:
        self.heard.append(event)
        self.wake()

    def wake(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()

    @property
    def text(self) -> str:
        text = ""
        for event in self.heard:
            if isinstance(event, Delta):
                text = text[: event.start] + event.text
        return text

    @property
    def over(self) -> bool:
        return self.error is not None or (bool(self.heard) and isinstance(self.heard[-1], Result))


def answering(
    text: str, *, citations: tuple[Citation, ...] = (), language: str = "fr", pace_s: float = 0.0, words: int = 1
) -> Sequence[TurnEvent | Pause]:
    """Script a cited answer that streams `words` words at a time."""
    events: list[TurnEvent | Pause] = [Step("intent"), Step("retrieve"), Step("decide"), Step("generate")]
    pieces = text.split(" ")
    start = 0
    for place in range(0, len(pieces), words):
        piece = " ".join(pieces[place : place + words]) + (" " if place + words < len(pieces) else "")
        if pace_s:
            events.append(Pause(pace_s))
        events.append(Delta(start, piece))
        start += len(piece)
    result = Result(
        Outcome.ANSWERED,
        text,
        language,
        citations=citations,
        confidence=0.71,
        model="extractive",
        provider="embedded",
        cost_nanousd=0,
        duration_ms=42,
    )
    return [*events, Step("cite"), result]


def ending(outcome: Outcome, text: str = "", language: str = "fr", **more: object) -> Sequence[TurnEvent]:
    """Script a turn that ends at once."""
    return [Step("intent"), Step("retrieve"), Result(outcome, text, language, **more)]  # type: ignore[arg-type]


class ScriptedAssistant:
    """Runs a script for each question; `down` makes it unreachable, `forget` lose what it knew."""

    def __init__(self, script: Script | None = None, passages: Mapping[str, Passage] | None = None) -> None:
        self.script: Script = script or (lambda question: answering(f"Vous avez demandé : {question.text}"))
        self.passages = dict(passages or {})
        self.questions: list[Question] = []
        self.asked_contexts: list[Sequence[Mapping[str, tuple[str, ...]]]] = []
        self.state = Readiness(True, "ready")
        self.sights: dict[str, Sight] = {}
        self.down = False
        self.started = 0
        self.summaries_asked: list[tuple[str, tuple[HistoryMessage, ...], str, str]] = []
        self.summary_error: PasseurError | None = None
        self.extract_error: PasseurError | None = None
        self._turns: dict[str, _Turn] = {}
        self._gate = asyncio.Event()
        self._cut = asyncio.Event()

    async def answer(self, question: Question) -> AsyncGenerator[TurnEvent, None]:
        self._reach()
        turn = self._turns.get(question.idempotency_key)
        if turn is None:
            turn = self._turns[question.idempotency_key] = _Turn(question)
            self.questions.append(question)
            turn.task = asyncio.create_task(self._play(turn))
        else:
            assert turn.question == question, "the same key came with another body"
        if turn.text and not turn.over:
            steps = [event for event in turn.heard if isinstance(event, Step)]
            for event in [*steps, Delta(0, turn.text)]:
                yield event
            seen = len(turn.heard)
        else:
            seen = 0
        while True:
            while seen < len(turn.heard):
                event = turn.heard[seen]
                seen += 1
                yield event
                if isinstance(event, Result):
                    return
            if turn.error is not None:
                raise turn.error
            await self._news(turn)

    async def knows(self, project_id: str, idempotency_key: str) -> bool:
        self._reach()
        return idempotency_key in self._turns

    async def detect(self, project_id: str, assistant: str, text: str, language: str) -> Sight:
        self._reach()
        return self.sights.get(text, Sight("documents", sure=True))

    async def cancel(self, project_id: str, idempotency_key: str) -> bool:
        self._reach()
        turn = self._turns.get(idempotency_key)
        if turn is None or turn.over or turn.task is None:
            return False
        turn.task.cancel()
        turn.tell(Result(Outcome.STOPPED, turn.text, turn.question.language_hint))
        return True

    async def passage(
        self, project_id: str, chunk_id: str, contexts: Sequence[Mapping[str, tuple[str, ...]]]
    ) -> Passage | None:
        self._reach()
        self.asked_contexts.append(contexts)
        return self.passages.get(chunk_id) if contexts else None

    async def summarize(
        self, key: str, project_id: str, messages: Sequence[HistoryMessage], language: str, budget_user: str
    ) -> str:
        self._reach()
        self.summaries_asked.append((key, tuple(messages), language, budget_user))
        if self.summary_error is not None:
            raise self.summary_error
        return f"{len(messages)} messages: {messages[0].text}"

    async def extract(self, project_id: str, name: str, media_type: str, data: bytes) -> Extracted:
        self._reach()
        if self.extract_error is not None:
            raise self.extract_error
        return Extracted(data.decode("utf-8", "replace"), truncated=False, page_count=1)

    async def near_passages(self, project_id: str, idempotency_key: str) -> Sequence[NearPassage]:
        self._reach()
        if idempotency_key not in self._turns:
            return ()
        return [NearPassage(each.chunk_id, each.title, 0.61, kept=False) for each in self.passages.values()]

    async def readiness(self) -> Readiness:
        return Readiness(False, "down", ("The AI server does not answer.",)) if self.down else self.state

    async def close(self) -> None:
        tasks = [turn.task for turn in self._turns.values() if turn.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # ------------------------------------------------------------------ what tests do to it

    def release(self) -> None:
        """Let everything that waits at an open-ended `Pause` go on."""
        self._gate.set()
        self._gate = asyncio.Event()

    def crash(self) -> None:
        """Become unreachable and cut whoever listens; turns go on, as they do behind a lost connection."""
        self.down = True
        self._cut.set()
        self._cut = asyncio.Event()

    def recover(self) -> None:
        """Be reachable again."""
        self.down = False

    def forget(self) -> None:
        """Lose every turn, as a server whose state was lost."""
        for turn in self._turns.values():
            if turn.task is not None:
                turn.task.cancel()
        self._turns.clear()

    def _reach(self) -> None:
        if self.down:
            raise NotReady("The AI server does not answer.")

    async def _news(self, turn: _Turn) -> None:
        cut = self._cut
        waits = [asyncio.ensure_future(turn.changed.wait()), asyncio.ensure_future(cut.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        if cut.is_set():
            raise NotReady("The AI server's connection broke.")

    async def _play(self, turn: _Turn) -> None:
        self.started += 1  # whoever sees it finds the turn at its first `Pause`, and can release it
        for event in self.script(turn.question):
            if isinstance(event, Pause):
                await (self._gate.wait() if event.seconds is None else asyncio.sleep(event.seconds))
            elif isinstance(event, PasseurError):
                turn.error = event
                turn.wake()
            else:
                turn.tell(replace(event, turn_id=turn.question.idempotency_key) if isinstance(event, Result) else event)
