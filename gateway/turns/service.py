"""Takes a visitor's message, runs the turn in a task of its own, and keeps the leases of those under way."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gateway.pending.contract import LookFirst
from gateway.storage.again import again
from gateway.storage.contract import KeyRecord
from gateway.turns.intake import LEASE, NewMessage, streams_of, take_in
from gateway.turns.publisher import Publisher
from gateway.turns.runner import TurnRun
from shared.errors import IdempotencyConflict, NotFound, NotReady, PasseurError
from shared.ids import new_id
from shared.logs import logger

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.assistant.contract import Assistant
    from gateway.conversation.model import Message, Visitor
    from gateway.events.contract import Announcer
    from gateway.identity.projects import Project
    from gateway.pending.service import Clarifications
    from gateway.storage.contract import Store, TurnRecord
    from gateway.storage.transaction import Transaction
    from gateway.turns.desk import Desk, Enclosures
    from shared.clock import Clock

OTHER_BODY: Final = "This Idempotency-Key came before with another body: use a new key."
RENEW_S: Final = 3.0
"""How often leases are kept. A gateway that died is followed after `LEASE` and this at most."""
CLAIM_LIMIT: Final = 100

log = logger(__name__)


@dataclass(frozen=True, slots=True)
class Taken:
    """A message that was taken: its turn, and the cursor from which the turn's events follow."""

    turn: TurnRecord
    cursor: str


@dataclass(frozen=True, slots=True)
class Finished:
    """A turn that is over, what was asked, and what was said if anything was."""

    turn: TurnRecord
    asked: Message
    said: Message | None


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
        self._publisher = Publisher(store, self._owner, clock, pending)
        self._runs: dict[str, TurnRun] = {}
        self._tasks: dict[str, asyncio.Task[Finished | None]] = {}
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
        try:
            return await self._take_in(visitor, project, message, is_request=None)
        except LookFirst:
            is_request = await self._is_request(project, message)
            return await self._take_in(visitor, project, message, is_request=is_request)

    async def _take_in(
        self, visitor: Visitor, project: Project, message: NewMessage, *, is_request: bool | None
    ) -> Taken:
        async with self._store.transaction() as tx:
            conversation = await tx.conversations.hold(message.conversation_id)
            if conversation is None or conversation.visitor_id != visitor.id:
                raise NotFound("There is no such conversation.")
            if known := await self._known(tx, visitor, message):
                return known
            before = await tx.events.position(visitor.stream_id)
            streams = await streams_of(tx, conversation)
            now = self._clock.now()
            turn, asked = await take_in(
                tx,
                self._desk,
                visitor=visitor,
                project=project,
                conversation=conversation,
                streams=streams,
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
            has_files = await tx.attachments.any_in(conversation.id)
        if turn.outcome is None:
            self._launch(turn, streams, asked, has_files=has_files)
        return Taken(turn, f"{before.epoch}.{before.head}")

    async def _is_request(self, project: Project, message: NewMessage) -> bool:
        """Tell whether what looks like a new search term surely asks for something else."""
        try:
            seen = await self._assistant.detect(project.id, message.assistant, message.text, message.language)
        except PasseurError as exc:
            log.info("reply_not_looked_at", reason=exc.message)
            return False
        return seen.sure and seen.kind in {"connector", "tool"}

    async def wait(self, turn_id: str) -> Finished:
        """Wait until a turn is over, wherever it runs.

        Raises:
            NotFound: it is not there, or its conversation was deleted meanwhile.
        """
        while True:
            if task := self._tasks.get(turn_id):
                await asyncio.wait({task})
                if not task.cancelled() and (finished := task.result()) is not None:
                    return finished
            async with self._store.transaction() as tx:
                turn = await tx.turns.get(turn_id)
                if turn is None:
                    raise NotFound("There is no such turn.")
                if turn.outcome is not None:
                    asked, said = await tx.messages.get(turn.user_message_id), await tx.messages.get(turn.ai_message_id)
                    assert asked is not None  # it goes with its turn
                    return Finished(turn, asked, said)
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

    def _launch(
        self, turn: TurnRecord, streams: tuple[str, ...], asked: Message | None, *, has_files: bool = True
    ) -> None:
        """Run a turn in a task of its own; without what was asked it was started before, perhaps by another process."""
        enclosures = self._enclosures if has_files else None
        run = TurnRun(turn, streams, self._assistant, self._announcer, self._clock, enclosures)
        self._runs[turn.id] = run
        self._tasks[turn.id] = asyncio.create_task(self._run(run, asked), name=f"turn {turn.id}")

    async def _run(self, run: TurnRun, asked: Message | None) -> Finished | None:
        """Bring a turn to its end; what came of it is told where it is known without reading it again."""
        turn = run.turn
        self._announcer.begin(run.running)
        try:
            result = await run.converse(attached_again=asked is None)
            self._announcer.flush(run.running)
            published = await self._publisher.publish(turn, result)
            if published is None:
                return None
            self._ended(published.turn)
            return None if asked is None else Finished(published.turn, asked, published.said)
        except Exception:  # a turn's own task: its lease runs out and the turn is attached again
            log.exception("turn_broken", turn_id=turn.id)
            return None
        finally:
            self._announcer.end(run.running)
            del self._runs[turn.id], self._tasks[turn.id]

    def _ended(self, turn: TurnRecord) -> None:
        outcome, seconds = str(turn.outcome), (self._clock.now() - turn.started_at).total_seconds()
        log.info("turn_done", turn_id=turn.id, conversation_id=turn.conversation_id, outcome=outcome)
        for watch in self.watchers:
            watch(outcome, seconds)

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
            self._launch(turn, streams[turn.id], asked=None)
