"""BudgetsService: other backends' paid calls under the same budgets, and the operator's view of money."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from ai_server.clients import Scope
from ai_server.ledger.contract import Payer, Quote
from ai_server.ledger.pricing_audit import cost_findings
from ai_server.rpc import budget_messages as messages
from ai_server.rpc.budget_prices import possible_costs
from ai_server.rpc.caller import client_for, current
from ai_server.rpc.offer import Offer
from ai_server.storage.ledger_contract import BudgetScope, ScopeKind
from ai_server.storage.rules import ANONYMOUS
from shared.errors import Forbidden, InvalidRequest, NotFound
from shared.pb.passeur.v1 import budgets_pb2, budgets_pb2_grpc

if TYPE_CHECKING:
    from ai_server.clients import Client
    from ai_server.ledger.service import Ledger
    from ai_server.services import Services
    from ai_server.storage.ledger_contract import Reservation

DEFAULT_PAGE: Final = 100
MAX_PAGE: Final = 1_000
MAX_RECONCILIATIONS: Final = 1_000


class BudgetsServicer(budgets_pb2_grpc.BudgetsServiceServicer):
    """Converts, checks who may see what, and leaves the rest to the ledger."""

    def __init__(self, services: Services) -> None:
        """Take the doors."""
        self._services = services

    async def Reserve(self, request: Any, context: Any) -> budgets_pb2.ReserveResponse:
        """Hold money before a backend's own paid call."""
        client = client_for(request.project_id)
        row = self._services.providers.catalogue.find(request.provider, request.model)
        free = row is not None and not row.metered
        if not free and request.ceiling_nanousd <= 0:
            raise InvalidRequest.of("ceiling_nanousd", "must be above 0: only models listed as free may cost nothing")
        quote = Quote(
            operation=request.operation,
            provider=request.provider,
            model=request.model,
            service_tier=request.service_tier,
            price_version=request.price_version,
            ceiling_nanousd=request.ceiling_nanousd,
            metered=request.ceiling_nanousd > 0,
        )
        payer = Payer(request.project_id, request.assistant, _user(client, request.user))
        key = messages.key_of(client.name, request.idempotency_key)
        self._services.admit()
        reserved = await (await self._services.ledger()).reserve(key, payer, quote)
        return budgets_pb2.ReserveResponse(reservation=messages.reservation(reserved))

    async def Settle(self, request: Any, context: Any) -> budgets_pb2.SettleResponse:
        """End a reservation of this client at its cost."""
        ledger = await self._services.ledger()
        await self._own(ledger, request.reservation_id)
        usage = messages.usage(request.usage) if request.HasField("usage") else None
        settled = await ledger.settle(
            request.reservation_id, request.cost_nanousd, estimated=request.estimated, usage=usage
        )
        return budgets_pb2.SettleResponse(reservation=messages.reservation(settled))

    async def Void(self, request: Any, context: Any) -> budgets_pb2.VoidResponse:
        """End a reservation of this client without cost."""
        ledger = await self._services.ledger()
        await self._own(ledger, request.reservation_id)
        voided = await ledger.void(request.reservation_id, request.reason)
        return budgets_pb2.VoidResponse(reservation=messages.reservation(voided))

    @staticmethod
    async def _own(ledger: Ledger, reservation_id: str) -> Reservation:
        """Find a reservation that this client made; all others, a turn's among them, are not there for it."""
        found = await ledger.reservation(reservation_id)
        if not found.new.key.startswith(f"{messages.KEY_PREFIX}/{current().client.name}/"):
            raise NotFound(f"There is no reservation {reservation_id}.")
        return found

    async def GetBudget(self, request: Any, context: Any) -> budgets_pb2.GetBudgetResponse:
        """Tell a budget's window."""
        scope = _visible(messages.scope(request.scope))
        balance = await (await self._services.ledger()).balance(scope, messages.period(request.period))
        return budgets_pb2.GetBudgetResponse(balance=messages.balance(balance))

    async def SetBudget(self, request: Any, context: Any) -> budgets_pb2.SetBudgetResponse:
        """Create or change a budget; one of a project that is not there would hold nothing."""
        budget = messages.budget(request.budget)
        budget = replace(budget, scope=_visible(budget.scope))
        project = budget.scope.project_id
        if budget.scope.kind is not ScopeKind.GLOBAL and project not in self._services.projects:
            raise NotFound(f"There is no project `{project}`: name one of the projects folder.")
        balance = await (await self._services.ledger()).set_budget(budget)
        return budgets_pb2.SetBudgetResponse(balance=messages.balance(balance))

    async def ListReservations(self, request: Any, context: Any) -> budgets_pb2.ListReservationsResponse:
        """List reservations, newest first."""
        if request.project_id:
            client_for(request.project_id)
        else:
            current().client.require(Scope.ADMIN)
        size = request.page_size or DEFAULT_PAGE
        if not 1 <= size <= MAX_PAGE:
            raise InvalidRequest.of("page_size", f"must be 1 to {MAX_PAGE}, or 0 for {DEFAULT_PAGE}")
        state = messages.state(request.state)
        ledger = await self._services.ledger()
        found = await ledger.reservations(request.project_id, state, size, request.page_token)
        return budgets_pb2.ListReservationsResponse(
            reservations=map(messages.reservation, found),
            next_page_token=found[-1].new.reservation_id if len(found) == size else "",
        )

    async def Reconcile(self, request: Any, context: Any) -> budgets_pb2.ReconcileResponse:
        """Resolve held reservations one by one; the first that cannot be ends the call, those before it stay."""
        if len(request.reconciliations) > MAX_RECONCILIATIONS:
            raise InvalidRequest.of("reconciliations", f"at most {MAX_RECONCILIATIONS} at once")
        known = [messages.reconciliation(each) for each in request.reconciliations]
        scopes = [_visible(messages.scope(each)) for each in request.acknowledged_overruns]
        ledger = await self._services.ledger()
        ended = []
        for each in known:
            client_for((await ledger.reservation(each.reservation_id)).new.project_id)
            ended.append(messages.reservation(await ledger.reconcile(each)))
        for scope in scopes:
            await ledger.acknowledge(scope)
        return budgets_pb2.ReconcileResponse(reservations=ended)

    async def Audit(self, request: Any, context: Any) -> budgets_pb2.BudgetsServiceAuditResponse:
        """Recompute balances from entries, and costs from prices."""
        ledger = await self._services.ledger()
        report = await ledger.audit()
        catalogue = self._services.providers.catalogue
        costs = await cost_findings(ledger, lambda each: possible_costs(catalogue, each))
        findings = [*report.findings, *costs]
        return budgets_pb2.BudgetsServiceAuditResponse(
            entry_count=report.entry_count,
            reservation_count=report.reservation_count,
            clean=not findings,
            findings=findings,
        )


