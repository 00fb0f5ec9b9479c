"""Puts the gateway together and runs it: the only place that names concrete adapters."""

from __future__ import annotations

import asyncio
import signal
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final

import grpc
from aiohttp import web

from gateway import settings as settings_of
from gateway.app import build_app
from gateway.assistant.grpc_client import GrpcAssistant
from gateway.attachments.darkroom import ChildDarkroom
from gateway.attachments.shelf import Shelf
from gateway.cli import commands
from gateway.cli.keepers import LocalKeeper, RemoteKeeper
from gateway.events.hub import Hub
from gateway.events.local_exchange import LocalExchange
from gateway.events.relay import Relay
from gateway.identity import operator
from gateway.identity.limits import Rate
from gateway.identity.origins import HostGuard
from gateway.identity.projects_file import disagreements
from gateway.identity.sessions import SessionService
from gateway.identity.staff import StaffService
from gateway.pending.service import Clarifications
from gateway.retention.service import RecordsService
from gateway.storage.sqlite import open_sqlite
from gateway.turns.service import TurnService
from gateway.web.frames import HttpEncoder
from gateway.web.services import Limits, LimitSettings, Services
from gateway.web.support import open_support
from shared import logs, memory, metrics, private
from shared.addresses import split_address
from shared.clock import SystemClock
from shared.errors import NotReady, SettingsError
from shared.logs import logger

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from gateway.events.exchange import Exchange
    from gateway.settings import GatewaySettings, Installation
    from gateway.storage.contract import EventSink, Store
    from shared.clock import Clock

ATTACHMENTS: Final = "attachments"
STATIC: Final = Path(__file__).resolve().parent / "static"
CONNECT_S: Final = 2.0
DATABASE_WAIT_S: Final = 60.0
"""How long a database that starts beside us may take to come."""
DATABASE_POLL_S: Final = 1.0
REQUEST_GRACE_S: Final = 5.0
"""How long open requests may take to end once the turns are over and the streams are let go."""

CONNECTIONS_WAITING: Final = 4_096
"""Connections that the kernel keeps while they are taken in: all readers of a gateway come back at once when it starts
anew, and one that finds no place tries again after a second. The kernel's own bound (`somaxconn`) stands above it."""

log = logger(__name__)


def serve() -> int:
    """Serve until SIGTERM or SIGINT; the exit code is 0 after a graceful stop.

    Raises:
        SettingsError: something in the settings, the project files or the machine does not allow it.
    """
    installation = check()
    private.write_privately()
    logs.configure("gateway", installation.settings.log_level)
    memory.return_large_blocks()
    asyncio.run(_serve(installation))
    return 0


def check_all() -> None:
    """Check everything that `check` does, and whether the two files of each project fit together.

    Raises:
        SettingsError: every fault at once.
    """
    faults: list[str] = []
    try:
        check()
    except SettingsError as error:
        faults += error.faults
    faults += disagreements(settings_of.projects_folder())
    if faults:
        raise SettingsError(faults)


def check() -> Installation:
    """Check the settings, the project files and the data folder.

    Raises:
        SettingsError: every fault of all of them at once.
    """
    faults: list[str] = []
    try:
        private.private_folder(settings_of.own_dir())
    except OSError as exc:
        reason = exc.strerror or type(exc).__name__
        faults.append(f"PASSEUR_DATA_DIR: {settings_of.own_dir()} cannot be used ({reason}): give another folder")
    try:
        installation = settings_of.read()
    except SettingsError as error:
        raise SettingsError([*error.faults, *faults]) from error
    if faults:
        raise SettingsError(faults)
    return installation


def operate(arguments: argparse.Namespace) -> None:
    """Do one operator command: through the running gateway, or on its data when none runs.

    Raises:
        SettingsError: the settings are wrong, or the data cannot be opened.
        PasseurError: what was refused.
    """
    installation = check()
    logs.configure("gateway", "ERROR")
    asyncio.run(_operate(installation, arguments))


async def _operate(installation: Installation, arguments: argparse.Namespace) -> None:
    token = operator.read_token(installation.own_dir)
    if token is not None and await _runs(installation.settings.address):
        await commands.run(arguments, RemoteKeeper(f"http://{installation.settings.address}", token))
        return
    async with AsyncExitStack() as stack:
        clock = SystemClock()
        store = await _open_store(installation, clock, Hub(HttpEncoder(installation.projects), clock))
        stack.push_async_callback(store.close)
        staff = StaffService(store, clock)
        stack.callback(staff.close)
        records = RecordsService(store, Shelf(installation.own_dir / ATTACHMENTS), clock)
        await commands.run(arguments, LocalKeeper(staff, records, installation.projects))


async def _runs(address: str) -> bool:
    try:
        async with asyncio.timeout(CONNECT_S):
            _, writer = await asyncio.open_connection(*split_address(address))
    except (OSError, TimeoutError):
        return False
    writer.close()
    await writer.wait_closed()
    return True


