"""The real AI server in this process, on a socket of its own, over fakes of what it needs."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import grpc.aio
from prometheus_client import CollectorRegistry

from ai_server.answering.contract import Assistant, Mode, Project
from ai_server.application import Application
from ai_server.clients import Client, ClientRegister, Scope, token_digest
from ai_server.knowledge.contract import ProjectKnowledge
from ai_server.ledger.model import BudgetSeed
from ai_server.providers import catalog
from ai_server.providers.embedded.factory import build as build_embedded
from ai_server.providers.registry import LAST_RESORT, ModelChoice, ProviderBundle, ProviderOptions, ProviderSet
from ai_server.readiness import State
from ai_server.server import Listener
from ai_server.storage.ledger_contract import Period, ScopeKind
from shared.clock import SystemClock
from shared.pb.passeur.v1 import assistant_pb2, assistant_pb2_grpc, common_pb2
from tests.fakes.documents import FakeKnowledge
from tests.fakes.embedding import ScriptedEmbedding
from tests.fakes.generation import FixedTokenizer, FlatPricing, ScriptedGenerator
from tests.fakes.state_store import MemoryStateStore

EMBEDDING = ModelChoice("fake", "words")
UP_SECONDS = 30.0
PUBLIC = common_pb2.RetrievalContext(allowed={"scope": common_pb2.Values(values=["docs"])})


def project(
    *chain: ModelChoice, project_id: str = "demo", budget: int = 1_000_000, mode: Mode = Mode.DOCUMENTS
) -> Project:
    """A project with one assistant; without a chain it answers with the last resort alone."""
    return Project(
        project_id=project_id,
        languages=("fr", "en", "es"),
        knowledge=ProjectKnowledge(project_id, (), (), ("fr", "en", "es")),
        assistants={"documents": Assistant("documents", mode, chain or (LAST_RESORT,), 1000, None)},
        default_assistant="documents",
        embedding=EMBEDDING,
        budgets=(BudgetSeed(ScopeKind.PROJECT, Period.MONTHLY, budget),),
        prompts={},
    )


def provider_set(*generators: ScriptedGenerator, pricing: FlatPricing | None = None, tokens: int = 100) -> ProviderSet:
    """Bundles of scripted generators under the model `m`, beside the last resort."""
    rows = catalog.load()
    clock = SystemClock()
    resort = build_embedded(ProviderOptions("embedded", "extractive", "generation", clock), rows)
    bundles = {(("embedded", "extractive"), "generation"): resort}
    for each in generators:
        bundles[(each.name, "m"), "generation"] = ProviderBundle(
            each, None, FixedTokenizer(tokens), pricing or FlatPricing()
        )
    embedding = ProviderBundle(None, ScriptedEmbedding(), FixedTokenizer(1), FlatPricing(metered=False))
    bundles[(EMBEDDING.provider, EMBEDDING.model), "embedding"] = embedding
    return ProviderSet(rows, bundles)


@dataclass
class Rig:
    """A running server and a way to call it."""

    application: Application
    listener: Listener
    store: MemoryStateStore
    knowledge: FakeKnowledge
    address: str
    figures: CollectorRegistry
    tokens: dict[str, str] = field(default_factory=dict)
    _channels: list[grpc.aio.Channel] = field(default_factory=list)

    def channel(self) -> grpc.aio.Channel:
        """A new connection; closed with the rig."""
        made = grpc.aio.insecure_channel(self.address)
        self._channels.append(made)
        return made

    def metadata(self, client: str = "gateway") -> tuple[tuple[str, str], ...]:
        return (("authorization", f"Bearer {self.tokens[client]}"),)

    @property
    def assistant(self) -> assistant_pb2_grpc.AssistantServiceStub:
        return assistant_pb2_grpc.AssistantServiceStub(self.channel())

    async def answer(self, question: str, **fields: object) -> assistant_pb2.AnswerResult:
        """Ask over gRPC, reading public documents."""
        request = assistant_pb2.AnswerRequest(input=asked(question, **fields))
        response = await self.assistant.Answer(request, metadata=self.metadata(), timeout=UP_SECONDS)
        return response.result

    async def wait_for(self, state: State) -> None:
        """Wait, bounded, until the board says so."""
        async with asyncio.timeout(UP_SECONDS):
            while self.application.board.report().state is not state:  # noqa: ASYNC110 - the board is polled too
                await asyncio.sleep(0.01)


def asked(question: str, **fields: object) -> assistant_pb2.AnswerInput:
    """An input that reads public documents."""
    given = {"project_id": "demo", "retrieval_contexts": [PUBLIC], **fields}
    return assistant_pb2.AnswerInput(question=question, **given)


@asynccontextmanager
async def ai_server(
    *generators: ScriptedGenerator,
    knowledge: FakeKnowledge | None = None,
    store: MemoryStateStore | None = None,
    pricing: FlatPricing | None = None,
    budget: int = 1_000_000,
    mode: Mode = Mode.DOCUMENTS,
    wait: bool = True,
    others: tuple[Project, ...] = (),
) -> AsyncIterator[Rig]:
    """Run the server; its chain is the generators in order, then the last resort."""
    knowledge, store = knowledge or FakeKnowledge(), store or MemoryStateStore()
    chain = tuple(ModelChoice(each.name, "m") for each in generators)
    mine = project(*chain, budget=budget, mode=mode)
    projects = {each.project_id: each for each in (mine, *others)}

    figures = CollectorRegistry()

    def make_knowledge(embedders):
        knowledge.embedder = embedders["demo"]
        return knowledge

    application = Application(
        store, make_knowledge, projects, provider_set(*generators, pricing=pricing), SystemClock(), figures
    )
    tokens = {
        "gateway": "gateway-token",
        "other": "other-token",
        "operator": "operator-token",
        "narrow": "narrow-token",
    }
    scopes = {
        "gateway": {Scope.ANSWER},
        "other": {Scope.ANSWER},
        "operator": {Scope.ADMIN},
        "narrow": {Scope.BUDGETS},
    }
    clients = [
        Client(name, token_digest(token), frozenset({"demo"}), frozenset(scopes[name]))
        for name, token in tokens.items()
    ]
    listener = Listener(application, ClientRegister(clients), figures)
    with tempfile.TemporaryDirectory(prefix="passeur-test-") as folder:
        address = f"unix:{Path(folder) / 'ai.sock'}"
        await listener.listen(address, None)
        rig = Rig(application, listener, store, knowledge, address, figures, tokens)
        application.launch()
        try:
            if wait:
                await application.ready()
            yield rig
        finally:
            for each in rig._channels:
                await each.close()
            await application.drain(0)
            await listener.close()
            await application.close()
