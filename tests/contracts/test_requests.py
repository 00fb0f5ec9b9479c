"""Requests by idempotency key, over every state store."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from ai_server.storage.requests_contract import RequestKey
from shared.errors import IdempotencyConflict
from tests.contracts.builders import NOW, request_for


async def test_a_key_is_claimed_once_and_tells_its_holder_afterwards(store):
    assert await store.requests.claim(request_for()) is None
    assert await store.requests.claim(request_for(owner="other")) == request_for()
    with pytest.raises(IdempotencyConflict):
        await store.requests.claim(request_for(digest=b"other"))


async def test_of_many_claims_of_one_key_one_wins(store):
    outcomes = await asyncio.gather(*(store.requests.claim(request_for(owner=f"o{n}")) for n in range(16)))
    assert sum(each is None for each in outcomes) == 1


async def test_a_result_is_stored_once(store):
    await store.requests.claim(request_for())
    await store.requests.finish(RequestKey("web", "k1"), b"first")
    await store.requests.finish(RequestKey("web", "k1"), b"second")
    found = await store.requests.find(RequestKey("web", "k1"))
    assert found.result == b"first"
    assert await store.requests.find(RequestKey("other", "k1")) is None


async def test_running_requests_of_other_owners_are_abandoned(store):
    await store.requests.claim(request_for("a", owner="dead", created_at=NOW))
    await store.requests.claim(request_for("b", owner="me"))
    await store.requests.claim(request_for("c", owner="dead", created_at=NOW - timedelta(hours=1)))
    await store.requests.claim(request_for("d", owner="dead"))
    await store.requests.finish(RequestKey("web", "d"), b"done")
    assert [each.key.key for each in await store.requests.abandoned("me", 10)] == ["c", "a"]
    assert len(await store.requests.abandoned("me", 1)) == 1


async def test_old_finished_requests_are_forgotten_and_running_ones_kept(store):
    for key in ("finished", "running"):
        await store.requests.claim(request_for(key))
    await store.requests.finish(RequestKey("web", "finished"), b"")
    assert await store.requests.forget_before(NOW) == 0
    assert await store.requests.forget_before(NOW + timedelta(seconds=1)) == 1
    assert await store.requests.find(RequestKey("web", "finished")) is None
    assert await store.requests.find(RequestKey("web", "running")) is not None
