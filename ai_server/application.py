"""The server's parts put together: how they depend on each other, and in what order they come and go."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from ai_server.answering.intent import RoutingDetector
from ai_server.answering.metrics import CallMetrics, TurnMetrics
from ai_server.answering.service import TurnService
from ai_server.answering.work import Tools
from ai_server.connectors.service import Connectors
from ai_server.ledger.meter import LedgerMeter
from ai_server.ledger.metrics import LedgerMetrics
from ai_server.ledger.service import Ledger
from ai_server.ledger.sweeper import Sweeper
from ai_server.providers.breaker import BreakerState
from ai_server.providers.fallback import Chains
from ai_server.providers.metered_embedding import MeteredEmbedder
from ai_server.providers.registry import ModelChoice
from ai_server.readiness import DEPENDENCIES, EMBEDDING, GENERATION, RETRIEVAL, STORE, Board, State
from ai_server.supervision import REQUEST_WAIT_S, Dependency, Health, Supervisor
from shared import logs
from shared.errors import InvalidRequest, NotReady, PasseurError, SettingsError
from shared.ids import new_id
from shared.metrics import gauge

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from prometheus_client import CollectorRegistry

    from ai_server.answering.contract import Project
    from ai_server.knowledge.contract import Embedder
    from ai_server.knowledge.service import KnowledgeService
    from ai_server.providers.account import CallRecord
    from ai_server.providers.contract import GenerationProvider
    from ai_server.providers.registry import ModelKey, ProviderBundle, ProviderSet
    from ai_server.readiness import Report
    from ai_server.storage.contract import StateStore
    from shared.clock import Clock

SETTLE_SECONDS: Final = 5.0
"""Longest that the last settlements may take once no turn runs."""

REMAKE_SECONDS: Final = 2.0
"""Pause between attempts to make a provider that could not be made."""

LEVELS: Final = {State.READY: 1.0, State.DEGRADED: 0.5, State.DOWN: 0.0}
LOG = logs.logger(__name__)


class Application:
    """Implements `Services`. `launch` once, `close` last."""

    def __init__(
        self,
        store: StateStore,
        make_knowledge: Callable[[Mapping[str, Embedder]], KnowledgeService],
        projects: Mapping[str, Project],
        providers: ProviderSet,
        clock: Clock,
        metrics: CollectorRegistry,
        make_embedding: Callable[[ModelChoice], ProviderBundle] | None = None,
    ) -> None:
        """Wire up; nothing is opened. `make_knowledge` is given the metered embedder of each project.

        `make_embedding` makes models that no settings name, for a change of model; None: there are none.
        """
        self._projects, self._providers, self._clock = projects, providers, clock
        self._board = Board(clock, DEPENDENCIES)
        self._store = store
        ledger_metrics = LedgerMetrics(metrics)
        self._ledger = Ledger(self._store, clock, ledger_metrics)
        self._meter = LedgerMeter(self._ledger, clock)
        self._calls = CallMetrics(metrics)
        self._chains = Chains(providers, meter=self._meter, clock=clock, observe=self._observe)
        self._make_embedding = make_embedding
        self._further: dict[ModelChoice, ProviderBundle] = {}
        self._knowledge = make_knowledge(self._embedders())
        self._connectors = Connectors({each.project_id: each.connectors for each in projects.values()})
        self._turns = TurnService(
            Tools(self._knowledge, self._chains, RoutingDetector(), clock, self._connectors),
            projects,
            self._store,
            clock,
            owner=new_id(clock.now()),
            admit=self.admit,
            metrics=TurnMetrics(metrics),
        )
        self._sweeper = Sweeper(self._store, self._ledger, clock, ledger_metrics, self._turns.recover)
        self._sweeping: asyncio.Task[None] | None = None
        self._opened = False
        self._unmade: dict[ModelKey, GenerationProvider] = {}
        self._next_making = 0.0
        self._supervisor = Supervisor(self._board, self._dependencies())
        self._show_on(metrics)

    # ---------------------------------------------------------------- Services

    @property
    def clock(self) -> Clock:
        """The process's clock."""
        return self._clock

    @property
    def projects(self) -> Mapping[str, Project]:
        """Projects by id."""
        return self._projects

    @property
    def providers(self) -> ProviderSet:
        """Configured providers and the catalogue."""
        return self._providers

    @property
    def board(self) -> Board:
        """Readiness."""
        return self._board

    def resting(self) -> Mapping[str, str]:
        """Providers that cannot be used now, each with the reason."""
        return dict(self._chains.resting())

    def admit(self) -> None:
        """Refuse new work while down or draining."""
        report = self._board.report()
        if report.state is State.DOWN:
            raise NotReady("The AI server takes no new work now: " + "; ".join(report.reasons))

    async def ready(self, wait_s: float = REQUEST_WAIT_S) -> None:
        """Wait, at most `wait_s` for each, until everything that a turn needs was started."""
        for name in DEPENDENCIES:
            await self._supervisor.require(name, wait_s)

    async def store(self) -> StateStore:
        """The open state store."""
        await self._supervisor.require(STORE)
        return self._store

    async def ledger(self) -> Ledger:
        """Money."""
        await self._supervisor.require(STORE)
        return self._ledger

    async def knowledge(self) -> KnowledgeService:
        """Documents."""
        await self._supervisor.require(RETRIEVAL)
        return self._knowledge

    async def turns(self) -> TurnService:
        """Answers."""
        await self._supervisor.require(STORE)
        return self._turns

    # ---------------------------------------------------------------- life

    def launch(self) -> None:
        """Begin to bring everything up, in the background."""
        self._supervisor.launch()

    async def drain(self, grace_s: float) -> None:
        """Take no new work, and let what runs end within the grace period."""
        self._board.drain()
        await self._turns.drain(grace_s)

    async def close(self) -> None:
        """Settle what is left and close everything, the store last. Idempotent."""
        await self._supervisor.stop()
        left = await self._chains.settle_all(SETTLE_SECONDS) + await self._meter.drain(SETTLE_SECONDS)
        if left:
            LOG.warning("calls not settled; they will be held at the next start", count=left)
        if self._sweeping is not None:
            self._sweeping.cancel()
            await asyncio.gather(self._sweeping, return_exceptions=True)
        await self._connectors.close()
        await self._knowledge.close()
        for bundle in self._further.values():
            if bundle.embedding is not None:
                await bundle.embedding.close()
        await self._providers.close()
        await self._store.close()

    # ---------------------------------------------------------------- models

    async def embedder(self, provider: str, model: str) -> Embedder:
        """Give the metered embedder of a model, which is made if no settings name it.

        Raises:
            InvalidRequest: there is no such model, or it lacks a key, a price or a package.
        """
        choice = ModelChoice(provider, model)
        bundle = self._further.get(choice) or self._configured(choice)
        if bundle is None:
            if self._make_embedding is None:
                raise InvalidRequest.of("embedding_model", f"`{provider}/{model}` is not in the settings")
            try:
                bundle = self._further[choice] = self._make_embedding(choice)
            except SettingsError as error:
                raise InvalidRequest.of("embedding_model", "; ".join(error.faults)) from error
        assert bundle.embedding is not None
        await bundle.embedding.initialize()
        return self._metered(bundle)

    def _configured(self, choice: ModelChoice) -> ProviderBundle | None:
        key = ((choice.provider, choice.model), "embedding")
        return next((bundle for name, bundle in self._providers.bundles().items() if name == key), None)

    def _metered(self, bundle: ProviderBundle) -> Embedder:
        return MeteredEmbedder(bundle, meter=self._meter, clock=self._clock, observe=self._observe)

    # ---------------------------------------------------------------- dependencies

    def _embedders(self) -> dict[str, Embedder]:
        return {
            project_id: self._metered(self._providers.embedding(project.embedding))
            for project_id, project in self._projects.items()
        }

    def _dependencies(self) -> list[Dependency]:
        return [
            Dependency(STORE, self._open_store, self._probe_store),
            Dependency(EMBEDDING, self._start_embedding, _well),
            Dependency(RETRIEVAL, self._knowledge.start, self._probe_retrieval, after=(STORE, EMBEDDING)),
            Dependency(GENERATION, self._start_generation, self._probe_generation),
        ]

    async def _open_store(self) -> None:
        """Open the store, and finish what a process that died left: money held, budgets seeded, turns told."""
        if not self._opened:
            await self._store.open()
            self._opened = True
        held = await self._sweeper.recover()
        for project_id, project in self._projects.items():
            await self._ledger.seed(project_id, project.budgets)
        interrupted = await self._turns.recover()
        if held or interrupted:
            LOG.warning("the last process died at work", reservations_held=held, turns_interrupted=interrupted)
        self._sweeping = asyncio.create_task(self._sweeper.run(), name="sweeper")

    async def _probe_store(self) -> Health:
        await self._store.probe()
        return Health(State.READY)

    async def _start_embedding(self) -> None:
        for bundle in self._providers.bundles().values():
            if bundle.embedding is not None:
                await bundle.embedding.initialize()

    async def _probe_retrieval(self) -> Health:
        seen = self._knowledge.state()
        return Health(State(seen.state), seen.reason)

    async def _start_generation(self) -> None:
        """Make every generator; one that cannot be made is left alone, and the chains go on without it."""
        for (key, _), bundle in self._providers.bundles().items():
            if bundle.generation is not None:
                self._unmade[key] = bundle.generation
        await self._make_generators()

    async def _make_generators(self) -> None:
        self._next_making = self._clock.monotonic() + REMAKE_SECONDS
        for key, generator in list(self._unmade.items()):
            breaker = self._chains.breaker(key[0])
            try:
                await generator.initialize()
            except PasseurError as error:
                breaker.block(error.message)
                continue
            del self._unmade[key]
            if not any(provider == key[0] for provider, _ in self._unmade):
                breaker.succeeded()

    async def _probe_generation(self) -> Health:
        if self._unmade and self._clock.monotonic() >= self._next_making:
            await self._make_generators()
        for name, breaker in self._chains.breakers().items():
            self._breakers.labels(name).set(breaker.state is not BreakerState.CLOSED)
        reasons = [f"{name} is left alone: {reason}" for name, reason in self.resting().items()]
        return Health(State.DEGRADED, "; ".join(reasons)) if reasons else Health(State.READY)

    # ---------------------------------------------------------------- watching

    def _observe(self, call: CallRecord) -> None:
        self._calls.observe(call)
        self._turns.observe(call)

    def _show_on(self, metrics: CollectorRegistry) -> None:
        state = gauge(metrics, "passeur_ai_dependency_state", "1 ready, 0.5 degraded, 0 down", ["dependency"])
        whole = gauge(metrics, "passeur_ai_state", "1 ready, 0.5 degraded, 0 down (draining included)")
        self._breakers = gauge(metrics, "passeur_ai_provider_resting", "1 while a provider is left alone", ["provider"])

        def show(report: Report) -> None:
            whole.set(LEVELS[report.state])
            for name, standing in report.dependencies.items():
                state.labels(name).set(LEVELS[standing.state])

        self._board.subscribe(show)


async def _well() -> Health:
    """Say ready of what lives in this process once it was started."""
    return Health(State.READY)
