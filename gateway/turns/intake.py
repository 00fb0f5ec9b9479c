"""Takes a visitor's message into the conversation, with the turn that it begins, inside the caller's transaction."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from gateway.assistant.contract import HistoryMessage, Outcome, Question, budget_user
from gateway.conversation.history import MESSAGE_LIMIT, select_history
from gateway.conversation.model import (
    AnswerFacts,
    AttachedFile,
    Kind,
    Message,
    Role,
    staff_stream_id,
    visitor_stream_id,
)
from gateway.conversation.person_asked import asks_for_a_person
from gateway.conversation.suggestion import offer_a_person
from gateway.conversation.title import title_of
from gateway.pending.contract import AskedLocally, Resumed
from gateway.storage.contract import TurnRecord
from gateway.turns import announcement
from gateway.turns.question import to_plain
from shared.errors import InvalidRequest, TurnRunning
from shared.ids import new_id

if TYPE_CHECKING:
    from datetime import datetime

    from gateway.conversation.model import Conversation, ServerText, Visitor
    from gateway.identity.projects import Project
    from gateway.pending.contract import Answer
    from gateway.pending.service import Clarifications
    from gateway.storage.transaction import Transaction
    from gateway.turns.desk import Desk

LEASE: Final = timedelta(seconds=15)
"""How long a turn belongs to a gateway that says nothing: longer than keeping it takes while the store is busy."""
HISTORY_READ: Final = 4 * MESSAGE_LIMIT


@dataclass(frozen=True, slots=True)
class NewMessage:
    """What a visitor wrote. `language` is the one they read; `key` makes repeating harmless; files were sent before."""

    conversation_id: str
    text: str
    assistant: str
    language: str
    key: str | None
    attachment_ids: tuple[str, ...] = ()

    def digest(self) -> bytes:
        """What the idempotency key is bound to."""
        parts = ["message", self.conversation_id, self.text, self.assistant, *self.attachment_ids]
        body = json.dumps(parts, ensure_ascii=True)
        return hashlib.sha256(body.encode()).digest()


@dataclass(frozen=True, slots=True)
class _Local:
    """What answers a message without the AI server."""

    outcome: str
    kind: Kind
    text: ServerText


async def streams_of(tx: Transaction, conversation: Conversation) -> tuple[str, ...]:
    """Name the streams that a conversation concerns: the visitor's, and the staff's once it had a ticket."""
    visitor = visitor_stream_id(conversation.visitor_id)
    if await tx.tickets.latest_in(conversation.id) is None:
        return (visitor,)
    return (visitor, staff_stream_id(conversation.project_id))


async def take_in(
    tx: Transaction,
    desk: Desk | None,
    *,
    visitor: Visitor,
    project: Project,
    conversation: Conversation,
    streams: tuple[str, ...],
    message: NewMessage,
    owner: str,
    now: datetime,
    pending: Clarifications | None = None,
    is_request: bool | None = None,
) -> tuple[TurnRecord, Message]:
    """Keep the message and its turn. While a ticket is open the turn is over at once: people answer, not the AI. So it
    is where the message only makes us ask again or asks for a person, who is offered; a reply that answers a question
    of ours goes on with what it decided. `streams` are those that the conversation concerns.

    Raises:
        LookFirst: what the reply means hangs on `is_request`, which is None.
        TurnRunning: the conversation's last turn is not over.
        InvalidRequest: an attachment is not the visitor's, or was carried before.
    """
    turn_id = new_id(now)
    silent = conversation.escalated
    answer: Answer = None
    if pending is not None and not silent:
        said_alone = "" if message.attachment_ids else message.text
        answer = await pending.answer(tx, conversation.id, turn_id, said_alone, is_request=is_request)
    question = await _question(tx, turn_id, visitor, project, conversation, message)
    if isinstance(answer, Resumed):
        question = replace(question, text=answer.text, resolved_intent=answer.resolved_intent)
    local = None if silent else _answered_here(answer, message)
    outcome = Outcome.HANDED_OVER.value if silent else None if local is None else local.outcome
    turn = TurnRecord(
        id=turn_id,
        conversation_id=conversation.id,
        visitor_id=visitor.id,
        user_message_id=new_id(now),
        ai_message_id=new_id(now),
        question=to_plain(question),
        owner=owner,
        lease_until=now + LEASE,
        started_at=now,
        outcome=outcome,
        ended_at=None if outcome is None else now,
    )
    if not await tx.turns.start(turn):
        running = await tx.turns.running_in(conversation.id)
        assert running is not None
        raise TurnRunning(running.id)
    said = await _keep(tx, turn, visitor, conversation, message)
    replied = None if local is None else await _reply_here(tx, turn, local, message.language)
    await _tell(tx, streams, conversation.project_id, said, replied, turn)
    if silent and desk is not None:
        await desk.heard(tx, conversation, said)
    return turn, said


async def _keep(
    tx: Transaction, turn: TurnRecord, visitor: Visitor, conversation: Conversation, message: NewMessage
) -> Message:
    """Keep what the visitor wrote; the first message names the conversation."""
    now = turn.started_at
    if conversation.last_position == 0:
        await tx.conversations.change(conversation.id, title=title_of(message.text))
    said = Message(
        id=turn.user_message_id,
        conversation_id=conversation.id,
        position=await tx.conversations.take_position(conversation.id, now),
        role=Role.USER,
        kind=None,
        text=message.text,
        created_at=now,
        turn_id=turn.id,
        attachments=await _carry(tx, message, visitor, turn.user_message_id),
    )
    await tx.messages.add(said)
    return said


async def _carry(tx: Transaction, message: NewMessage, visitor: Visitor, said_id: str) -> tuple[AttachedFile, ...]:
    """Bind the files that a message names to it: each is the visitor's own, and is carried once."""
    files: list[AttachedFile] = []
    for each in dict.fromkeys(message.attachment_ids):
        found = await tx.attachments.get(each)
        if found is None or not await tx.attachments.carry(each, visitor.id, message.conversation_id, said_id):
            raise InvalidRequest.of("attachment_ids", "names a file that you did not send, or that a message carried")
        files.append(AttachedFile(found.id, found.kind, found.name, found.media_type, found.size))
    if sum(each.kind == "image" for each in files) > 1:
        raise InvalidRequest.of("attachment_ids", "names more than one image: send one at a time")
    return tuple(files)


