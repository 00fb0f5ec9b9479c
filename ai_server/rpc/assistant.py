"""AssistantService: turns, and what surrounds them."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final

from ai_server.answering.codec import problem_from
from ai_server.answering.contract import Intent, IntentKind, Outcome
from ai_server.answering.journal import read as read_journal
from ai_server.clients import Scope
from ai_server.readiness import EMBEDDING, GENERATION, RETRIEVAL, STORE
from ai_server.rpc import convert
from ai_server.rpc.caller import client_for
from ai_server.rpc.failed import refuse_spent_budget
from ai_server.rpc.lookups import Lookups
from ai_server.rpc.offer import Offer
from ai_server.rpc.plain import Plain
from shared.errors import NotImplementedHere
from shared.pb.passeur.v1 import assistant_pb2, assistant_pb2_grpc

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from ai_server.answering.turn import Turn
    from ai_server.services import Services
    from ai_server.storage.journal_contract import JournalLine


class AssistantServicer(Plain, Lookups, assistant_pb2_grpc.AssistantServiceServicer):
    """Converts; `TurnService` decides."""

    def __init__(self, services: Services) -> None:
        """Take the doors."""
        self._services = services

    # ---------------------------------------------------------------- turns

    async def Answer(self, request: Any, context: Any) -> assistant_pb2.AnswerResponse:
        """Run a turn to its end."""
        turn = await self._begin(request.input, streamed=False)
        async with turn.attached():
            result = await turn.result()
        refuse_spent_budget(result)
        return assistant_pb2.AnswerResponse(result=convert.answer_result(result))

    async def StreamAnswer(self, request: Any, context: Any) -> AsyncIterator[assistant_pb2.StreamAnswerResponse]:
        """Run, or re-attach to, a turn as a stream."""
        turn = await self._begin(request.input, streamed=True)
        async with turn.attached(), aclosing(turn.events()) as events:
            async for event in events:
                yield convert.turn_event(event)

    async def ResumeAnswer(self, request: Any, context: Any) -> AsyncIterator[assistant_pb2.ResumeAnswerResponse]:
        """Not yet."""
        raise NotImplementedHere("paused turns (browser tools and confirmations)")
        yield assistant_pb2.ResumeAnswerResponse()

    async def CancelTurn(self, request: Any, context: Any) -> assistant_pb2.CancelTurnResponse:
        """Stop a turn."""
        client = client_for(request.project_id)
        turns = await self._services.turns()
        running = await turns.cancel(client.name, request.project_id, request.idempotency_key)
        return assistant_pb2.CancelTurnResponse(was_running=running)

    async def ExplainTurn(self, request: Any, context: Any) -> assistant_pb2.ExplainTurnResponse:
        """Tell what a turn did."""
        client = client_for(request.project_id)
        turns = await self._services.turns()
        line = await turns.explain(
            client.name, request.project_id, turn_id=request.turn_id, key=request.idempotency_key
        )
        return _explained(line)

    async def _begin(self, message: assistant_pb2.AnswerInput, *, streamed: bool) -> Turn:
        client = client_for(message.project_id)
        if message.tools:
            raise NotImplementedHere("browser tools")
        await self._services.ready()
        turns = await self._services.turns()
        return await turns.answer(client.name, convert.answer_input(message), streamed=streamed)


def _explained(line: JournalLine) -> assistant_pb2.ExplainTurnResponse:
    body = read_journal(line)
    message = assistant_pb2.ExplainTurnResponse(
        turn_id=line.turn_id,
        started_at=convert.timestamp(line.started_at),
        ended_at=convert.timestamp(line.ended_at),
        outcome=convert.OUTCOMES[Outcome(body["outcome"])],
        assistant=body["assistant"],
        language=body["language"],
        search_query=body["search_query"],
        chunks=[assistant_pb2.ExplainedChunk(**each) for each in body["chunks"]],
        calls=map(convert.explained_call, body["calls"]),
        duration_ms_by_step=body["durations_ms"],
        cost_nanousd=body["cost_nanousd"],
        estimated=body["estimated"],
        dropped_marker_count=body["dropped_markers"],
    )
    if body["intent"]:
        intent = Intent(**{**body["intent"], "kind": IntentKind(body["intent"]["kind"])})
        message.intent.CopyFrom(convert.intent_message(intent))
    problem = problem_from(body["problem"])
    if problem is not None:
        message.problem.CopyFrom(convert.problem(problem))
    return message


OFFER: Final = Offer(
    descriptor=assistant_pb2.DESCRIPTOR.services_by_name["AssistantService"],
    servicer=AssistantServicer,
    add=assistant_pb2_grpc.add_AssistantServiceServicer_to_server,
    scope=Scope.ANSWER,
    needs=(STORE, EMBEDDING, RETRIEVAL, GENERATION),
)
