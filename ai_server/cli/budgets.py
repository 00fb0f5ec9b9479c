"""`budgets`: what may be spent, what was, what waits for an invoice, and whether it all adds up."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

import grpc
import grpc.aio

from shared.money import parse_usd, text_usd
from shared.pb.passeur.v1 import budgets_pb2, budgets_pb2_grpc

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator

    from ai_server.cli.command import CommandContext
    from ai_server.cli.connection import Connection

NAME: Final = "budgets"
HELP: Final = "list, show and set budgets; reconcile held reservations; audit the ledger"
PERIODS: Final = {"daily": budgets_pb2.BUDGET_PERIOD_DAILY, "monthly": budgets_pb2.BUDGET_PERIOD_MONTHLY}
STATES: Final = ("pending", "settled", "voided", "held", "all")
PAGE: Final = 500
DEFAULT_ALERT: Final = 0.8


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the actions."""
    actions = parser.add_subparsers(dest="action", required=True)
    listing = actions.add_parser("list", help="reservations, held ones unless another state is asked for")
    listing.add_argument("--project", default="", help="project id (default: all)")
    listing.add_argument("--state", choices=STATES, default="held")
    listing.add_argument("--limit", type=int, default=100, help="most rows (default: 100)")
    show = actions.add_parser("show", help="one budget with its window")
    _add_scope(show)
    setting = actions.add_parser("set", help="create or change a budget")
    _add_scope(setting)
    setting.add_argument("--limit-usd", required=True, help="dollars for each window, such as 20.00; 0 closes it")
    setting.add_argument("--zone", help="IANA time zone whose midnight rolls it (default: what it has, or UTC)")
    setting.add_argument("--alert-share", type=float, help="0 for none (default: what it has, or 0.8)")
    _add_reconcile(actions.add_parser("reconcile", help="resolve held reservations, acknowledge overruns"))
    actions.add_parser("audit", help="recompute every balance and cost; exits 1 when something differs")


