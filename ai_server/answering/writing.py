"""The generating step: one round from a chain of models, its text freed of markers while it streams."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from ai_server.answering import texts
from ai_server.answering.markers import CitedText
from ai_server.providers.contract import Finished, TextDelta
from ai_server.providers.fallback import Chosen

if TYPE_CHECKING:
    from ai_server.answering.contract import AnswerInput
    from ai_server.answering.journal import TurnRecord
    from ai_server.answering.turn import Turn
    from ai_server.ledger.contract import Payer
    from ai_server.providers.contract import FinishReason, GenerationRequest
    from ai_server.providers.fallback import Chain, Link


class Round(Protocol):
    """A round to be written, before the model that writes it is known."""

    @property
    def asked(self) -> AnswerInput:
        """What it answers."""
        ...

    @property
    def language(self) -> str:
        """The language to write in."""
        ...

    def request(self, link: Link) -> GenerationRequest:
        """Make the request for one model."""
        ...


@dataclass(slots=True)
class Written:
    """A round as far as it came; readable also when it broke off. `notice` stands before the model's own text."""

    cited: CitedText
    notice: str = ""
    link: Link | None = None
    economy: bool = False
    finish: FinishReason | None = None

    @property
    def empty(self) -> bool:
        """Whether the model said nothing, or only that the passages do not hold the answer."""
        return not self.cited.length

    @property
    def text(self) -> str:
        """Everything that was said."""
        return "" if self.empty else self.notice + self.cited.text

    @property
    def quotes_only(self) -> bool:
        """Whether the model that wrote was not given what may only be paraphrased."""
        return self.link is not None and not self.link.generator.provider.capabilities.paraphrases


class Writer:
    """Runs rounds and says their text into a turn."""

    def __init__(self, turn: Turn, record: TurnRecord, payer: Payer) -> None:
        """Write for one turn."""
        self._turn = turn
        self._record = record
        self._payer = payer

    async def write(
        self, chain: Chain, draft: Round, known: set[str], written: Written, *, round_number: int, operation: str
    ) -> None:
        """Stream one round into `written`.

        Raises:
            PasseurError: the round broke off; what came before stands in `written`.
        """
        key = f"{self._turn.turn_id}/{round_number}"
        stream = chain.stream(draft.request, key=key, payer=self._payer, operation=operation)
        try:
            async with aclosing(stream) as events:
                async for event in events:
                    if isinstance(event, Chosen):
                        self._choose(event, draft, known, written)
                    elif isinstance(event, TextDelta):
                        self._say(written, written.cited.feed(event.text))
                    elif isinstance(event, Finished):
                        written.finish = event.reason
            self._say(written, written.cited.finish())
        finally:
            self._record.dropped_markers += written.cited.dropped

    def _choose(self, chosen: Chosen, draft: Round, known: set[str], written: Written) -> None:
        """Begin an attempt; nothing visible came from the ones before it."""
        written.cited = CitedText(known)
        written.link, written.economy = chosen.link, chosen.economy
        blind = draft.asked.image is not None and not chosen.link.generator.provider.capabilities.image
        written.notice = f"{texts.said(texts.NO_VISION, draft.language)}\n\n" if blind else ""
        self._record.passed_over = chosen.passed_over

    def _say(self, written: Written, shown: str) -> None:
        if shown and written.cited.length == len(shown):
            self._turn.say(written.notice)
        self._turn.say(shown)
