"""Search, CountTokens and DetectIntent: parts of a turn by themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ai_server.answering import validation
from ai_server.answering.language import turn_language
from ai_server.answering.work import payer_of
from ai_server.knowledge.contract import Spending
from ai_server.providers.contract import GenerationRequest, Message, TextPart
from ai_server.rpc import convert
from ai_server.rpc.caller import client_for
from shared.errors import InvalidRequest, NotFound
from shared.ids import new_id
from shared.pb.passeur.v1 import assistant_pb2
from shared.text import text_violation

if TYPE_CHECKING:
    from ai_server.answering.contract import Project
    from ai_server.services import Services

MOST_HITS: Final = 50
DEFAULT_HITS: Final = 8
COUNTED_LIMIT: Final = 1_000_000
"""Most characters whose tokens are counted in one call."""


class Lookups:
    """Part of AssistantService."""

    _services: Services

    async def Search(self, request: Any, context: Any) -> assistant_pb2.SearchResponse:
        """Retrieve without generating."""
        client = client_for(request.project_id)
        project = self._project(request.project_id)
        violation = text_violation("query", request.query, limit=validation.QUESTION_LIMIT)
        validation.refuse([violation] if violation else [])
        limit = request.result_limit or DEFAULT_HITS
        if not 1 <= limit <= MOST_HITS:
            raise InvalidRequest.of("result_limit", f"must be 1 to {MOST_HITS}, or 0 for {DEFAULT_HITS}")
        self._services.admit()
        knowledge = await self._services.knowledge()
        payer = payer_of(client.name, project.project_id, project.default_assistant, "", request.budget_user)
        key = f"search-{new_id(self._services.clock.now())}/0"
        found = await knowledge.search(
            project.project_id,
            request.query,
            convert.contexts(request.retrieval_contexts),
            limit=limit,
            language=turn_language(request.query, request.language_hint, (), project.languages),
            spending=Spending(payer.project_id, payer.assistant, payer.user, key),
        )
        hits = [convert.search_hit(each) for each in found.hits if each.chunk.quotable]
        return assistant_pb2.SearchResponse(hits=hits, sufficient=found.sufficient)

    async def CountTokens(self, request: Any, context: Any) -> assistant_pb2.CountTokensResponse:
        """Count for the assistant's first model."""
        client_for(request.project_id)
        project = self._project(request.project_id)
        _, assistant = validation.project_and_assistant(self._services.projects, project.project_id, request.assistant)
        messages = convert.history(request.messages)
        if len(request.instructions) + sum(len(each.text) for each in messages) > COUNTED_LIMIT:
            raise InvalidRequest.of("messages", f"hold more than {COUNTED_LIMIT:,} characters: send less at once")
        choice = assistant.chain[0]
        said = tuple(
            Message("user" if each.role == "user" else "assistant", (TextPart(each.text),)) for each in messages
        )
        counted = await self._services.providers.generation(choice).tokenizer.count(
            GenerationRequest(
                model=choice.model,
                instructions=request.instructions,
                messages=said,
                question="",
                passages=(),
                language=project.languages[0],
                max_output_tokens=1,
            )
        )
        row = self._services.providers.catalogue.find(choice.provider, choice.model)
        return assistant_pb2.CountTokensResponse(
            token_count=counted.tokens,
            exact=counted.exact,
            limit_token_count=row.window if row else 0,
            model=choice.model,
        )

    async def DetectIntent(self, request: Any, context: Any) -> assistant_pb2.DetectIntentResponse:
        """Say what a message asks for."""
        client_for(request.project_id)
        violation = text_violation("message", request.message, limit=validation.QUESTION_LIMIT)
        validation.refuse([violation] if violation else [])
        history = convert.history(request.history)
        validation.refuse(validation.history_violations("history", history, validation.HISTORY_LIMIT))
        turns = await self._services.turns()
        project, assistant = validation.project_and_assistant(turns.projects, request.project_id, request.assistant)
        language = turn_language(request.message, request.language_hint, history, project.languages)
        found = await turns.tools.detector.detect(project, assistant, request.message, history, language)
        return assistant_pb2.DetectIntentResponse(
            intent=convert.intent_message(found.intent),
            confidence=convert.CONFIDENCES[found.confidence],
            candidates=map(convert.intent_message, found.candidates),
            language=language,
        )

    def _project(self, project_id: str) -> Project:
        project = self._services.projects.get(project_id)
        if project is None:
            raise NotFound("There is no such project.")
        return project
