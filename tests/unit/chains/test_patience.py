"""P11: another try is bounded, jittered, and never made of what may have begun or would be refused again."""

from __future__ import annotations

import pytest

from ai_server.knowledge.contract import Spending
from ai_server.providers.breaker import FAILURES_TO_OPEN, BreakerState
from ai_server.providers.failures import Failures
from ai_server.providers.metered_embedding import MeteredEmbedder
from ai_server.providers.patience import FOR_A_QUESTION, FOR_AN_ANSWER, FOR_DOCUMENTS, SPREAD, Tries
from ai_server.providers.registry import ProviderBundle
from shared.errors import ProviderError
from tests.fakes.clock import HurriedClock
from tests.fakes.embedding import ScriptedEmbedding
from tests.fakes.generation import FixedTokenizer, FlatPricing, ScriptedGenerator, saying
from tests.unit.chains.test_fallback import chain_of, chosen, run, said
from tests.unit.chains.test_metered import Purse

FAILURES = Failures("one")
PASSING = [
    FAILURES.status(429, "slow down"),
    FAILURES.status(503),
    FAILURES.status(529),
    FAILURES.status(408),
    FAILURES.unreachable(),
]
LASTING = [
    *(FAILURES.status(status, "no") for status in (400, 401, 402, 403, 404, 405, 409, 413, 415, 422, 418)),
    FAILURES.status(429, "insufficient_quota"),
    FAILURES.status(500),
    FAILURES.status(503, started=True),
    FAILURES.timeout(started=True),
    FAILURES.cut(),
    FAILURES.stalled(),
    FAILURES.malformed(),
]


def named(error: ProviderError) -> str:
    return f"{error.error_class}-{'begun' if error.started else 'not begun'}"


def playing(*lines: object) -> ScriptedGenerator:
    """Fails with one error a call; a text in their place is said."""
    left = list(lines)

    def script(_):
        line = left.pop(0) if len(left) > 1 else left[0]
        return saying(line) if isinstance(line, str) else [line]

    return ScriptedGenerator(script, name="one")


@pytest.mark.parametrize("error", PASSING, ids=named)
async def test_a_passing_failure_is_tried_again_after_growing_varied_waits(error):
    clock, one = HurriedClock(), playing(error)
    purse, chains, chain = await chain_of(one, clock=clock)
    events = await run(chain)
    assert chosen(events) == [("one", False), ("embedded", True)]
    assert len(one.requests) == FOR_AN_ANSWER.tries
    assert [each.key for each in purse.records] == ["t/1/0", "t/1/0/2", "t/1/0/3", "t/1/1"]
    for place, wait in enumerate(clock.waits):
        mean = FOR_AN_ANSWER.first_s * 2**place
        assert mean * (1 - SPREAD) <= wait <= mean * (1 + SPREAD)
    assert len(clock.waits) == FOR_AN_ANSWER.tries - 1
    assert sum(clock.waits) <= FOR_AN_ANSWER.longest_s
    assert chains.breaker("one").state is BreakerState.CLOSED, "the tries of one answer are one failure"


@pytest.mark.parametrize("error", LASTING, ids=named)
async def test_what_may_have_begun_or_would_be_refused_again_is_sent_once(error):
    """CASES A10."""
    clock, one = HurriedClock(), playing(error)
    _, _, chain = await chain_of(one, clock=clock)
    assert chosen(await run(chain))[-1] == ("embedded", True)
    assert (len(one.requests), clock.waits) == (1, [])


async def test_a_mixed_sequence_ends_at_its_first_lasting_failure_or_its_first_answer():
    clock, one = HurriedClock(), playing(PASSING[0], "Here I am.")
    _, _, chain = await chain_of(one, clock=clock)
    events = await run(chain)
    assert (chosen(events), said(events)) == ([("one", False)], "Here I am.")
    clock, one = HurriedClock(), playing(PASSING[1], LASTING[0], "Too late.")
    _, _, chain = await chain_of(one, clock=clock)
    assert chosen(await run(chain))[-1] == ("embedded", True)
    assert (len(one.requests), len(clock.waits)) == (2, 1)


async def test_nobody_waits_where_another_model_can_answer_now():
    clock, one, two = HurriedClock(), playing(PASSING[0]), ScriptedGenerator(lambda _: saying("Two."), name="two")
    _, _, chain = await chain_of(one, two, clock=clock)
    assert said(await run(chain)) == "Two."
    assert (len(one.requests), clock.waits) == (1, [])


async def test_a_provider_that_stays_busy_opens_its_breaker_and_is_then_not_waited_for():
    clock, one = HurriedClock(), playing(PASSING[0])
    _, chains, chain = await chain_of(one, clock=clock)
    for number in range(FAILURES_TO_OPEN + 1):
        await run(chain, key=f"t/{number}")
    assert chains.breaker("one").state is BreakerState.OPEN
    assert len(one.requests) == FAILURES_TO_OPEN * FOR_AN_ANSWER.tries


async def test_two_callers_refused_together_do_not_come_back_together():
    waits = set()
    for _ in range(20):
        clock = HurriedClock()
        assert await Tries(FOR_AN_ANSWER, clock).again_after(PASSING[0])
        waits.update(clock.waits)
    assert len(waits) == 20


@pytest.mark.parametrize(("kind", "patience"), [("query", FOR_A_QUESTION), ("document", FOR_DOCUMENTS)])
async def test_embedding_is_tried_again_too_each_time_with_a_reservation(kind, patience):
    clock, provider = HurriedClock(), ScriptedEmbedding()
    purse = await Purse().open()
    bundle = ProviderBundle(None, provider, FixedTokenizer(), FlatPricing())
    embedder = MeteredEmbedder(bundle, meter=purse.meter, clock=clock, observe=purse.records.append)

    async def embed(key: str):
        spending = Spending("demo", "documents", "", key)
        if kind == "query":
            return await embedder.embed_query("words", spending)
        return (await embedder.embed_documents(["words"], spending))[0]

    provider.failures = [PASSING[0]] * (patience.tries - 1)
    assert (await embed("first")).shape == (provider.dimension,)
    assert len(clock.waits) == patience.tries - 1
    assert sum(clock.waits) <= patience.longest_s
    assert [each.error_class for each in purse.records] == ["rate"] * (patience.tries - 1) + [""]
    assert len({each.key for each in purse.records}) == patience.tries
    provider.failures = [PASSING[0]] * patience.tries
    with pytest.raises(ProviderError, match="rate or quota"):
        await embed("second")
    assert provider.failures == []
