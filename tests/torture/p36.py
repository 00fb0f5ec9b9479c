"""P36: a clarification is interpreted only inside its question, which dies after five minutes, once."""

from __future__ import annotations

import asyncio
import random
import shutil
from collections import Counter
from datetime import timedelta

from gateway.conversation.model import Conversation, Visitor
from gateway.pending.contract import Answer, Resumed
from gateway.pending.deadline import LIFETIME_S
from gateway.pending.service import Clarifications
from gateway.storage.sqlite import SqliteStore, open_sqlite
from shared.ids import new_id
from tests.data.clarification_replies import REPLIES, SEARCH, SERVICES, Row
from tests.fakes.clock import ManualClock
from tests.torture import shim, workload
from tests.torture.figure import Figure, span

PROMISE = "no reply selects what was not meant, is taken twice, or counts after five minutes by either clock"
FULL = 20_000
SHORT = 300
ROWS = [row for row in REPLIES if row.question in {SERVICES, SEARCH} and len(row.reply) < 150]


def _candidate(connector: str, instance: str, label: str) -> dict:
    return {"connector": connector, "instance": instance, "label": {"fr": label, "en": label, "es": label}}


JELLYFIN = _candidate("jellyfin", "home", "Jellyfin – films, séries, musique")
SERVICES_ASKED = [
    JELLYFIN,
    _candidate("nextcloud", "famille", "Nextcloud – fichiers"),
    _candidate("github", "travail", "GitHub – dépôts"),
]
FAILED = {
    "intent": JELLYFIN,
    "search_terms": ["xenomorph", "awakening"],
    "tried_terms": ["xenomorph awakening"],
    "suggestions": ["xenomorph", "awakening"],
    "other_services": SERVICES_ASKED[1:],
}


class Nobody:
    """Hears events and keeps none."""

    def committed(self, events: object) -> None:
        """Do nothing."""


async def run(n: int, seed: int) -> Figure:
    """Ask `n` questions and answer each with a row of the table: on time or late, from several tabs, after clock jumps
    and restarts, with an older question behind it.
    """
    workload.quiet()
    folder, clock = shim.scratch(), ManualClock()
    store = await open_sqlite(folder, clock, Nobody())
    failures: list[str] = []
    hits: Counter[str] = Counter()
    try:
        visitor = Visitor(new_id(clock.now()), "demo", None, "fr", (), clock.now())
        async with store.transaction() as tx:
            await tx.visitors.add(visitor)
        for trial in range(seed, seed + n):
            failures += [f"seed {trial}: {fault}" for fault in await _trial(store, clock, visitor, trial, hits)]
    finally:
        await store.close()
        shutil.rmtree(folder)
    return Figure(n, span(seed, n), failures, dict(sorted(hits.items())))


async def _trial(store: SqliteStore, clock: ManualClock, visitor: Visitor, trial: int, hits: Counter[str]) -> list[str]:
    dice = random.Random(trial)
    row = dice.choice(ROWS)
    conversation = Conversation(new_id(clock.now()), "demo", visitor.id, "", "fr", clock.now(), clock.now())
    pending = Clarifications(clock)
    async with store.transaction() as tx:
        await tx.conversations.add(conversation)
        for _ in range(dice.randint(1, 2)):
            if row.question == SERVICES:
                await pending.ask_service(tx, conversation.id, "cherche batman", SERVICES_ASKED)
            else:
                await pending.ask_search(tx, conversation.id, "none", "cherche xenomorph awakening", FAILED)
    elapsed = dice.choice([0.0, 1.0, 200.0, 299.0, 299.9, 300.0, 301.0, 400.0, dice.uniform(0, 600)])
    jump = dice.choice([0.0, 0.0, -600.0, 600.0, dice.uniform(-3_600, 3_600)])
    clock.jump(clock.now() + timedelta(seconds=jump))
    clock.advance(elapsed)
    restarted = dice.random() < 0.3
    if restarted:
        pending = Clarifications(clock)
        hits["restart"] += 1
    tabs = dice.choice([1, 1, 2, 5])
    answers = await asyncio.gather(
        *(_reply(store, pending, conversation, f"{trial}/{tab}", row) for tab in range(tabs))
    )
    # A restarted process has the stored instants alone; otherwise either clock kills.
    alive = elapsed + jump < LIFETIME_S and (restarted or elapsed < LIFETIME_S)
    hits["jump"] += jump != 0
    hits["tabs"] += tabs > 1
    hits["dead"] += not alive
    return _judge(row, [each for each in answers if isinstance(each, Resumed)], alive=alive, hits=hits)


async def _reply(
    store: SqliteStore, pending: Clarifications, conversation: Conversation, turn_id: str, row: Row
) -> Answer:
    async with store.transaction() as tx:
        return await pending.answer(tx, conversation.id, turn_id, row.reply, is_request=False)


def _judge(row: Row, resumed: list[Resumed], *, alive: bool, hits: Counter[str]) -> list[str]:
    if len(resumed) > 1:
        return [f"{row.reply!r} was taken {len(resumed)} times"]
    if not resumed:
        if alive and (row.expected.isdigit() or row.expected.startswith(("service:", "term:"))):
            hits["missed"] += 1
        return []
    if not alive:
        return [f"{row.reply!r} was taken after the question was dead"]
    expected = _expected(row)
    if expected is None:
        return [f"{row.reply!r} was taken, but means {row.expected}"]
    hits["taken"] += 1
    if resumed[0].resolved_intent != expected:
        return [f"{row.reply!r} means {row.expected}, and {resumed[0].resolved_intent} was taken"]
    return []


def _expected(row: Row) -> dict | None:
    """Say which intent a row means; None where it must not be taken."""
    if row.question == SERVICES:
        return SERVICES_ASKED[int(row.expected) - 1] if row.expected.isdigit() else None
    if row.expected.startswith("service:"):
        return SERVICES_ASKED[int(row.expected[8:])]
    if row.expected.startswith("term:"):
        return {**JELLYFIN, "search_terms": row.expected[5:].split()}
    if row.expected.isdigit():
        return {**JELLYFIN, "search_terms": [FAILED["suggestions"][int(row.expected) - 1]]}
    return None