def _user(client: Client, name: str) -> str:
    """Name a user as turns do: namespaced by client, all anonymous visitors of a project as one."""
    return name if name in {"", ANONYMOUS} else f"{client.name}/{name}"


def _visible(scope: BudgetScope) -> BudgetScope:
    """Refuse budgets that are not this client's to see; a user's name may leave out the client's own.

    Raises:
        Forbidden: the whole installation's, another project's, or another client's user's, without `admin`.
    """
    client = current().client
    admin = Scope.ADMIN in client.scopes
    if scope.kind is ScopeKind.GLOBAL:
        client.require(Scope.ADMIN)
        return scope
    client.require_project(scope.project_id)
    if scope.kind is not ScopeKind.USER or scope.user == ANONYMOUS:
        return scope
    if "/" not in scope.user:
        return BudgetScope(ScopeKind.USER, scope.project_id, user=_user(client, scope.user))
    if not admin and not scope.user.startswith(f"{client.name}/"):
        raise Forbidden("This client may not see the budgets of another client's users.")
    return scope


OFFER: Final = Offer(
    descriptor=budgets_pb2.DESCRIPTOR.services_by_name["BudgetsService"],
    servicer=BudgetsServicer,
    add=budgets_pb2_grpc.add_BudgetsServiceServicer_to_server,
    scope=Scope.BUDGETS,
    exceptions={"SetBudget": Scope.ADMIN, "Reconcile": Scope.ADMIN, "Audit": Scope.ADMIN},
)
