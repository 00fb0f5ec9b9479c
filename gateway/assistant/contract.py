"""What the gateway asks of the AI server, without gRPC in it. `grpc_client` is the real one; the twin for tests is
`tests.fakes.assistant`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence
    from datetime import datetime


ANONYMOUS_BUDGET: Final = "anonymous"
"""Pays for every visitor of a project who proved nothing."""


class Outcome(StrEnum):
    """How a turn ended; `interrupted` and `handed_over` are the gateway's own."""

    ANSWERED = "answered"
    INSUFFICIENT_CONTEXT = "insufficient_context"
    CLARIFY_CONNECTOR = "clarify_connector"
    CLARIFY_SEARCH = "clarify_search"
    PAUSED = "paused"
    TRUNCATED = "truncated"
    STOPPED = "stopped"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    HANDED_OVER = "handed_over"


@dataclass(frozen=True, slots=True)
class HistoryMessage:
    """An earlier message; `user` or `ai` only."""

    role: Literal["user", "ai"]
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """One turn to run, always detached. `contexts` are the retrieval contexts derived on the server."""

    idempotency_key: str
    project_id: str
    assistant: str
    user: str
    budget_user: str
    text: str
    history: tuple[HistoryMessage, ...]
    language_hint: str
    contexts: tuple[Mapping[str, tuple[str, ...]], ...]
    image: tuple[str, bytes] | None = None
    attached_texts: tuple[tuple[str, str], ...] = ()
    resolved_intent: Mapping[str, Any] | None = None


def budget_user(visitor_id: str, subject: str | None) -> str:
    """Say whose budget pays for a visitor; `subject` is None for those who proved nothing."""
    return ANONYMOUS_BUDGET if subject is None else visitor_id


@dataclass(frozen=True, slots=True)
class Step:
    """What the turn is doing: `intent`, `retrieve`, `decide`, `generate`, `tool`, `cite`."""

    kind: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Delta:
    """Text from code point `start` on."""

    start: int
    text: str


@dataclass(frozen=True, slots=True)
class Citation:
    """A reference into the answer; `position` in code points of the text. `service` names the live service that found
    it, and `text` is what it said then; both are empty for documents.
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
class Problem:
    """Why a turn failed; `slug` is the problem type."""

    slug: str
    message: str
    resets_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """How the turn ended. `candidates` and `failed_search` are for clarification, as plain data."""

    outcome: Outcome
    text: str
    language: str
    citations: tuple[Citation, ...] = ()
    greeting: bool = False
    confidence: float | None = None
    model: str = ""
    provider: str = ""
    economy: bool = False
    cost_nanousd: int | None = None
    estimated: bool = False
    turn_id: str = ""
    duration_ms: int = 0
    problem: Problem | None = None
    candidates: tuple[Mapping[str, Any], ...] = ()
    failed_search: Mapping[str, Any] | None = None
    paused: Mapping[str, Any] | None = None


TurnEvent = Step | Delta | Result


@dataclass(frozen=True, slots=True)
class Passage:
    """The text behind a citation."""

    chunk_id: str
    title: str
    url: str | None
    heading: str
    text: str
    language: str


@dataclass(frozen=True, slots=True)
class Sight:
    """What a message asks for, and whether that is sure: `documents`, `connector`, `tool`, `conversation` or
    `greeting`.
    """

    kind: str
    sure: bool


@dataclass(frozen=True, slots=True)
class Readiness:
    """What the AI server says of itself; `reachable` false when it does not answer."""

    reachable: bool
    state: Literal["ready", "degraded", "down"]
    reasons: tuple[str, ...] = field(default=())


class Assistant(Protocol):
    """The AI server as the gateway sees it."""

    def answer(self, question: Question) -> AsyncGenerator[TurnEvent, None]:
        """Run or re-attach to a turn; exactly one `Result` comes last.

        Raises:
            PasseurError: what the AI server refused, as its own error; `NotReady` when it cannot be reached.
        """
        ...

    async def knows(self, project_id: str, idempotency_key: str) -> bool:
        """Tell whether the AI server has a turn under this key, running or ended; starts nothing.

        Raises:
            NotReady: the AI server cannot be reached.
        """
        ...

    async def detect(self, project_id: str, assistant: str, text: str, language: str) -> Sight:
        """Say what a message would ask for; no effect.

        Raises:
            PasseurError: the AI server cannot say.
        """
        ...

    async def cancel(self, project_id: str, idempotency_key: str) -> bool:
        """Stop a turn; tells whether it was running."""
        ...

    async def passage(
        self, project_id: str, chunk_id: str, contexts: Sequence[Mapping[str, tuple[str, ...]]]
    ) -> Passage | None:
        """Read the passage behind a citation, if these contexts may."""
        ...

    async def readiness(self) -> Readiness:
        """Ask how the AI server is; never raises."""
        ...

    async def close(self) -> None:
        """Close the channel; idempotent."""
        ...


@dataclass(frozen=True, slots=True)
class Extracted:
    """What an uploaded document says; `truncated` when it was cut at the AI server's limit."""

    text: str
    truncated: bool
    page_count: int


@dataclass(frozen=True, slots=True)
class NearPassage:
    """A passage that a turn looked at; `distance` is None when it was not found by meaning."""

    chunk_id: str
    title: str
    distance: float | None
    kept: bool


class Summarizer(Protocol):
    """The AI server as those see it who need a conversation in a few sentences."""

    async def summarize(
        self, key: str, project_id: str, messages: Sequence[HistoryMessage], language: str, budget_user: str
    ) -> str:
        """Summarise at most 200 messages, oldest first; the same key and messages cost once.

        Raises:
            PasseurError: what the AI server refused, as its own error; `NotReady` when it cannot be reached.
        """
        ...


class Extractor(Protocol):
    """The AI server as those see it who need the text of an uploaded document."""

    async def extract(self, project_id: str, name: str, media_type: str, data: bytes) -> Extracted:
        """Read a document's text; nothing of it is stored.

        Raises:
            PasseurError: what the AI server refused, as its own error; `NotReady` when it cannot be reached.
        """
        ...


class Explainer(Protocol):
    """The AI server as those see it who ask why a turn found nothing."""

    async def near_passages(self, project_id: str, idempotency_key: str) -> Sequence[NearPassage]:
        """Name the passages that a turn looked at, nearest first; none when the turn is unknown or forgotten.

        Raises:
            PasseurError: what the AI server refused, as its own error; `NotReady` when it cannot be reached.
        """
        ...
