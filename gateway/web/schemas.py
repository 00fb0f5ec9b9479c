"""The shapes of requests and responses. `/openapi.json` is made of them, and tests hold the responses against it."""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from shared.text import text_violation

TEXT_LIMIT: Final = 20_000
NAME_LIMIT: Final = 100
ATTACHMENT_LIMIT: Final = 4


def _text(value: str) -> str:
    violation = text_violation("text", value, limit=TEXT_LIMIT)
    if violation is not None:
        raise ValueError(violation.problem)
    return value


def _name(value: str) -> str:
    violation = text_violation("name", value, limit=NAME_LIMIT, blank_allowed=True)
    if violation is not None:
        raise ValueError(violation.problem)
    return value


MessageText = Annotated[
    str,
    AfterValidator(_text),
    Field(json_schema_extra={"minLength": 1, "maxLength": TEXT_LIMIT, "pattern": r"\S"}),
]
Name = Annotated[str, AfterValidator(_name), Field(json_schema_extra={"maxLength": NAME_LIMIT})]
Id = Annotated[str, Field(json_schema_extra={"format": "uuid"})]
Time = Annotated[str, Field(json_schema_extra={"format": "date-time"})]


class Request(BaseModel):
    """A body that callers send: unknown fields are refused by name."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Shape(BaseModel):
    """A body that we send: exactly these fields."""

    model_config = ConfigDict(extra="forbid")


class SignedUser(Request):
    """A user of the host, signed by the host's server: hex(HMAC-SHA256(secret, project LF user_id LF issued_at))."""

    user_id: str
    issued_at: int = Field(description="Seconds since 1970; good for five minutes.")
    signature: str


class NewSession(Request):
    """Opens a visitor session from a project's public key. An anonymous visitor's old token renews it; a `jwt` or a
    `user` of the host makes it that person's, who is never merged with an anonymous visitor.
    """

    public_key: Name
    language: Name = Field(default="", description="BCP 47; Accept-Language decides when it is empty.")
    jwt: str | None = None
    user: SignedUser | None = None


class Session(Shape):
    """A visitor session. The token is told once."""

    token: str
    visitor_id: Id
    expires_at: Time


class NewConversation(Request):
    """Begins a conversation."""

    title: Name = ""


class TicketOfConversation(Shape):
    """The newest ticket of a conversation, as its visitor sees it."""

    id: Id
    conversation_id: Id
    title: str
    state: str = Field(json_schema_extra={"enum": ["OPEN", "IN_PROGRESS", "RESOLVED"]})
    assignee: dict[str, str] | None
    opened_at: Time
    updated_at: Time
    resolved_at: Time | None
    unread_count: int


class Conversation(Shape):
    """A conversation of the visitor. While `escalated` people answer, and the AI is silent."""

    id: Id
    title: str
    created_at: Time
    updated_at: Time
    unread_count: int
    running_turn_id: Id | None
    escalated: bool
    ticket: TicketOfConversation | None


class Conversations(Shape):
    """A page of conversations, newest activity first."""

    conversations: list[Conversation]
    next_cursor: str | None


class NewMessage(Request):
    """Something the visitor says. The turn it starts runs to its end whether or not the caller stays."""

    text: MessageText
    assistant: Name = Field(default="", description="An assistant of the project; empty is its default.")
    attachment_ids: list[Name] = Field(
        default_factory=list, max_length=ATTACHMENT_LIMIT, description="From POST /v1/attachments; at most one image."
    )


class Citation(Shape):
    """A source of an answer; the number in the text is its place in the list, from 1."""

    id: str
    title: str
    url: str | None
    quote: str


class Author(Shape):
    """Who of the staff wrote it."""

    id: Id
    name: str


class AttachedFile(Shape):
    """A file that came with a message; its bytes are at /v1/attachments/{id}."""

    id: Id
    kind: str = Field(json_schema_extra={"enum": ["image", "document"]})
    name: str
    media_type: str
    size: int


class Choice(Shape):
    """One option of a question: what a button says, and the reply that it sends."""

    label: str
    reply: str


class Message(Shape):
    """A message. `html` is sanitised; `data-citation` in it names a citation; `notice` tells why it is not whole."""

    id: Id
    conversation_id: Id
    turn_id: Id | None
    role: str = Field(json_schema_extra={"enum": ["USER", "AI", "ADMIN", "SYSTEM"]})
    kind: str | None = Field(
        json_schema_extra={"enum": ["answer", "greeting", "rephrase", "suggest_human", "clarification", "notice", None]}
    )
    text: str
    html: str
    notice: str | None
    language: str
    citations: list[Citation]
    outcome: str | None
    confidence: float | None
    economy: bool
    model: str | None
    cost_nanousd: int | None
    cost_estimated: bool
    duration_ms: int | None
    unverified: bool = Field(description="Rests on what the visitor's own browser sent back.")
    author: Author | None
    attachments: list[AttachedFile]
    choices: list[Choice] = Field(description="What a question offers; `reply` is what to send for one of them.")
    created_at: Time


class Messages(Shape):
    """A page of messages, oldest first; `next_cursor` leads to older ones."""

    messages: list[Message]
    next_cursor: str | None


class TurnProblem(Shape):
    """Why a turn gave no answer, in the reader's language."""

    type: str
    title: str
    resets_at: Time | None


class Turn(Shape):
    """A finished turn."""

    outcome: str
    turn_id: Id
    user_message: Message
    ai_message: Message | None
    problem: TurnProblem | None


class Stopped(Shape):
    """Whether the turn was running."""

    was_running: bool


class Passage(Shape):
    """The passage behind a citation. `service` names the live service that said it when the answer was made; it is
    empty for documents, which are read anew.
    """

    id: str
    title: str
    url: str | None
    heading: str
    text: str
    language: str
    quote: str
    service: str


class ReadUpTo(Request):
    """How far the visitor has read."""

    message_id: Name


class StreamTicket(Shape):
    """Opens one event stream, once, within a minute, as `/v1/events?ticket=…`."""

    ticket: str
    expires_at: Time


class Alive(Shape):
    """The process runs."""

    status: str


class Readiness(Shape):
    """Whether a question can be answered, and if not, why."""

    state: str = Field(json_schema_extra={"enum": ["ready", "degraded", "down"]})
    dependencies: dict[str, Any]


class Violation(Shape):
    """A field that is wrong."""

    field: str
    problem: str


class ProblemDocument(BaseModel):
    """RFC 9457; `type` is one of a fixed list of slugs."""

    type: str
    title: str
    status: int
    detail: str
    request_id: str
    violations: list[Violation] | None = None
    turn_id: Id | None = None
    resets_at: Time | None = None
