"""Builds the server from its settings, runs it, and takes it down."""

from __future__ import annotations

import asyncio
import signal
import socket
import tempfile
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import grpc
from prometheus_client import CollectorRegistry

from ai_server import projects as project_files
from ai_server import settings as setting_files
from ai_server.application import Application
from ai_server.cli.command import CommandContext
from ai_server.cli.connection import Unreachable, connected
from ai_server.clients import (
    ALL_PROJECTS,
    CLIENTS_FILE,
    Client,
    ClientFile,
    ClientRegister,
    Scope,
    load_clients,
    token_digest,
)
from ai_server.knowledge.index import ChromaIndex, ChromaServer
from ai_server.knowledge.server_child import ServerAddress
from ai_server.knowledge.service import KnowledgeService
from ai_server.providers import catalog, registry
from ai_server.server import Listener
from ai_server.settings import UNIX
from ai_server.storage.ledger_contract import ScopeKind
from ai_server.storage.sqlite import SqliteStateStore
from shared import env, logs, memory, metrics, private
from shared.addresses import split_address
from shared.clock import SystemClock
from shared.errors import SettingsError
from shared.ids import new_token

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from pydantic import SecretStr

    from ai_server.answering.contract import Project
    from ai_server.cli.connection import Connection
    from ai_server.knowledge.contract import Embedder
    from ai_server.knowledge.durable import DurableIndex
    from ai_server.settings import AiSettings
    from ai_server.storage.contract import StateStore
    from shared.clock import Clock

T = TypeVar("T")

UP_SECONDS: Final = 60.0
"""Longest that an operator command waits for a private server of its own."""

LAST_SECOND: Final = 1.0
"""Of the grace period, what is kept for streams to read their last event."""

LOG = logs.logger(__name__)


@dataclass(frozen=True, slots=True)
class Plan:
    """A checked installation: everything that can be wrong before anything is opened was right."""

    settings: AiSettings
    projects: Mapping[str, Project]
    providers: registry.ProviderSet
    clients: tuple[Client, ...]


# ---------------------------------------------------------------- checking


def check(*, listens: bool = False) -> Plan:
    """Check settings, projects, providers, prices, client records and the data folder; with `listens` the
    addresses too.

    Raises:
        SettingsError: every fault of all of them at once.
    """
    faults: list[str] = []

    def tried(make: Callable[[], T]) -> T | None:
        try:
            return make()
        except SettingsError as error:
            faults.extend(each for each in error.faults if each not in faults)
            return None

    settings = tried(setting_files.read)
    own = setting_files.own_dir()
    projects = project_files.load_projects(setting_files.projects_dir(), own / "managed", faults)
    catalogue = tried(catalog.load)
    clients = tried(lambda: load_clients(own / CLIENTS_FILE))
    tried(lambda: _check_folder(own))
    providers = None
    if catalogue is not None:
        options = setting_files.provider_options()
        providers = tried(lambda: _providers(projects, options, catalogue))
        tried(lambda: _check_budgets(projects, providers, catalogue))
    if listens and settings is not None:
        tried(lambda: _check_addresses(settings))
    if faults or settings is None or providers is None or clients is None:
        raise SettingsError(faults)
    return Plan(settings, projects, providers, clients)


def check_all() -> None:
    """Check everything that `check` does, and what a server would start in spite of.

    Raises:
        SettingsError: every fault at once.
    """
    faults: list[str] = []
    try:
        check()
    except SettingsError as error:
        faults += error.faults
    read = project_files.load_projects(setting_files.projects_dir(), setting_files.own_dir() / "managed", [])
    faults += project_files.missing_folders(read.values())
    if faults:
        raise SettingsError(faults)


def _providers(
    projects: Mapping[str, Project],
    options: Mapping[str, Mapping[str, str | SecretStr]],
    catalogue: catalog.Catalog,
) -> registry.ProviderSet:
    chains = [choice for each in projects.values() for choice in each.generating()]
    return registry.build(chains, [each.embedding for each in projects.values()], options, catalogue, SystemClock())


