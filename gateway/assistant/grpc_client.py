"""The AI server over gRPC; the only file of the gateway that knows `passeur.v1`."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING, Any, Final, Literal

import grpc
import grpc.aio
import structlog
from google.protobuf.json_format import MessageToDict, ParseDict

from gateway.assistant.contract import (
    Citation,
    Delta,
    Extracted,
    NearPassage,
    Outcome,
    Passage,
    Problem,
    Readiness,
    Result,
    Sight,
    Step,
)
from gateway.assistant.grpc_errors import from_rpc
from shared.errors import FailedPrecondition, NotFound, NotReady
from shared.pb.passeur.v1 import (
    assistant_pb2,
    assistant_pb2_grpc,
    common_pb2,
    documents_pb2,
    documents_pb2_grpc,
    readiness_pb2,
    readiness_pb2_grpc,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence

    from gateway.assistant.contract import HistoryMessage, Question, TurnEvent

MESSAGE_LIMIT: Final = 4 * 1024 * 1024
TURN_TIMEOUT_S: Final = 600.0
"""Longer than any turn may take (tools: 180 s), so that only a lost server meets it."""
CALL_TIMEOUT_S: Final = 10.0
READINESS_TIMEOUT_S: Final = 1.0
SUMMARY_TIMEOUT_S: Final = 60.0
EXTRACT_TIMEOUT_S: Final = 60.0
PIECE: Final = 1024 * 1024
"""The most that one message of an upload may carry."""
OPTIONS: Final = (
    ("grpc.max_send_message_length", MESSAGE_LIMIT),
    ("grpc.max_receive_message_length", MESSAGE_LIMIT),
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.initial_reconnect_backoff_ms", 200),
    ("grpc.min_reconnect_backoff_ms", 200),
    ("grpc.max_reconnect_backoff_ms", 1_000),
    ("grpc.enable_retries", 0),
)
STATES: Final[Mapping[int, Literal["ready", "degraded", "down"]]] = {
    common_pb2.READINESS_STATE_READY: "ready",
    common_pb2.READINESS_STATE_DEGRADED: "degraded",
    common_pb2.READINESS_STATE_DOWN: "down",
}
ROLES: Final = {"user": common_pb2.ROLE_USER, "ai": common_pb2.ROLE_AI}
UNREACHABLE: Final = Readiness(False, "down", ("The AI server does not answer.",))


class GrpcAssistant:
    """A channel to the AI server, made at once and connected when first used."""

    def __init__(self, address: str, token: str, credentials: grpc.ChannelCredentials | None = None) -> None:
        """Take `host:port` or `unix:path`, the client token, and TLS credentials for any address but our machine's."""
        self._channel = (
            grpc.aio.insecure_channel(address, options=OPTIONS)
            if credentials is None
            else grpc.aio.secure_channel(address, credentials, options=OPTIONS)
        )
        self._token = token
        self._assistant = assistant_pb2_grpc.AssistantServiceStub(self._channel)
        self._documents = documents_pb2_grpc.DocumentsServiceStub(self._channel)
        self._readiness = readiness_pb2_grpc.ReadinessServiceStub(self._channel)

    async def answer(self, question: Question) -> AsyncGenerator[TurnEvent, None]:
        """Run or re-attach to a turn; see `gateway.assistant.contract.Assistant`."""
        request = assistant_pb2.StreamAnswerRequest(input=_input(question))
        call = self._assistant.StreamAnswer(request, metadata=self._metadata(), timeout=TURN_TIMEOUT_S)
        try:
            while (response := await call.read()) is not grpc.aio.EOF:  # pyright: ignore[reportAttributeAccessIssue]
                yield _event(response)
        except grpc.aio.AioRpcError as exc:
            raise from_rpc(exc) from exc
        finally:
            call.cancel()

    async def knows(self, project_id: str, idempotency_key: str) -> bool:
        """Tell whether the AI server has a turn under this key."""
        request = assistant_pb2.ExplainTurnRequest(project_id=project_id, idempotency_key=idempotency_key)
        try:
            await self._call(self._assistant.ExplainTurn, request)
        except NotFound:
            return False
        except FailedPrecondition:
            return True  # known, without a journal line: it still runs, or was cut off
        return True

    async def detect(self, project_id: str, assistant: str, text: str, language: str) -> Sight:
        """Say what a message would ask for."""
        request = assistant_pb2.DetectIntentRequest(
            project_id=project_id, assistant=assistant, message=text, language_hint=language
        )
        found = await self._call(self._assistant.DetectIntent, request)
        kind = assistant_pb2.IntentKind.Name(found.intent.kind).removeprefix("INTENT_KIND_").lower()
        return Sight(kind, found.confidence == assistant_pb2.CONFIDENCE_HIGH)

    async def cancel(self, project_id: str, idempotency_key: str) -> bool:
        """Stop a turn; a turn that the AI server does not know was not running."""
        request = assistant_pb2.CancelTurnRequest(project_id=project_id, idempotency_key=idempotency_key)
        try:
            response = await self._call(self._assistant.CancelTurn, request)
        except NotFound:
            return False
        return bool(response.was_running)

    async def passage(
        self, project_id: str, chunk_id: str, contexts: Sequence[Mapping[str, tuple[str, ...]]]
    ) -> Passage | None:
        """Read the passage behind a citation, if these contexts may."""
        request = documents_pb2.GetPassageRequest(
            project_id=project_id, chunk_id=chunk_id, retrieval_contexts=[_context(each) for each in contexts]
        )
        try:
            found = await self._call(self._documents.GetPassage, request)
        except NotFound:
            return None
        return Passage(
            chunk_id=found.chunk_id,
            title=found.title,
            url=found.url if found.HasField("url") else None,
            heading=found.heading,
            text=found.text,
            language=found.language,
        )

    async def summarize(
        self, key: str, project_id: str, messages: Sequence[HistoryMessage], language: str, budget_user: str
    ) -> str:
        """Summarise messages; see `gateway.assistant.contract.Summarizer`."""
        request = assistant_pb2.SummarizeRequest(
            idempotency_key=key,
            project_id=project_id,
            budget_user=budget_user,
            messages=[assistant_pb2.HistoryMessage(role=ROLES[each.role], text=each.text) for each in messages],
            language=language,
        )
        return str((await self._call(self._assistant.Summarize, request, SUMMARY_TIMEOUT_S)).text)

    async def extract(self, project_id: str, name: str, media_type: str, data: bytes) -> Extracted:
        """Read a document's text; see `gateway.assistant.contract.Extractor`."""
        header = documents_pb2.ExtractHeader(project_id=project_id, name=name, mime_type=media_type)
        pieces = [data[start : start + PIECE] for start in range(0, len(data), PIECE)]
        requests = [documents_pb2.ExtractRequest(header=header)]
        requests += [documents_pb2.ExtractRequest(data=piece) for piece in pieces]
        found = await self._call(self._documents.Extract, iter(requests), EXTRACT_TIMEOUT_S)
        return Extracted(found.text, found.truncated, found.page_count)

    async def near_passages(self, project_id: str, idempotency_key: str) -> Sequence[NearPassage]:
        """Name what a turn looked at; see `gateway.assistant.contract.Explainer`."""
        request = assistant_pb2.ExplainTurnRequest(project_id=project_id, idempotency_key=idempotency_key)
        try:
            found = await self._call(self._assistant.ExplainTurn, request)
        except NotFound:
            return ()
        passages = [NearPassage(each.chunk_id, each.title, each.distance, each.kept) for each in found.chunks]
        return sorted(passages, key=lambda each: each.distance or 0.0)

    async def readiness(self) -> Readiness:
        """Ask how the AI server is; never raises."""
        request = readiness_pb2.CheckRequest()
        try:
            found = await self._readiness.Check(request, metadata=self._metadata(), timeout=READINESS_TIMEOUT_S)
        except grpc.aio.AioRpcError as exc:
            error = from_rpc(exc)
            return UNREACHABLE if isinstance(error, NotReady) else Readiness(True, "down", (error.message,))
        state = STATES.get(found.state, "down")
        reasons = tuple(f"{each.name}: {each.reason}" for each in found.dependencies if each.reason)
        return Readiness(True, "down" if found.draining else state, reasons)

    async def close(self) -> None:
        """Close the channel; idempotent."""
        await self._channel.close()

    async def _call(self, method: Any, request: Any, timeout_s: float = CALL_TIMEOUT_S) -> Any:
        try:
            return await method(request, metadata=self._metadata(), timeout=timeout_s)
        except grpc.aio.AioRpcError as exc:
            raise from_rpc(exc) from exc

    def _metadata(self) -> tuple[tuple[str, str], ...]:
        request_id = str(structlog.contextvars.get_contextvars().get("request_id", ""))
        correlation = (("x-request-id", request_id),) if request_id else ()
        return (("authorization", f"Bearer {self._token}"), *correlation)


