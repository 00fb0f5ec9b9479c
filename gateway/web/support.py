"""The rooms where people help people, as handlers reach them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from aiohttp import web

from gateway.assistant.contract import Explainer, Extractor, Summarizer
from gateway.attachments.service import AttachmentService
from gateway.attachments.shelf import Shelf
from gateway.identity.limits import Rate, TokenBuckets
from gateway.identity.staff import StaffService
from gateway.presence.service import PresenceService
from gateway.retention.service import RecordsService
from gateway.tickets.attention import Attention
from gateway.tickets.questions import QuestionService
from gateway.tickets.service import TicketService
from gateway.tickets.summaries import Summaries

if TYPE_CHECKING:
    from pathlib import Path

    from gateway.attachments.contract import Darkroom
    from gateway.events.contract import Whisperer
    from gateway.storage.contract import Store
    from gateway.tickets.contract import PendingQuestions
    from gateway.turns.service import TurnService
    from shared.clock import Clock

SIGN_INS: Final = Rate(burst=5, per_minute=10)
"""Passwords that may be tried for one login."""
UPLOADS: Final = Rate(burst=10, per_minute=30)
TYPING: Final = Rate(burst=10, per_minute=60)


class SupportAssistant(Summarizer, Extractor, Explainer, Protocol):
    """What these rooms ask of the AI server."""


@dataclass(frozen=True, slots=True)
class Support:
    """The use cases of escalation and what goes with it. `operator_token_hash` is None where no operator may call."""

    staff: StaffService
    tickets: TicketService
    summaries: Summaries
    attention: Attention
    presence: PresenceService
    attachments: AttachmentService
    questions: QuestionService
    records: RecordsService
    sign_ins: TokenBuckets
    uploads: TokenBuckets
    typing: TokenBuckets
    operator_token_hash: bytes | None = None

    def meet(self, turns: TurnService) -> None:
        """Introduce the turns' service, which could only be made after these rooms."""
        self.tickets.silencer = turns
        self.records.hush = turns

    async def close(self) -> None:
        """End what runs in the background; idempotent."""
        await self.tickets.close()
        await self.presence.close()
        self.staff.close()


def open_support(
    store: Store,
    whisperer: Whisperer,
    assistant: SupportAssistant,
    darkroom: Darkroom,
    *,
    clock: Clock,
    folder: Path,
    pending: PendingQuestions | None = None,
    operator_token_hash: bytes | None = None,
) -> Support:
    """Make the rooms of their seams; bytes of attachments lie in `folder`."""
    shelf = Shelf(folder)
    summaries = Summaries(store, assistant, clock)
    return Support(
        staff=StaffService(store, clock),
        tickets=TicketService(store, clock, summaries, pending),
        summaries=summaries,
        attention=Attention(store, whisperer, clock),
        presence=PresenceService(store, clock),
        attachments=AttachmentService(store, shelf, darkroom, assistant, clock),
        questions=QuestionService(store, assistant, clock),
        records=RecordsService(store, shelf, clock),
        sign_ins=TokenBuckets(SIGN_INS, clock),
        uploads=TokenBuckets(UPLOADS, clock),
        typing=TokenBuckets(TYPING, clock),
        operator_token_hash=operator_token_hash,
    )


SUPPORT: Final = web.AppKey("support", Support)
