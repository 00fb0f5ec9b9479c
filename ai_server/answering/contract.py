"""What a turn takes and gives, free of gRPC, and the seams that it stands on."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Literal, Protocol

from shared.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from ai_server.connectors.contract import ConnectorSpec
    from ai_server.knowledge.contract import ProjectKnowledge, RetrievalContext
    from ai_server.ledger.model import BudgetSeed
    from ai_server.providers.registry import ModelChoice


# ---------------------------------------------------------------- what a project declares


class Mode(StrEnum):
    """How an assistant answers."""

    DOCUMENTS = "documents"
    CHAT = "chat"


@dataclass(frozen=True, slots=True)
class Assistant:
    """A named way of answering. `chain` is tried in order; the last resort follows it always."""

    name: str
    mode: Mode
    chain: tuple[ModelChoice, ...]
    max_output_tokens: int
    temperature: float | None
    least_output_tokens: int = 0
    """How far the cap may be lowered where a budget has no room for all of it; 0: not at all."""


@dataclass(frozen=True, slots=True)
class PromptOverride:
    """A project's own instructions for one mode and language; `replaces` false: they follow ours."""

    text: str
    replaces: bool


@dataclass(frozen=True, slots=True)
class Project:
    """One tenant as its file says. `prompts` is keyed by (prompt name, language). `intent_chain` are the models that
    choose a service where the rules would ask; empty: none is called for that.
    """

    project_id: str
    languages: tuple[str, ...]
    knowledge: ProjectKnowledge
    assistants: Mapping[str, Assistant]
    default_assistant: str
    embedding: ModelChoice
    budgets: tuple[BudgetSeed, ...]
    prompts: Mapping[tuple[str, str], PromptOverride]
    connectors: tuple[ConnectorSpec, ...] = ()
    intent_chain: tuple[ModelChoice, ...] = ()

    def generating(self) -> tuple[ModelChoice, ...]:
        """List the models that may generate something for it."""
        return (*(choice for each in self.assistants.values() for choice in each.chain), *self.intent_chain)


# ---------------------------------------------------------------- what is asked


@dataclass(frozen=True, slots=True)
class HistoryMessage:
    """An earlier message; only the person's and answered AI ones are kept."""

    role: Literal["user", "ai"]
    text: str


@dataclass(frozen=True, slots=True)
class Image:
    """The image of the current turn."""

    mime_type: str
    data: bytes


class IntentKind(StrEnum):
    """What kind of work a message asks for."""

    DOCUMENTS = "documents"
    CONNECTOR = "connector"
    TOOL = "tool"
    CONVERSATION = "conversation"
    GREETING = "greeting"


