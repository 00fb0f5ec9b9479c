"""The one door to paid work: every way out of a call ends its reservation."""

from __future__ import annotations

import asyncio

import pytest

from ai_server.ledger import meter as meter_module
from ai_server.ledger.contract import Payer, Quote
from ai_server.ledger.meter import LedgerMeter
from ai_server.ledger.model import BudgetSeed
from ai_server.ledger.service import Ledger
from ai_server.storage.ledger_contract import Period, ReservationState, ScopeKind
from shared.errors import BudgetExhausted, IdempotencyConflict, InvalidRequest, NotReady
from shared.usage import Usage
from tests.fakes.clock import ManualClock
from tests.fakes.state_store import MemoryStateStore

PAYER = Payer("demo", "documents", "web:ada")
QUOTE = Quote("answer", "fake", "fake-1", "standard", "v1", 100, metered=True)
FREE = Quote("answer", "embedded", "extractive", "", "free", 0, metered=False)
USED = Usage(input=10, output=5)
TURNS_OF_THE_LOOP = 20


@pytest.fixture
def store():
    return MemoryStateStore()


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
async def meter(store, clock):
    ledger = Ledger(store, clock)
    await ledger.seed("demo", [BudgetSeed(ScopeKind.PROJECT, Period.DAILY, 1000)])
    return LedgerMeter(ledger, clock)


async def settle_down():
    for _ in range(TURNS_OF_THE_LOOP):
        await asyncio.sleep(0)


def ended(store):
    return [(kept.now.state, kept.now.cost_nanousd, kept.now.estimated) for kept in store.ledger.kept.values()]


SETTLED, VOIDED, PENDING = ReservationState.SETTLED, ReservationState.VOIDED, ReservationState.PENDING


@pytest.mark.parametrize(
    ("say", "expected"),
    [
        (lambda call: call.complete(USED, 40), (SETTLED, 40, False)),
        (lambda call: call.complete(USED, 140), (SETTLED, 140, False)),
        (lambda call: call.complete(None, None), (SETTLED, 100, True)),
        (lambda call: call.failed(started=False), (VOIDED, None, False)),
        (lambda call: call.failed(started=True), (SETTLED, 100, True)),
        (lambda call: call.failed(started=True, usage=USED, cost_nanousd=7), (SETTLED, 7, False)),
        (lambda call: None, (SETTLED, 100, True)),
        (lambda call: (call.complete(None, None), call.complete(USED, 9)), (SETTLED, 9, False)),
    ],
)
async def test_a_call_ends_as_was_said_and_silence_costs_the_ceiling(meter, store, say, expected):
    async with meter.call("t/1/1", PAYER, QUOTE) as call:
        assert ended(store) == [(PENDING, None, False)]
        assert (call.permit.key, call.permit.quote) == ("t/1/1", QUOTE)
        say(call)
    assert ended(store) == [expected]


async def test_a_free_call_is_written_and_costs_nothing(meter, store):
    async with meter.call("t/1/1", PAYER, FREE):
        pass
    assert ended(store) == [(SETTLED, 0, False)]


async def test_a_raising_body_is_settled_and_its_error_goes_on(meter, store):
    with pytest.raises(ZeroDivisionError):
        async with meter.call("t/1/1", PAYER, QUOTE):
            raise ZeroDivisionError
    assert ended(store) == [(SETTLED, 100, True)]


async def test_a_refused_call_writes_nothing(meter, store):
    too_much = Quote("answer", "fake", "fake-1", "standard", "v1", 1001, metered=True)
    with pytest.raises(BudgetExhausted):
        async with meter.call("t/1/1", PAYER, too_much):
            pytest.fail("the body must not run")
    assert ended(store) == []


@pytest.mark.parametrize("metered", [True, False])
async def test_a_quote_that_mixes_free_and_paid_is_refused(meter, metered):
    wrong = Quote("answer", "fake", "fake-1", "standard", "v1", 0 if metered else 5, metered)
    with pytest.raises(InvalidRequest):
        async with meter.call("t/1/1", PAYER, wrong):
            pytest.fail("the body must not run")


async def test_one_key_pays_for_one_call_only(meter, store):
    """A replayed turn must not call the provider again on the strength of an old reservation."""
    async with meter.call("t/1/1", PAYER, QUOTE) as call:
        call.complete(USED, 40)
    with pytest.raises(IdempotencyConflict):
        async with meter.call("t/1/1", PAYER, QUOTE):
            pytest.fail("the body must not run")
    assert ended(store) == [(SETTLED, 40, False)]


async def test_a_cancelled_body_is_settled(meter, store):
    inside = asyncio.Event()

    async def work():
        async with meter.call("t/1/1", PAYER, QUOTE):
            inside.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(work())
    await inside.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await settle_down()
    assert ended(store) == [(SETTLED, 100, True)]


class SlowLedger:
    """Lets writes through only when told, in the order in which they came, although nobody may wait any more."""

    def __init__(self, inner):
        self._inner = inner
        self._last = None
        self.gate = asyncio.Event()

    def __getattr__(self, name):
        return getattr(self._inner, name)

    async def _written(self, write):
        async def let_through(before):
            if before is not None:
                await asyncio.wait({before})
            await self.gate.wait()
            return await write

        self._last = asyncio.create_task(let_through(self._last))
        return await asyncio.shield(self._last)

    async def reserve(self, new, defaults):
        return await self._written(self._inner.reserve(new, defaults))

    async def settle(self, reservation_id, settlement):
        return await self._written(self._inner.settle(reservation_id, settlement))

    async def void(self, reservation_id, reason, at):
        return await self._written(self._inner.void(reservation_id, reason, at))