def _check_budgets(
    projects: Mapping[str, Project], providers: registry.ProviderSet | None, catalogue: catalog.Catalog
) -> None:
    """Refuse metered models in a project without a budget of its own; what they cost is known without their keys."""

    def metered(choice: registry.ModelChoice, purpose: str) -> bool:
        if providers is None:
            row = catalogue.find(choice.provider, choice.model)
            return row is not None and row.metered
        made = providers.embedding(choice) if purpose == "embedding" else providers.generation(choice)
        return made.pricing.metered

    faults: list[str] = []
    for project in projects.values():
        if any(each.kind is ScopeKind.PROJECT for each in project.budgets):
            continue
        chosen = [(each, "generation") for each in project.generating()]
        if any(metered(*each) for each in [*chosen, (project.embedding, "embedding")]):
            where = f"projects/{project.project_id}/{project_files.PROJECT_FILE}"
            faults.append(f'{where}: metered models need a budget: add [[budgets]] with scope = "project"')
    if faults:
        raise SettingsError(faults)


def _check_folder(own: Path) -> None:
    try:
        private.private_folder(own)
        with tempfile.TemporaryFile(dir=own):
            pass
    except OSError as exc:
        reason = exc.strerror or type(exc).__name__
        raise SettingsError([f"PASSEUR_DATA_DIR: {own} cannot be written ({reason}): give another folder"]) from exc


def _check_addresses(settings: AiSettings) -> None:
    faults: list[str] = []
    for name, address in (("ADDRESS", settings.address), ("METRICS_ADDRESS", settings.metrics_address)):
        if not address or address.startswith(UNIX):
            continue
        host, port = split_address(address)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            with closing(socket.socket(family)) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind((host, port))
        except OSError as exc:
            faults.append(f"{setting_files.PREFIX}{name}: cannot listen on {address} ({exc.strerror}): is it taken?")
    if faults:
        raise SettingsError(faults)


# ---------------------------------------------------------------- serving


def serve() -> int:
    """Serve until SIGTERM or SIGINT; returns the exit code.

    Raises:
        SettingsError: every fault; nothing was opened.
    """
    plan = check(listens=True)
    private.write_privately()
    logs.configure("ai_server", plan.settings.log_level)
    memory.return_large_blocks()
    return asyncio.run(_serve(plan))


async def _serve(plan: Plan) -> int:
    settings = plan.settings
    figures = CollectorRegistry()
    application = _application(plan, figures)
    file = ClientFile(setting_files.own_dir() / CLIENTS_FILE, application.clock)
    listener = Listener(application, ClientRegister(plan.clients, file), figures)
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    memory.keep_what_is_there()
    await listener.listen(settings.address, _server_credentials(settings))
    stop_metrics = _serve_metrics(settings.metrics_address, figures)
    LOG.info("listening", address=settings.address, clients=len(plan.clients), projects=sorted(plan.projects))
    application.launch()
    await stopping.wait()
    LOG.info("draining", grace_s=settings.grace_s)
    await application.drain(max(0.0, settings.grace_s - LAST_SECOND))
    await listener.close()
    await application.close()
    stop_metrics()
    LOG.info("stopped")
    return 0


def _serve_metrics(address: str, figures: CollectorRegistry) -> Callable[[], None]:
    if not address:
        return lambda: None
    host, port = split_address(address)
    return metrics.serve(figures, host, port)


def _server_credentials(settings: AiSettings) -> grpc.ServerCredentials | None:
    if not (settings.tls_certificate and settings.tls_key and settings.tls_client_ca):
        return None
    pair = (settings.tls_key.read_bytes(), settings.tls_certificate.read_bytes())
    return grpc.ssl_server_credentials([pair], settings.tls_client_ca.read_bytes(), require_client_auth=True)


