"""What tests of the state store are built from."""

from __future__ import annotations

from datetime import UTC, datetime

from ai_server.storage.ledger_contract import Budget, BudgetScope, NewReservation, Period, ScopeKind, Settlement
from ai_server.storage.requests_contract import RequestKey, StoredRequest
from shared.ids import new_id
from shared.usage import Usage

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
PROJECT = BudgetScope(ScopeKind.PROJECT, "demo")
USER = BudgetScope(ScopeKind.USER, "demo", user="ada")


def project_budget(limit, **changes):
    return Budget(**{"scope": PROJECT, "period": Period.DAILY, "limit_nanousd": limit, **changes})


def call(key="turn/1/1", ceiling=10, **changes):
    fields = {
        "reservation_id": new_id(NOW),
        "key": key,
        "project_id": "demo",
        "assistant": "documents",
        "user": "ada",
        "operation": "answer",
        "provider": "fake",
        "model": "fake-1",
        "service_tier": "standard",
        "price_version": "2026-11",
        "ceiling_nanousd": ceiling,
        "created_at": NOW,
    }
    return NewReservation(**{**fields, **changes})


def at_cost(cost, **changes):
    fields = {"cost_nanousd": cost, "estimated": False, "usage": Usage(input=3, output=4), "at": NOW}
    return Settlement(**{**fields, **changes})


async def figures(ledger, scope=PROJECT, period=Period.DAILY, now=NOW):
    balance = await ledger.balance(scope, period, now)
    return balance.settled_nanousd, balance.open_hold_nanousd, balance.available_nanousd


def request_for(key="k1", digest=b"body", owner="me", created_at=NOW):
    return StoredRequest(RequestKey("web", key), digest, "turn-1", owner, None, created_at)
