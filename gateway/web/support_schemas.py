"""The shapes of tickets and what goes with them; see `gateway.web.schemas`."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Field, RootModel

from gateway.web.schemas import Id, MessageText, Name, Request, Shape, Time

TELEMETRY_LIMIT: Final = 50
TELEMETRY_TEXT: Final = 200
PASSWORD_LIMIT: Final = 200

Status = Literal["online", "away", "offline"]
State = Literal["OPEN", "IN_PROGRESS", "RESOLVED"]


def _telemetry(value: dict[str, str | int | float | bool] | None) -> dict[str, str | int | float | bool] | None:
    for name, fact in (value or {}).items():
        if len(name) > TELEMETRY_TEXT or (isinstance(fact, str) and len(fact) > TELEMETRY_TEXT):
            raise ValueError(f"holds a name or value over {TELEMETRY_TEXT} characters")
    if len(value or {}) > TELEMETRY_LIMIT:
        raise ValueError(f"holds more than {TELEMETRY_LIMIT} facts")
    return value


Telemetry = Annotated[dict[str, str | int | float | bool] | None, AfterValidator(_telemetry)]


class Person(Shape):
    """One of the staff as visitors see them."""

    id: Id
    name: str


class Ticket(Shape):
    """A ticket as its visitor sees it. `unread_count` counts the team's messages."""

    id: Id
    conversation_id: Id
    title: str
    state: State
    assignee: Person | None
    opened_at: Time
    updated_at: Time
    resolved_at: Time | None
    unread_count: int


class TicketVisitor(Shape):
    """Whose ticket it is; `subject` is the host's id for them, when it was proven."""

    id: Id
    subject: str | None


class LastMessage(Shape):
    """The beginning of what was said last by a person."""

    role: str
    text: str


class StaffTicket(Ticket):
    """A ticket as the staff see it. `unread_count` counts the visitor's messages; in events it is null."""

    unread_count: int | None  # type: ignore[assignment]  # the shared stream has nobody's count
    visitor: TicketVisitor
    language: str
    summary: str
    summary_state: Literal["pending", "done", "failed", "none"]
    opened_position: int
    user_message_count: int
    admin_message_count: int
    last_message: LastMessage | None


class EitherTicket(RootModel[Ticket | StaffTicket]):
    """A ticket, in the view of whoever asked."""


class StaffTickets(Shape):
    """A page of tickets, newest activity first."""

    tickets: list[StaffTicket]
    next_cursor: str | None


class Presence(Shape):
    """Whether someone is there. Product and telemetry only where the reader may see them."""

    person: Id
    kind: Literal["visitor", "staff"]
    status: Status
    product: str | None
    telemetry: dict[str, Any] | None
    consent: bool | None
    updated_at: Time | None


class Presences(Shape):
    """The presence of several people."""

    people: list[Presence]


class NewPresence(Request):
    """What someone says of themself, whole: what is left out is cleared.

    Without `consent` no telemetry is kept; withdrawing it erases what was kept. With `consent` and no `telemetry` what
    was kept stays.
    """

    status: Status = "online"
    product: Name | None = None
    consent: bool = False
    telemetry: Telemetry = None


class TicketDetail(Shape):
    """A ticket with the presence of its visitor."""

    ticket: StaffTicket
    presence: Presence


class Assignment(Request):
    """Whose the ticket shall be."""

    assignee_id: Name


class Reply(Request):
    """What one of the staff answers."""

    text: MessageText


class Typing(Request):
    """Whether someone is writing; it is told at once and kept nowhere."""

    typing: bool


class SignIn(Request):
    """Opens a staff session."""

    login: Name
    password: Annotated[str, Field(max_length=PASSWORD_LIMIT)]


class StaffMember(Shape):
    """One of the staff, as colleagues see them."""

    id: Id
    login: str
    name: str
    role: Literal["agent", "admin"]
    active: bool


class StaffMe(Shape):
    """Who is signed in, and for which project."""

    staff: StaffMember
    project_id: str
    project_name: str
    languages: list[str]


class StaffSession(StaffMe):
    """A staff session. The token is told once."""

    token: str
    expires_at: Time


class StaffList(Shape):
    """Everyone of a project."""

    staff: list[StaffMember]


class NewStaff(Request):
    """Makes an account; without a password one is made and told once. Operators name the project."""

    login: Name
    name: Name = ""
    role: Literal["agent", "admin"] = "agent"
    project_id: Name = ""
    password: Annotated[str, Field(max_length=PASSWORD_LIMIT)] | None = None


class NewPassword(Request):
    """Replaces a password; without one, one is made and told once. Every session of the account ends."""

    password: Annotated[str, Field(max_length=PASSWORD_LIMIT)] | None = None


class StaffAccount(Shape):
    """An account with its new password, which is told once; null when the caller chose it."""

    staff: StaffMember
    password: str | None


class Notification(Shape):
    """A notice, in the reader's language."""

    id: Id
    kind: Literal["reply", "resolved", "reopened", "assigned"]
    text: str
    target: dict[str, str]
    created_at: Time
    read_at: Time | None


class Notifications(Shape):
    """A person's notices, newest first."""

    notifications: list[Notification]
    unread_count: int


class Attachment(Shape):
    """A file that was taken; put its id in a message's `attachment_ids`. An image was drawn anew."""

    id: Id
    kind: Literal["image", "document"]
    name: str
    media_type: str
    size: int
    truncated: bool
    created_at: Time


class Example(Shape):
    """One way in which it was asked."""

    text: str
    cause: Literal["insufficient", "escalated"]
    turn_id: Id | None
    conversation_id: Id
    language: str
    asked_at: Time


class QuestionGroup(Shape):
    """Questions that ask the same thing and found no answer."""

    text: str
    count: int
    insufficient_count: int
    escalated_count: int
    last_at: Time
    examples: list[Example]


class QuestionGroups(Shape):
    """What was asked in vain, the most asked first."""

    groups: list[QuestionGroup]


class NearPassage(Shape):
    """A passage that a turn looked at; `kept` tells whether the gate let it through."""

    chunk_id: str
    title: str
    distance: float | None
    kept: bool


class NearPassages(Shape):
    """Nearest first."""

    passages: list[NearPassage]


class Export(Shape):
    """What is kept, whole; its `format` names its shape, which docs/support-staff.md describes."""

    format: str
    exported_at: Time | None = None
    visitor: dict[str, Any] | None = None
    presence: dict[str, Any] | None = None
    notifications: list[dict[str, Any]] | None = None
    conversations: list[dict[str, Any]] | None = None
    conversation: dict[str, Any] | None = None
    messages: list[dict[str, Any]] | None = None
    tickets: list[dict[str, Any]] | None = None


class Deleted(Shape):
    """How much was removed."""

    conversation_count: int
    attachment_count: int
    notification_count: int
