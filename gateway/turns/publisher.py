"""Writes what came of a turn into the conversation, in one transaction: the message, its events, the turn's end."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from gateway.assistant.contract import Outcome
from gateway.conversation.model import Kind, Message, Role
from gateway.conversation.suggestion import REPHRASE_TIMES
from gateway.turns import announcement
from gateway.turns.intake import streams_of
from gateway.turns.reply import clarification, compose, in_the_questions_language, offering, passing
from shared.errors import NotReady
from shared.logs import logger

if TYPE_CHECKING:
    from gateway.assistant.contract import Result
    from gateway.conversation.model import Conversation
    from gateway.pending.service import Clarifications
    from gateway.storage.contract import Store, TurnRecord
    from gateway.storage.transaction import Transaction
    from gateway.turns.reply import Reply
    from shared.clock import Clock

PUBLISH_DELAYS_S: Final = (0.0, 0.1, 0.5, 2.0, 5.0, 10.0)
"""Attempts to publish a result when the store refuses; afterwards the lease runs out and the turn is attached again."""

log = logger(__name__)


class _Gone(Exception):
    """The turn ended before, or another gateway has it."""


@dataclass(frozen=True, slots=True)
class Published:
    """A turn that ended, and what was said if anything was."""

    turn: TurnRecord
    said: Message | None


class Publisher:
    """Publishes for one owner of turns; a turn that went to another is left to that one."""

    def __init__(self, store: Store, owner: str, clock: Clock, pending: Clarifications | None) -> None:
        """Take the seams; see `gateway.turns.service.TurnService`."""
        self._store = store
        self._owner = owner
        self._clock = clock
        self._pending = pending

    async def publish(self, turn: TurnRecord, result: Result) -> Published | None:
        """Publish a result, trying again while the store refuses; None where the turn did not end by it."""
        for delay in PUBLISH_DELAYS_S:
            if delay:
                await self._clock.sleep(delay)
            try:
                return await self._publish_once(turn, result)
            except _Gone:
                return None
            except NotReady as exc:
                log.warning("publish_refused", turn_id=turn.id, reason=exc.message)
        log.error("publish_given_up", turn_id=turn.id)
        return None

    async def _publish_once(self, turn: TurnRecord, result: Result) -> Published | None:
        now = self._clock.now()
        async with self._store.transaction() as tx:
            conversation = await tx.conversations.hold(turn.conversation_id)
            if conversation is None:
                return None
            streams = await streams_of(tx, conversation)
            if conversation.escalated:
                return await self._hand_over(tx, turn, streams)
            result, reply = await self._worded(tx, turn, conversation, result)
            reply = in_the_questions_language(reply, str(turn.question["language_hint"]))
            if not await tx.turns.end(turn.id, self._owner, result.outcome.value, reply.problem, now):
                raise _Gone  # and what was asked back is undone
            said = Message(
                id=turn.ai_message_id,
                conversation_id=turn.conversation_id,
                position=await tx.conversations.take_position(turn.conversation_id, now),
                role=Role.AI,
                kind=reply.kind,
                text=reply.text,
                created_at=now,
                server_text=reply.server_text,
                language=reply.language,
                turn_id=turn.id,
                citations=reply.citations,
                facts=reply.facts,
            )
            await tx.messages.add(said)
            if reply.insufficient_count != conversation.insufficient_count:
                await tx.conversations.change(turn.conversation_id, insufficient_count=reply.insufficient_count)
            done = announcement.turn_done(turn, result.outcome.value, reply.problem)
            told = [announcement.message_created(said, conversation.project_id), done]
            if reply.kind is Kind.CLARIFICATION:
                told.insert(0, announcement.clarifying(turn))
            for stream_id in streams:
                await tx.events.append(stream_id, *told)
        return Published(replace(turn, outcome=result.outcome.value, problem=reply.problem, ended_at=now), said)

    async def _worded(
        self, tx: Transaction, turn: TurnRecord, conversation: Conversation, result: Result
    ) -> tuple[Result, Reply]:
        """Decide what is said. A question that the AI server left open is asked and kept; one that this turn answered
        is over, or open again where the turn failed for a passing reason.
        """
        pending, count, question = self._pending, conversation.insufficient_count, str(turn.question["text"])
        if pending is None:
            return result, compose(result, count)
        if result.outcome is Outcome.CLARIFY_CONNECTOR and result.candidates:
            text = await pending.ask_service(tx, conversation.id, question, result.candidates)
            return result, clarification(result, text, count)
        if result.outcome is Outcome.CLARIFY_SEARCH and result.failed_search is not None:
            asked = await pending.ask_search(tx, conversation.id, turn.id, question, result.failed_search)
            if asked is not None:
                return result, clarification(result, asked, count)
            in_vain = replace(result, outcome=Outcome.INSUFFICIENT_CONTEXT)
            return in_vain, compose(in_vain, max(count, REPHRASE_TIMES))
        reply = compose(result, count)
        if turn.question["resolved_intent"] is None:  # it answered no question of ours
            return result, reply
        offered = await pending.settle(tx, turn.id, passing=passing(result))
        return result, reply if offered is None else offering(reply, offered)

    async def _hand_over(self, tx: Transaction, turn: TurnRecord, streams: tuple[str, ...]) -> Published | None:
        """End a turn in silence: while it ran a ticket was opened, and people have the word."""
        outcome, now = Outcome.HANDED_OVER.value, self._clock.now()
        if not await tx.turns.end(turn.id, self._owner, outcome, None, now):
            return None
        for stream_id in streams:
            await tx.events.append(stream_id, announcement.turn_done(turn, outcome, None))
        return Published(replace(turn, outcome=outcome, ended_at=now), None)