def _store(settings: AiSettings, own: Path, clock: Clock) -> StateStore:
    """Choose PostgreSQL where an address is set; its driver is an extra, so it is imported only then."""
    if settings.state_url is None:
        return SqliteStateStore(own / "state.sqlite", clock)
    from ai_server.storage.postgres import PostgresStateStore

    return PostgresStateStore(settings.state_url.get_secret_value(), clock)


def _application(plan: Plan, figures: CollectorRegistry) -> Application:
    """Choose the adapters: by default one machine, nothing to install."""
    clock, own = SystemClock(), setting_files.own_dir()
    store = _store(plan.settings, own, clock)
    known = [each.knowledge for each in plan.projects.values()]

    async def make_embedder(provider: str, model: str) -> Embedder:
        return await application.embedder(provider, model)

    def make_knowledge(embedders: Mapping[str, Embedder]) -> KnowledgeService:
        return KnowledgeService(
            known,
            embedders,
            store.index,
            own,
            clock,
            index=_durable_index(plan.settings, own),
            make_embedder=make_embedder,
            shared=plan.settings.state_url is not None,
        )

    application = Application(store, make_knowledge, plan.projects, plan.providers, clock, figures, _embedding)
    return application


def _durable_index(settings: AiSettings, own: Path) -> DurableIndex:
    if not settings.chroma_url:
        return ChromaIndex(own / "index")
    token = settings.chroma_token.get_secret_value() if settings.chroma_token else ""
    return ChromaServer(ServerAddress(settings.chroma_url, token, settings.chroma_tenant, settings.chroma_database))


def _embedding(choice: registry.ModelChoice) -> registry.ProviderBundle:
    """Make an embedding model that no project's settings name, for a change of model while the server runs."""
    return registry.build([], [choice], setting_files.provider_options(), catalog.load(), SystemClock()).embedding(
        choice
    )


# ---------------------------------------------------------------- operator commands


def command_context() -> CommandContext:
    """Make what operator commands are given.

    Raises:
        SettingsError: the environment is wrong.
    """
    settings = setting_files.read()

    @asynccontextmanager
    async def connect() -> AsyncIterator[Connection]:
        token_file = setting_files.token_file(settings)
        if token_file.is_file():
            token = token_file.read_text("utf-8").strip()
            try:
                async with connected(settings.address, token, _channel_credentials(settings)) as made:
                    yield made
                    return
            except Unreachable:
                pass
        async with private_server() as made:
            yield made

    return CommandContext(env.data_dir(), setting_files.projects_dir(), connect)


@asynccontextmanager
async def private_server() -> AsyncIterator[Connection]:
    """Run a server for one command: on a socket nobody else knows, holding the instance lock.

    Raises:
        SettingsError: the installation is wrong.
        NotReady: it does not come up; for one, because another process holds the lock.
    """
    plan = check()
    logs.configure("ai_server", "WARNING")
    token = new_token()
    operator = Client("operator", token_digest(token), frozenset({ALL_PROJECTS}), frozenset({Scope.ADMIN}))
    figures = CollectorRegistry()
    application = _application(plan, figures)
    listener = Listener(application, ClientRegister([operator]), figures)
    with tempfile.TemporaryDirectory(prefix="passeur-") as folder:
        address = f"{UNIX}{Path(folder) / 'ai.sock'}"
        await listener.listen(address, None)
        application.launch()
        try:
            await application.ready(UP_SECONDS)
            async with connected(address, token) as made:
                yield made
        finally:
            await application.drain(0)
            await listener.close()
            await application.close()


def _channel_credentials(settings: AiSettings) -> grpc.ChannelCredentials | None:
    if not (settings.tls_certificate and settings.tls_key and settings.tls_client_ca):
        return None
    return grpc.ssl_channel_credentials(
        settings.tls_client_ca.read_bytes(), settings.tls_key.read_bytes(), settings.tls_certificate.read_bytes()
    )
