"""Opening, probing, closing and cancelled callers, over every state store."""

from __future__ import annotations

import asyncio

from tests.contracts.builders import call, figures


async def test_cancelled_callers_leave_complete_operations_behind(ledger):
    """CASES.md D3: https://github.com/jaylfc/taOS/pull/2771"""
    tasks = [asyncio.create_task(ledger.reserve(call(f"k{number}", 1), [])) for number in range(50)]
    await asyncio.sleep(0)
    for task in tasks[::2]:
        task.cancel()
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert sum(not isinstance(each, BaseException) for each in outcomes) >= 25
    await ledger.reserve(call("after", 1), [])
    settled, opened, available = await figures(ledger)
    assert settled == 0
    assert opened + available == 100
    assert opened == len(await ledger.reservations("demo", None, 1000, ""))


async def test_a_store_probes_and_closes_twice(store):
    await store.probe()
    await store.close()
    await store.close()
    await store.open()
