"""What a message asks for: the documents, a service to search, or nothing but courtesy. No model is called.

Rules decide what people say outright: a service by name, a verb of searching, a question. Only what they leave open
goes to the example model. A wrong silent choice costs more than one question, so a service is taken silently only
when it is named, or alone in holding what was asked for; otherwise the candidates are returned and the person chooses.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ai_server.answering import intent_words as words
from ai_server.answering.contract import Confidence, Detection, Intent, IntentKind, Mode
from ai_server.answering.greeting import is_greeting
from ai_server.answering.intent_request import is_term, read_request
from ai_server.answering.intent_services import Services
from ai_server.answering.intent_terms import folded, read_words, terms_of, without_politeness
from ai_server.knowledge.rights import may_read, rights_keys

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ai_server.answering.contract import Assistant, HistoryMessage, Project
    from ai_server.answering.intent_model import SentenceEncoder
    from ai_server.answering.intent_request import Request
    from ai_server.answering.intent_terms import Word
    from ai_server.connectors.contract import ConnectorSpec
    from ai_server.knowledge.contract import RetrievalContext

HIGH_SCORE: Final = 0.5
HIGH_GAP: Final = 0.2
"""From this score, and this far before the next service, the examples alone make a choice silent."""
LOW_SCORE: Final = 0.3
"""Below this a message is like no example of any service: out of scope for services."""
CANDIDATE_LIMIT: Final = 8
SETS_LIMIT: Final = 64
"""Most sets of services kept prepared: one for each that somebody may use."""
COURTESY_LIMIT: Final = 120
"""Longest message, in characters, that may be nothing but thanks."""
FOLLOWED_BACK: Final = 3
"""Earlier messages of the person in which "et superman ?" looks for its service."""
DOCUMENTS_LABEL: Final = {
    "fr": "Documentation – pages d'aide",
    "en": "Documentation – help pages",
    "es": "Documentación – páginas de ayuda",
}

_FOLLOWS: Final = frozenset({"et", "and", "y", "ou", "or", "o"})


class RoutingDetector:
    """Tells documents and services apart; its models are fitted on first use and kept."""

    def __init__(self, encoder: SentenceEncoder | None = None) -> None:
        """Take a free local encoder, or none: then words alone tell what the rules leave open."""
        self._encoder = encoder
        self._services: OrderedDict[tuple[int, ...], Services] = OrderedDict()
        self._fitting = asyncio.Lock()

    async def detect(
        self,
        project: Project,
        assistant: Assistant,
        message: str,
        history: Sequence[HistoryMessage],
        language: str,  # noqa: ARG002 - people mix languages, so all are looked for at once
        *,
        contexts: Sequence[RetrievalContext] | None = None,
    ) -> Detection:
        """Say what the message asks for. `contexts` hides services that they may not read; `None` hides none."""
        if is_greeting(message):
            return _sure(Intent(IntentKind.GREETING, score=1.0))
        services = visible(project, contexts)
        plain = plain_intent(assistant)
        if not services and len(message) > COURTESY_LIMIT:
            return _sure(plain)
        spoken = read_words(message)
        said = without_politeness(spoken)
        if folded(said) in words.CLOSING and len(message) <= COURTESY_LIMIT:
            return _sure(Intent(IntentKind.CONVERSATION, score=1.0))
        if not services or not said:
            return _sure(plain)
        followed = await self._followed(project, assistant, spoken, history, contexts)
        if followed is not None:
            return followed
        head = without_politeness(read_words(message.partition(":")[0])) if ":" in message else ()
        return await self._decided(self._prepared(services), plain, said, head)

    async def _decided(
        self, services: Services, plain: Intent, said: tuple[Word, ...], head: tuple[Word, ...]
    ) -> Detection:
        request = read_request(said, services, head)
        hinted = services.hinted(folded(request.rest))
        if request.question or request.documents_named or not request.rest:
            return _sure(plain)
        for words_left in (request.rest, request.whole):
            holders, left = services.holding(words_left)
            if holders and is_term(left) and not request.asks_where and all(each in holders for each in request.named):
                return _open([_intent(spec, left, 1.0) for spec in holders])
        if request.named:
            return await self._by_name(request, plain, said)
        asked_for = request.weak or request.asks_where or (request.asks_having and max(hinted.values(), default=0) > 1)
        if request.strong or (hinted and asked_for):
            return await self._by_search(services, request, hinted, plain)
        return await self._by_examples(services, request, hinted, plain, said)

    async def _by_name(self, request: Request, plain: Intent, said: tuple[Word, ...]) -> Detection:
        """A service is named: where to search, or what the message is about."""
        candidates = [_intent(spec, request.rest, 1.0) for spec in request.named]
        if len(candidates) > 1:
            return Detection(candidates[0], Confidence.MEDIUM, tuple(candidates))
        asked_for = request.strong or request.weak or request.asks_where or request.asks_having
        if asked_for or request.addressed:
            return Detection(candidates[0], Confidence.HIGH, tuple(candidates))
        scores = await self._scores(self._prepared(request.named), said)
        if max(scores.values(), default=0.0) >= HIGH_SCORE:
            return Detection(candidates[0], Confidence.HIGH, tuple(candidates))
        return _open([*candidates, choosable(plain)])

    async def _by_search(
        self,
        services: Services,
        request: Request,
        hinted: Mapping[str, int],
        plain: Intent,
    ) -> Detection:
        """Something is to be searched, nobody said where: what it is called may tell."""
        best = max(hinted.values(), default=0)
        holders = [spec for spec in services.specs if hinted.get(spec.key, 0) == best > 0]
        if request.asks_where and holders:
            # "Where is my invoice?" may be meant for the help pages as well.
            return _open([*(_intent(spec, request.rest, 0.9) for spec in holders), choosable(plain)])
        if len(holders) == 1:
            return _sure(_intent(holders[0], request.rest, 1.0))
        if holders:
            return _open([_intent(spec, request.rest, 0.9) for spec in holders])
        scores = await self._scores(services, request.rest)
        ordered = sorted(services.specs, key=lambda spec: -_score(scores, spec))
        candidates = [_intent(spec, request.rest, _score(scores, spec)) for spec in ordered]
        return _open([*candidates, *([choosable(plain)] if plain.kind is IntentKind.DOCUMENTS else [])])

    async def _by_examples(
        self,
        services: Services,
        request: Request,
        hinted: Mapping[str, int],
        plain: Intent,
        said: tuple[Word, ...],
    ) -> Detection:
        """Nothing was said outright: is it like what people ask of a service?"""
        scores = await self._scores(services, said)
        ordered = sorted(services.specs, key=lambda spec: -_score(scores, spec))
        best, following = _score(scores, ordered[0]), (_score(scores, ordered[1]) if len(ordered) > 1 else 0.0)
        if best < LOW_SCORE:
            if hinted and is_term(said):  # "Gitane disponible ?": a word that points at a service, and no question
                pointed = [_intent(spec, said, 0.0) for spec in services.specs if spec.key in hinted]
                return _open([*pointed, choosable(plain)])
            return Detection(plain, Confidence.HIGH if not hinted else Confidence.LOW, (plain,))
        candidates = [_intent(spec, request.rest, _score(scores, spec)) for spec in ordered]
        if best >= HIGH_SCORE and best - following >= HIGH_GAP and ordered[0].key in hinted:
            return Detection(candidates[0], Confidence.HIGH, tuple(candidates[:CANDIDATE_LIMIT]))
        likely = [each for each in candidates if each.score >= LOW_SCORE]
        return _open([*likely, choosable(plain)])

    async def _followed(
        self,
        project: Project,
        assistant: Assistant,
        said: tuple[Word, ...],
        history: Sequence[HistoryMessage],
        contexts: Sequence[RetrievalContext] | None,
    ) -> Detection | None:
        """Read "et superman ?" after a search that named its service: the same there, with new terms."""
        if said[0].folded not in _FOLLOWS or len(said) == 1:
            return None
        asked = [each.text for each in history if each.role == "user"][-FOLLOWED_BACK:]
        for text in reversed(asked):
            earlier = without_politeness(read_words(text))
            if not earlier or earlier[0].folded in _FOLLOWS:
                continue
            found = await self.detect(project, assistant, text, (), "", contexts=contexts)
            if found.intent.kind is not IntentKind.CONNECTOR or found.confidence is not Confidence.HIGH:
                return None
            terms = terms_of(without_politeness(said[1:]), ())
            return _sure(replace(found.intent, search_terms=terms)) if terms else None
        return None

    async def _scores(self, services: Services, said: tuple[Word, ...]) -> Mapping[str, float]:
        """Score each service and endpoint, as `type/instance endpoint`."""
        if not services.model.fitted:
            async with self._fitting:
                if not services.model.fitted:
                    await services.model.fit(services.examples)
        return {each.label: each.score for each in await services.model.rank(" ".join(each.text for each in said))}

    def _prepared(self, specs: tuple[ConnectorSpec, ...]) -> Services:
        """Find what was prepared for these very services; what is kept holds them, so no other can have their ids."""
        key = tuple(map(id, specs))
        known = self._services.get(key)
        if known is None:
            known = self._services[key] = Services(specs, self._encoder)
            while len(self._services) > SETS_LIMIT:
                self._services.popitem(last=False)
        return known


def visible(project: Project, contexts: Sequence[RetrievalContext] | None) -> tuple[ConnectorSpec, ...]:
    """List the services whose rights one of the contexts allows, as for documents: deny by default."""
    if contexts is None:
        return project.connectors
    needed = rights_keys(project.knowledge.keys)
    return tuple(spec for spec in project.connectors if may_read(spec.rights, contexts, needed))


def _intent(spec: ConnectorSpec, rest: tuple[Word, ...], score: float) -> Intent:
    """Make the reading of a request as a search of one service: its best endpoint, terms and narrowing."""
    forms = folded(rest)
    endpoint = max(spec.endpoints, key=lambda each: sum(form in each.hints for form in forms))
    narrowing = next((dict(endpoint.hints[form]) for form in forms if endpoint.hints.get(form)), {})
    return Intent(
        IntentKind.CONNECTOR,
        connector=spec.connector,
        instance=spec.instance,
        endpoint=endpoint.name,
        search_terms=terms_of(rest, endpoint.hints.keys() - endpoint.kept),
        query_parameters=narrowing,
        score=score,
        label=spec.label(),
    )


def plain_intent(assistant: Assistant) -> Intent:
    """What is meant when no service is: the documents, or a chat."""
    documents = assistant.mode is Mode.DOCUMENTS
    return Intent(IntentKind.DOCUMENTS if documents else IntentKind.CONVERSATION, score=1.0)


def choosable(plain: Intent) -> Intent:
    """Give it the words by which a person can choose it."""
    return replace(plain, label=DOCUMENTS_LABEL, score=min(plain.score, LOW_SCORE))


def _score(scores: Mapping[str, float], spec: ConnectorSpec) -> float:
    return max((scores.get(f"{spec.key} {endpoint.name}", 0.0) for endpoint in spec.endpoints), default=0.0)


def _sure(intent: Intent) -> Detection:
    return Detection(intent, Confidence.HIGH, (intent,))


def _open(candidates: Sequence[Intent]) -> Detection:
    """Leave the choice to the person; one candidate alone is no choice."""
    kept = tuple(candidates[:CANDIDATE_LIMIT])
    return Detection(kept[0], Confidence.HIGH if len(kept) == 1 else Confidence.MEDIUM, kept)