def _input(question: Question) -> assistant_pb2.AnswerInput:
    message = assistant_pb2.AnswerInput(
        idempotency_key=question.idempotency_key,
        project_id=question.project_id,
        assistant=question.assistant,
        user=question.user,
        budget_user=question.budget_user,
        question=question.text,
        history=[assistant_pb2.HistoryMessage(role=ROLES[each.role], text=each.text) for each in question.history],
        language_hint=question.language_hint,
        retrieval_contexts=[_context(each) for each in question.contexts],
        attached_texts=[assistant_pb2.AttachedText(name=name, text=text) for name, text in question.attached_texts],
        detached=True,
    )
    if question.image is not None:
        message.image.CopyFrom(common_pb2.Image(mime_type=question.image[0], data=question.image[1]))
    if question.resolved_intent is not None:
        ParseDict(dict(question.resolved_intent), message.resolved_intent)
    return message


def _context(context: Mapping[str, tuple[str, ...]]) -> common_pb2.RetrievalContext:
    return common_pb2.RetrievalContext(
        allowed={key: common_pb2.Values(values=values) for key, values in context.items()}
    )


def _event(response: assistant_pb2.StreamAnswerResponse) -> TurnEvent:
    match response.WhichOneof("event"):
        case "step":
            name = assistant_pb2.StepKind.Name(response.step.kind)
            return Step(name.removeprefix("STEP_KIND_").lower(), response.step.detail)
        case "delta":
            return Delta(response.delta.start, response.delta.text)
        case "paused":
            return Result(
                Outcome.PAUSED, "", "", paused=MessageToDict(response.paused, preserving_proto_field_name=True)
            )
        case "result":
            return _result(response.result)
        case other:
            raise NotReady(f"The AI server sent an event that this gateway does not know: {other}.")


