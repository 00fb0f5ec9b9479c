"""Chains of models: tried in order, by error class, and only before the first visible token."""

from __future__ import annotations

from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ai_server.providers.breaker import Breaker, BreakerState
from ai_server.providers.contract import Finished, FinishReason, TextDelta, ToolCallMade
from ai_server.providers.metered import CLOSE_SECONDS, MeteredGenerator
from ai_server.providers.patience import AT_ONCE, FOR_AN_ANSWER, Tries
from ai_server.providers.registry import EMBEDDED, LAST_RESORT
from shared import logs
from shared.errors import BudgetExhausted, InputTooLarge, ProviderCut, ProviderError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence

    from ai_server.ledger.contract import Meter, Payer
    from ai_server.providers.account import CallRecord
    from ai_server.providers.contract import GenerationEvent, GenerationRequest
    from ai_server.providers.patience import Patience
    from ai_server.providers.registry import ModelChoice, ProviderSet
    from shared.clock import Clock

LOG = logs.logger(__name__)
LONGEST_CHAIN: Final = 8
VISIBLE: Final = (TextDelta, ToolCallMade)
"""Events after which no other model may take over."""

ALL_THOUGHT: Final = "token_limit"


@dataclass(frozen=True, slots=True)
class Link:
    """One model of a chain."""

    choice: ModelChoice
    generator: MeteredGenerator
    breaker: Breaker


@dataclass(frozen=True, slots=True)
class Chosen:
    """This link answers. `economy`: it is the last resort, and others were to answer before it."""

    link: Link
    economy: bool
    passed_over: tuple[str, ...]


class Chain:
    """An ordered chain that ends in the last resort."""

    def __init__(self, links: Sequence[Link], clock: Clock, patience: Patience) -> None:
        """Take 1 to `LONGEST_CHAIN` links; the last one never fails for lack of money or network.

        `patience` is for the last model before it: where another model can answer now, nobody waits.
        """
        assert 0 < len(links) <= LONGEST_CHAIN
        self.links = tuple(links)
        self._clock = clock
        self._patience = patience

    async def stream(
        self,
        build: Callable[[Link], GenerationRequest],
        *,
        key: str,
        payer: Payer,
        operation: str,
    ) -> AsyncGenerator[Chosen | GenerationEvent, None]:
        """Stream one round from the first link that can; a `Chosen` comes before the first event of each attempt.

        `build` makes the request for a link; each attempt has its own reservation, `key/link`, or `key/link/try` from
        the second try on.

        Raises:
            ProviderError: after the first visible token, or when even the last resort failed.
            NotReady: the ledger cannot write.
        """
        passed_over: list[str] = []
        for number, link in enumerate(self.links):
            last = number == len(self.links) - 1
            if not last and not link.breaker.admit():
                passed_over.append(f"{link.choice.provider}: resting after failures")
                continue
            yield Chosen(link, last and number > 0, tuple(passed_over))
            visible = False
            patience = self._patience if number == len(self.links) - 2 else AT_ONCE
            try:
                call = _Call(build(link), f"{key}/{number}", payer, operation)
                async with aclosing(self._round(link, call, patience)) as events:
                    async for event in events:
                        visible = visible or isinstance(event, VISIBLE)
                        yield event
            except (BudgetExhausted, InputTooLarge, ProviderError) as error:
                if visible or last:
                    raise
                passed_over.append(error.message)
                LOG.info("fallback", provider=link.choice.provider, model=link.choice.model, reason=error.reason)
            else:
                return

    async def _round(self, link: Link, call: _Call, patience: Patience) -> AsyncGenerator[GenerationEvent, None]:
        """Stream from one link, again where a passing failure came before anything began, and tell its breaker how it
        went. A round cut at its limit before any text is a failure of that link: thinking ate the answer
        (github.com/googleapis/python-genai/issues/1011).
        """
        tries, said = Tries(patience, self._clock), False
        with _told(link.breaker):
            for number in range(1, patience.tries + 1):
                try:
                    async with aclosing(call.made_by(link, number)) as events:
                        async for event in events:
                            said = said or isinstance(event, VISIBLE)
                            if isinstance(event, Finished) and event.reason is FinishReason.LENGTH and not said:
                                raise _all_thought(link)
                            yield event
                except ProviderError as error:
                    if not await tries.again_after(error):
                        raise
                else:
                    return


