"""BudgetsService over a real gRPC server, and the operator's command as its client."""

from __future__ import annotations

import argparse
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace

import grpc.aio
import pytest
from google.rpc import error_details_pb2
from grpc_status import rpc_status
from prometheus_client import CollectorRegistry

from ai_server.cli import budgets as command
from ai_server.cli.command import CommandContext
from ai_server.cli.connection import Connection
from ai_server.clients import Client, ClientRegister, Scope, token_digest
from ai_server.ledger.contract import Payer, Quote
from ai_server.ledger.model import BudgetSeed
from ai_server.ledger.service import Ledger
from ai_server.providers.catalog import load as load_catalog
from ai_server.rpc import budgets
from ai_server.rpc.edge import Edge
from ai_server.rpc.metrics import RpcMetrics
from ai_server.storage.ledger_contract import Period, ScopeKind
from ai_server.storage.sqlite import SqliteStateStore
from shared.pb.passeur.v1 import budgets_pb2, budgets_pb2_grpc, common_pb2
from tests.fakes.clock import ManualClock

CLIENTS = (
    Client("shop", token_digest("shop-token"), frozenset({"demo"}), frozenset({Scope.BUDGETS})),
    Client("blog", token_digest("blog-token"), frozenset({"demo", "blog"}), frozenset({Scope.BUDGETS})),
    Client("answers", token_digest("answers-token"), frozenset({"*"}), frozenset({Scope.ANSWER})),
    Client("operator", token_digest("operator-token"), frozenset({"*"}), frozenset({Scope.ADMIN})),
)


class Services(SimpleNamespace):
    async def ledger(self):
        return self.money

    def admit(self):
        return None


@pytest.fixture
async def ledger(tmp_path):
    clock = ManualClock()
    store = SqliteStateStore(tmp_path / "state.sqlite", clock)
    await store.open()
    ledger = Ledger(store, clock)
    await ledger.seed("demo", [BudgetSeed(ScopeKind.PROJECT, Period.MONTHLY, 1000, "Europe/Paris")])
    yield ledger
    await store.close()


