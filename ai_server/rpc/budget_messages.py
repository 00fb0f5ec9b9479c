"""Between messages of BudgetsService and the ledger's values."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from ai_server.ledger.model import alerts
from ai_server.ledger.service import Reconciliation
from ai_server.rpc import convert
from ai_server.storage.ledger_contract import Budget, BudgetScope, Period, ReservationState, ScopeKind
from shared.errors import InvalidRequest, Violation
from shared.pb.passeur.v1 import budgets_pb2
from shared.usage import TOKEN_BUCKETS, Usage

if TYPE_CHECKING:
    from ai_server.storage.ledger_contract import Balance, Reservation

PERIODS: Final[dict[Period, Any]] = {
    each: budgets_pb2.BudgetPeriod.Value(f"BUDGET_PERIOD_{each.name}") for each in Period
}
PERIOD_NAMES: Final = {number: period for period, number in PERIODS.items()}
STATES: Final[dict[ReservationState, Any]] = {
    each: budgets_pb2.ReservationState.Value(f"RESERVATION_STATE_{each.name}") for each in ReservationState
}
STATE_NAMES: Final = {number: state for state, number in STATES.items()}
KEY_PREFIX: Final = "client"
MAX_KEY: Final = 128


def period(number: int) -> Period:
    """Read a period.

    Raises:
        InvalidRequest: unspecified or unknown.
    """
    found = PERIOD_NAMES.get(number)
    if found is None:
        raise InvalidRequest.of("period", "must be DAILY or MONTHLY")
    return found


def state(number: int) -> ReservationState | None:
    """Read a state; None for UNSPECIFIED.

    Raises:
        InvalidRequest: unknown.
    """
    if number and number not in STATE_NAMES:
        raise InvalidRequest.of("state", "is not a state of a reservation")
    return STATE_NAMES.get(number)


def scope(message: budgets_pb2.BudgetScope) -> BudgetScope:
    """Read a scope; users as they are named in the ledger (`client/user`, or `anonymous`).

    Raises:
        InvalidRequest: none of the four is set.
    """
    match message.WhichOneof("scope"):
        case "global":
            return BudgetScope(ScopeKind.GLOBAL)
        case "project_id":
            return BudgetScope(ScopeKind.PROJECT, message.project_id)
        case "assistant":
            return BudgetScope(ScopeKind.ASSISTANT, message.assistant.project_id, assistant=message.assistant.assistant)
        case "user":
            return BudgetScope(ScopeKind.USER, message.user.project_id, user=message.user.user)
        case _:
            raise InvalidRequest.of("scope", "must be global, project_id, assistant or user")


def scope_message(each: BudgetScope) -> budgets_pb2.BudgetScope:
    """Write a scope."""
    match each.kind:
        case ScopeKind.GLOBAL:
            message = budgets_pb2.BudgetScope()
            setattr(message, "global", True)  # a word of Python, so it cannot be a keyword argument
            return message
        case ScopeKind.PROJECT:
            return budgets_pb2.BudgetScope(project_id=each.project_id)
        case ScopeKind.ASSISTANT:
            inner = budgets_pb2.AssistantScope(project_id=each.project_id, assistant=each.assistant)
            return budgets_pb2.BudgetScope(assistant=inner)
        case ScopeKind.USER:
            return budgets_pb2.BudgetScope(user=budgets_pb2.UserScope(project_id=each.project_id, user=each.user))


def budget(message: budgets_pb2.Budget) -> Budget:
    """Read a budget; an empty zone is UTC."""
    return Budget(
        scope=scope(message.scope),
        period=period(message.period),
        limit_nanousd=message.limit_nanousd,
        time_zone=message.time_zone or "UTC",
        alert_share=message.alert_share,
    )


def balance(each: Balance) -> budgets_pb2.BudgetBalance:
    """Write a balance."""
    message = budgets_pb2.BudgetBalance(
        budget=budgets_pb2.Budget(
            scope=scope_message(each.budget.scope),
            period=PERIODS[each.budget.period],
            limit_nanousd=each.budget.limit_nanousd,
            time_zone=each.budget.time_zone,
            alert_share=each.budget.alert_share,
        ),
        settled_nanousd=each.settled_nanousd,
        open_hold_nanousd=each.open_hold_nanousd,
        held_nanousd=each.held_nanousd,
        available_nanousd=each.available_nanousd,
        estimated_nanousd=each.estimated_nanousd,
        closed_by_overrun=each.closed_by_overrun,
        alert=alerts(each),
    )
    message.window_start.FromDatetime(each.window_start)
    message.resets_at.FromDatetime(each.resets_at)
    return message


def key_of(client: str, key: str) -> str:
    """Name a client's key in the ledger, where turns have keys too.

    Raises:
        InvalidRequest: not 1 to 128 printable ASCII characters.
    """
    if not 1 <= len(key) <= MAX_KEY or not (key.isascii() and key.isprintable()):
        raise InvalidRequest.of("idempotency_key", f"must be 1 to {MAX_KEY} printable ASCII characters")
    return f"{KEY_PREFIX}/{client}/{key}"


def reservation(each: Reservation) -> budgets_pb2.Reservation:
    """Write a reservation; a client reads its own key back as it gave it."""
    prefix, _, rest = each.new.key.partition("/")
    message = budgets_pb2.Reservation(
        reservation_id=each.new.reservation_id,
        idempotency_key=rest.partition("/")[2] if prefix == KEY_PREFIX else each.new.key,
        project_id=each.new.project_id,
        assistant=each.new.assistant,
        user=each.new.user,
        operation=each.new.operation,
        provider=each.new.provider,
        model=each.new.model,
        service_tier=each.new.service_tier,
        price_version=each.new.price_version,
        ceiling_nanousd=each.new.ceiling_nanousd,
        state=STATES[each.state],
        cost_nanousd=each.cost_nanousd,
        estimated=each.estimated,
        overrun_nanousd=each.overrun_nanousd,
        usage=convert.usage(each.usage) if each.usage else None,
    )
    message.created_at.FromDatetime(each.new.created_at)
    if each.resolved_at is not None:
        message.resolved_at.FromDatetime(each.resolved_at)
    return message


def usage(message: Any) -> Usage:
    """Read a usage.

    Raises:
        InvalidRequest: a negative count.
    """
    counts = {name: getattr(message, f"{name}_token_count") for name in TOKEN_BUCKETS}
    units = dict(message.unit_count)
    named = {**{f"usage.{name}_token_count": count for name, count in counts.items()}, **units}
    faults = [Violation(name, "must not be negative") for name, count in named.items() if count < 0]
    if faults:
        raise InvalidRequest(faults)
    return Usage(**counts, units=MappingProxyType(units))


def reconciliation(message: budgets_pb2.Reconciliation) -> Reconciliation:
    """Read what is known of a held reservation.

    Raises:
        InvalidRequest: nothing is.
    """
    match message.WhichOneof("resolution"):
        case "cost_nanousd":
            return Reconciliation(message.reservation_id, cost_nanousd=message.cost_nanousd)
        case "void" if message.void:
            return Reconciliation(message.reservation_id, void=True)
        case "at_ceiling" if message.at_ceiling:
            return Reconciliation(message.reservation_id)
        case _:
            raise InvalidRequest.of("resolution", "must be cost_nanousd, or void or at_ceiling set to true")
