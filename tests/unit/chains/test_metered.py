"""Every call is counted, admitted and settled, whatever becomes of its reader. PROMISES P6, P7; CASES A5, A8."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from ai_server.knowledge.contract import Spending
from ai_server.ledger.contract import Payer
from ai_server.ledger.meter import LedgerMeter
from ai_server.ledger.model import BudgetSeed
from ai_server.ledger.service import Ledger
from ai_server.providers import metered
from ai_server.providers.contract import Finished, FinishReason, GenerationRequest, TextDelta, UsageReport
from ai_server.providers.metered import EVENTS_AHEAD, MeteredGenerator
from ai_server.providers.metered_embedding import MeteredEmbedder
from ai_server.providers.patience import FOR_A_QUESTION
from ai_server.providers.registry import ProviderBundle
from ai_server.storage.ledger_contract import Period, ReservationState, ScopeKind
from shared.clock import SystemClock
from shared.errors import BudgetExhausted, InputTooLarge, ProviderCut, ProviderOverloaded
from shared.usage import Usage
from tests.fakes.clock import HurriedClock
from tests.fakes.embedding import ScriptedEmbedding
from tests.fakes.generation import FixedTokenizer, FlatPricing, ScriptedGenerator, saying
from tests.fakes.state_store import MemoryStateStore

PAYER = Payer("demo", "documents", "")
SETTLED, VOIDED = ReservationState.SETTLED, ReservationState.VOIDED


def request(cap=1000):
    return GenerationRequest("m", "", (), "q", (), "en", cap)


class Purse:
    """A ledger with a budget, and what was observed."""

    def __init__(self, limit=1_000_000):
        self.store, self.limit, self.records = MemoryStateStore(), limit, []
        self.ledger = Ledger(self.store, SystemClock())
        self.meter = LedgerMeter(self.ledger, SystemClock())

    async def open(self):
        await self.ledger.seed("demo", (BudgetSeed(ScopeKind.PROJECT, Period.MONTHLY, self.limit),))
        return self

    def generator(self, script, *, window=0, pricing=None):
        self.provider = ScriptedGenerator(script)
        bundle = ProviderBundle(self.provider, None, FixedTokenizer(), pricing or FlatPricing())
        return MeteredGenerator(
            bundle,
            model="m",
            window=window,
            max_output=0,
            meter=self.meter,
            clock=SystemClock(),
            observe=self.records.append,
        )

    @property
    def ends(self):
        """State, cost and whether estimated, of each reservation."""
        return [(each.now.state, each.now.cost_nanousd, each.now.estimated) for each in self.store.ledger.kept.values()]


async def read(generator, cap=1000):
    try:
        return [each async for each in generator.generate(request(cap), key="t/1/0", payer=PAYER, operation="answer")]
    finally:
        await generator.settled("t")


async def test_a_call_settles_at_what_its_last_usage_costs():
    """CASES B2: usage is cumulative, the last report wins."""
    purse = await Purse().open()
    events = [TextDelta("a"), UsageReport(Usage(input=100, output=1)), *saying("b")]
    got = await read(purse.generator(lambda _: events))
    assert "".join(each.text for each in got if isinstance(each, TextDelta)) == "ab"
    assert purse.ends == [(SETTLED, 120, False)]
    [record] = purse.records
    assert (record.key, record.cost_nanousd, record.estimated, record.error_class) == ("t/1/0", 120, False, "")


async def test_without_usage_the_ceiling_is_charged_and_flagged():
    """CASES B12."""
    purse = await Purse().open()
    await read(purse.generator(lambda _: saying("a", usage=None)))
    assert purse.ends == [(SETTLED, 1100, True)]
    assert (purse.records[0].cost_nanousd, purse.records[0].estimated) == (1100, True)


async def test_a_free_model_is_reserved_and_settled_at_nothing():
    purse = await Purse().open()
    await read(purse.generator(lambda _: saying("a", usage=None), pricing=FlatPricing(metered=False)))
    assert purse.ends[0][:2] == (SETTLED, 0)
    assert not purse.records[0].estimated


@pytest.mark.parametrize(("started", "expected"), [(False, (VOIDED, None, False)), (True, (SETTLED, 1100, True))])
async def test_a_failed_call_costs_nothing_only_if_it_surely_did_not_start(started, expected):
    purse = await Purse().open()
    failure = ProviderOverloaded("scripted", "busy", started=started, error_class="overloaded")
    with pytest.raises(ProviderOverloaded):
        await read(purse.generator(lambda _: [failure]))
    assert purse.ends == [expected]
    assert purse.records[0].error_class == "overloaded"


async def test_a_stream_that_breaks_after_partial_usage_is_charged_the_ceiling():
    """CASES B8; P6: what arrived before the break may not be all."""
    purse = await Purse().open()
    cut = ProviderCut("scripted", "cut", started=True, error_class="cut")
    with pytest.raises(ProviderCut):
        await read(purse.generator(lambda _: [TextDelta("a"), UsageReport(Usage(input=1)), cut]))
    assert purse.ends == [(SETTLED, 1100, True)]


async def test_a_fault_of_ours_inside_a_call_is_charged_the_ceiling_and_raised():
    purse = await Purse().open()
    with pytest.raises(ZeroDivisionError):
        await read(purse.generator(lambda _: [TextDelta("a"), ZeroDivisionError()]))
    assert purse.ends == [(SETTLED, 1100, True)]


async def test_no_room_means_no_call():
    purse = await Purse(limit=1099).open()
    with pytest.raises(BudgetExhausted):
        await read(purse.generator(lambda _: saying("a")))
    assert purse.provider.requests == []
    assert (purse.ends, purse.records) == ([], [])


async def test_input_over_the_window_is_refused_before_anything_is_paid():
    purse = await Purse().open()
    with pytest.raises(InputTooLarge, match="1,099"):
        await read(purse.generator(lambda _: saying("a"), window=1099))
    assert purse.ends == []


async def test_a_reader_who_leaves_still_gets_the_usage_settled():
    """CASES A5: keep draining upstream for usage; never 0."""
    purse = await Purse().open()
    generator = purse.generator(lambda _: saying("a", "b", "c", "d"))
    stream = generator.generate(request(), key="t/1/0", payer=PAYER, operation="answer")
    await anext(stream)
    await stream.aclose()
    assert purse.ends == [(SETTLED, 120, False)]


async def test_a_reader_who_is_cancelled_still_gets_the_usage_settled():
    purse = await Purse().open()
    gate, heard = asyncio.Event(), asyncio.Event()

    async def reader():
        events = generator.generate(request(), key="t/1/0", payer=PAYER, operation="answer")
        async for _ in events:
            heard.set()

    generator = purse.generator(lambda _: [TextDelta("a"), gate, *saying("b")])
    task = asyncio.create_task(reader())
    await heard.wait()
    task.cancel()
    gate.set()
    await asyncio.wait({task})
    await generator.settled("t")
    assert purse.ends == [(SETTLED, 120, False)]


async def test_a_reader_who_is_cancelled_does_not_wait_for_the_drain():
    """A newcomer's report: stop took 5.2 s with a slow model."""
    purse = await Purse().open()
    gate, heard = asyncio.Event(), asyncio.Event()

    async def reader():
        async for _ in generator.generate(request(), key="t/1/0", payer=PAYER, operation="answer"):
            heard.set()

    generator = purse.generator(lambda _: [TextDelta("a"), gate, *saying("b")])
    task = asyncio.create_task(reader())
    await heard.wait()
    task.cancel()
    done, _ = await asyncio.wait({task}, timeout=4)
    assert (done, generator.left("t"), generator.left("other")) == ({task}, True, False)
    assert not await generator.settled("t", 0.01)
    gate.set()
    assert await generator.settled("t")
    assert not generator.left("t")
    assert purse.ends == [(SETTLED, 120, False)]