async def _question(
    tx: Transaction,
    turn_id: str,
    visitor: Visitor,
    project: Project,
    conversation: Conversation,
    message: NewMessage,
) -> Question:
    earlier = await tx.messages.lines_before(conversation.id, conversation.last_position + 1, HISTORY_READ)
    return Question(
        idempotency_key=turn_id,
        project_id=project.id,
        assistant=message.assistant,
        user=visitor.id,
        budget_user=budget_user(visitor.id, visitor.subject),
        text=message.text,
        history=tuple(HistoryMessage(role, text) for role, text in select_history(earlier, conversation.boundary)),
        language_hint=message.language,
        contexts=project.contexts_of(visitor),
    )


def _answered_here(answer: Answer, message: NewMessage) -> _Local | None:
    """Tell what needs no AI server: a question of ours put again, or the offer of a person to whoever asks for one."""
    if isinstance(answer, AskedLocally):
        return _Local(answer.kind, Kind.CLARIFICATION, answer.text)
    if answer is None and not message.attachment_ids and asks_for_a_person(message.text):
        return _Local(Outcome.ANSWERED.value, *offer_a_person())
    return None


async def _reply_here(tx: Transaction, turn: TurnRecord, local: _Local, language: str) -> Message:
    """Keep the message that answers; the AI server is not asked."""
    replied = Message(
        id=turn.ai_message_id,
        conversation_id=turn.conversation_id,
        position=await tx.conversations.take_position(turn.conversation_id, turn.started_at),
        role=Role.AI,
        kind=local.kind,
        text="",
        created_at=turn.started_at,
        server_text=local.text,
        language=language,
        turn_id=turn.id,
        facts=AnswerFacts(local.outcome),
    )
    await tx.messages.add(replied)
    return replied


async def _tell(
    tx: Transaction, streams: tuple[str, ...], project_id: str, said: Message, replied: Message | None, turn: TurnRecord
) -> None:
    told = [announcement.message_created(said, project_id)]
    if replied is not None:
        told += [announcement.clarifying(turn)] if replied.kind is Kind.CLARIFICATION else []
        told.append(announcement.message_created(replied, project_id))
    if turn.outcome is not None:
        told.append(announcement.turn_done(turn, turn.outcome, None))
    for stream_id in streams:
        await tx.events.append(stream_id, *told)
