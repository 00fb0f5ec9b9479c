"""The journal, over every state store."""

from __future__ import annotations

from datetime import timedelta

import pytest

from ai_server.storage.journal_contract import JournalLine
from shared.errors import InvalidRequest
from tests.contracts.builders import NOW


def line(turn_id="t1", key="k1", body="{}"):
    return JournalLine(turn_id, "demo", "web", key, NOW, NOW + timedelta(seconds=2), body)


async def test_a_journal_line_is_written_once_and_found_both_ways(store):
    await store.journal.append(line())
    await store.journal.append(line(body='{"second": 1}'))
    await store.journal.append(line("t2"))
    assert await store.journal.line("demo", turn_id="t1") == line()
    assert await store.journal.line("demo", client="web", key="k1") == line("t2")
    assert await store.journal.line("other", turn_id="t1") is None
    assert await store.journal.line("demo", turn_id="unknown") is None


async def test_a_journal_line_over_its_bound_is_refused(store):
    await store.journal.append(line(body="é" * 128 * 1024))
    with pytest.raises(InvalidRequest):
        await store.journal.append(line("t2", body="é" * 128 * 1024 + "x"))
