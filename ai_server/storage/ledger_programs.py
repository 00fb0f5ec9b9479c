"""The ledger's transactions, as programs: admission, resolution, holding, budgets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ai_server.storage.ledger_contract import Period, Reservation, ReservationState, ScopeKind
from ai_server.storage.ledger_rows import balance_of, reservation_of
from ai_server.storage.rules import (
    FIRST_DIGEST,
    MAX_BALANCES,
    chain,
    reservation_values,
    same_body,
    to_us,
    usage_text,
)
from ai_server.storage.statements import Statement
from ai_server.storage.windows import window_at
from shared.errors import AlreadyResolved, BudgetExhausted, IdempotencyConflict, NotFound
from shared.money import text_usd

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import datetime

    from ai_server.storage.ledger_contract import Balance, Budget, BudgetScope, NewReservation, Settlement
    from ai_server.storage.statements import Program, Row


@dataclass(frozen=True, slots=True)
class Ending:
    """How a reservation ends: `kind` is `settle` or `void`."""

    kind: str
    cost_nanousd: int
    estimated: bool
    usage: str | None
    reason: str
    at: int

    @classmethod
    def settle(cls, settlement: Settlement) -> Ending:
        """End at a cost."""
        usage = usage_text(settlement.usage)
        return cls("settle", settlement.cost_nanousd, settlement.estimated, usage, "", to_us(settlement.at))

    @classmethod
    def void(cls, reason: str, at: datetime) -> Ending:
        """End without cost."""
        return cls("void", 0, estimated=False, usage=None, reason=reason, at=to_us(at))

    def equals(self, entry: Row) -> bool:
        """Tell whether `entry` said the same."""
        mine = (self.kind, self.cost_nanousd, int(self.estimated), self.usage, self.reason)
        its = (entry["kind"], entry["amount_nanousd"], entry["estimated"], entry["usage"], entry["reason"])
        return mine == its


def reserve(
    new: NewReservation, defaults: Sequence[Budget], instance: int
) -> Program[Reservation | BudgetExhausted | IdempotencyConflict]:
    """Admit or refuse. A refusal is returned, not raised, so that budgets made on the way are kept."""
    yield Statement("lock_ledger", {})
    known = yield Statement("reservation_by_key", {"key": new.key})
    if known:
        found = yield from _now(known[0])
        return found if same_body(found.new, new) else _conflict(new.key)
    budgets = yield from _budgets(new, defaults)
    if new.ceiling_nanousd:
        full = [row for row in budgets if not _has_room(row, new.ceiling_nanousd)]
        if full:
            return refusal(new.ceiling_nanousd, [balance_of(row, _window(row), new.created_at) for row in full])
        if not any(row["kind"] == ScopeKind.PROJECT for row in budgets):
            return no_budget(new.project_id)
    yield from _admit(new, budgets, instance)
    return Reservation(
        new,
        ReservationState.PENDING,
        cost_nanousd=None,
        estimated=False,
        overrun_nanousd=0,
        usage=None,
        resolved_at=None,
    )


def _has_room(row: Row, ceiling: int) -> bool:
    taken = 0 if row["window_id"] is None else row["settled_nanousd"] + row["open_nanousd"]
    return row["overrun_at"] is None and ceiling <= row["limit_nanousd"] - taken


def _admit(new: NewReservation, budgets: Sequence[Row], instance: int) -> Program[None]:
    values = reservation_values(new)
    rows = yield Statement("add_reservation", values)
    number: int = rows[0]["number"]
    for budget in budgets:
        window_id = yield from _window_id(budget, new.created_at)
        charge = {"window_id": window_id, "ceiling_nanousd": new.ceiling_nanousd}
        if new.ceiling_nanousd and not (yield Statement("take", charge)):
            raise AssertionError("the window lost its room inside the transaction that had looked")
        yield Statement("add_charge", {"number": number, "window_id": window_id})
    yield Statement("open_reservation", {"number": number, "instance": instance})
    entry = _entry("reserve", at=to_us(new.created_at), amount=new.ceiling_nanousd)
    yield from _append(number, values, entry)


def refusal(ceiling: int, refusals: Sequence[Balance]) -> BudgetExhausted:
    """Say which budget refused, and when trying again makes sense: None when no reset will help."""
    worst = max(refusals, key=lambda each: (each.closed_by_overrun, each.resets_at))
    owner = name_of(worst.budget.scope)
    if worst.closed_by_overrun:
        text = (
            f"The {worst.budget.period} budget of {owner} was closed by an overrun until an operator acknowledges it."
        )
        return BudgetExhausted(text, None)
    limit = worst.budget.limit_nanousd
    text = (
        f"The {worst.budget.period} budget of {owner} has {text_usd(max(0, worst.available_nanousd))} left of "
        f"{text_usd(limit)}, and the call may cost up to {text_usd(ceiling)}."
    )
    hopeless = any(ceiling > each.budget.limit_nanousd for each in refusals)
    return BudgetExhausted(text, None if hopeless else worst.resets_at)


def no_budget(project_id: str) -> BudgetExhausted:
    """Refuse paid work that nobody set a budget for."""
    return BudgetExhausted(f"The project {project_id} has no budget, so nothing may be paid for it: set one.", None)


def name_of(scope: BudgetScope) -> str:
    """Name a budget's owner in a sentence."""
    match scope.kind:
        case ScopeKind.GLOBAL:
            return "the installation"
        case ScopeKind.PROJECT:
            return f"the project {scope.project_id}"
        case ScopeKind.ASSISTANT:
            return f"the assistant {scope.assistant} of {scope.project_id}"
        case ScopeKind.USER:
            return f"this user of {scope.project_id}"


