"""Summaries for the staff, made after the ticket exists. One that fails leaves the ticket as it is, and says so."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from gateway.assistant.contract import HistoryMessage, budget_user
from gateway.conversation.escalation import SummaryState
from gateway.conversation.history import TEXT_LIMIT, is_history
from gateway.conversation.model import Role
from gateway.tickets.telling import tell_ticket
from shared.errors import NotReady, PasseurError
from shared.logs import logger

if TYPE_CHECKING:
    from gateway.assistant.contract import Summarizer
    from gateway.conversation.escalation import Ticket
    from gateway.storage.contract import Store
    from shared.clock import Clock

MESSAGE_LIMIT: Final = 200
SUMMARY_LIMIT: Final = 4_000
RETRY_DELAYS_S: Final = (1.0, 5.0, 30.0, 120.0, 600.0)
"""Waits while the AI server cannot be reached; what it refuses is not asked again."""
AT_ONCE: Final = 4
TAKEN_UP_LIMIT: Final = 200
TAKEN_UP_AFTER: Final = timedelta(minutes=15)
"""How long another gateway may take over a summary, retries included. Two that ask get, and pay, one."""
TAKE_UP_EVERY_S: Final = 60.0

log = logger(__name__)


class Summaries:
    """Makes summaries in tasks of their own, at most `AT_ONCE` at the same time."""

    def __init__(self, store: Store, assistant: Summarizer, clock: Clock) -> None:
        """Take the seams."""
        self._store = store
        self._assistant = assistant
        self._clock = clock
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._places = asyncio.Semaphore(AT_ONCE)

    def begin(self, ticket: Ticket) -> None:
        """Make a ticket's summary, unless it is being made."""
        if ticket.id not in self._tasks:
            task = asyncio.create_task(self._make(ticket), name=f"summary {ticket.id}")
            self._tasks[ticket.id] = task
            task.add_done_callback(lambda _: self._tasks.pop(ticket.id, None))

    async def take_up(self, waiting_for: timedelta = timedelta(0)) -> None:
        """Make the summaries that have been waiting for so long: whoever began them is gone.

        Raises:
            NotReady: the store stayed busy.
        """
        async with self._store.transaction() as tx:
            waiting = await tx.tickets.without_summary(TAKEN_UP_LIMIT)
        until = self._clock.now() - waiting_for
        for ticket in waiting:
            if ticket.opened_at <= until:
                self.begin(ticket)

    async def serve(self) -> None:
        """Take up what processes that are gone have left, for ever."""
        waiting_for = timedelta(0) if self._store.exclusive else TAKEN_UP_AFTER
        while True:
            try:
                await self.take_up(waiting_for)
                waiting_for = TAKEN_UP_AFTER
            except NotReady as exc:
                log.warning("summaries_not_taken_up", reason=exc.message)
            await self._clock.sleep(TAKE_UP_EVERY_S)

    async def settled(self) -> None:
        """Wait until every summary that was begun is made or given up."""
        while self._tasks:
            await asyncio.wait(set(self._tasks.values()))
            await asyncio.sleep(0)

    async def close(self) -> None:
        """Stop; what is not finished is taken up at the next start."""
        tasks = tuple(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _make(self, ticket: Ticket) -> None:
        try:
            async with self._places:
                text = await self._ask(ticket)
            state = SummaryState.DONE if text else SummaryState.FAILED
            await self._keep(ticket, state, text)
        except PasseurError as exc:
            log.warning("summary_not_kept", ticket_id=ticket.id, slug=exc.slug, reason=exc.message)
        except Exception:  # a task of its own: whatever breaks a summary must not touch the ticket
            log.exception("summary_broken", ticket_id=ticket.id)

    async def _ask(self, ticket: Ticket) -> str:
        """Get the summary; an empty one when it cannot be had."""
        messages, language, payer = await self._what(ticket)
        for delay in (*RETRY_DELAYS_S, None):
            try:
                key = f"summary/{ticket.id}"
                text = await self._assistant.summarize(key, ticket.project_id, messages, language, payer)
                return text.strip()[:SUMMARY_LIMIT]
            except NotReady as exc:
                log.warning("summary_delayed", ticket_id=ticket.id, reason=exc.message)
            except PasseurError as exc:
                log.warning("summary_refused", ticket_id=ticket.id, slug=exc.slug, reason=exc.message)
                break
            if delay is not None:
                await self._clock.sleep(delay)
        return ""

    async def _what(self, ticket: Ticket) -> tuple[tuple[HistoryMessage, ...], str, str]:
        """Read what is summarised, the language that the conversation is held in, and who pays."""
        async with self._store.transaction() as tx:
            found = await tx.messages.before(ticket.conversation_id, ticket.opened_position, MESSAGE_LIMIT)
            sight = await tx.tickets.sight(ticket.id)
        assert sight is not None
        said = [each for each in found if is_history(each) and each.text.strip()]
        # The language of a conversation is the page's; what the AI was asked in is closer to it.
        spoken = [each.language for each in sorted(found, key=lambda each: each.position) if each.role is Role.AI]
        language = next((each for each in reversed(spoken) if each), sight.language)
        messages = tuple(
            HistoryMessage("user" if each.role is Role.USER else "ai", each.text[:TEXT_LIMIT]) for each in said
        )
        return messages, language, budget_user(ticket.visitor_id, sight.subject)

    async def _keep(self, ticket: Ticket, state: SummaryState, text: str) -> None:
        async with self._store.transaction() as tx:
            if await tx.tickets.set_summary(ticket.id, state, text):
                await tell_ticket(tx, ticket, visitor_too=False)