async def test_a_call_that_goes_on_for_ever_is_cut_after_the_drain_and_charged_the_ceiling(monkeypatch):
    monkeypatch.setattr(metered, "DRAIN_SECONDS", 0.05)
    purse = await Purse().open()
    generator = purse.generator(lambda _: [TextDelta("a"), asyncio.Event()])
    stream = generator.generate(request(), key="t/1/0", payer=PAYER, operation="answer")
    await anext(stream)
    await stream.aclose()
    assert purse.ends == [(SETTLED, 1100, True)]
    assert purse.records[0].error_class == "left"


async def test_a_slow_reader_holds_the_model_back_and_loses_nothing():
    purse = await Purse().open()
    texts = [str(number) for number in range(4 * EVENTS_AHEAD)]
    given = []

    def script(_):
        for line in saying(*texts):
            given.append(line)
            yield line

    generator = purse.generator(script)
    stream = generator.generate(request(), key="t/1/0", payer=PAYER, operation="answer")
    first = await anext(stream)
    for _ in range(1_000):
        await asyncio.sleep(0)
    assert len(given) <= EVENTS_AHEAD + 3
    rest = [each async for each in stream]
    assert [each.text for each in (first, *rest) if isinstance(each, TextDelta)] == texts


async def test_hundreds_of_mixed_calls_leave_nothing_open():
    """CASES A8: every way out settles or voids."""
    purse = await Purse(limit=10_000_000).open()
    ways = [
        saying("a"),
        [ProviderOverloaded("scripted", "busy", started=False, error_class="overloaded")],
        [TextDelta("a"), ProviderCut("scripted", "cut", started=True, error_class="cut")],
        [Finished(FinishReason.STOP)],
    ]
    turn = iter(range(10_000))
    generator = purse.generator(lambda _: ways[next(turn) % len(ways)])

    async def call(number):
        events = generator.generate(request(), key=f"t/{number}/0", payer=PAYER, operation="answer")
        try:
            async for _ in events:
                if number % 7 == 0:
                    break
        except (ProviderOverloaded, ProviderCut):
            pass
        finally:
            await events.aclose()

    for first in range(0, 400, 50):
        await asyncio.gather(*map(call, range(first, first + 50)))
    assert await generator.settle_all(5) == 0
    assert len(purse.ends) == len(purse.records) == 400
    assert {state for state, _, _ in purse.ends} == {SETTLED, VOIDED}
    [balance] = await purse.ledger.balances()
    assert balance.open_hold_nanousd == 0
    assert balance.settled_nanousd == sum(each.cost_nanousd for each in purse.records)


