"""Rules of money that every store shares: which budgets a call touches, what equals what, and the chain."""

from __future__ import annotations

import hashlib
import json
import re
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from ai_server.storage.ledger_contract import BudgetScope, NewReservation, ScopeKind
from ai_server.storage.windows import zone
from shared.errors import InvalidRequest, Violation
from shared.money import MAX_AMOUNT
from shared.usage import TOKEN_BUCKETS, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ai_server.storage.ledger_contract import Budget, Settlement

ANONYMOUS: Final = "anonymous"
MAX_CALL: Final = 10**15
"""Largest ceiling or cost of one call: a million dollars. More is a mistake, not a price."""

MAX_TEXT: Final = 512
MAX_REASON: Final = 2000
MAX_BALANCES: Final = 10_000
MAX_PAGE: Final = 1_000
UNSTORABLE: Final = re.compile("[\0\ud800-\udfff]")
"""NUL, and lone surrogates."""

FIRST_DIGEST: Final = bytes(32)
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
ONE_US: Final = timedelta(microseconds=1)


def to_us(instant: datetime) -> int:
    """Write an aware instant as microseconds since 1970 UTC."""
    return (instant - EPOCH) // ONE_US


def from_us(microseconds: int) -> datetime:
    """Read what `to_us` wrote."""
    return EPOCH + microseconds * ONE_US


def scopes_of(new: NewReservation) -> tuple[BudgetScope, ...]:
    """Name every budget that a call is checked against, if it exists."""
    scopes = [BudgetScope(ScopeKind.GLOBAL), BudgetScope(ScopeKind.PROJECT, new.project_id)]
    if new.assistant:
        scopes.append(BudgetScope(ScopeKind.ASSISTANT, new.project_id, assistant=new.assistant))
    if new.user:
        scopes.append(BudgetScope(ScopeKind.USER, new.project_id, user=new.user))
    return tuple(scopes)


def same_body(one: NewReservation, other: NewReservation) -> bool:
    """Compare what was asked for: all but the id and the instant, which a repeated request makes anew."""
    return _body(one) == _body(other)


def _body(new: NewReservation) -> tuple[object, ...]:
    return (
        new.key,
        new.project_id,
        new.assistant,
        new.user,
        new.operation,
        new.provider,
        new.model,
        new.service_tier,
        new.price_version,
        new.ceiling_nanousd,
    )


def check_new(new: NewReservation) -> None:
    """Refuse what no ledger can hold.

    Raises:
        InvalidRequest: with every field that is wrong.
    """
    texts = {
        "reservation_id": new.reservation_id,
        "idempotency_key": new.key,
        "project_id": new.project_id,
        "operation": new.operation,
        "provider": new.provider,
        "model": new.model,
    }
    faults = [Violation(name, "must not be empty") for name, text in texts.items() if not text]
    others = {"assistant": new.assistant, "user": new.user, "service_tier": new.service_tier}
    for name, text in {**texts, **others, "price_version": new.price_version}.items():
        faults += _text_faults(name, text)
    faults += _amount_faults("ceiling_nanousd", new.ceiling_nanousd, MAX_CALL)
    _raise(faults)


def check_settlement(settlement: Settlement) -> None:
    """Refuse a cost that cannot be one.

    Raises:
        InvalidRequest: a negative or absurd cost.
    """
    _raise(_amount_faults("cost_nanousd", settlement.cost_nanousd, MAX_CALL))


def check_budget(budget: Budget) -> None:
    """Refuse a budget that cannot be kept.

    Raises:
        InvalidRequest: with every field that is wrong.
    """
    faults = _amount_faults("limit_nanousd", budget.limit_nanousd, MAX_AMOUNT)
    if not 0 <= budget.alert_share <= 1:
        faults.append(Violation("alert_share", "must be a share from 0 (none) to 1"))
    faults += _scope_faults(budget.scope)
    zone(budget.time_zone)
    _raise(faults)


def _scope_faults(scope: BudgetScope) -> list[Violation]:
    needed = {
        ScopeKind.GLOBAL: (),
        ScopeKind.PROJECT: ("project_id",),
        ScopeKind.ASSISTANT: ("project_id", "assistant"),
        ScopeKind.USER: ("project_id", "user"),
    }[scope.kind]
    faults = []
    for name in ("project_id", "assistant", "user"):
        text = getattr(scope, name)
        if (name in needed) != bool(text):
            problem = "must be given" if name in needed else "must be empty"
            faults.append(Violation(f"scope.{name}", f"{problem} for a {scope.kind} budget"))
        faults += _text_faults(f"scope.{name}", text)
    return faults


def _text_faults(name: str, text: str) -> list[Violation]:
    if len(text) > MAX_TEXT:
        return [Violation(name, f"is longer than {MAX_TEXT} characters")]
    if UNSTORABLE.search(text):
        return [Violation(name, "holds a character that cannot be stored")]
    return []


def _amount_faults(name: str, amount: int, most: int) -> list[Violation]:
    return [] if 0 <= amount <= most else [Violation(name, f"must be from 0 to {most} nanodollars")]


def _raise(faults: Sequence[Violation]) -> None:
    if faults:
        raise InvalidRequest(faults)


def usage_text(usage: Usage | None) -> str | None:
    """Write a usage as JSON in one fixed form; None stays unknown."""
    if usage is None:
        return None
    counts: dict[str, object] = {name: getattr(usage, name) for name in TOKEN_BUCKETS}
    return json.dumps({**counts, "units": dict(sorted(usage.units.items()))}, separators=(",", ":"))


def usage_from(text: str | None) -> Usage | None:
    """Read what `usage_text` wrote."""
    if text is None:
        return None
    fields = json.loads(text)
    return Usage(**{name: fields[name] for name in TOKEN_BUCKETS}, units=MappingProxyType(fields["units"]))


ENTRY_FIELDS: Final = (
    "entry_number", "kind", "amount_nanousd", "overrun_nanousd", "estimated", "usage", "reason", "at",
)  # fmt: skip
RESERVATION_FIELDS: Final = (
    "reservation_id", "key", "project_id", "assistant", "user_name", "operation", "provider", "model",
    "service_tier", "price_version", "ceiling_nanousd", "created_at",
)  # fmt: skip


def chain(previous: bytes, entry: Mapping[str, object], reservation: Mapping[str, object]) -> bytes:
    """Digest an entry together with its reservation's body and the digest of the entry before it."""
    values = [entry[name] for name in ENTRY_FIELDS] + [reservation[name] for name in RESERVATION_FIELDS]
    text = json.dumps(values, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(previous + text.encode()).digest()


def reservation_values(new: NewReservation) -> dict[str, object]:
    """Name the columns of a reservation."""
    return {
        "reservation_id": new.reservation_id,
        "key": new.key,
        "project_id": new.project_id,
        "assistant": new.assistant,
        "user_name": new.user,
        "operation": new.operation,
        "provider": new.provider,
        "model": new.model,
        "service_tier": new.service_tier,
        "price_version": new.price_version,
        "ceiling_nanousd": new.ceiling_nanousd,
        "created_at": to_us(new.created_at),
    }