@pytest.fixture
async def channel(ledger):
    clock = ManualClock()
    catalogue = load_catalog()
    services = Services(
        money=ledger, clock=clock, providers=SimpleNamespace(catalogue=catalogue), projects={"demo": None}
    )
    edge = Edge(ClientRegister(CLIENTS), budgets.OFFER.scopes(), clock, RpcMetrics(CollectorRegistry()))
    server = grpc.aio.server(interceptors=(edge,))
    budgets.OFFER.add(budgets.OFFER.servicer(services), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        yield channel
    await server.stop(None)


@pytest.fixture
def stub(channel):
    return budgets_pb2_grpc.BudgetsServiceStub(channel)


def token(name):
    return (("authorization", f"Bearer {name}-token"),)


def reserving(key="k1", **changes):
    fields = {
        "idempotency_key": key,
        "project_id": "demo",
        "user": "ada",
        "operation": "translate",
        "provider": "acme",
        "model": "acme-1",
        "price_version": "acme 2026",
        "ceiling_nanousd": 100,
    }
    return budgets_pb2.ReserveRequest(**{**fields, **changes})


async def reserved(stub, client="shop", **changes):
    return (await stub.Reserve(reserving(**changes), metadata=token(client))).reservation


def reason(failed):
    status = rpc_status.from_call(failed.value)
    info = error_details_pb2.ErrorInfo()
    status.details[0].Unpack(info)
    return info.reason, info.metadata


PROJECT = budgets_pb2.BudgetScope(project_id="demo")
MONTHLY = budgets_pb2.BUDGET_PERIOD_MONTHLY


async def available(stub):
    request = budgets_pb2.GetBudgetRequest(scope=PROJECT, period=MONTHLY)
    return (await stub.GetBudget(request, metadata=token("shop"))).balance.available_nanousd


async def test_a_backend_holds_and_settles_its_own_call(stub):
    held = await reserved(stub)
    assert (held.idempotency_key, held.state) == ("k1", budgets_pb2.RESERVATION_STATE_PENDING)
    assert (held.user, await available(stub)) == ("shop/ada", 900)
    usage = common_pb2.Usage(input_token_count=3, unit_count={"pages": 2})
    request = budgets_pb2.SettleRequest(reservation_id=held.reservation_id, cost_nanousd=40, usage=usage)
    settled = (await stub.Settle(request, metadata=token("shop"))).reservation
    assert (settled.cost_nanousd, settled.usage, await available(stub)) == (40, usage, 960)


async def test_a_repeated_call_is_one_reservation_and_another_body_a_conflict(stub):
    assert await reserved(stub) == await reserved(stub)
    with pytest.raises(grpc.aio.AioRpcError) as failed:
        await reserved(stub, ceiling_nanousd=101)
    assert failed.value.code() is grpc.StatusCode.ALREADY_EXISTS
    assert reason(failed)[0] == "IDEMPOTENCY_CONFLICT"


async def test_a_refusal_carries_the_reset_time_of_the_budgets_own_midnight(stub):
    await reserved(stub)
    with pytest.raises(grpc.aio.AioRpcError) as failed:
        await reserved(stub, key="k2", ceiling_nanousd=950)
    assert failed.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    name, metadata = reason(failed)
    assert (name, metadata["resets_at"]) == ("BUDGET_EXHAUSTED", "2026-11-30T23:00:00Z")


@pytest.mark.parametrize("change", [{"ceiling_nanousd": 0}, {"ceiling_nanousd": -5}, {"idempotency_key": "é"}])
async def test_free_and_malformed_calls_are_refused(stub, change):
    with pytest.raises(grpc.aio.AioRpcError) as failed:
        await reserved(stub, **change)
    assert failed.value.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_a_model_that_the_catalogue_lists_as_free_may_cost_nothing(stub):
    free = await reserved(stub, provider="embedded", model="extractive", ceiling_nanousd=0)
    assert free.state == budgets_pb2.RESERVATION_STATE_PENDING


async def test_clients_do_not_see_each_others_reservations(stub):
    held = await reserved(stub)
    for call in (
        stub.Settle(budgets_pb2.SettleRequest(reservation_id=held.reservation_id), metadata=token("blog")),
        stub.Void(budgets_pb2.VoidRequest(reservation_id=held.reservation_id), metadata=token("blog")),
    ):
        with pytest.raises(grpc.aio.AioRpcError) as failed:
            await call
        assert failed.value.code() is grpc.StatusCode.NOT_FOUND
    assert (await reserved(stub, client="blog")).reservation_id != held.reservation_id


async def test_a_turns_own_reservation_is_not_a_clients_to_settle(stub, ledger):
    quote = Quote("answer", "acme", "acme-1", "", "v", 10, metered=True)
    turns = await ledger.reserve("turn/1/1", Payer("demo", "", ""), quote)
    with pytest.raises(grpc.aio.AioRpcError) as failed:
        await stub.Void(budgets_pb2.VoidRequest(reservation_id=turns.new.reservation_id), metadata=token("shop"))
    assert failed.value.code() is grpc.StatusCode.NOT_FOUND


@pytest.mark.parametrize(
    ("client", "call"),
    [
        ("answers", lambda stub, meta: stub.Reserve(reserving(), metadata=meta)),
        ("shop", lambda stub, meta: stub.Reserve(reserving(project_id="blog"), metadata=meta)),
        ("shop", lambda stub, meta: stub.SetBudget(budgets_pb2.SetBudgetRequest(), metadata=meta)),
        ("shop", lambda stub, meta: stub.Audit(budgets_pb2.BudgetsServiceAuditRequest(), metadata=meta)),
        ("shop", lambda stub, meta: stub.Reconcile(budgets_pb2.ReconcileRequest(), metadata=meta)),
        ("shop", lambda stub, meta: stub.ListReservations(budgets_pb2.ListReservationsRequest(), metadata=meta)),
        ("shop", lambda stub, meta: stub.GetBudget(_global(), metadata=meta)),
        ("shop", lambda stub, meta: stub.GetBudget(_user("blog/ada"), metadata=meta)),
    ],
)
async def test_what_a_client_may_not_do_is_denied(stub, client, call):
    with pytest.raises(grpc.aio.AioRpcError) as failed:
        await call(stub, token(client))
    assert failed.value.code() is grpc.StatusCode.PERMISSION_DENIED


def _global():
    return budgets_pb2.GetBudgetRequest(scope=command._scope(_scoped()), period=MONTHLY)


def _user(name):
    user = budgets_pb2.UserScope(project_id="demo", user=name)
    return budgets_pb2.GetBudgetRequest(scope=budgets_pb2.BudgetScope(user=user), period=MONTHLY)


def _scoped():
    return argparse.Namespace(project="", assistant="", user="")


async def test_a_budget_of_a_project_that_is_not_there_is_refused(stub):
    budget = budgets_pb2.Budget(scope=budgets_pb2.BudgetScope(project_id="demmo"), period=MONTHLY, limit_nanousd=1)
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await stub.SetBudget(budgets_pb2.SetBudgetRequest(budget=budget), metadata=token("operator"))
    assert refused.value.code() is grpc.StatusCode.NOT_FOUND
    assert "no project `demmo`" in refused.value.details()


async def test_reservations_are_listed_by_page(stub):
    made = [(await reserved(stub, key=f"k{number}", ceiling_nanousd=1)).reservation_id for number in range(3)]
    request = budgets_pb2.ListReservationsRequest(project_id="demo", page_size=2)
    first = await stub.ListReservations(request, metadata=token("shop"))
    assert [each.reservation_id for each in first.reservations] == made[:0:-1]
    request.page_token = first.next_page_token
    second = await stub.ListReservations(request, metadata=token("shop"))
    assert ([each.reservation_id for each in second.reservations], second.next_page_token) == ([made[0]], "")


async def test_an_audit_recomputes_costs_from_their_price_row(stub):
    row = load_catalog().require("mistral", "mistral-small-2603")
    names = {"provider": row.provider, "model": row.id, "price_version": row.price_version}
    for key, cost in (("right", 15), ("wrong", 16)):
        held = await reserved(stub, key=key, **names)
        usage = common_pb2.Usage(input_token_count=100)
        ending = budgets_pb2.SettleRequest(reservation_id=held.reservation_id, cost_nanousd=cost * 1000, usage=usage)
        await stub.Settle(ending, metadata=token("shop"))
        scope = budgets_pb2.ReconcileRequest(acknowledged_overruns=[PROJECT])
        await stub.Reconcile(scope, metadata=token("operator"))
        raised = budgets_pb2.Budget(scope=PROJECT, period=MONTHLY, limit_nanousd=10**6)
        await stub.SetBudget(budgets_pb2.SetBudgetRequest(budget=raised), metadata=token("operator"))
    report = await stub.Audit(budgets_pb2.BudgetsServiceAuditRequest(), metadata=token("operator"))
    assert not report.clean
    assert len(report.findings) == 1
    assert "settled at 16000, and its usage gives 15000" in report.findings[0]


# ---------------------------------------------------------------- the operator's command


@pytest.fixture
def operator(channel):
    @asynccontextmanager
    async def connect():
        yield Connection(channel, token("operator"))

    context = CommandContext(data_dir=Path(), projects_dir=Path(), connect=connect)

    async def run(*words):
        parser = argparse.ArgumentParser()
        command.configure(parser)
        return await command.run(parser.parse_args(words), context)

    return run


async def test_an_operator_sets_and_shows_a_budget(operator, capsys):
    words = ("--project", "demo", "--user", "anonymous", "--period", "daily")
    assert await operator("set", *words, "--limit-usd", "1.50", "--zone", "Asia/Tokyo") == 0
    assert await operator("show", *words) == 0
    shown = capsys.readouterr().out
    assert "limit       $1.50" in shown
    assert await operator("set", *words, "--limit-usd", "2.50", "--alert-share", "0.5") == 0
    assert "(Asia/Tokyo)" in capsys.readouterr().out, "what is not named stays"
    assert await operator("set", *words, "--limit-usd", "3.50") == 0
    assert "at 50% of the limit" in capsys.readouterr().out
    assert "2026-11-30T15:00:00Z (Asia/Tokyo)" in shown
    assert await operator("set", *words, "--limit-usd", "-3") == 2


async def test_an_operator_reconciles_what_a_crash_left_held(operator, capsys, stub, ledger):
    for number in range(3):
        await reserved(stub, key=f"k{number}")
    assert await ledger.recover() == 3
    assert await operator("list") == 0
    held = [row.split("\t")[0] for row in capsys.readouterr().out.splitlines()]
    assert len(held) == 3
    assert await operator("reconcile", held[0]) == 2
    assert await operator("reconcile", held[0], "--cost-usd", "0.00000004") == 0
    assert await operator("reconcile", "--all-held", "--project", "demo", "--void") == 0
    assert "settled" in capsys.readouterr().out
    assert await operator("list") == 0
    assert capsys.readouterr() == ("", "no held reservations of any project\n")
    assert await available(stub) == 960
    assert await operator("audit") == 0
    assert "everything adds up" in capsys.readouterr().out


async def test_an_operator_opens_a_budget_that_an_overrun_closed(operator, capsys, stub):
    held = await reserved(stub)
    ending = budgets_pb2.SettleRequest(reservation_id=held.reservation_id, cost_nanousd=150)
    await stub.Settle(ending, metadata=token("shop"))
    assert await operator("show", "--project", "demo") == 0
    assert "by an overrun" in capsys.readouterr().out
    with pytest.raises(grpc.aio.AioRpcError):
        await reserved(stub, key="k2")
    assert await operator("reconcile", "--acknowledge", "--project", "demo") == 0
    await reserved(stub, key="k2")
