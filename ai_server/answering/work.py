"""The steps of a turn that answers: greeting, intent, search, gate, writing, citing."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Protocol

from ai_server.answering import intent_search, texts
from ai_server.answering.citations import citations, sources
from ai_server.answering.contract import (
    AnswerResult,
    Confidence,
    Detection,
    IntentKind,
    Mode,
    Outcome,
    Problem,
    StepKind,
)
from ai_server.answering.greeting import is_greeting
from ai_server.answering.intent import plain_intent
from ai_server.answering.intent_choice import Choice
from ai_server.answering.language import turn_language
from ai_server.answering.markers import CitedText, inert
from ai_server.answering.prompt import Draft
from ai_server.answering.query import search_query
from ai_server.answering.writing import Writer, Written
from ai_server.knowledge.contract import Spending
from ai_server.ledger.contract import Payer
from ai_server.providers.contract import FinishReason
from shared.errors import ProviderError
from shared.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ai_server.answering.citations import Source
    from ai_server.answering.contract import AnswerInput, Assistant, FailedSearch, Intent, IntentDetector, Project
    from ai_server.answering.intent_search import Searcher
    from ai_server.answering.journal import TurnRecord
    from ai_server.answering.turn import Turn
    from ai_server.knowledge.contract import Knowledge
    from ai_server.providers.fallback import Chains
    from shared.clock import Clock
    from shared.errors import PasseurError

ANONYMOUS: Final = "anonymous"
KEPT_LIMIT: Final = 8
"""Most chunks that a turn retrieves."""


class Work(Protocol):
    """What a turn does. `cut` may be asked for at any moment, also while `run` is being cancelled."""

    record: TurnRecord

    async def run(self, turn: Turn) -> AnswerResult:
        """Do it, saying steps and text into the turn."""
        ...

    def cut(self, outcome: Outcome, problem: Problem | None) -> AnswerResult:
        """Give the result of what was done so far."""
        ...


@dataclass(frozen=True, slots=True)
class Tools:
    """What every turn works with."""

    knowledge: Knowledge
    chains: Chains
    detector: IntentDetector
    clock: Clock
    searcher: Searcher


def payer_of(client: str, project_id: str, assistant: str, user: str, budget_user: str) -> Payer:
    """Say who pays: users are namespaced by client; all anonymous visitors of a project are one."""
    name = budget_user or user
    return Payer(project_id, assistant, name if name in {"", ANONYMOUS} else f"{client}/{name}")


def problem_of(error: PasseurError) -> Problem:
    """Tell an error as the problem of a result."""
    provider = error.provider if isinstance(error, ProviderError) else ""
    return Problem(error.reason, error.message, getattr(error, "resets_at", None), provider)


def result_of(
    record: TurnRecord, outcome: Outcome, written: Written | None, problem: Problem | None = None
) -> AnswerResult:
    """Put the common parts of a result together: text, model, usage and cost."""
    link = written.link if written else None
    said = written is not None and not written.empty
    result = AnswerResult(
        outcome=outcome,
        turn_id=record.turn_id,
        text=written.text if written else "",
        language=record.language,
        model=link.choice.model if link and said else "",
        provider=link.choice.provider if link and said else "",
        economy=written.economy if written and said else False,
        problem=problem,
    )
    return billed(record, result)


def billed(record: TurnRecord, result: AnswerResult) -> AnswerResult:
    """Put what the calls of a turn came to into its result."""
    return replace(
        result,
        usage=sum((each.usage for each in record.calls if each.usage), Usage()),
        cost_nanousd=sum(each.cost_nanousd for each in record.calls),
        estimated=any(each.estimated for each in record.calls),
    )


class AnswerWork:
    """One question, from greeting to citations."""

    def __init__(
        self,
        tools: Tools,
        project: Project,
        assistant: Assistant,
        asked: AnswerInput,
        record: TurnRecord,
        *,
        watched: bool,
    ) -> None:
        """Take what the turn is about; `watched`: somebody can see its text before its end."""
        self.record = record
        self._tools = tools
        self._project = project
        self._assistant = assistant
        self._asked = asked
        self._watched = watched
        self._sources: tuple[Source, ...] = ()
        self._written = Written(CitedText(set()))
        record.assistant = assistant.name
        record.language = turn_language(asked.question, asked.language_hint, asked.history, project.languages)

    async def run(self, turn: Turn) -> AnswerResult:
        """Answer."""
        with self._timed(turn, StepKind.INTENT):
            if self._is_greeting():
                return self._say_kindly(turn, texts.GREETING)
            detection = await self._chosen(turn, await self._detected())
            intent = self.record.intent = detection.intent
        if detection.confidence is Confidence.MEDIUM:
            return replace(self._result(Outcome.CLARIFY_CONNECTOR), candidates=detection.candidates)
        if intent.kind is IntentKind.CONVERSATION and self._assistant.mode is Mode.DOCUMENTS:
            return self._say_kindly(turn, texts.COURTESY)
        if intent.kind is IntentKind.CONNECTOR:
            failed = await self._search_service(turn, intent)
            if failed is not None:
                return replace(self._result(Outcome.CLARIFY_SEARCH), failed_search=failed)
        elif self._assistant.mode is Mode.DOCUMENTS:
            await self._retrieve(turn)
            if not self._sources and not self._asked.attached_texts:
                if self._asked.image is None:
                    return self._result(Outcome.INSUFFICIENT_CONTEXT)
                if not self._can_see():
                    return self._say_blind(turn)
        await self._write(turn)
        with self._timed(turn, StepKind.CITE):
            return self._finished(turn)

    def cut(self, outcome: Outcome, problem: Problem | None) -> AnswerResult:
        """Give what was said so far, with its citations."""
        return self._result(outcome, problem)

    # ---------------------------------------------------------------- steps

    def _is_greeting(self) -> bool:
        asked = self._asked
        return asked.image is None and asked.resolved_intent is None and is_greeting(asked.question)

    def _say_kindly(self, turn: Turn, said: dict[str, str]) -> AnswerResult:
        text = texts.said(said, self.record.language)
        turn.say(text)
        result = self._result(Outcome.ANSWERED)
        return replace(result, text=text, greeting=True)

    async def _detected(self) -> Detection:
        """Take what the person chose already; a question about an image is not for a service."""
        asked = self._asked
        if asked.resolved_intent is not None:
            return Detection(asked.resolved_intent, Confidence.HIGH, (asked.resolved_intent,))
        if asked.image is not None:
            plain = plain_intent(self._assistant)
            return Detection(plain, Confidence.HIGH, (plain,))
        return await self._tools.detector.detect(
            self._project,
            self._assistant,
            asked.question,
            asked.history,
            self.record.language,
            contexts=asked.contexts,
        )

    async def _chosen(self, turn: Turn, detection: Detection) -> Detection:
        """Where the person would be asked, let the project's model choose first, if it has one."""
        models = self._project.intent_chain
        if detection.confidence is not Confidence.MEDIUM or not models:
            return detection
        choice = Choice(self._asked.question, self.record.language, detection)
        return await choice.made(self._tools.chains.chain(models), key=f"{turn.turn_id}/intent", payer=self._payer())

    async def _search_service(self, turn: Turn, intent: Intent) -> FailedSearch | None:
        """Make what a service finds the sources of the turn; nothing found: what may be tried instead."""
        asked, record = self._asked, self.record
        spec = intent_search.service_of(self._project, asked, intent)
        with self._timed(turn, StepKind.RETRIEVE, spec.name):
            record.search_query = " ".join(intent.search_terms)
            found = await intent_search.find(self._tools.searcher, self._project, spec, intent, record.language)
        if not found.items:
            return intent_search.failed_search(
                self._project, self._assistant, asked, spec, intent, found, record.language
            )
        record.hits = intent_search.hits(self._project, spec, found.items, record.language)
        self._sources = sources(record.hits)
        return None

    async def _retrieve(self, turn: Turn) -> None:
        asked, record = self._asked, self.record
        with self._timed(turn, StepKind.RETRIEVE):
            record.search_query = search_query(asked.question, asked.history)
            payer = self._payer()
            spending = Spending(payer.project_id, payer.assistant, payer.user, f"{turn.turn_id}/0")
            found = await self._tools.knowledge.search(
                self._project.project_id,
                record.search_query,
                asked.contexts,
                limit=KEPT_LIMIT,
                language=record.language,
                spending=spending,
            )
        record.hits, record.signals = found.hits, dict(found.signals)
        self._sources = sources(found.hits) if found.sufficient else ()
        shown = sum(each.chunk.quotable for each in self._sources)
        turn.step(StepKind.DECIDE, texts.said(texts.PASSAGES, record.language).format(count=shown))

    def _can_see(self) -> bool:
        chain = self._tools.chains.chain(self._assistant.chain)
        return any(each.generator.provider.capabilities.image for each in chain.links)

    def _say_blind(self, turn: Turn) -> AnswerResult:
        text = texts.said(texts.NO_VISION, self.record.language)
        if self._asked.attached_texts:  # they were looked at, and that is said too
            names = ", ".join(inert(name) for name, _ in self._asked.attached_texts)
            text += f"\n\n{texts.said(texts.NOTHING_IN_FILES, self.record.language).format(names=names)}"
        turn.say(text)
        return replace(self._result(Outcome.ANSWERED), text=text)

    async def _write(self, turn: Turn) -> None:
        if self._from_service and not self._can_paraphrase():
            self._list(turn)
            return
        prompt = "chat" if self._assistant.mode is Mode.CHAT else "documents"
        if self._from_service:
            prompt = "service"
        if self._asked.image is not None and not self._sources:
            prompt = "image"
        draft = Draft(
            project=self._project,
            assistant=self._assistant,
            asked=self._asked,
            prompt=prompt,
            language=self.record.language,
            passages=tuple(each.passage() for each in self._sources),
            watched=self._watched,
        )
        chain = self._tools.chains.chain(self._assistant.chain)
        known = {each.marker_id for each in self._sources}
        with self._timed(turn, StepKind.GENERATE):
            writer = Writer(turn, self.record, self._payer())
            await writer.write(chain, draft, known, self._written, round_number=1, operation="answer")
        if self._from_service and self._written.empty:
            self._list(turn)

    @property
    def _from_service(self) -> bool:
        return self.record.intent is not None and self.record.intent.kind is IntentKind.CONNECTOR

    def _can_paraphrase(self) -> bool:
        chain = self._tools.chains.chain(self._assistant.chain)
        return any(each.generator.provider.capabilities.paraphrases for each in chain.links)

    def _list(self, turn: Turn) -> None:
        """Say what a service found as a list: nothing needs to be worded, and quoting sentences would garble it."""
        intent = self.record.intent
        assert intent is not None
        spec = intent_search.service_of(self._project, self._asked, intent)
        self._written = Written(CitedText({each.marker_id for each in self._sources}))
        text = intent_search.listing(spec, intent, self._sources, self.record.language)
        with self._timed(turn, StepKind.GENERATE):
            turn.say(self._written.cited.feed(text) + self._written.cited.finish())

    def _finished(self, turn: Turn) -> AnswerResult:
        written = self._written
        if not written.empty:
            cut_short = written.finish in {FinishReason.LENGTH, FinishReason.REFUSED}
            return self._result(Outcome.TRUNCATED if cut_short else Outcome.ANSWERED)
        if self._asked.image is not None and written.notice and not self._sources:
            return self._say_blind(turn)
        return self._result(Outcome.INSUFFICIENT_CONTEXT)

    # ---------------------------------------------------------------- results

    def _result(self, outcome: Outcome, problem: Problem | None = None) -> AnswerResult:
        written = self._written
        result = result_of(self.record, outcome, written, problem)
        if written.empty:
            return replace(result, confidence=self._confidence())
        offset = len(written.notice)
        made = citations(
            written.cited.text, written.cited.marks, self._sources, self.record.turn_id, self.record.search_query
        )
        moved = tuple(replace(each, position=each.position + offset) for each in made)
        return replace(result, citations=moved, confidence=self._confidence())

    def _confidence(self) -> float | None:
        """Mean closeness of the kept chunks that may be shown, or that the model was given; None where none is known:
        of what services gave, and of what was found by words alone.
        """
        if self._from_service or "words_only" in self.record.signals:
            return None
        seen = [each for each in self._sources if each.chunk.quotable or not self._written.quotes_only]
        return closeness([each.hit.distance for each in seen])

    def _payer(self) -> Payer:
        asked = self._asked
        return payer_of(self.record.client, asked.project_id, self._assistant.name, asked.user, asked.budget_user)

    @contextmanager
    def _timed(self, turn: Turn, kind: StepKind, detail: str = "") -> Iterator[None]:
        turn.step(kind, detail)
        started = self._tools.clock.monotonic()
        try:
            yield
        finally:
            self.record.lasted(kind, self._tools.clock.monotonic() - started)


def closeness(distances: Sequence[float]) -> float | None:
    """Mean of clamp(1 − distance, 0, 1); None of none."""
    if not distances:
        return None
    return sum(min(1.0, max(0.0, 1.0 - each)) for each in distances) / len(distances)
