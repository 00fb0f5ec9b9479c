"""Asks, keeps, reads and settles clarifications. Everything happens inside the caller's transaction, so a question and
the message that asks it are there together or not at all, and of two racing replies one claims it.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from gateway.conversation import clarification_text as wording
from gateway.conversation.clarification import (
    AskAgain,
    NewMessage,
    NewTerm,
    OtherService,
    Selected,
    read_search_reply,
    read_service_reply,
)
from gateway.pending.contract import AskedLocally, LookFirst, Resumed
from gateway.pending.deadline import LIFETIME, Deadlines
from gateway.storage.pending import PendingRecord
from shared.ids import new_id
from shared.text import fold

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gateway.conversation.clarification import Reading
    from gateway.conversation.model import ServerText
    from gateway.pending.contract import Answer
    from gateway.storage.pending import Kind
    from gateway.storage.transaction import Transaction
    from shared.clock import Clock

FRUITLESS_ROUNDS: Final = 2
"""Retries that found nothing either, after which a person is suggested."""
CANDIDATE_LIMIT: Final = 9
SUGGESTION_LIMIT: Final = 5
ECHO_PAUSE: Final = timedelta(seconds=2)
"""For so long after a reply made us ask, the same reply again is its echo (a second tab, a double click) and answers
nothing; after a question came back from the dead any choice is, because nobody can have read it yet.
"""
RESTART_WINDOW: Final = timedelta(hours=1)
"""How long after a question died a reply to it is met with the question again instead of an ordinary turn."""


class Clarifications:
    """The clarifications of all conversations; shared by every gateway through the store."""

    def __init__(self, clock: Clock) -> None:
        """Take the clock. `watchers` are told (kind, what happened) for each question, for metrics."""
        self.watchers: list[Callable[[str, str], None]] = []
        self._clock = clock
        self._deadlines = Deadlines(clock)

    # ------------------------------------------------------------------ asking

    async def ask_service(
        self, tx: Transaction, conversation_id: str, question: str, candidates: Sequence[Mapping[str, Any]]
    ) -> ServerText:
        """Ask where to search, and wait for the reply."""
        payload = {"question": question, "candidates": [dict(each) for each in candidates[:CANDIDATE_LIMIT]]}
        await self._open(tx, conversation_id, "clarify_connector", payload)
        return _text("clarify_connector", payload)

    async def ask_search(
        self, tx: Transaction, conversation_id: str, turn_id: str, question: str, failed: Mapping[str, Any]
    ) -> ServerText | None:
        """Say that a search found nothing and offer what may be tried; None after two fruitless rounds.

        What `turn_id` claimed tells which round this is, and what earlier ones tried.
        """
        before = await tx.pending.claimed_by(turn_id)
        earlier = before.payload if before is not None else {}
        fruitless = int(earlier.get("fruitless", -1)) + 1
        if fruitless >= FRUITLESS_ROUNDS:
            await tx.pending.settle(turn_id, "answered")
            self._told("clarify_search", "human_suggested")
            return None
        tried = list(dict.fromkeys([*earlier.get("tried", ()), *map(fold, failed.get("tried_terms", ()))]))
        payload = {
            "question": question,
            "intent": dict(failed.get("intent", {})),
            "terms": list(failed.get("search_terms", ())),
            "tried": tried,
            "suggestions": [word for word in failed.get("suggestions", ()) if fold(word) not in tried][
                :SUGGESTION_LIMIT
            ],
            "others": [dict(each) for each in failed.get("other_services", ())][:CANDIDATE_LIMIT],
            "fruitless": fruitless,
        }
        await self._open(tx, conversation_id, "clarify_search", payload)
        return _text("clarify_search", payload)

    # ------------------------------------------------------------------ answering

    async def answer(
        self, tx: Transaction, conversation_id: str, turn_id: str, reply: str, *, is_request: bool | None = None
    ) -> Answer:
        """Read a message against what the conversation waits on. `is_request`: intent detection is sure that the
        message asks for something else, so it is no search term; None where it was not asked.

        Whatever the reading, the question is over afterwards, unless it is asked again.

        Raises:
            LookFirst: it matters whether the reply is a request; ask, and come again.
        """
        record = await tx.pending.open_in(conversation_id)
        if record is None:
            return None
        if self._deadlines.passed(record):
            return await self._answer_late(tx, record, reply)
        reading = _read(record, reply)
        if self._echoes(record, reply, reading):
            return AskedLocally(record.kind, _text(record.kind, record.payload))
        if isinstance(reading, NewTerm) and is_request is None:
            raise LookFirst
        if isinstance(reading, NewMessage) or (is_request and isinstance(reading, NewTerm)):
            await tx.pending.end(record.id, "passed")
            self._told(record.kind, "new_message")
            return None
        if isinstance(reading, AskAgain):
            payload = {**record.payload, "asked_again": True, "echo": self._echo(reply)}
            await tx.pending.change_payload(record.id, payload)
            self._told(record.kind, "asked_again")
            return AskedLocally(record.kind, wording.again(_text(record.kind, record.payload), "support_clarify_again"))
        if isinstance(reading, OtherService) and reading.index is None and len(record.payload["others"]) > 1:
            return await self._open_services(tx, record, reply)
        if not await tx.pending.claim(record.id, turn_id):
            return None
        self._told(record.kind, {Selected: "selected", NewTerm: "term"}.get(type(reading), "other_service"))
        return _resumed(record, reading)

    async def settle(self, tx: Transaction, turn_id: str, *, passing: bool) -> ServerText | None:
        """End what a turn claimed. Where it failed for a passing reason the question is offered anew, with a whole
        life: then the text with its options is returned.
        """
        record = await tx.pending.claimed_by(turn_id)
        if record is None:
            return None
        if not passing:
            await tx.pending.settle(turn_id, "answered")
            self._deadlines.forget(record.id)
            return None
        await self._open(tx, record.conversation_id, record.kind, {**record.payload, "asked_again": False})
        self._told(record.kind, "offered_again")
        return _text(record.kind, record.payload)

    async def cancel_all(self, tx: Transaction, conversation_id: str) -> None:
        """Forget whatever a conversation waits on: a person took over."""
        record = await tx.pending.open_in(conversation_id)
        if await tx.pending.end_in(conversation_id, "cancelled") and record is not None:
            self._told(record.kind, "cancelled")

    # ------------------------------------------------------------------ inside

    async def _answer_late(self, tx: Transaction, record: PendingRecord, reply: str) -> Answer:
        """Read a reply to a dead question: never as a choice; where it looks like one, the question is put anew."""
        await tx.pending.end(record.id, "expired")
        self._deadlines.forget(record.id)
        late = isinstance(_read(record, reply), Selected | OtherService | AskAgain)
        if not late or self._clock.now() > record.expires_at + RESTART_WINDOW:
            self._told(record.kind, "expired")
            return None
        payload = {**record.payload, "asked_again": False, "echo": {**self._echo(reply), "any": True}}
        await self._open(tx, record.conversation_id, record.kind, payload)
        self._told(record.kind, "restarted")
        return AskedLocally(record.kind, wording.again(_text(record.kind, payload), "support_clarify_expired"))

    def _echo(self, reply: str) -> dict[str, Any]:
        """Note the reply that made us ask, and when."""
        return {"reply": fold(reply.strip()), "at": self._clock.now().isoformat()}

    def _echoes(self, record: PendingRecord, reply: str, reading: Reading) -> bool:
        echo = record.payload.get("echo")
        if echo is None or not timedelta(0) <= self._clock.now() - datetime.fromisoformat(echo["at"]) < ECHO_PAUSE:
            return False
        any_choice = bool(echo.get("any")) and not isinstance(reading, NewMessage | NewTerm)
        return any_choice or fold(reply.strip()) == echo["reply"]

    async def _open_services(self, tx: Transaction, record: PendingRecord, reply: str) -> AskedLocally:
        """Open the choice of another service for the same search; it stays the same round."""
        payload = {
            "question": record.payload["question"],
            "candidates": record.payload["others"],
            "tried": record.payload["tried"],
            "fruitless": record.payload["fruitless"],
            "echo": self._echo(reply),
        }
        await tx.pending.end(record.id, "answered")
        self._told(record.kind, "other_service")
        await self._open(tx, record.conversation_id, "clarify_connector", payload)
        return AskedLocally("clarify_connector", _text("clarify_connector", payload))

    async def _open(self, tx: Transaction, conversation_id: str, kind: Kind, payload: Mapping[str, Any]) -> None:
        now = self._clock.now()
        record = PendingRecord(new_id(now), conversation_id, kind, payload, now, now + LIFETIME)
        await tx.pending.open(record)
        self._deadlines.note(record.id)
        self._told(kind, "asked")

    def _told(self, kind: str, happened: str) -> None:
        for watch in self.watchers:
            watch(kind, happened)


def _text(kind: Kind, payload: Mapping[str, Any]) -> ServerText:
    if kind == "clarify_connector":
        return wording.ask_service(payload["candidates"])
    return wording.ask_search(payload["terms"], payload["intent"], payload["suggestions"], payload["others"])


def _read(record: PendingRecord, reply: str) -> Reading:
    payload, again = record.payload, bool(record.payload.get("asked_again"))
    if record.kind == "clarify_connector":
        options = [wording.option_of(each) for each in payload["candidates"]]
        return read_service_reply(reply, options, asked_again=again)
    if record.kind == "clarify_search":
        others = [wording.option_of(each) for each in payload["others"]]
        return read_search_reply(reply, payload["suggestions"], others, asked_again=again)
    return NewMessage()


def _resumed(record: PendingRecord, reading: Reading) -> Resumed:
    """Say how the turn goes on after a reply that decides."""
    payload = record.payload
    if record.kind == "clarify_connector":
        assert isinstance(reading, Selected)
        return Resumed(payload["question"], payload["candidates"][reading.index])
    if isinstance(reading, OtherService):
        return Resumed(payload["question"], payload["others"][reading.index or 0])
    term = payload["suggestions"][reading.index] if isinstance(reading, Selected) else getattr(reading, "term", "")
    return Resumed(term, {**payload["intent"], "search_terms": term.split()})
