"""Takes a visitor's message, runs the turn in a task of its own, and publishes what came of it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from gateway.assistant.contract import Outcome
from gateway.conversation.model import Kind, Message, Role
from gateway.conversation.suggestion import REPHRASE_TIMES
from gateway.storage.again import again
from gateway.storage.contract import KeyRecord
from gateway.turns import announcement
from gateway.turns.intake import LEASE, NewMessage, streams_of, take_in
from gateway.turns.reply import clarification, compose, offering, passing
from gateway.turns.runner import TurnRun
from shared.errors import IdempotencyConflict, NotFound, NotReady, PasseurError
from shared.ids import new_id
from shared.logs import logger

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.assistant.contract import Assistant, Result
    from gateway.conversation.model import Conversation, Visitor
    from gateway.events.contract import Announcer
    from gateway.identity.projects import Project
    from gateway.pending.service import Clarifications
    from gateway.storage.contract import Store, TurnRecord
    from gateway.storage.transaction import Transaction
    from gateway.turns.desk import Desk, Enclosures
    from gateway.turns.reply import Reply
    from shared.clock import Clock

OTHER_BODY: Final = "This Idempotency-Key came before with another body: use a new key."
RENEW_S: Final = 3.0
"""How often leases are kept. A gateway that died is followed after `LEASE` and this at most."""
CLAIM_LIMIT: Final = 100
PUBLISH_DELAYS_S: Final = (0.0, 0.1, 0.5, 2.0, 5.0, 10.0)
"""Attempts to publish a result when the store refuses; afterwards the lease runs out and the turn is attached again."""

log = logger(__name__)


@dataclass(frozen=True, slots=True)
class Taken:
    """A message that was taken: its turn, and the cursor from which the turn's events follow."""

    turn: TurnRecord
    cursor: str


