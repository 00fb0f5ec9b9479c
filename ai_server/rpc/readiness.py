"""ReadinessService: whether new work would be taken, and why not."""

from __future__ import annotations

from importlib import metadata
from typing import TYPE_CHECKING, Any, Final

from ai_server.readiness import State
from ai_server.rpc.offer import Offer
from shared.pb.passeur.v1 import common_pb2, readiness_pb2, readiness_pb2_grpc

if TYPE_CHECKING:
    from ai_server.services import Services

SERVING, REFUSING = 200, 503
STATES: Final = {
    State.READY: common_pb2.READINESS_STATE_READY,
    State.DEGRADED: common_pb2.READINESS_STATE_DEGRADED,
    State.DOWN: common_pb2.READINESS_STATE_DOWN,
}


def version() -> str:
    """Tell the installed version; `0+source` when run from a checkout."""
    try:
        return metadata.version("passeur")
    except metadata.PackageNotFoundError:
        return "0+source"


class ReadinessServicer(readiness_pb2_grpc.ReadinessServiceServicer):
    """Reads the board; waits for nothing."""

    def __init__(self, services: Services) -> None:
        """Take the doors; only the board is used."""
        self._services = services
        self._version = version()

    async def Check(self, request: Any, context: Any) -> readiness_pb2.CheckResponse:
        """Tell the state of the process and of each dependency."""
        report = self._services.board.report()
        response = readiness_pb2.CheckResponse(
            state=STATES[report.state],
            http_status=REFUSING if report.state is State.DOWN else SERVING,
            draining=report.draining,
            version=self._version,
        )
        response.since.FromDatetime(report.since)
        for name, standing in report.dependencies.items():
            row = response.dependencies.add(name=name, state=STATES[standing.state], reason=standing.reason)
            row.since.FromDatetime(standing.since)
        return response


OFFER: Final = Offer(
    descriptor=readiness_pb2.DESCRIPTOR.services_by_name["ReadinessService"],
    servicer=ReadinessServicer,
    add=readiness_pb2_grpc.add_ReadinessServiceServicer_to_server,
    scope=None,
)
