"""The gRPC listener: up before anything else, honest in its health, and stopped without losing what runs."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

import grpc
import grpc.aio
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from ai_server.readiness import RETRIEVAL, State
from ai_server.rpc.edge import Edge
from ai_server.rpc.metrics import RpcMetrics
from ai_server.rpc.wiring import OFFERS
from shared.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prometheus_client import CollectorRegistry

    from ai_server.clients import ClientRegister, Scope
    from ai_server.readiness import Report
    from ai_server.services import Services

MESSAGE_LIMIT: Final = 4 * 1024 * 1024
"""Bytes of one message, either way; gRPC's own error states it."""

CLOSE_SECONDS: Final = 2.0
"""Longest that open streams get to read their last event."""

OPTIONS: Final = (
    ("grpc.max_receive_message_length", MESSAGE_LIMIT),
    ("grpc.max_send_message_length", MESSAGE_LIMIT),
    ("grpc.so_reuseport", 0),  # a second server must fail to bind, not share the port
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
)
REFLECTION: Final = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"


class _ByName:
    """A server to which services are added by name alone. Beside that, generated code registers each method, for
    which grpc.aio keeps a call waiting, and looks at all that wait whenever one comes: with some forty methods that was
    a fifth of a millisecond a call.
    """

    def __init__(self, server: grpc.aio.Server) -> None:
        """Add to `server`."""
        self.add_generic_rpc_handlers = server.add_generic_rpc_handlers

    def add_registered_method_handlers(self, service_name: str, method_handlers: Mapping[str, Any]) -> None:
        """Leave it at the name."""


class Listener:
    """Serves every offer behind one edge, with health and reflection."""

    def __init__(self, services: Services, register: ClientRegister, metrics: CollectorRegistry) -> None:
        """Wire up; nothing listens yet."""
        self._services = services
        scopes: dict[str, Scope | None] = {REFLECTION: None}
        for offer in OFFERS:
            scopes |= offer.scopes()
        self._edge = Edge(register, scopes, services.clock, RpcMetrics(metrics))
        self._server = grpc.aio.server(interceptors=(self._edge,), options=OPTIONS)
        for offer in OFFERS:
            offer.add(offer.servicer(services), _ByName(self._server))
        self._health = health.aio.HealthServicer()  # pyright: ignore[reportAttributeAccessIssue] - loaded by name
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        names = [each.full_name for each in OFFERS]
        reflection.enable_server_reflection([*names, health.SERVICE_NAME, reflection.SERVICE_NAME], self._server)
        self._told: dict[str, Any] = {}
        self._changed = asyncio.Event()
        self._telling: asyncio.Task[None] | None = None

    async def listen(self, address: str, credentials: grpc.ServerCredentials | None) -> int:
        """Bind and serve; returns the port (1 for a unix socket).

        Raises:
            SettingsError: the address cannot be had.
        """
        try:
            if credentials is None:
                port = self._server.add_insecure_port(address)
            else:
                port = self._server.add_secure_port(address, credentials)
        except RuntimeError as exc:
            raise SettingsError([f"PASSEUR_AI_ADDRESS: cannot listen on {address}: is it taken?"]) from exc
        await self._server.start()
        self._services.board.subscribe(lambda _report: self._changed.set())
        self._telling = asyncio.create_task(self._tell_health(), name="health")
        return port

    async def close(self) -> None:
        """Let open calls end, then stop listening and wait for every handler's last line. Idempotent."""
        await self._server.stop(CLOSE_SECONDS)
        await self._edge.idle(CLOSE_SECONDS)
        if self._telling is not None:
            self._telling.cancel()
            await asyncio.gather(self._telling, return_exceptions=True)

    async def _tell_health(self) -> None:
        while True:
            self._changed.clear()
            for service, status in _statuses(self._services.board.report()).items():
                if self._told.get(service) != status:
                    self._told[service] = status
                    await self._health.set(service, status)
            await self._changed.wait()


def _statuses(report: Report) -> Mapping[str, Any]:
    """Say for each service whether it would take new work."""

    def status(serving: bool) -> Any:  # noqa: FBT001 - one word in, one word out
        return health_pb2.HealthCheckResponse.SERVING if serving else health_pb2.HealthCheckResponse.NOT_SERVING

    def stands(name: str) -> bool:
        return report.dependencies[name].state is not State.DOWN

    told = {offer.full_name: status(not report.draining and all(map(stands, offer.needs))) for offer in OFFERS}
    told[""] = status(report.state is not State.DOWN)
    told["retrieval"] = status(not report.draining and stands(RETRIEVAL))
    return told
