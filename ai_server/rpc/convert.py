"""Between messages on the wire and what the turn takes and gives. Nothing is decided here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

from google.protobuf.timestamp_pb2 import Timestamp

from ai_server.answering.contract import (
    AnswerInput,
    AnswerResult,
    Confidence,
    Delta,
    HistoryMessage,
    Image,
    Intent,
    IntentKind,
    Outcome,
    Step,
    StepKind,
)
from shared.pb.passeur.v1 import assistant_pb2, common_pb2

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from ai_server.answering.contract import Citation, FailedSearch, Problem, TurnEvent
    from ai_server.knowledge.contract import Hit, RetrievalContext
    from shared.usage import Usage

OUTCOMES: Final[dict[Outcome, Any]] = {each: common_pb2.Outcome.Value(f"OUTCOME_{each.name}") for each in Outcome}
STEPS: Final[dict[StepKind, Any]] = {each: assistant_pb2.StepKind.Value(f"STEP_KIND_{each.name}") for each in StepKind}
KINDS: Final[dict[IntentKind, Any]] = {
    each: assistant_pb2.IntentKind.Value(f"INTENT_KIND_{each.name}") for each in IntentKind
}
KIND_NAMES: Final = {number: kind for kind, number in KINDS.items()}
CONFIDENCES: Final[dict[Confidence, Any]] = {
    each: assistant_pb2.Confidence.Value(f"CONFIDENCE_{each.name}") for each in Confidence
}
SPEAKERS: Final[dict[int, Literal["user", "ai"]]] = {common_pb2.ROLE_USER: "user", common_pb2.ROLE_AI: "ai"}


# ---------------------------------------------------------------- in


def answer_input(message: assistant_pb2.AnswerInput) -> AnswerInput:
    """Read a turn's input; messages of other roles than USER and AI are left out of the history."""
    return AnswerInput(
        idempotency_key=message.idempotency_key,
        project_id=message.project_id,
        assistant=message.assistant,
        user=message.user,
        question=message.question,
        history=history(message.history),
        image=image(message.image) if message.HasField("image") else None,
        language_hint=message.language_hint,
        contexts=contexts(message.retrieval_contexts),
        resolved_intent=intent(message.resolved_intent) if message.HasField("resolved_intent") else None,
        budget_user=message.budget_user,
        max_output_tokens=message.max_output_token_count,
        temperature=message.temperature if message.HasField("temperature") else None,
        detached=message.detached,
        attached_texts=tuple((each.name, each.text) for each in message.attached_texts),
    )


def history(messages: Iterable[assistant_pb2.HistoryMessage]) -> tuple[HistoryMessage, ...]:
    """Read a history."""
    return tuple(HistoryMessage(SPEAKERS[each.role], each.text) for each in messages if each.role in SPEAKERS)


def image(message: common_pb2.Image) -> Image:
    """Read an image."""
    return Image(message.mime_type, message.data)


def contexts(messages: Iterable[common_pb2.RetrievalContext]) -> tuple[RetrievalContext, ...]:
    """Read retrieval contexts."""
    return tuple({key: frozenset(values.values) for key, values in each.allowed.items()} for each in messages)


def intent(message: assistant_pb2.Intent) -> Intent:
    """Read an intent; one without a kind is about documents."""
    return Intent(
        kind=KIND_NAMES.get(message.kind, IntentKind.DOCUMENTS),
        connector=message.connector,
        instance=message.instance,
        endpoint=message.endpoint,
        tool=message.tool,
        search_terms=tuple(message.search_terms),
        query_parameters=dict(message.query_parameters),
        score=message.score,
        label=dict(message.label),
    )


# ---------------------------------------------------------------- out


def turn_event(event: TurnEvent) -> assistant_pb2.StreamAnswerResponse:
    """Write one event of a stream."""
    if isinstance(event, Delta):
        delta = assistant_pb2.Delta(message_id=event.message_id, start=event.start, text=event.text)
        return assistant_pb2.StreamAnswerResponse(delta=delta)
    if isinstance(event, Step):
        step = assistant_pb2.Step(kind=STEPS[event.kind], detail=event.detail)
        return assistant_pb2.StreamAnswerResponse(step=step)
    return assistant_pb2.StreamAnswerResponse(result=answer_result(event))