async def test_documents_are_embedded_in_batches_each_admitted_by_itself():
    purse = await Purse().open()
    provider = ScriptedEmbedding()
    bundle = ProviderBundle(None, provider, FixedTokenizer(10), FlatPricing())
    embedder = MeteredEmbedder(bundle, meter=purse.meter, clock=SystemClock(), observe=purse.records.append)
    spending = Spending("demo", "documents", "", "sync/0")
    vectors = await embedder.embed_documents([f"text {n}" for n in range(9)], spending)
    assert vectors.shape == (9, provider.dimension)
    assert provider.batches == [4, 4, 1]
    assert [each.key for each in purse.records] == ["sync/0/0", "sync/0/1", "sync/0/2"]
    assert [cost for _, cost, _ in purse.ends] == [4, 4, 1]
    one = await embedder.embed_query("text 0", Spending("demo", "documents", "", "turn/0"))
    assert np.allclose(one, vectors[0])
    assert embedder.fingerprint == f"fake/words/{provider.dimension}"
    assert (await embedder.embed_documents([], spending)).shape == (0, provider.dimension)


async def test_a_failed_embedding_is_voided_if_it_did_not_start():
    purse = await Purse().open()
    provider = ScriptedEmbedding()
    provider.failure = ProviderOverloaded("fake", "busy", started=False, error_class="overloaded")
    bundle = ProviderBundle(None, provider, FixedTokenizer(10), FlatPricing())
    embedder = MeteredEmbedder(bundle, meter=purse.meter, clock=HurriedClock(), observe=purse.records.append)
    with pytest.raises(ProviderOverloaded):
        await embedder.embed_query("text", Spending("demo", "documents", "", "turn/0"))
    assert purse.ends == [(VOIDED, None, False)] * FOR_A_QUESTION.tries
