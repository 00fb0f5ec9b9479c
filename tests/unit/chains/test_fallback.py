"""Chains: by error class, only before the first visible token, each attempt reserved by itself."""

from __future__ import annotations

import pytest

from ai_server.providers.breaker import FAILURES_TO_OPEN, FIRST_REST_S, LONGEST_REST_S, Breaker, BreakerState
from ai_server.providers.contract import Finished, FinishReason, GenerationRequest, TextDelta
from ai_server.providers.fallback import Chains, Chosen
from ai_server.providers.registry import LAST_RESORT, ModelChoice
from shared.errors import ProviderCut, ProviderOverloaded, ProviderRefused
from tests.fakes.ai_server import provider_set
from tests.fakes.clock import HurriedClock, ManualClock
from tests.fakes.generation import ScriptedGenerator, saying
from tests.unit.chains.test_metered import PAYER, Purse

BUSY = ProviderOverloaded("x", "busy", started=False, error_class="overloaded")
CUT = ProviderCut("x", "cut", started=True, error_class="cut")
REFUSED = ProviderRefused("x", "policy", started=False, error_class="policy")


async def chain_of(*generators, purse=None, clock=None):
    purse = purse or await Purse().open()
    chains = Chains(
        provider_set(*generators), meter=purse.meter, clock=clock or HurriedClock(), observe=purse.records.append
    )
    return purse, chains, chains.chain([ModelChoice(each.name, "m") for each in generators])


def build(link):
    return GenerationRequest(link.choice.model, "", (), "q", (), "en", 1000)


async def run(chain, key="t/1"):
    return [each async for each in chain.stream(build, key=key, payer=PAYER, operation="answer")]


def chosen(events):
    return [(each.link.choice.provider, each.economy) for each in events if isinstance(each, Chosen)]


def said(events):
    return "".join(each.text for each in events if isinstance(each, TextDelta))


def generator(name, *lines):
    return ScriptedGenerator(lambda _: lines or saying(f"I am {name}."), name=name)


async def test_the_first_model_that_can_answers():
    purse, _, chain = await chain_of(generator("one"), generator("two"))
    events = await run(chain)
    assert (chosen(events), said(events)) == ([("one", False)], "I am one.")
    assert [each.key for each in purse.records] == ["t/1/0"]


@pytest.mark.parametrize("failure", [BUSY, CUT, REFUSED])
async def test_each_class_of_error_before_the_first_word_hands_over_with_a_reservation_of_its_own(failure):
    purse, _, chain = await chain_of(generator("one", failure), generator("two"))
    events = await run(chain)
    assert (chosen(events), said(events)) == ([("one", False), ("two", False)], "I am two.")
    assert [each.key for each in purse.records] == ["t/1/0", "t/1/1"]


async def test_after_the_first_word_nobody_takes_over():
    _, _, chain = await chain_of(generator("one", TextDelta("Half"), CUT), generator("two"))
    with pytest.raises(ProviderCut):
        await run(chain)


async def test_the_last_resort_ends_every_chain_and_is_economy_only_behind_others():
    _, _, behind = await chain_of(generator("one", BUSY))
    _, _, alone = await chain_of()
    assert chosen(await run(behind))[-1] == ("embedded", True)
    assert chosen(await run(alone)) == [("embedded", False)]
    assert behind.links[-1].choice == LAST_RESORT


async def test_a_budget_without_room_passes_over_to_what_is_free():
    purse = await Purse(limit=10).open()
    _, _, chain = await chain_of(generator("one"), purse=purse)
    events = await run(chain)
    assert chosen(events)[-1] == ("embedded", True)
    assert [each for each in events if isinstance(each, Chosen)][-1].passed_over == ("A budget has no room.",)


async def test_an_answer_that_thinking_ate_hands_over_and_says_nothing_against_the_provider():
    """CASES B1."""
    silent = generator("one", Finished(FinishReason.LENGTH))
    _, chains, chain = await chain_of(silent)
    for number in range(2 * FAILURES_TO_OPEN):
        assert chosen(await run(chain, key=f"t/{number}"))[-1] == ("embedded", True)
    assert chains.breaker("one").state is BreakerState.CLOSED


async def test_a_provider_that_keeps_failing_rests_and_comes_back_by_one_probe():
    clock = ManualClock()
    well: list[object] = []
    one = ScriptedGenerator(lambda _: saying("back") if well else [CUT], name="one")
    _, chains, chain = await chain_of(one, clock=clock)
    for number in range(FAILURES_TO_OPEN + 2):
        await run(chain, key=f"t/{number}")
    assert len(one.requests) == FAILURES_TO_OPEN
    assert dict(chains.resting()) == {"one": "x: cut"}
    clock.advance(FIRST_REST_S)
    await run(chain, key="t/probe")
    assert len(one.requests) == FAILURES_TO_OPEN + 1
    clock.advance(FIRST_REST_S)
    await run(chain, key="t/resting-longer")
    assert len(one.requests) == FAILURES_TO_OPEN + 1
    clock.advance(FIRST_REST_S)
    well.append(True)
    assert said(await run(chain, key="t/well")) == "back"
    assert dict(chains.resting()) == {}


def test_a_breaker_opens_probes_once_at_a_time_and_rests_longer_each_time():
    clock = ManualClock()
    breaker = Breaker(clock)
    for _ in range(FAILURES_TO_OPEN):
        assert breaker.admit()
        breaker.failed(BUSY)
    assert breaker.state is BreakerState.OPEN
    assert not breaker.admit()
    clock.advance(FIRST_REST_S)
    assert breaker.state is BreakerState.HALF_OPEN
    assert breaker.admit()
    assert not breaker.admit()
    breaker.abandoned()
    rest = FIRST_REST_S
    for _ in range(8):
        assert breaker.admit()
        breaker.failed(BUSY)
        rest = min(2 * rest, LONGEST_REST_S)
        clock.advance(rest - 1)
        assert breaker.state is BreakerState.OPEN
        clock.advance(1)
    assert breaker.admit()
    breaker.succeeded()
    assert breaker.state is BreakerState.CLOSED


def test_refusals_of_the_request_itself_do_not_open_a_breaker():
    breaker = Breaker(ManualClock())
    for _ in range(10):
        breaker.admit()
        breaker.failed(REFUSED)
    assert breaker.state is BreakerState.CLOSED
    for _ in range(FAILURES_TO_OPEN):
        breaker.admit()
        breaker.failed(ProviderRefused("x", "no key", started=False, error_class="credentials"))
    assert breaker.state is BreakerState.OPEN