@pytest.fixture
async def slow(store, clock, meter):
    memory = store.disk.ledger
    slow = SlowLedger(memory)
    store.disk.ledger = slow
    yield slow, LedgerMeter(Ledger(store, clock), clock)
    store.disk.ledger = memory


async def test_a_caller_cancelled_while_waiting_for_admission_leaves_no_hold(slow):
    ledger, meter = slow

    async def work():
        async with meter.call("t/1/1", PAYER, QUOTE):
            pytest.fail("the body must not run")

    task = asyncio.create_task(work())
    await settle_down()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    ledger.gate.set()
    assert await meter.drain(5) == 0
    assert [each.now.state for each in ledger.kept.values()] == [VOIDED]


async def test_a_caller_cancelled_while_settling_is_settled_all_the_same(slow):
    ledger, meter = slow
    ledger.gate.set()
    inside = asyncio.Event()

    async def work():
        async with meter.call("t/1/1", PAYER, QUOTE) as call:
            inside.set()
            ledger.gate.clear()
            call.complete(USED, 40)

    task = asyncio.create_task(work())
    await inside.wait()
    await settle_down()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    ledger.gate.set()
    assert await meter.drain(5) == 0
    assert [each.now.cost_nanousd for each in ledger.kept.values()] == [40]


async def test_a_settlement_waits_for_a_store_that_cannot_write_and_the_caller_does_not(meter, store, clock):
    async with meter.call("t/1/1", PAYER, QUOTE) as call:
        store.ledger.broken = "the disk is full"
        call.complete(USED, 40)
    assert ended(store) == [(PENDING, None, False)]
    await settle_down()
    store.ledger.broken = ""
    clock.advance(1)
    await settle_down()
    assert ended(store) == [(SETTLED, 40, False)]
    assert await meter.drain(5) == 0


async def test_a_settlement_that_reconciliation_forestalled_is_logged_and_let_be(meter, store, monkeypatch):
    told = []
    monkeypatch.setattr(meter_module.log, "exception", lambda event, **facts: told.append(event))
    async with meter.call("t/1/1", PAYER, QUOTE) as call:
        await store.ledger.void(call.permit.reservation_id, "reconciled: not billed", ManualClock().now())
        call.complete(USED, 40)
    assert told == ["settlement refused"]
    assert ended(store) == [(VOIDED, None, False)]


async def test_an_admission_that_failed_without_a_certain_outcome_is_undone(meter, store, clock):
    """A commit that reports an error may still be on disk: the ledger must not keep that hold."""
    memory = store.ledger
    real = memory.reserve

    async def uncertain(new, defaults):
        await real(new, defaults)
        raise NotReady("the disk reports an error")

    memory.reserve = uncertain
    with pytest.raises(NotReady):
        async with meter.call("t/1/1", PAYER, QUOTE):
            pytest.fail("the body must not run")
    assert await meter.drain(5) == 0
    assert ended(store) == [(VOIDED, None, False)]


async def test_an_admission_that_never_happened_needs_no_undoing(meter, store):
    store.ledger.broken = "the disk is full"
    with pytest.raises(NotReady):
        async with meter.call("t/1/1", PAYER, QUOTE):
            pytest.fail("the body must not run")
    store.ledger.broken = ""
    await settle_down()
    assert ended(store) == []


async def test_too_many_unsettled_calls_close_the_door(meter, store, clock, monkeypatch):
    monkeypatch.setattr(meter_module, "MAX_ENDING", 1)
    async with meter.call("t/1/1", PAYER, QUOTE):
        store.ledger.broken = "the disk is full"
    with pytest.raises(NotReady, match="Too many calls"):
        async with meter.call("t/2/1", PAYER, QUOTE):
            pytest.fail("the body must not run")
    await settle_down()
    store.ledger.broken = ""
    clock.advance(1)
    assert await meter.drain(5) == 0


async def test_a_thousand_mixed_calls_leave_no_leak(meter, store):
    """CASES.md A8: https://github.com/BerriAI/litellm/issues/36926"""

    async def one(number):
        small = Quote("answer", "fake", "fake-1", "standard", "v1", 1, metered=True)
        async with meter.call(f"t/{number}", PAYER, small) as call:
            await asyncio.sleep(0)
            match number % 4:
                case 0:
                    call.complete(USED, 1)
                case 1:
                    call.failed(started=False)
                case 2:
                    call.failed(started=True)
                case 3:
                    raise ZeroDivisionError

    tasks = [asyncio.create_task(one(number)) for number in range(1000)]
    await asyncio.sleep(0)
    for task in tasks[::10]:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert await meter.drain(5) == 0
    balance = next(iter(await store.ledger.balances(ManualClock().now())))
    assert balance.open_hold_nanousd == 0
    assert balance.settled_nanousd == sum(cost or 0 for _, cost, _ in ended(store))