def _conflict(key: str) -> IdempotencyConflict:
    return IdempotencyConflict(f"The key {key} was used for another reservation.")


def _budgets(new: NewReservation, defaults: Sequence[Budget]) -> Program[Sequence[Row]]:
    """Find the budgets that a call is checked against, after making those of `defaults` that are missing; each with
    its window at that instant, whose columns are None where it was never charged. A changed time zone takes effect at
    the next roll.
    """
    where = {
        "project_id": new.project_id,
        "assistant": new.assistant,
        "user_name": new.user,
        "at": to_us(new.created_at),
    }
    found = yield Statement("budgets_of", where)
    known = {(row["kind"], row["project_id"], row["assistant"], row["user_name"], row["period"]) for row in found}
    missing = [each for each in defaults if _identity(each) not in known]
    for budget in missing:
        yield Statement("seed_budget", budget_values(budget, new.created_at))
    if missing:
        found = yield Statement("budgets_of", where)
    return [row for row in found if _applies(row, new)]


def _identity(budget: Budget) -> tuple[str, str, str, str, str]:
    scope = budget.scope
    return (scope.kind, scope.project_id, scope.assistant, scope.user, budget.period)


def _applies(row: Row, new: NewReservation) -> bool:
    """An assistant or user budget with an empty name belongs to nobody."""
    if row["kind"] == ScopeKind.ASSISTANT:
        return bool(new.assistant)
    return bool(new.user) if row["kind"] == ScopeKind.USER else True


def _window(row: Row) -> Row | None:
    """Give the window that stands in a budget's row."""
    return row if row["window_id"] is not None else None


def _window_id(row: Row, instant: datetime) -> Program[int]:
    """Give the number of a budget's window, making it if it is new: a refused call makes none."""
    if row["window_id"] is not None:
        return row["window_id"]
    fresh = window_at(Period(row["period"]), row["time_zone"], instant)
    span = {"starts_at": to_us(fresh.starts_at), "ends_at": to_us(fresh.ends_at)}
    made = yield Statement("add_window", {"budget_id": row["budget_id"], **span})
    return made[0]["window_id"]


def resolve(reservation_id: str, ending: Ending) -> Program[Reservation]:
    """Settle or void, once.

    Raises:
        NotFound: no such reservation.
        AlreadyResolved: it ended otherwise.
    """
    yield Statement("lock_ledger", {})
    rows = yield Statement("reservation_to_end", {"reservation_id": reservation_id})
    if not rows:
        raise NotFound(f"There is no reservation {reservation_id}.")
    row = rows[0]
    if row["held"] is None:
        entries = yield Statement("entries_of", {"number": row["number"]})
        if ending.equals(entries[-1]):
            return reservation_of(row, entries)
        raise AlreadyResolved(f"The reservation {reservation_id} was already resolved, otherwise.")
    ceiling = row["ceiling_nanousd"]
    overrun = max(0, ending.cost_nanousd - ceiling)
    entry = _entry(
        ending.kind,
        at=ending.at,
        amount=ending.cost_nanousd,
        overrun=overrun,
        estimated=int(ending.estimated),
        usage=ending.usage,
        reason=ending.reason,
    )
    yield from _append(row["number"], row, entry)
    yield from _give_back(row, held=bool(row["held"]), ending=ending)
    if overrun:
        yield Statement("close_by_overrun", {"number": row["number"], "at": ending.at})
    return reservation_of(row, [entry])


def _give_back(row: Row, *, held: bool, ending: Ending) -> Program[None]:
    ceiling: int = row["ceiling_nanousd"]
    yield Statement("close_reservation", {"number": row["number"]})
    if ceiling or ending.cost_nanousd:
        yield Statement(
            "give_back",
            {
                "number": row["number"],
                "ceiling_nanousd": ceiling,
                "held_nanousd": ceiling if held else 0,
                "cost_nanousd": ending.cost_nanousd,
                "estimated_nanousd": ending.cost_nanousd if ending.estimated else 0,
            },
        )