@dataclass(frozen=True, slots=True)
class _Call:
    """One round as one link is asked for it."""

    request: GenerationRequest
    key: str
    payer: Payer
    operation: str

    def made_by(self, link: Link, number: int) -> AsyncGenerator[GenerationEvent, None]:
        """Make the call; `number` counts its tries from 1."""
        key = self.key if number == 1 else f"{self.key}/{number}"
        return link.generator.generate(self.request, key=key, payer=self.payer, operation=self.operation)


@contextmanager
def _told(breaker: Breaker) -> Iterator[None]:
    """Tell a breaker how a round went."""
    try:
        yield
    except ProviderError as error:
        if error.error_class == ALL_THOUGHT:
            breaker.abandoned()
        else:
            breaker.failed(error)
        raise
    except BaseException:
        breaker.abandoned()
        raise
    else:
        breaker.succeeded()


def _all_thought(link: Link) -> ProviderCut:
    words = "the output limit was reached before any text: ask for a larger one"
    return ProviderCut(link.choice.provider, words, started=True, error_class=ALL_THOUGHT)


class Chains:
    """Makes chains over one set of providers; a provider has one breaker whichever chains it is in."""

    def __init__(
        self,
        providers: ProviderSet,
        *,
        meter: Meter,
        clock: Clock,
        observe: Callable[[CallRecord], None],
        patience: Patience = FOR_AN_ANSWER,
    ) -> None:
        """Take what every link shares."""
        self._patience = patience
        self._providers = providers
        self._meter = meter
        self._clock = clock
        self._observe = observe
        self._breakers: dict[str, Breaker] = {}
        self._links: dict[ModelChoice, Link] = {}

    def chain(self, choices: Sequence[ModelChoice]) -> Chain:
        """Make the chain of an assistant; the last resort is added where it is not last already."""
        ordered = [each for each in choices if each != LAST_RESORT]
        return Chain([self._link(each) for each in (*ordered, LAST_RESORT)], self._clock, self._patience)

    def breaker(self, provider: str) -> Breaker:
        """Return a provider's breaker."""
        return self._breakers.setdefault(provider, Breaker(self._clock))

    def breakers(self) -> Mapping[str, Breaker]:
        """List the breakers by provider name; embedded models have none to speak of."""
        return {name: each for name, each in self._breakers.items() if name != EMBEDDED}

    def resting(self) -> Iterator[tuple[str, str]]:
        """Name each provider that is left alone now, with its last failure."""
        for name, breaker in self.breakers().items():
            if breaker.state is not BreakerState.CLOSED:
                yield name, breaker.reason

    def left(self, turn_id: str) -> bool:
        """Tell whether a call of a turn goes on without its reader."""
        return any(each.generator.left(turn_id) for each in self._links.values())

    async def settled(self, turn_id: str, within_s: float = CLOSE_SECONDS) -> bool:
        """Wait until the calls of a turn are settled durably; False where one was not in time (of each link's)."""
        return all([await each.generator.settled(turn_id, within_s) for each in self._links.values()])

    async def settle_all(self, timeout_s: float) -> int:
        """Wait for calls whose readers left; tells how many did not end in time."""
        return sum([await each.generator.settle_all(timeout_s) for each in self._links.values()])

    def _link(self, choice: ModelChoice) -> Link:
        link = self._links.get(choice)
        if link is None:
            bundle = self._providers.generation(choice)
            row = self._providers.catalogue.find(choice.provider, choice.model)
            generator = MeteredGenerator(
                bundle,
                model=choice.model,
                window=row.window if row and choice != LAST_RESORT else 0,
                max_output=row.max_billable_output if row else 0,
                meter=self._meter,
                clock=self._clock,
                observe=self._observe,
            )
            link = self._links[choice] = Link(choice, generator, self.breaker(choice.provider))
        return link
