"""A command's way to a server."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import grpc
import grpc.aio

from shared.errors import NotReady
from shared.pb.passeur.v1 import readiness_pb2, readiness_pb2_grpc

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

CONNECT_SECONDS: Final = 2.0
"""Longest wait for somebody to answer at the address."""


SETTLE_SECONDS: Final = 30.0
"""Longest wait for a server that is still coming up."""

POLL_SECONDS: Final = 0.2
SERVING: Final = 200


class Unreachable(NotReady):
    """Nobody listens at the address."""


@dataclass(frozen=True, slots=True)
class Connection:
    """A channel, and the metadata to give with every call: `stub.Rpc(request, metadata=connection.metadata)`."""

    channel: grpc.aio.Channel
    metadata: tuple[tuple[str, str], ...]


@asynccontextmanager
async def connected(
    address: str, token: str, credentials: grpc.ChannelCredentials | None = None
) -> AsyncIterator[Connection]:
    """Open a channel to `address` (`host:port` or `unix:path`) and close it afterwards.

    Raises:
        Unreachable: nobody listens there.
    """
    made = grpc.aio.secure_channel(address, credentials) if credentials else grpc.aio.insecure_channel(address)
    async with made as channel:
        if not await _listens(channel):
            raise Unreachable(f"No AI server answers at {address}.")
        connection = Connection(channel, (("authorization", f"Bearer {token}"),))
        await _settled(connection)
        yield connection


async def _settled(connection: Connection) -> None:
    """Wait while the server is still coming up; one that stays down says itself why it refuses."""
    stub = readiness_pb2_grpc.ReadinessServiceStub(connection.channel)
    try:
        async with asyncio.timeout(SETTLE_SECONDS):
            while (await _check(stub, connection)).http_status != SERVING:  # noqa: ASYNC110 - it is another process
                await asyncio.sleep(POLL_SECONDS)
    except TimeoutError:
        return


async def _check(stub: readiness_pb2_grpc.ReadinessServiceStub, connection: Connection) -> readiness_pb2.CheckResponse:
    return await stub.Check(readiness_pb2.CheckRequest(), metadata=connection.metadata)


async def _listens(channel: grpc.aio.Channel) -> bool:
    """Wait until the channel is connected; a refused connection says no at once."""
    state = channel.get_state(try_to_connect=True)
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            while state not in {grpc.ChannelConnectivity.READY, grpc.ChannelConnectivity.TRANSIENT_FAILURE}:
                await channel.wait_for_state_change(state)
                state = channel.get_state()
    except TimeoutError:
        return False
    return state is grpc.ChannelConnectivity.READY