def _add_scope(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--project", default="", help="project id; leave it out for the whole installation")
    parser.add_argument("--assistant", default="", help="an assistant of the project")
    parser.add_argument("--user", default="", help="a user of the project (client/name), or anonymous")
    parser.add_argument("--period", choices=PERIODS, default="monthly")


def _add_reconcile(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("reservations", nargs="*", metavar="reservation", help="ids, as `budgets list` shows them")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--cost-usd", help="what the invoice says that each of them cost")
    how.add_argument("--void", action="store_true", help="the invoice does not show them")
    how.add_argument("--at-ceiling", action="store_true", help="nobody knows: charge what was held")
    parser.add_argument("--all-held", action="store_true", help="every held reservation of --project, too")
    parser.add_argument("--acknowledge", action="store_true", help="open the budgets that an overrun closed")
    parser.add_argument("--project", default="")
    parser.add_argument("--assistant", default="")
    parser.add_argument("--user", default="")


async def run(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Ask the running server and print."""
    action = {"list": _list, "show": _show, "set": _set, "reconcile": _reconcile, "audit": _audit}[arguments.action]
    async with context.connect() as connection:
        return await action(budgets_pb2_grpc.BudgetsServiceStub(connection.channel), arguments, connection)


def _scope(arguments: argparse.Namespace) -> budgets_pb2.BudgetScope:
    project = arguments.project
    if arguments.user:
        return budgets_pb2.BudgetScope(user=budgets_pb2.UserScope(project_id=project, user=arguments.user))
    if arguments.assistant:
        inner = budgets_pb2.AssistantScope(project_id=project, assistant=arguments.assistant)
        return budgets_pb2.BudgetScope(assistant=inner)
    if project:
        return budgets_pb2.BudgetScope(project_id=project)
    message = budgets_pb2.BudgetScope()
    setattr(message, "global", True)  # a word of Python, so it cannot be a keyword argument
    return message


async def _found(
    stub: budgets_pb2_grpc.BudgetsServiceStub, project: str, state: str, limit: int, connection: Connection
) -> AsyncIterator[budgets_pb2.Reservation]:
    named = "unspecified" if state == "all" else state
    number: Any = budgets_pb2.ReservationState.Value(f"RESERVATION_STATE_{named.upper()}")
    token, left = "", limit
    while left > 0:
        request = budgets_pb2.ListReservationsRequest(
            project_id=project, state=number, page_size=min(PAGE, left), page_token=token
        )
        page = await stub.ListReservations(request, metadata=connection.metadata)
        for each in page.reservations:
            yield each
        left -= len(page.reservations)
        token = page.next_page_token
        if not token:
            return


async def _list(
    stub: budgets_pb2_grpc.BudgetsServiceStub, arguments: argparse.Namespace, connection: Connection
) -> int:
    found = 0
    async for each in _found(stub, arguments.project, arguments.state, arguments.limit, connection):
        found += 1
        print(_told(each))
    if not found:
        whose = f"project {arguments.project}" if arguments.project else "any project"
        state = "" if arguments.state == "all" else f"{arguments.state} "
        print(f"no {state}reservations of {whose}", file=sys.stderr)
    return 0


def _told(each: budgets_pb2.Reservation) -> str:
    state = budgets_pb2.ReservationState.Name(each.state).removeprefix("RESERVATION_STATE_").lower()
    cost = text_usd(each.cost_nanousd) if each.HasField("cost_nanousd") else "-"
    flags = " estimated" * each.estimated + f" overrun {text_usd(each.overrun_nanousd)}" * bool(each.overrun_nanousd)
    return (
        f"{each.reservation_id}\t{state}\t{each.created_at.ToJsonString()}\t{each.project_id}\t"
        f"{each.provider}/{each.model}\t{each.operation}\tceiling {text_usd(each.ceiling_nanousd)}\tcost {cost}{flags}"
    )


async def _show(
    stub: budgets_pb2_grpc.BudgetsServiceStub, arguments: argparse.Namespace, connection: Connection
) -> int:
    request = budgets_pb2.GetBudgetRequest(scope=_scope(arguments), period=PERIODS[arguments.period])
    _print_balance((await stub.GetBudget(request, metadata=connection.metadata)).balance)
    return 0


def _print_balance(balance: budgets_pb2.BudgetBalance) -> None:
    budget = balance.budget
    rows = {
        "limit": text_usd(budget.limit_nanousd),
        "settled": text_usd(balance.settled_nanousd) + f" (estimated {text_usd(balance.estimated_nanousd)})",
        "open holds": text_usd(balance.open_hold_nanousd) + f" (held {text_usd(balance.held_nanousd)})",
        "available": text_usd(balance.available_nanousd),
        "window": f"{balance.window_start.ToJsonString()} to {balance.resets_at.ToJsonString()} ({budget.time_zone})",
        "alert": f"at {budget.alert_share:.0%} of the limit" + (", reached" if balance.alert else ""),
        "closed": "by an overrun: acknowledge it with `budgets reconcile --acknowledge`"
        if balance.closed_by_overrun
        else "no",
    }
    for name, text in rows.items():
        print(f"{name:11} {text}")


async def _set(stub: budgets_pb2_grpc.BudgetsServiceStub, arguments: argparse.Namespace, connection: Connection) -> int:
    try:
        limit = parse_usd(arguments.limit_usd)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    zone, alert = await _kept(stub, arguments, connection)
    budget = budgets_pb2.Budget(
        scope=_scope(arguments),
        period=PERIODS[arguments.period],
        limit_nanousd=limit,
        time_zone=zone if arguments.zone is None else arguments.zone,
        alert_share=alert if arguments.alert_share is None else arguments.alert_share,
    )
    response = await stub.SetBudget(budgets_pb2.SetBudgetRequest(budget=budget), metadata=connection.metadata)
    _print_balance(response.balance)
    return 0


async def _kept(
    stub: budgets_pb2_grpc.BudgetsServiceStub, arguments: argparse.Namespace, connection: Connection
) -> tuple[str, float]:
    """Give the zone and the alert that the budget has; those of a new one where there is none."""
    request = budgets_pb2.GetBudgetRequest(scope=_scope(arguments), period=PERIODS[arguments.period])
    try:
        budget = (await stub.GetBudget(request, metadata=connection.metadata)).balance.budget
    except grpc.aio.AioRpcError as error:
        if error.code() is not grpc.StatusCode.NOT_FOUND:
            raise
        return "UTC", DEFAULT_ALERT
    return budget.time_zone, budget.alert_share


async def _reconcile(
    stub: budgets_pb2_grpc.BudgetsServiceStub, arguments: argparse.Namespace, connection: Connection
) -> int:
    identities = list(arguments.reservations)
    if arguments.all_held:
        held = _found(stub, arguments.project, "held", sys.maxsize, connection)
        identities += [each.reservation_id async for each in held]
    try:
        known = [_resolution(each, arguments) for each in identities]
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    scopes = [_scope(arguments)] if arguments.acknowledge else []
    for start in range(0, max(1, len(known)), PAGE):
        request = budgets_pb2.ReconcileRequest(
            reconciliations=known[start : start + PAGE], acknowledged_overruns=scopes if start == 0 else []
        )
        response = await stub.Reconcile(request, metadata=connection.metadata)
        for each in response.reservations:
            print(_told(each))
    return 0


def _resolution(identity: str, arguments: argparse.Namespace) -> budgets_pb2.Reconciliation:
    if arguments.cost_usd is not None:
        return budgets_pb2.Reconciliation(reservation_id=identity, cost_nanousd=parse_usd(arguments.cost_usd))
    if arguments.void:
        return budgets_pb2.Reconciliation(reservation_id=identity, void=True)
    if arguments.at_ceiling:
        return budgets_pb2.Reconciliation(reservation_id=identity, at_ceiling=True)
    raise ValueError("say how to resolve them: --cost-usd, --void or --at-ceiling")


async def _audit(stub: budgets_pb2_grpc.BudgetsServiceStub, _: argparse.Namespace, connection: Connection) -> int:
    report = await stub.Audit(budgets_pb2.BudgetsServiceAuditRequest(), metadata=connection.metadata)
    for finding in report.findings:
        print(finding)
    verdict = "everything adds up" if report.clean else f"{len(report.findings)} differences"
    print(f"{report.entry_count} entries, {report.reservation_count} reservations: {verdict}")
    return 0 if report.clean else 1
