"""The things a conversation is made of, as plain frozen data."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from typing import Any

STAFF_STREAM: Final = "staff:"


class Role(StrEnum):
    """Who spoke."""

    USER = "USER"
    AI = "AI"
    ADMIN = "ADMIN"
    SYSTEM = "SYSTEM"


class Kind(StrEnum):
    """What an AI or SYSTEM message is; people's messages have none."""

    ANSWER = "answer"
    GREETING = "greeting"
    REPHRASE = "rephrase"
    SUGGEST_HUMAN = "suggest_human"
    CLARIFICATION = "clarification"
    NOTICE = "notice"


@dataclass(frozen=True, slots=True)
class ServerText:
    """A text that the server writes: kept as key and parameters, rendered in the language of whoever reads it.

    `options` are what the reader can choose from, numbered from 1; each holds its words by language. `spoken` is the
    language of the question that it replies to where that was not the page's: the visitor reads it in that one.
    """

    key: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    options: tuple[Mapping[str, str], ...] = ()
    spoken: str = ""


@dataclass(frozen=True, slots=True)
class CitedPassage:
    """A reference from an answer to a chunk; `position` is in code points of the answer's text.

    `service` names the live service that found it, and `text` is what it said then; both are empty for documents.
    """

    chunk_id: str
    title: str
    url: str | None
    quote: str
    position: int
    service: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class AnswerFacts:
    """How an AI message came to be. Unknown values are None, never zero."""

    outcome: str
    confidence: float | None = None
    model: str = ""
    provider: str = ""
    economy: bool = False
    cost_nanousd: int | None = None
    estimated: bool = False
    duration_ms: int | None = None
    # Rests on what the visitor's browser sent back, which the visitor can forge: staff are told.
    unverified: bool = False


@dataclass(frozen=True, slots=True)
class Author:
    """Who of the staff wrote a message, by the name they had then."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class AttachedFile:
    """What a message carries along; `kind` is `image` or `document`."""

    id: str
    kind: str
    name: str
    media_type: str
    size: int


@dataclass(frozen=True, slots=True)
class Message:
    """One message. `position` counts from 1 inside its conversation; `text` is empty when `server_text` speaks."""

    id: str
    conversation_id: str
    position: int
    role: Role
    kind: Kind | None
    text: str
    created_at: datetime
    server_text: ServerText | None = None
    language: str = ""
    turn_id: str | None = None
    citations: tuple[CitedPassage, ...] = ()
    facts: AnswerFacts | None = None
    author: Author | None = None
    attachments: tuple[AttachedFile, ...] = ()


@dataclass(frozen=True, slots=True)
class Line:
    """Who said what in a message, without what came with it."""

    position: int
    role: Role
    kind: Kind | None
    text: str


@dataclass(frozen=True, slots=True)
class Conversation:
    """A visitor's conversation. History sent to a model begins after position `boundary`.

    While `escalated` a ticket is open and the AI is silent.
    """

    id: str
    project_id: str
    visitor_id: str
    title: str
    language: str
    created_at: datetime
    updated_at: datetime
    last_position: int = 0
    boundary: int = 0
    insufficient_count: int = 0
    escalated: bool = False


@dataclass(frozen=True, slots=True)
class Visitor:
    """Someone who asks. `subject` is the host's id for them when it was proven, None when anonymous.

    `contexts` is what they may read: rights keys with their allowed values; several contexts are alternatives.
    """

    id: str
    project_id: str
    subject: str | None
    language: str
    contexts: tuple[Mapping[str, tuple[str, ...]], ...]
    created_at: datetime

    @property
    def stream_id(self) -> str:
        """The id of this visitor's event stream."""
        return visitor_stream_id(self.id)


def fields_of(thing: Any) -> dict[str, Any]:
    """Write a dataclass with slots as a dict; unlike `asdict`, which costs ten times as much, copy nothing inside."""
    return {name: getattr(thing, name) for name in thing.__slots__}


def visitor_stream_id(visitor_id: str) -> str:
    """Name the event stream of a visitor."""
    return f"visitor:{visitor_id}"


def staff_stream_id(project_id: str) -> str:
    """Name the event stream that all staff of a project share."""
    return f"{STAFF_STREAM}{project_id}"


def is_of_staff(stream_id: str) -> bool:
    """Tell whether a stream is one that the staff read."""
    return stream_id.startswith(STAFF_STREAM)
