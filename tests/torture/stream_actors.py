"""Who lives in the simulated world of streams: a store that refuses, readers that judge, gateways that die."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite
from sqlalchemy.pool import StaticPool

from gateway.events.hub import Hub
from gateway.identity.projects import Projects
from gateway.pending.service import Clarifications
from gateway.storage import migrate
from gateway.storage.connection import Parameters, plain
from gateway.storage.sqlite import insert_new
from gateway.storage.transaction import Transaction
from gateway.turns.service import TurnService
from gateway.web.frames import HttpEncoder
from gateway.web.sink import unchunked
from gateway.web.support import open_support
from shared.errors import NotReady
from tests.fakes.assistant import ScriptedAssistant
from tests.fakes.gateway import DEMO
from tests.sse_parser import SseParser
from tests.torture.virtual_time import VirtualClock

REFUSED = 0.02
"""Share of transactions that the store refuses, at their beginning or at their commit."""


@cache
def _empty() -> bytes:
    """Migrate one database and keep its bytes: a copy is cheaper than the migrations for each world."""
    engine = sa.create_engine("sqlite+pysqlite://", poolclass=StaticPool, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        migrate.upgrade(connection)
        made = connection.connection.driver_connection.serialize()
    engine.dispose()
    return made


class Faults:
    """What goes wrong; nothing once `peace` is declared."""

    def __init__(self, dice: random.Random, hits: Counter[str]) -> None:
        self.dice = dice
        self.hits = hits
        self.peace = False

    def strike(self, kind: str, share: float) -> bool:
        """Tell whether it happens now."""
        struck = not self.peace and self.dice.random() < share
        self.hits[kind] += struck
        return struck

    def refuse(self, kind: str) -> None:
        """Refuse what the store is asked, now and then."""
        if self.strike(kind, REFUSED / 2):
            raise NotReady("the simulated store refuses")


class MemoryStore:
    """`gateway.storage.contract.Store` on an in-memory database, one transaction at a time, in the loop itself."""

    exclusive = True

    def __init__(self, clock: VirtualClock, faults: Faults) -> None:
        self._engine = sa.create_engine("sqlite+pysqlite://", poolclass=StaticPool, isolation_level="AUTOCOMMIT")
        self._connection = self._engine.connect()
        self._connection.connection.driver_connection.deserialize(_empty())
        self._connection.execute(sa.text("PRAGMA foreign_keys = ON"))
        self._clock = clock
        self._faults = faults
        self._turn = asyncio.Lock()
        self.sink: Hub | None = None

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Transaction]:
        async with self._turn:
            self._faults.refuse("store refused at the beginning")
            transaction = Transaction(self, self._clock)
            self._connection.execute(sa.text("BEGIN"))
            try:
                yield transaction
                self._faults.refuse("store refused at the commit")
            except BaseException:
                self._connection.execute(sa.text("ROLLBACK"))
                raise
            self._connection.execute(sa.text("COMMIT"))
            if self.sink is not None and transaction.events.appended:
                self.sink.committed(tuple(transaction.events.appended))

    async def rows(self, statement: sa.Executable, parameters: Parameters | None = None) -> Sequence[Mapping[str, Any]]:
        await self._breathe()
        return plain(self._connection.execute(statement, parameters))

    async def run(self, statement: sa.Executable, parameters: Parameters | None = None) -> int:
        await self._breathe()
        return self._connection.execute(statement, parameters).rowcount

    def insert(self, table: sa.Table) -> Any:
        return sqlite.insert(table)

    def insert_new(self, table: sa.Table) -> sa.Executable:
        return insert_new(table)

    async def close(self) -> None:
        self._connection.close()
        self._engine.dispose()

    async def _breathe(self) -> None:
        """Let others run between statements, now and then for a while, as a thread would."""
        await asyncio.sleep(self._faults.dice.choice((0.0, 0.0, 0.0, 0.001, 0.01)) if not self._faults.peace else 0.0)


@dataclass
class Reader:
    """Someone who follows a stream through a `Sink`, and judges what comes."""

    stream_id: str
    faults: list[str]
    dice: random.Random
    cursor: str | None = None
    last: tuple[str, int] | None = None
    texts: dict[str, str] = field(default_factory=dict)
    whole: dict[str, str] = field(default_factory=dict)
    parser: SseParser = field(default_factory=SseParser)
    backlog: int = 0
    gone: bool = False
    ended: bool = False

    def write(self, data: bytes) -> None:
        if self.gone:
            return
        if self.dice.random() < 0.05:
            self.backlog += self.dice.choice((1_000, 100_000))
        for event in self.parser.feed(unchunked(data)):
            self._take(event.type, json.loads(event.data), event.last_event_id)
            self.cursor = event.last_event_id or self.cursor
        if self.parser.last_event_id:
            self.cursor = self.parser.last_event_id

    def buffered(self) -> int:
        return self.backlog

    def closed(self) -> bool:
        return self.gone

    async def drained(self) -> None:
        await asyncio.sleep(self.dice.choice((0.01, 1.0, 5.0, 30.0)))
        self.backlog = 0

    def end(self) -> None:
        self.ended = True

    def abort(self) -> None:
        self.gone = True

    def returns(self) -> None:
        """Come back as a browser does: a new parser, an empty buffer, the old cursor."""
        self.gone, self.ended, self.backlog, self.parser = False, False, 0, SseParser()

    def _take(self, kind: str, data: dict[str, Any], event_id: str) -> None:
        epoch, _, offset = event_id.partition(".")
        if kind == "message.delta":
            self._grow(data)
            return
        if kind == "turn.step" and data["step"] != "done" and event_id == (self.cursor or ""):
            return  # a step that is told and not kept has no id of its own
        if kind == "resync":
            self.faults.append(f"{self.stream_id}: resync {data['reason']} from {self.cursor}")
        follows = self.last is None or (self.last[0] == epoch and int(offset) > self.last[1])
        if kind != "resync" and event_id != (self.cursor or "") and not follows:
            self.faults.append(f"{self.stream_id}: after {self.last} came {event_id}")
        self.last = (epoch, int(offset))
        if kind == "message.created" and data["role"] == "AI":
            self.whole[data["id"]] = data["text"]

    def _grow(self, data: dict[str, Any]) -> None:
        text = self.texts.get(data["message_id"], "")
        if data["start"] > len(text):
            self.faults.append(f"{self.stream_id}: a gap in the running text")
        if data["message_id"] in self.whole:
            self.faults.append(f"{self.stream_id}: running text after the message was whole")
        self.texts[data["message_id"]] = text[: data["start"]] + data["text"]


class Gateway:
    """One gateway process, until it dies."""

    def __init__(self, store: MemoryStore, assistant: ScriptedAssistant, clock: VirtualClock) -> None:
        self.hub = Hub(HttpEncoder(Projects((DEMO,))), clock)
        self.hub.bind(store)
        store.sink = self.hub
        pending = Clarifications(clock)
        self.support = open_support(
            store, self.hub, assistant, NoDarkroom(), clock=clock, folder=Path("/nowhere"), pending=pending
        )
        self.turns = TurnService(store, assistant, self.hub.texts, clock, desk=self.support.tickets, pending=pending)
        self.support.meet(self.turns)
        self.tasks = {asyncio.create_task(self.turns.serve()), asyncio.create_task(self.hub.ping_for_ever())}

    async def die(self) -> None:
        """End as a power cut would: everything that this process was doing stops where it is."""
        own = {*self.tasks, *self.turns._tasks.values(), *self.turns._taking, *self.support.tickets._acts}
        own |= set(self.support.summaries._tasks.values())
        own |= {reader.task for reader in self.hub.streams.readers() if reader.task}
        for task in own:
            task.cancel()
        await asyncio.gather(*own, return_exceptions=True)
        for timer in self.hub.texts._timers.values():
            timer.cancel()
        self.support.staff.close()


class NoDarkroom:
    """Nobody sends images here."""

    async def develop(self, data: bytes) -> Any:
        raise NotImplementedError
