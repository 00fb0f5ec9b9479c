"""Turns, streams and tickets in simulated time: the real services over an in-memory store that fails when told to.

Gateways die and come back, the AI server goes and forgets, readers are slow, leave and return with their cursors,
visitors ask, stop and pass on, staff take over and resolve. Every choice comes from one seed.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from contextlib import suppress
from typing import Any

from gateway.conversation.model import Conversation, Message, Role, Visitor, visitor_stream_id
from gateway.storage.staff import StaffMember
from gateway.turns.intake import NewMessage
from shared.errors import NotReady, PasseurError, TurnRunning
from shared.ids import new_id
from tests.fakes.assistant import Pause, ScriptedAssistant, answering
from tests.fakes.gateway import DEMO
from tests.torture.stream_actors import Faults, Gateway, MemoryStore, Reader
from tests.torture.virtual_time import VirtualClock

VISITORS, ACTS, READERS = 2, 14, 2
TODO = (*["ask"] * 7, "stop", "escalate", "take over", "reply", "resolve", "resolve")
SPAN_S = 240.0
"""Simulated seconds in which everything happens."""

SETTLE_S = 180.0
"""Simulated seconds of peace in which everything must come to its end: leases, re-attachment, summaries."""


class World:
    """One simulated stretch of time."""

    def __init__(self, seed: int, hits: Counter[str]) -> None:
        self.dice = random.Random(seed)
        self.hits = hits
        self.faults: list[str] = []
        self.clock = VirtualClock()
        self.trouble = Faults(self.dice, hits)
        self.assistant = ScriptedAssistant(self._script)
        self.visitors: list[Visitor] = []
        self.conversations: dict[str, Conversation] = {}
        self.readers: list[Reader] = []
        self.scripted: dict[str, str] = {}

    async def run(self) -> list[str]:
        """Live, come to rest, and look."""
        self.store = MemoryStore(self.clock, self.trouble)
        await self._furnish()
        self.gateway = Gateway(self.store, self.assistant, self.clock)
        reading = [asyncio.create_task(self._read(reader)) for reader in self.readers]
        acting = [asyncio.create_task(self._act(visitor)) for visitor in self.visitors]
        fate = asyncio.create_task(self._fate())
        try:
            await asyncio.gather(*acting)
            fate.cancel()
            await asyncio.gather(fate, return_exceptions=True)
            self.trouble.peace = True
            self.assistant.recover()
            await asyncio.sleep(SETTLE_S)
            await self._judge()
        finally:
            for task in [*reading, *acting, fate]:
                task.cancel()
            await asyncio.gather(*reading, *acting, fate, return_exceptions=True)
            await self.gateway.die()
            await self.assistant.close()
            await self.store.close()
        return self.faults

    async def _furnish(self) -> None:
        self.trouble.peace = True
        now = self.clock.now()
        self.member = StaffMember(new_id(now), "demo", "ana", "Ana", "agent", now)
        async with self.store.transaction() as tx:
            await tx.staff.add(self.member, "hash")
            for _ in range(VISITORS):
                visitor = Visitor(new_id(now), "demo", None, "fr", (), now)
                await tx.visitors.add(visitor)
                conversation = Conversation(new_id(now), "demo", visitor.id, "", "fr", now, now)
                await tx.conversations.add(conversation)
                self.visitors.append(visitor)
                self.conversations[visitor.id] = conversation
                self.readers += [
                    Reader(visitor_stream_id(visitor.id), self.faults, random.Random(self.dice.random()))
                    for _ in range(READERS)
                ]
        self.trouble.peace = False

    def _script(self, question: Any) -> list[Any]:
        """Answer slowly, in words that name the question."""
        words = self.dice.randrange(1, 30)
        text = " ".join(f"{question.idempotency_key[-6:]}-{number}" for number in range(words))
        self.scripted[question.idempotency_key] = text
        pace = self.dice.choice((0.0, 0.01, 0.2, 1.5))
        return [Pause(self.dice.choice((0.0, 0.3, 4.0))), *answering(text, pace_s=pace)]

    # ------------------------------------------------------------------ what happens

    async def _act(self, visitor: Visitor) -> None:
        """Do what people do, at any time, and again when it is refused for a passing reason."""
        conversation = self.conversations[visitor.id]
        for number in range(ACTS):
            await asyncio.sleep(self.dice.random() * 2 * SPAN_S / ACTS)
            act = self.dice.choice(TODO)
            self.hits[act] += 1
            with suppress(PasseurError, asyncio.CancelledError):
                await getattr(self, f"_{act.replace(' ', '_')}")(visitor, conversation, number)

    async def _ask(self, visitor: Visitor, conversation: Conversation, number: int) -> None:
        message = NewMessage(conversation.id, f"question {number}", "", "fr", f"{visitor.id}-{number}")
        for _ in range(self.dice.choice((1, 1, 2, 3))):  # a browser that heard nothing sends again
            try:
                await self.gateway.turns.send(visitor, DEMO, message)
            except TurnRunning:
                self.hits["refused while a turn runs"] += 1
            except NotReady:
                await asyncio.sleep(1.0)

    async def _stop(self, visitor: Visitor, conversation: Conversation, number: int) -> None:
        async with self.store.transaction() as tx:
            turn = await tx.turns.running_in(conversation.id)
        if turn is not None:
            await self.gateway.turns.stop(visitor, conversation.id, turn.id)

    async def _escalate(self, visitor: Visitor, conversation: Conversation, number: int) -> None:
        both = [self.gateway.support.tickets.escalate(visitor, conversation.id) for _ in range(2)]
        await asyncio.gather(*both, return_exceptions=True)

    async def _take_over(self, visitor: Visitor, conversation: Conversation, number: int) -> None:
        await self.gateway.support.tickets.take_over(self.member, conversation.id)

    async def _reply(self, visitor: Visitor, conversation: Conversation, number: int) -> None:
        if ticket := await self._ticket(conversation):
            await self.gateway.support.tickets.reply(self.member, ticket, f"réponse {number}", f"r{number}-{ticket}")

    async def _resolve(self, visitor: Visitor, conversation: Conversation, number: int) -> None:
        if ticket := await self._ticket(conversation):
            await self.gateway.support.tickets.resolve(self.member, ticket)

    async def _ticket(self, conversation: Conversation) -> str | None:
        async with self.store.transaction() as tx:
            found = await tx.tickets.latest_in(conversation.id)
        return None if found is None else found.id

    async def _fate(self) -> None:
        """Let the gateway die and come back, and the AI server go, return, and forget."""
        while True:
            await asyncio.sleep(self.dice.random() * SPAN_S / 3)
            kind = self.dice.choice(("gateway died", "AI server gone", "AI server forgot"))
            self.hits[kind] += 1
            if kind == "gateway died":
                await self.gateway.die()
                self.gateway = Gateway(self.store, self.assistant, self.clock)
                with suppress(NotReady):
                    await self.gateway.support.summaries.take_up()
                continue
            self.assistant.crash()
            if kind == "AI server forgot":
                self.assistant.forget()
            await asyncio.sleep(self.dice.choice((0.1, 3.0, 20.0)))
            self.assistant.recover()

    async def _read(self, reader: Reader) -> None:
        """Follow a stream for ever; leave and come back now and then."""
        while True:
            gateway = self.gateway
            stay = self.dice.random() * 60
            with suppress(NotReady, TimeoutError):
                async with (
                    asyncio.timeout(None if self.trouble.peace else stay),
                    gateway.hub.attached(reader.stream_id, reader, cursor=reader.cursor, language="fr"),
                ):
                    while not reader.gone and gateway is self.gateway and not reader.ended:
                        await asyncio.sleep(0.5)
                        if self.trouble.peace:
                            reader.backlog = 0
            self.hits["readers came back"] += 1
            reader.returns()
            await asyncio.sleep(0.1)

    # ------------------------------------------------------------------ what must be true

    async def _judge(self) -> None:
        for visitor in self.visitors:
            conversation = self.conversations[visitor.id]
            async with self.store.transaction() as tx:
                messages = await tx.messages.after(conversation.id, 0, 10_000)
                tickets = await tx.tickets.of_conversation(conversation.id)
                running = await tx.turns.running_in(conversation.id)
                head = (await tx.events.position(visitor_stream_id(visitor.id))).head
                turns = {
                    each.turn_id: await tx.turns.get(each.turn_id) for each in messages if each.turn_id is not None
                }
            if running is not None:
                self.faults.append(f"turn {running.id} never ended")
            if sum(each.is_open for each in tickets) > 1:
                self.faults.append("two open tickets in one conversation")
            self._judge_messages(messages, turns)
            self._judge_readers(visitor, messages, head)
        asked = Counter(question.idempotency_key for question in self.assistant.questions)
        self.hits["turns"] += len(asked)

    def _judge_messages(self, messages: Any, turns: dict[str, Any]) -> None:
        if [each.position for each in messages] != list(range(1, len(messages) + 1)):
            self.faults.append("positions with holes")
        silent = False
        said: Counter[str] = Counter()
        for message in messages:
            if message.role is Role.SYSTEM and message.server_text is not None:
                silent = message.server_text.key != "support_ticket_resolved"
            if message.role is Role.AI:
                said[message.turn_id or ""] += 1
                if silent:
                    self.faults.append("the AI spoke while a ticket was open")
                self._judge_answer(message, turns[message.turn_id or ""])
        self.faults += [f"{count} answers to turn {turn}" for turn, count in said.items() if count > 1]
        for turn in turns.values():
            if turn is None or turn.outcome is None:
                self.faults.append("a turn without an outcome")
            else:
                self.hits[f"outcome {turn.outcome}"] += 1
                if (turn.outcome == "handed_over") == bool(said[turn.id]):
                    self.faults.append(f"outcome {turn.outcome} with {said[turn.id]} answers")

    def _judge_answer(self, message: Message, turn: Any) -> None:
        whole = self.scripted.get(turn.id, "")
        if not whole.startswith(message.text):
            self.faults.append(f"an answer of words that were never said: {message.text!r} of {whole!r}")
        if turn.outcome == "answered" and message.text != whole:
            self.faults.append("an answer that is whole by its outcome only")

    def _judge_readers(self, visitor: Visitor, messages: Any, head: int) -> None:
        said = {each.id: each.text for each in messages if each.role is Role.AI}
        for reader in self.readers:
            if reader.stream_id != visitor_stream_id(visitor.id):
                continue
            at = int((reader.cursor or ".0").rpartition(".")[2])
            if at != head:
                self.faults.append(f"a reader stands at {at} of {head}")
            missing = [each for each, text in said.items() if text and reader.whole.get(each) != text]
            if missing:
                self.faults.append(f"a reader lacks {len(missing)} of {len(said)} answers")
