"""Ask and Summarize: a model without documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ai_server.answering import validation
from ai_server.answering.codec import body_digest
from ai_server.answering.language import turn_language
from ai_server.answering.plain import PlainDraft, PlainWork, SummaryWork, summary_draft
from ai_server.answering.prompt import shipped
from ai_server.rpc import convert
from ai_server.rpc.caller import client_for
from ai_server.rpc.failed import refuse_failed
from shared.errors import InvalidRequest
from shared.pb.passeur.v1 import assistant_pb2
from shared.text import text_violation

if TYPE_CHECKING:
    from collections.abc import Callable

    from ai_server.answering.contract import AnswerResult
    from ai_server.answering.journal import TurnRecord
    from ai_server.answering.work import Work
    from ai_server.services import Services

INSTRUCTIONS_LIMIT: Final = 20_000


class Plain:
    """Part of AssistantService."""

    _services: Services

    async def Ask(self, request: Any, context: Any) -> assistant_pb2.AskResponse:
        """Ask a model one question."""
        client = client_for(request.project_id)
        asked = convert.answer_input(_as_input(request))
        validation.check_answer(asked)
        instructions = text_violation(
            "instructions", request.instructions, limit=INSTRUCTIONS_LIMIT, blank_allowed=True
        )
        validation.refuse([instructions] if instructions else [])
        turns = await self._services.turns()
        project, assistant = validation.project_and_assistant(turns.projects, request.project_id, request.assistant)
        draft = PlainDraft(
            instructions=request.instructions or shipped("chat", project.languages[0]),
            text=request.question,
            image=asked.image,
            language=turn_language(request.question, "", (), project.languages),
            cap=asked.max_output_tokens or assistant.max_output_tokens,
            temperature=asked.temperature,
            watched=bool(request.idempotency_key),  # it can be stopped, and what was written is kept
        )

        def make(record: TurnRecord) -> Work:
            return PlainWork(turns.tools, assistant, draft, record, request.budget_user or request.user)

        await self._services.ready()
        result = await self._run(client.name, request, "ask", make)
        return assistant_pb2.AskResponse(
            text=result.text,
            outcome=convert.OUTCOMES[result.outcome],
            model=result.model,
            provider=result.provider,
            usage=convert.usage(result.usage),
            cost_nanousd=result.cost_nanousd,
            estimated=result.estimated,
        )

    async def Summarize(self, request: Any, context: Any) -> assistant_pb2.SummarizeResponse:
        """Summarise a conversation for staff."""
        client = client_for(request.project_id)
        messages = convert.history(request.messages)
        found = validation.history_violations("messages", messages, validation.SUMMARY_HISTORY_LIMIT)
        if not messages:
            raise InvalidRequest.of("messages", "is empty: send the conversation")
        validation.refuse(found)
        turns = await self._services.turns()
        project, assistant = validation.project_and_assistant(turns.projects, request.project_id, request.assistant)
        language = turn_language("", request.language, messages, project.languages)
        draft = summary_draft(project, messages, language)

        def make(record: TurnRecord) -> Work:
            return SummaryWork(turns.tools, assistant, draft, record, request.budget_user, messages)

        await self._services.ready()
        result = await self._run(client.name, request, "summary", make)
        return assistant_pb2.SummarizeResponse(
            text=result.text,
            model=result.model,
            provider=result.provider,
            usage=convert.usage(result.usage),
            cost_nanousd=result.cost_nanousd,
            estimated=result.estimated,
        )

    async def _run(self, client: str, request: Any, operation: str, make: Callable[[TurnRecord], Work]) -> AnswerResult:
        turns = await self._services.turns()
        digest = body_digest(operation, {"request": request.SerializeToString(deterministic=True)})
        turn = await turns.start(
            client, request.project_id, request.idempotency_key, digest, operation, make, detached=False
        )
        async with turn.attached():
            result = await turn.result()
        refuse_failed(result)
        return result


def _as_input(request: assistant_pb2.AskRequest) -> assistant_pb2.AnswerInput:
    """Write the parts that both have, so that one check serves both."""
    return assistant_pb2.AnswerInput(
        idempotency_key=request.idempotency_key,
        project_id=request.project_id,
        assistant=request.assistant,
        user=request.user,
        budget_user=request.budget_user,
        question=request.question,
        image=request.image if request.HasField("image") else None,
        max_output_token_count=request.max_output_token_count,
        temperature=request.temperature if request.HasField("temperature") else None,
    )