def answer_result(result: AnswerResult) -> assistant_pb2.AnswerResult:
    """Write a result."""
    message = assistant_pb2.AnswerResult(
        outcome=OUTCOMES[result.outcome],
        text=result.text,
        language=result.language,
        citations=map(citation, result.citations),
        candidates=map(intent_message, result.candidates),
        confidence=result.confidence,
        model=result.model,
        provider=result.provider,
        economy=result.economy,
        usage=usage(result.usage),
        cost_nanousd=result.cost_nanousd,
        estimated=result.estimated,
        turn_id=result.turn_id,
        duration_ms=result.duration_ms,
    )
    if result.failed_search is not None:
        message.failed_search.CopyFrom(failed_search(result.failed_search))
    if result.problem is not None:
        message.problem.CopyFrom(problem(result.problem))
    if result.outcome is Outcome.ANSWERED:
        kinds = assistant_pb2.AnswerKind
        message.answer_kind = kinds.ANSWER_KIND_GREETING if result.greeting else kinds.ANSWER_KIND_ANSWER
    return message


def citation(each: Citation) -> common_pb2.Citation:
    """Write a citation."""
    return common_pb2.Citation(
        citation_id=each.citation_id,
        chunk_id=each.chunk_id,
        title=each.title,
        url=each.url,
        quote=each.quote,
        position=each.position,
        service=each.service,
        text=each.text,
    )


def usage(each: Usage) -> common_pb2.Usage:
    """Write a usage."""
    return common_pb2.Usage(
        input_token_count=each.input,
        cached_input_token_count=each.cached_input,
        cache_write_short_token_count=each.cache_write_short,
        cache_write_long_token_count=each.cache_write_long,
        output_token_count=each.output,
        reasoning_token_count=each.reasoning,
        unit_count=dict(each.units),
    )


def problem(each: Problem) -> assistant_pb2.Problem:
    """Write a problem."""
    message = assistant_pb2.Problem(reason=each.reason, message=each.message, provider=each.provider)
    if each.resets_at is not None:
        message.resets_at.FromDatetime(each.resets_at)
    return message


def intent_message(each: Intent) -> assistant_pb2.Intent:
    """Write an intent."""
    return assistant_pb2.Intent(
        kind=KINDS[each.kind],
        connector=each.connector,
        instance=each.instance,
        endpoint=each.endpoint,
        tool=each.tool,
        search_terms=each.search_terms,
        query_parameters=each.query_parameters,
        score=each.score,
        label=each.label,
    )


def failed_search(each: FailedSearch) -> assistant_pb2.FailedSearch:
    """Write a search that found nothing."""
    return assistant_pb2.FailedSearch(
        intent=intent_message(each.intent),
        search_terms=each.search_terms,
        tried_terms=each.tried_terms,
        suggestions=each.suggestions,
        other_services=map(intent_message, each.other_services),
    )


def search_hit(hit: Hit) -> assistant_pb2.SearchHit:
    """Write a hit."""
    chunk = hit.chunk
    return assistant_pb2.SearchHit(
        chunk_id=chunk.chunk_id,
        source_id=chunk.source_id,
        path=chunk.path,
        title=chunk.title,
        url=chunk.url,
        text=chunk.text,
        language=chunk.language,
        distance=hit.distance,
        score=hit.score,
        metadata={key: common_pb2.Values(values=values) for key, values in chunk.metadata.items()},
    )


def timestamp(instant: datetime) -> Timestamp:
    """Write an instant."""
    message = Timestamp()
    message.FromDatetime(instant)
    return message


def explained_call(call: Mapping[str, Any]) -> assistant_pb2.ExplainedCall:
    """Write one call of a journal line."""
    used = call["usage"]
    return assistant_pb2.ExplainedCall(
        reservation_key=call["reservation_key"],
        operation=call["operation"],
        provider=call["provider"],
        model=call["model"],
        price_version=call["price_version"],
        usage=common_pb2.Usage(
            **{f"{name}_token_count": count for name, count in used.items() if name != "units"},
            unit_count=used["units"],
        )
        if used
        else None,
        cost_nanousd=call["cost_nanousd"],
        estimated=call["estimated"],
        error_class=call["error_class"],
        duration_ms=call["duration_ms"],
    )