class TurnService:
    """The turns of this process."""

    def __init__(
        self,
        store: Store,
        assistant: Assistant,
        announcer: Announcer,
        clock: Clock,
        *,
        desk: Desk | None = None,
        enclosures: Enclosures | None = None,
        pending: Clarifications | None = None,
    ) -> None:
        """Take the seams; nothing runs until `serve`.

        `desk` hears what visitors write while a ticket is open; `enclosures` keeps the files that go with questions;
        `pending` asks back and reads the replies, without it a question of the AI server is only a notice.
        """
        self.watchers: list[Callable[[str, float], None]] = []
        self._store = store
        self._assistant = assistant
        self._announcer = announcer
        self._clock = clock
        self._desk = desk
        self._enclosures = enclosures
        self._pending = pending
        self._owner = new_id(clock.now())
        self._runs: dict[str, TurnRun] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._taking: set[asyncio.Task[Taken]] = set()
        self._closing = False

    async def send(self, visitor: Visitor, project: Project, message: NewMessage) -> Taken:
        """Keep a visitor's message and start its turn; the same key and body give the same turn.

        Raises:
            NotFound: the conversation is not there, or not theirs.
            TurnRunning: the conversation's last turn is not over.
            IdempotencyConflict: the key came before with another body.
        """
        if self._closing:
            raise NotReady("The gateway is stopping: try again in a moment.")
        # A caller who leaves between the commit and the launch must not leave a turn that nobody runs.
        taking = asyncio.create_task(again(lambda: self._take(visitor, project, message), self._clock))
        self._taking.add(taking)
        taking.add_done_callback(self._taking.discard)
        return await asyncio.shield(taking)

    async def _take(self, visitor: Visitor, project: Project, message: NewMessage) -> Taken:
        is_request = await self._is_request(project, message)
        async with self._store.transaction() as tx:
            conversation = await tx.conversations.hold(message.conversation_id)
            if conversation is None or conversation.visitor_id != visitor.id:
                raise NotFound("There is no such conversation.")
            if known := await self._known(tx, visitor, message):
                return known
            before = await tx.events.position(visitor.stream_id)
            now = self._clock.now()
            turn = await take_in(
                tx,
                self._desk,
                visitor=visitor,
                project=project,
                conversation=conversation,
                message=message,
                owner=self._owner,
                now=now,
                pending=self._pending,
                is_request=is_request,
            )
            if message.key is not None:
                bound = await tx.keys.add(visitor.id, message.key, KeyRecord(message.digest(), turn.id), now)
                if not bound:  # meanwhile, for another conversation
                    raise IdempotencyConflict(OTHER_BODY)
            streams = await streams_of(tx, conversation)
        if turn.outcome is None:
            self._launch(turn, streams, attached_again=False)
        return Taken(turn, f"{before.epoch}.{before.head}")

    async def _is_request(self, project: Project, message: NewMessage) -> bool:
        """Tell whether what looks like a new search term surely asks for something else."""
        if self._pending is None or message.attachment_ids:
            return False
        async with self._store.transaction() as tx:
            if not await self._pending.might_be_a_request(tx, message.conversation_id, message.text):
                return False
        try:
            seen = await self._assistant.detect(project.id, message.assistant, message.text, message.language)
        except PasseurError as exc:
            log.info("reply_not_looked_at", reason=exc.message)
            return False
        return seen.sure and seen.kind in {"connector", "tool"}

    async def wait(self, turn_id: str) -> TurnRecord:
        """Wait until a turn is over, wherever it runs."""
        while True:
            if task := self._tasks.get(turn_id):
                await asyncio.wait({task})
            async with self._store.transaction() as tx:
                turn = await tx.turns.get(turn_id)
            if turn is None:
                raise NotFound("There is no such turn.")
            if turn.outcome is not None:
                return turn
            await self._clock.sleep(1.0)

    async def stop(self, visitor: Visitor, conversation_id: str, turn_id: str) -> bool:
        """Stop a turn; tells whether it was running. What was said stays.

        Raises:
            NotFound: the turn is not there, or not theirs.
        """
        async with self._store.transaction() as tx:
            turn = await tx.turns.get(turn_id)
        if turn is None or turn.visitor_id != visitor.id or turn.conversation_id != conversation_id:
            raise NotFound("There is no such turn.")
        if run := self._runs.get(turn_id):
            run.stop()
            return True
        if turn.outcome is not None:
            return False
        return await self._assistant.cancel(visitor.project_id, turn_id)

    async def silence(self, conversation_id: str) -> None:
        """Stop what runs in a conversation that people took over; nothing of it will be published anyway.

        Raises:
            NotReady: the store stayed busy.
        """
        async with self._store.transaction() as tx:
            turn = await tx.turns.running_in(conversation_id)
        if turn is None:
            return
        if run := self._runs.get(turn.id):
            run.hush()
            return
        try:
            await self._assistant.cancel(turn.question["project_id"], turn.id)
        except PasseurError as exc:
            log.warning("silence_unanswered", turn_id=turn.id, reason=exc.message)

    async def serve(self) -> None:
        """Own turns for ever: take up those left by processes that are gone, and keep our leases."""
        everyone = self._store.exclusive
        while True:
            try:
                await self._keep_leases(everyone=everyone)
                everyone = False
            except NotReady as exc:
                log.warning("leases_not_kept", reason=exc.message)
            await self._clock.sleep(RENEW_S)

    async def close(self, grace_s: float) -> None:
        """Take no new turn, let running ones publish for `grace_s`, and leave the rest to whoever comes next."""
        self._closing = True
        tasks = set(self._tasks.values())
        if tasks:
            await asyncio.wait(tasks, timeout=grace_s)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def running(self) -> int:
        """Count the turns of this process."""
        return len(self._tasks)

    # ------------------------------------------------------------------ starting

    async def _known(self, tx: Transaction, visitor: Visitor, message: NewMessage) -> Taken | None:
        if message.key is None:
            return None
        record = await tx.keys.find(visitor.id, message.key)
        if record is None:
            return None
        turn = await tx.turns.get(record.created_id)
        if record.body_hash != message.digest() or turn is None:
            raise IdempotencyConflict(OTHER_BODY)
        position = await tx.events.position(visitor.stream_id)
        first = await tx.events.first_of_turn(visitor.stream_id, turn.id)
        return Taken(turn, f"{position.epoch}.{position.head if first is None else first - 1}")

    # ------------------------------------------------------------------ running

    def _launch(self, turn: TurnRecord, streams: tuple[str, ...], *, attached_again: bool) -> None:
        run = TurnRun(turn, streams, self._assistant, self._announcer, self._clock, self._enclosures)
        self._runs[turn.id] = run
        task = asyncio.create_task(self._run(run, attached_again=attached_again), name=f"turn {turn.id}")
        self._tasks[turn.id] = task

    async def _run(self, run: TurnRun, *, attached_again: bool) -> None:
        turn = run.turn
        self._announcer.begin(run.running)
        try:
            result = await run.converse(attached_again=attached_again)
            self._announcer.flush(run.running)
            await self._publish(run, result)
        except Exception:  # a turn's own task: its lease runs out and the turn is attached again
            log.exception("turn_broken", turn_id=turn.id)
        finally:
            self._announcer.end(run.running)
            del self._runs[turn.id], self._tasks[turn.id]

    async def _publish(self, run: TurnRun, result: Result) -> None:
        for delay in PUBLISH_DELAYS_S:
            await self._clock.sleep(delay)
            try:
                await self._publish_once(run, result)
            except NotReady as exc:
                log.warning("publish_refused", turn_id=run.turn.id, reason=exc.message)
            else:
                return
        log.error("publish_given_up", turn_id=run.turn.id)

    async def _publish_once(self, run: TurnRun, result: Result) -> None:
        turn, now = run.turn, self._clock.now()
        async with self._store.transaction() as tx:
            conversation = await tx.conversations.hold(turn.conversation_id)
            if conversation is None:
                return
            streams = await streams_of(tx, conversation)
            if conversation.escalated:
                await self._hand_over(tx, turn, streams)
                return
            if not await self._still_ours(tx, turn):
                return
            result, reply = await self._worded(tx, turn, conversation, result)
            if not await tx.turns.end(turn.id, self._owner, result.outcome.value, reply.problem, now):
                raise NotReady("The turn went to another gateway meanwhile.")  # and what was asked back is undone
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
            await tx.conversations.change(turn.conversation_id, insufficient_count=reply.insufficient_count)
            done = announcement.turn_done(turn, result.outcome.value, reply.problem)
            for stream_id in streams:
                if reply.kind is Kind.CLARIFICATION:
                    await tx.events.append(stream_id, announcement.clarifying(turn))
                await tx.events.append(stream_id, announcement.message_created(said, conversation.project_id))
                await tx.events.append(stream_id, done)
        self._ended(turn, result.outcome)

    async def _still_ours(self, tx: Transaction, turn: TurnRecord) -> bool:
        current = await tx.turns.get(turn.id)
        return current is not None and current.outcome is None and current.owner == self._owner

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
        offered = await pending.settle(tx, turn.id, passing=passing(result))
        reply = compose(result, count)
        return result, reply if offered is None else offering(reply, offered)

    async def _hand_over(self, tx: Transaction, turn: TurnRecord, streams: tuple[str, ...]) -> None:
        """End a turn in silence: while it ran a ticket was opened, and people have the word."""
        outcome = Outcome.HANDED_OVER
        if await tx.turns.end(turn.id, self._owner, outcome.value, None, self._clock.now()):
            for stream_id in streams:
                await tx.events.append(stream_id, announcement.turn_done(turn, outcome.value, None))
            self._ended(turn, outcome)

    def _ended(self, turn: TurnRecord, outcome: Outcome) -> None:
        seconds = (self._clock.now() - turn.started_at).total_seconds()
        log.info("turn_done", turn_id=turn.id, conversation_id=turn.conversation_id, outcome=outcome.value)
        for watch in self.watchers:
            watch(outcome.value, seconds)

    # ------------------------------------------------------------------ leases

    async def _keep_leases(self, *, everyone: bool) -> None:
        now = self._clock.now()
        async with self._store.transaction() as tx:
            await tx.turns.renew(self._owner, tuple(self._runs), now + LEASE)
            expired_at = None if everyone else now
            taken = await tx.turns.claim(self._owner, tuple(self._runs), expired_at, now + LEASE, CLAIM_LIMIT)
            streams: dict[str, tuple[str, ...]] = {}
            for turn in taken:
                conversation = await tx.conversations.get(turn.conversation_id)
                assert conversation is not None
                streams[turn.id] = await streams_of(tx, conversation)
        for turn in taken:
            log.info("turn_taken_up", turn_id=turn.id, conversation_id=turn.conversation_id)
            self._launch(turn, streams[turn.id], attached_again=True)