def hold_pending(at: datetime, departed: Collection[int] | None) -> Program[int]:
    """Hold what no living process can resolve any more; of the `departed` ones alone, if they are given."""
    yield Statement("lock_ledger", {})
    live = {row["instance"] for row in (yield Statement("live_instances", {}))}
    pending = yield Statement("pending_reservations", {})
    count = 0
    for opened in pending:
        if opened["instance"] in live or (departed is not None and opened["instance"] not in departed):
            continue
        rows = yield Statement("reservation_by_number", {"number": opened["number"]})
        entry = _entry("hold", at=to_us(at), amount=opened["ceiling_nanousd"])
        yield from _append(opened["number"], rows[0], entry)
        yield Statement("mark_held", {"number": opened["number"]})
        held = {"number": opened["number"], "ceiling_nanousd": opened["ceiling_nanousd"]}
        yield Statement("hold_in_windows", held)
        count += 1
    return count


def _entry(
    kind: str,
    *,
    at: int,
    amount: int,
    overrun: int = 0,
    estimated: int = 0,
    usage: str | None = None,
    reason: str = "",
) -> dict[str, object]:
    return {
        "kind": kind,
        "amount_nanousd": amount,
        "overrun_nanousd": overrun,
        "estimated": estimated,
        "usage": usage,
        "reason": reason,
        "at": at,
    }


def _append(number: int, reservation: Row, entry: dict[str, object]) -> Program[None]:
    last = yield Statement("last_entry", {})
    previous, digest = (last[0]["entry_number"], last[0]["digest"]) if last else (0, FIRST_DIGEST)
    numbered = {**entry, "entry_number": previous + 1}
    values = {**numbered, "number": number, "digest": chain(digest, numbered, reservation)}
    yield Statement("add_entry", values)


def put_budget(budget: Budget, at: datetime, *, seed: bool) -> Program[None]:
    """Create or change a budget."""
    yield Statement("lock_ledger", {})
    yield Statement("seed_budget" if seed else "put_budget", budget_values(budget, at))


def budget_values(budget: Budget, at: datetime) -> dict[str, object]:
    """Name the columns of a budget."""
    return {
        **scope_values(budget.scope),
        "period": budget.period.value,
        "limit_nanousd": budget.limit_nanousd,
        "time_zone": budget.time_zone,
        "alert_share": float(budget.alert_share),
        "at": to_us(at),
    }


def scope_values(scope: BudgetScope) -> dict[str, object]:
    """Name the columns of a scope."""
    return {
        "kind": scope.kind.value,
        "project_id": scope.project_id,
        "assistant": scope.assistant,
        "user_name": scope.user,
    }


def acknowledge(scope: BudgetScope, at: datetime) -> Program[None]:
    """Open budgets that an overrun closed."""
    yield Statement("lock_ledger", {})
    yield Statement("acknowledge_overrun", {**scope_values(scope), "at": to_us(at)})


def balance(scope: BudgetScope, period: Period, now: datetime) -> Program[Balance | None]:
    """Read one budget's window."""
    rows = yield Statement("budget", {**scope_values(scope), "period": period.value})
    if not rows:
        return None
    windows = yield Statement("window_at", {"budget_id": rows[0]["budget_id"], "at": to_us(now)})
    return balance_of(rows[0], windows[0] if windows else None, now)


def balances(now: datetime) -> Program[Sequence[Balance]]:
    """Read all budgets' windows, the newest budgets first."""
    budgets = yield Statement("recent_budgets", {"count": MAX_BALANCES})
    windows = {row["budget_id"]: row for row in (yield Statement("windows_at", {"at": to_us(now)}))}
    return [balance_of(row, windows.get(row["budget_id"]), now) for row in budgets]


def reservation(reservation_id: str) -> Program[Reservation | None]:
    """Read one reservation."""
    rows = yield Statement("reservation_by_id", {"reservation_id": reservation_id})
    if not rows:
        return None
    return (yield from _now(rows[0]))


def reservations(
    project_id: str, state: ReservationState | None, limit: int, before: str
) -> Program[Sequence[Reservation]]:
    """List reservations, newest first.

    Raises:
        NotFound: `before` names no reservation.
    """
    edge = 2**62
    if before:
        rows = yield Statement("reservation_by_id", {"reservation_id": before})
        if not rows:
            raise NotFound(f"There is no reservation {before} to go on from.")
        edge = rows[0]["number"]
    where = {"project_id": project_id, "before": edge, "count": limit}
    match state:
        case None:
            found = yield Statement("reservations_before", where)
        case ReservationState.PENDING | ReservationState.HELD:
            found = yield Statement("open_before", {**where, "held": int(state is ReservationState.HELD)})
        case _:
            kind = "settle" if state is ReservationState.SETTLED else "void"
            found = yield Statement("ended_before", {**where, "kind": kind})
    listed: list[Reservation] = []
    for row in found:
        reservation = yield from _now(row)
        listed.append(reservation)
    return listed


def _now(row: Row) -> Program[Reservation]:
    entries = yield Statement("entries_of", {"number": row["number"]})
    return reservation_of(row, entries)
