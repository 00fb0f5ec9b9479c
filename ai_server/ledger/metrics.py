"""Money in Prometheus. Names and labels are listed in docs/budgets.md; users are summed, never a label."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from prometheus_client import REGISTRY, Counter
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from ai_server.ledger.model import alerts
from ai_server.storage.ledger_contract import ReservationState
from shared.money import NANO_PER_USD

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prometheus_client import CollectorRegistry
    from prometheus_client.metrics_core import Metric

    from ai_server.storage.ledger_contract import Balance, Reservation

LABELS: Final = ("scope", "project", "assistant", "period")
AMOUNTS: Final = {
    "limit": "What the windows of now may take",
    "settled": "What was settled in the windows of now",
    "open_hold": "What pending and held reservations take from the windows of now",
    "held": "What held reservations take: unknown outcomes that wait for reconciliation",
    "estimated": "What was settled at the ceiling, because the provider did not say",
}
Labels = tuple[str, str, str, str]


class LedgerMetrics(Collector):
    """`LedgerWatcher` and `BalanceView` in one: counts what happens, shows what the sweeper read last."""

    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:
        """Register under `registry`."""
        self._balances: Sequence[Balance] = ()
        self._refusals = Counter(
            "passeur_ledger_refusals", "Calls that no budget had room for", ["project"], registry=registry
        )
        self._resolved = Counter(
            "passeur_ledger_resolved", "Reservations that ended", ["project", "outcome"], registry=registry
        )
        self._overruns = Counter(
            "passeur_ledger_overruns", "Calls that cost more than their ceiling", ["project"], registry=registry
        )
        registry.register(self)

    def refused(self, project_id: str) -> None:
        """Count a refusal."""
        self._refusals.labels(project_id).inc()

    def resolved(self, reservation: Reservation) -> None:
        """Count an ending."""
        outcome = "estimated" if reservation.estimated else reservation.state.value
        self._resolved.labels(reservation.new.project_id, outcome).inc()
        if reservation.overrun_nanousd and reservation.state is ReservationState.SETTLED:
            self._overruns.labels(reservation.new.project_id).inc()

    def show(self, balances: Sequence[Balance]) -> None:
        """Show these from now on."""
        self._balances = balances

    def collect(self) -> Iterator[Metric]:
        """Give the gauges of the balances shown last."""
        groups: defaultdict[Labels, list[Balance]] = defaultdict(list)
        for balance in self._balances:
            scope = balance.budget.scope
            labels = (scope.kind.value, scope.project_id, scope.assistant, balance.budget.period.value)
            groups[labels].append(balance)
        for name, text in AMOUNTS.items():
            yield _gauge(f"budget_{name}_usd", text, {key: _sum(group, name) for key, group in groups.items()})
        warned = {key: sum(map(alerts, group)) for key, group in groups.items()}
        yield _gauge("budget_alerts", "Budgets at or past their alert share", warned)
        closed = {key: sum(each.closed_by_overrun for each in group) for key, group in groups.items()}
        yield _gauge("budget_closed_by_overrun", "Budgets that wait for an operator to acknowledge an overrun", closed)
        spent = {key: sum(each.available_nanousd <= 0 for each in group) for key, group in groups.items()}
        yield _gauge("budget_exhausted", "Budgets without room in the window of now", spent)


def _sum(group: Sequence[Balance], name: str) -> float:
    if name == "limit":
        return sum(each.budget.limit_nanousd for each in group) / NANO_PER_USD
    return sum(getattr(each, f"{name}_nanousd") for each in group) / NANO_PER_USD


def _gauge(name: str, text: str, values: dict[Labels, float] | dict[Labels, int]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"passeur_{name}", text, labels=LABELS)
    for labels, value in values.items():
        family.add_metric(labels, value)
    return family
