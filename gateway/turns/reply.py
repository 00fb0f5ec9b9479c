"""What a turn's result becomes in the conversation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from gateway.assistant.contract import Outcome, Problem, Result
from gateway.conversation.model import AnswerFacts, CitedPassage, Kind, ServerText
from gateway.conversation.suggestion import suggest
from gateway.conversation.texts import CATALOGUES, knows, primary
from shared.errors import Exhausted, PasseurError

if TYPE_CHECKING:
    from collections.abc import Mapping

PASSING_SLUGS: Final = frozenset(
    {"provider-overloaded", "provider-cut", "not-ready", "deadline", "rate-limited", "interrupted", "aborted"}
)
PROVIDER_SLUGS: Final = frozenset({"provider-refused", "provider-overloaded", "provider-cut"})
SAID_AS_IT_IS: Final = frozenset(
    {Outcome.ANSWERED, Outcome.TRUNCATED, Outcome.STOPPED, Outcome.FAILED, Outcome.INTERRUPTED}
)


@dataclass(frozen=True, slots=True)
class Reply:
    """The AI message to publish, and what the conversation remembers."""

    kind: Kind
    text: str
    server_text: ServerText | None
    language: str
    citations: tuple[CitedPassage, ...]
    facts: AnswerFacts
    insufficient_count: int
    problem: Mapping[str, Any] | None


def compose(result: Result, insufficient_count: int) -> Reply:
    """Decide what is said, after `insufficient_count` questions in a row that the documents could not answer."""
    problem = None if result.problem is None else _plain_problem(result)
    if result.outcome is Outcome.INSUFFICIENT_CONTEXT:
        said = suggest(insufficient_count)
        return _reply(result, said.kind, said.text, said.insufficient_count, problem)
    if result.outcome in SAID_AS_IT_IS and result.text.strip():
        return _spoken(result, insufficient_count, problem)
    return _reply(result, Kind.NOTICE, ServerText(notice_key(result)), insufficient_count, problem)


def clarification(result: Result, text: ServerText, insufficient_count: int) -> Reply:
    """Make the message of a question that the AI server left open; the count of failures stays as it is."""
    return _reply(result, Kind.CLARIFICATION, text, insufficient_count, None)


def passing(result: Result) -> bool:
    """Tell whether a turn failed for a reason that may be gone in a moment."""
    if result.outcome is Outcome.INTERRUPTED:
        return True
    return result.outcome is Outcome.FAILED and result.problem is not None and result.problem.slug in PASSING_SLUGS


def offering(reply: Reply, offered: ServerText) -> Reply:
    """Put the options of a question that is open again below the notice of what failed."""
    notice = reply.server_text or ServerText("support_notice_failed")
    return replace(reply, server_text=replace(notice, options=offered.options))


def in_the_questions_language(reply: Reply, page_language: str) -> Reply:
    """Have the visitor read the server's own words in the language that they asked in, as they would an answer."""
    said = reply.server_text
    if said is None or reply.language not in CATALOGUES or reply.language == primary(page_language):
        return reply
    return replace(reply, server_text=replace(said, spoken=reply.language))


def notice_key(result: Result) -> str:
    """Name the text that tells why there is no answer, or not a whole one."""
    if result.outcome in {Outcome.STOPPED, Outcome.TRUNCATED, Outcome.INTERRUPTED}:
        return f"support_notice_{result.outcome.value}"
    slug = "" if result.problem is None else result.problem.slug
    key = "support_notice_provider" if slug in PROVIDER_SLUGS else f"support_notice_{slug.replace('-', '_')}"
    return key if knows(key) else "support_notice_failed"


def failure(error: PasseurError, text: str, language: str) -> Result:
    """Make the result of a turn that ended by an error, keeping what had been said."""
    resets_at = error.resets_at if isinstance(error, Exhausted) else None
    return Result(Outcome.FAILED, text, language, problem=Problem(error.slug, error.message, resets_at))


def _plain_problem(result: Result) -> Mapping[str, Any]:
    """Keep a problem as plain data; its own message is for operators and goes to the log instead."""
    assert result.problem is not None
    resets_at = result.problem.resets_at
    return {
        "type": result.problem.slug,
        "text_key": notice_key(result),
        "resets_at": None if resets_at is None else resets_at.isoformat(),
    }


def _spoken(result: Result, insufficient_count: int, problem: Mapping[str, Any] | None) -> Reply:
    answered = result.outcome is Outcome.ANSWERED and not result.greeting
    return Reply(
        kind=Kind.GREETING if result.greeting else Kind.ANSWER,
        text=result.text,
        server_text=None if result.outcome is Outcome.ANSWERED else ServerText(notice_key(result)),
        language=result.language,
        citations=tuple(
            CitedPassage(each.chunk_id, each.title, each.url, each.quote, each.position, each.service, each.text)
            for each in result.citations
        ),
        facts=_facts(result),
        insufficient_count=0 if answered else insufficient_count,
        problem=problem,
    )


def _reply(
    result: Result, kind: Kind, text: ServerText, insufficient_count: int, problem: Mapping[str, Any] | None
) -> Reply:
    return Reply(kind, "", text, result.language, (), _facts(result), insufficient_count, problem)


def _facts(result: Result) -> AnswerFacts:
    return AnswerFacts(
        outcome=result.outcome.value,
        confidence=result.confidence,
        model=result.model,
        provider=result.provider,
        economy=result.economy,
        cost_nanousd=result.cost_nanousd,
        estimated=result.estimated,
        duration_ms=result.duration_ms,
    )