async def _serve(installation: Installation) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with AsyncExitStack() as stack:
        services = await _open_services(installation, stack)
        stack.callback(_serve_metrics(installation.settings, services))
        runner = web.AppRunner(
            build_app(services), handler_cancellation=True, access_log=None, shutdown_timeout=REQUEST_GRACE_S
        )
        await runner.setup()
        stack.push_async_callback(runner.cleanup)
        memory.keep_what_is_there()
        await _listen(runner, installation.settings.address)
        log.info("serving", address=installation.settings.address, projects=[each.id for each in services.projects])
        await stop.wait()
        log.info("stopping", running_turns=services.turns.running())
        services.lifecycle.draining = True
        await services.turns.close(installation.settings.grace_s)
        services.hub.close()
    log.info("stopped")


async def _open_services(installation: Installation, stack: AsyncExitStack) -> Services:
    settings, clock = installation.settings, SystemClock()
    hub = Hub(HttpEncoder(installation.projects), clock)
    assistant = GrpcAssistant(settings.ai_address, _token(installation), _credentials(settings))
    stack.push_async_callback(assistant.close)
    relay = None if settings.database_url is None else Relay(hub, _exchange(settings, clock), clock)
    store = await _open_store(installation, clock, relay or hub)
    stack.push_async_callback(store.close)
    hub.bind(store)
    if relay is not None:
        stack.push_async_callback(relay.close)
        relay.bind(store)
    pending = Clarifications(clock)
    support = open_support(
        store,
        relay or hub,
        assistant,
        ChildDarkroom(),
        clock=clock,
        folder=installation.own_dir / ATTACHMENTS,
        pending=pending,
        operator_token_hash=operator.own_token_hash(installation.own_dir),
    )
    stack.push_async_callback(support.close)
    turns = TurnService(
        store, assistant, relay or hub.texts, clock,
        desk=support.tickets, enclosures=support.attachments, pending=pending,
    )  # fmt: skip
    support.meet(turns)
    return Services(
        store=store,
        sessions=SessionService(store, clock),
        turns=turns,
        hub=hub,
        relay=relay,
        assistant=assistant,
        projects=installation.projects,
        limits=Limits(_limits(settings), clock),
        hosts=HostGuard(installation.hosts),
        clock=clock,
        static=STATIC,
        support=support,
        pending=pending,
        trusted_proxies=installation.trusted_proxies,
    )


def _exchange(settings: GatewaySettings, clock: Clock) -> Exchange:
    if settings.redis_url is None:
        return LocalExchange()
    from gateway.events.redis_exchange import RedisExchange

    return RedisExchange(settings.redis_url.get_secret_value(), settings.redis_prefix, clock)


async def _open_store(installation: Installation, clock: Clock, sink: EventSink) -> Store:
    """Open the store that the settings name. A database that is not there yet is waited for, `DATABASE_WAIT_S` long.

    Raises:
        SettingsError: it cannot be opened.
        NotReady: the database did not come.
    """
    url = installation.settings.database_url
    if url is None:
        return await open_sqlite(installation.own_dir, clock, sink)
    from gateway.storage.postgres import open_postgres

    ends = clock.monotonic() + DATABASE_WAIT_S
    while True:
        try:
            connections = installation.settings.database_connections
            return await open_postgres(url.get_secret_value(), clock, sink, connections=connections)
        except NotReady as exc:
            if clock.monotonic() >= ends:
                raise
            log.warning("database_awaited", reason=exc.message)
        await clock.sleep(DATABASE_POLL_S)


async def _listen(runner: web.AppRunner, address: str) -> None:
    host, port = split_address(address)
    try:
        await web.TCPSite(runner, host, port, backlog=CONNECTIONS_WAITING).start()
    except OSError as exc:
        raise SettingsError([f"PASSEUR_GATEWAY_ADDRESS: cannot listen on {address}: {exc.strerror}"]) from exc


def _serve_metrics(settings: GatewaySettings, services: Services) -> Callable[[], None]:
    if not settings.metrics_address:
        return lambda: None
    host, port = split_address(settings.metrics_address)
    try:
        return metrics.serve(services.metrics.registry, host, port)
    except OSError as exc:
        message = f"PASSEUR_GATEWAY_METRICS_ADDRESS: cannot listen on {settings.metrics_address}: {exc.strerror}"
        raise SettingsError([message]) from exc


def _limits(settings: GatewaySettings) -> LimitSettings:
    return LimitSettings(
        requests=Rate(max(1, settings.requests_per_minute // 5), settings.requests_per_minute),
        sessions=Rate(max(1, settings.sessions_per_minute // 2), settings.sessions_per_minute),
        messages=Rate(max(1, settings.messages_per_minute // 2), settings.messages_per_minute),
        streams_per_visitor=settings.streams_per_visitor,
    )


def _token(installation: Installation) -> str:
    if installation.settings.ai_token is not None:
        return installation.settings.ai_token.get_secret_value()
    path = installation.ai_token_file
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as exc:
        make = f"python -m ai_server clients add gateway --scopes answer --projects … --token-file {path}"
        raise SettingsError([f"PASSEUR_GATEWAY_AI_TOKEN_FILE: {path} cannot be read: make it with `{make}`"]) from exc


def _credentials(settings: GatewaySettings) -> grpc.ChannelCredentials | None:
    files = (settings.ai_tls_ca, settings.ai_tls_key, settings.ai_tls_certificate)
    if None in files:
        return None
    authority, key, certificate = (path.read_bytes() for path in files if path is not None)
    return grpc.ssl_channel_credentials(authority, key, certificate)