class Confidence(StrEnum):
    """How sure an intent is, from its score and the gap to the next."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


@dataclass(frozen=True, slots=True)
class Intent:
    """One reading of a message. `label` is what a person reads when asked to choose, by language."""

    kind: IntentKind
    connector: str = ""
    instance: str = ""
    endpoint: str = ""
    tool: str = ""
    search_terms: tuple[str, ...] = ()
    query_parameters: Mapping[str, str] = field(default_factory=dict)
    score: float = 0.0
    label: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AnswerInput:
    """Everything that a turn needs, validated. `contexts` empty: nothing is readable. `resolved_intent` skips
    detection: it is what the person already chose. `max_output_tokens` 0: the assistant's own.
    """

    idempotency_key: str
    project_id: str
    assistant: str
    user: str
    question: str
    history: tuple[HistoryMessage, ...] = ()
    image: Image | None = None
    language_hint: str = ""
    contexts: tuple[RetrievalContext, ...] = ()
    resolved_intent: Intent | None = None
    budget_user: str = ""
    max_output_tokens: int = 0
    temperature: float | None = None
    detached: bool = False
    attached_texts: tuple[tuple[str, str], ...] = ()


# ---------------------------------------------------------------- what is told


class Outcome(StrEnum):
    """How a turn ended."""

    ANSWERED = "answered"
    INSUFFICIENT_CONTEXT = "insufficient_context"
    CLARIFY_CONNECTOR = "clarify_connector"
    CLARIFY_SEARCH = "clarify_search"
    PAUSED = "paused"
    TRUNCATED = "truncated"
    STOPPED = "stopped"
    FAILED = "failed"


class StepKind(StrEnum):
    """What a turn is doing."""

    INTENT = "intent"
    RETRIEVE = "retrieve"
    DECIDE = "decide"
    GENERATE = "generate"
    TOOL = "tool"
    CITE = "cite"


@dataclass(frozen=True, slots=True)
class Step:
    """The turn came to this; `detail` is for people, free of secrets, prompts and document text."""

    kind: StepKind
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Delta:
    """Text from code point `start` on; a reader replaces what it had from there."""

    message_id: str
    start: int
    text: str


@dataclass(frozen=True, slots=True)
class Citation:
    """A reference to a chunk retrieved in this turn. `quote` is verbatim; `title` and `url` are the document's.

    `service` names the live service that found it, and `text` is what it said then, date and snippet by line: no index
    holds such a chunk. Both are empty for documents.
    """

    citation_id: str
    chunk_id: str
    title: str
    url: str | None
    quote: str
    position: int
    service: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class FailedSearch:
    """A search in a connector that found nothing."""

    intent: Intent
    search_terms: tuple[str, ...]
    tried_terms: tuple[str, ...]
    suggestions: tuple[str, ...]
    other_services: tuple[Intent, ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a turn failed, in the words of the error table."""

    reason: str
    message: str
    resets_at: datetime | None = None
    provider: str = ""


@dataclass(frozen=True, slots=True)
class AnswerResult:
    """How a turn ended. `text` carries no markers; `confidence` is closeness, None with no kept chunk;
    `cost_nanousd` None means unknown.
    """

    outcome: Outcome
    turn_id: str
    text: str = ""
    language: str = ""
    citations: tuple[Citation, ...] = ()
    candidates: tuple[Intent, ...] = ()
    failed_search: FailedSearch | None = None
    confidence: float | None = None
    model: str = ""
    provider: str = ""
    economy: bool = False
    usage: Usage = field(default_factory=Usage)
    cost_nanousd: int | None = 0
    estimated: bool = False
    greeting: bool = False
    problem: Problem | None = None
    duration_ms: int = 0


TurnEvent = Step | Delta | AnswerResult


# ---------------------------------------------------------------- seams


@dataclass(frozen=True, slots=True)
class Detection:
    """What a message asks for: the chosen intent, how sure, and all candidates, best first."""

    intent: Intent
    confidence: Confidence
    candidates: tuple[Intent, ...]


class IntentDetector(Protocol):
    """Tells documents, connectors, tools and conversation apart."""

    async def detect(
        self,
        project: Project,
        assistant: Assistant,
        message: str,
        history: Sequence[HistoryMessage],
        language: str,
        *,
        contexts: Sequence[RetrievalContext] | None = None,
    ) -> Detection:
        """Say what the message asks for; no effect, no paid call. `contexts` hides services that they may not read;
        `None` hides none.
        """
        ...


class DocumentsOnly:
    """The detector of an installation without connectors: everything is asked of the documents."""

    async def detect(
        self,
        project: Project,  # noqa: ARG002 - the seam's names
        assistant: Assistant,
        message: str,  # noqa: ARG002
        history: Sequence[HistoryMessage],  # noqa: ARG002
        language: str,  # noqa: ARG002
        *,
        contexts: Sequence[RetrievalContext] | None = None,  # noqa: ARG002
    ) -> Detection:
        """Choose documents, or conversation where the assistant only chats."""
        kind = IntentKind.DOCUMENTS if assistant.mode is Mode.DOCUMENTS else IntentKind.CONVERSATION
        intent = Intent(kind, score=1.0)
        return Detection(intent, Confidence.HIGH, (intent,))
