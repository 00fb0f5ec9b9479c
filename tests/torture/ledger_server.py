"""BudgetsService alone, over a SQLite store: in this process, or as one that can be killed (see `nursery`)."""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING

import grpc.aio
from prometheus_client import CollectorRegistry

from ai_server.clients import Client, ClientRegister, Scope, token_digest
from ai_server.ledger.service import Ledger
from ai_server.rpc import budgets
from ai_server.rpc.edge import Edge
from ai_server.rpc.metrics import RpcMetrics
from ai_server.storage.sqlite import SqliteStateStore
from tests.fakes.clock import ManualClock
from tests.torture import workload

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

METADATA = (("authorization", "Bearer torture"),)
CLIENT = Client("torture", token_digest("torture"), frozenset({"*"}), frozenset({Scope.ADMIN}))
NO_MODELS = SimpleNamespace(catalogue=SimpleNamespace(find=lambda _provider, _model: None))


class Doors(SimpleNamespace):
    """What the servicer asks of the application."""

    async def ledger(self) -> Ledger:
        return self.money

    def admit(self) -> None:
        return None


@asynccontextmanager
async def serving(path: Path, port: int = 0, limit: int = 2**60) -> AsyncIterator[tuple[SqliteStateStore, str]]:
    """Serve on loopback; one daily project budget of `limit`."""
    clock = ManualClock(workload.NOW)
    store = SqliteStateStore(path, clock)
    await store.open()
    ledger = Ledger(store, clock)
    await ledger.recover()
    await store.ledger.put_budget(workload.budget(limit), workload.NOW, seed=True)
    doors = Doors(money=ledger, clock=clock, providers=NO_MODELS)
    edge = Edge(ClientRegister([CLIENT]), budgets.OFFER.scopes(), clock, RpcMetrics(CollectorRegistry()))
    server = grpc.aio.server(interceptors=(edge,), options=(("grpc.so_reuseport", 0),))
    budgets.OFFER.add(budgets.OFFER.servicer(doors), server)
    bound = server.add_insecure_port(f"127.0.0.1:{port}")
    await server.start()
    try:
        yield store, f"127.0.0.1:{bound}"
    finally:
        await server.stop(None)
        await store.close()


async def main(path: Path, port: int, limit: int) -> None:
    """Serve until killed; tell the process id once serving."""
    async with serving(path, port, limit):
        print(f"ready {os.getpid()}", flush=True)
        await asyncio.Event().wait()