def _result(result: assistant_pb2.AnswerResult) -> Result:
    return Result(
        outcome=Outcome(common_pb2.Outcome.Name(result.outcome).removeprefix("OUTCOME_").lower()),
        text=result.text,
        language=result.language,
        citations=tuple(
            Citation(
                citation_id=each.citation_id,
                chunk_id=each.chunk_id,
                title=each.title,
                url=each.url if each.HasField("url") else None,
                quote=each.quote,
                position=each.position,
                service=each.service,
                text=each.text,
            )
            for each in result.citations
        ),
        greeting=result.answer_kind == assistant_pb2.ANSWER_KIND_GREETING,
        confidence=result.confidence if result.HasField("confidence") else None,
        model=result.model,
        provider=result.provider,
        economy=result.economy,
        cost_nanousd=result.cost_nanousd if result.HasField("cost_nanousd") else None,
        estimated=result.estimated,
        turn_id=result.turn_id,
        duration_ms=result.duration_ms,
        problem=_problem(result.problem) if result.HasField("problem") else None,
        candidates=tuple(MessageToDict(each, preserving_proto_field_name=True) for each in result.candidates),
        failed_search=MessageToDict(result.failed_search, preserving_proto_field_name=True)
        if result.HasField("failed_search")
        else None,
    )


def _problem(problem: assistant_pb2.Problem) -> Problem:
    """The reason is the error's name in UPPER_SNAKE; its slug is the same in kebab case."""
    resets_at = problem.resets_at.ToDatetime(tzinfo=UTC) if problem.HasField("resets_at") else None
    return Problem(problem.reason.lower().replace("_", "-"), problem.message, resets_at)
