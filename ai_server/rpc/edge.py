"""The one interceptor: request id, credentials and scope, and every way a handler can end told as a status.

Handlers raise our errors and never abort by themselves. An `asyncio.CancelledError` that is not the caller's own
leaving (an inner task was cancelled) becomes ABORTED: left alone, grpc.aio would let the client wait for ever
(github.com/grpc/grpc/issues/29248).
"""

from __future__ import annotations

import asyncio
import re
from contextlib import aclosing, contextmanager
from typing import TYPE_CHECKING, Any, Final

import grpc
import grpc.aio
import structlog
from google.protobuf.message import DecodeError

from ai_server.rpc.caller import CURRENT, Caller
from ai_server.rpc.status import to_status
from shared import ids, logs
from shared.errors import InvalidRequest, PasseurError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping

    from ai_server.clients import ClientRegister, Scope
    from ai_server.rpc.metrics import RpcMetrics
    from shared.clock import Clock

OPEN_SERVICE: Final = "/grpc.health.v1.Health/"
REQUEST_ID: Final = re.compile(r"[\x21-\x7e]{1,128}")
LOG = logs.logger(__name__)


class InternalFault(PasseurError):
    """A fault of ours; the log has it under the request id."""

    def __init__(self, request_id: str) -> None:
        """Name the id by which an operator finds the trace."""
        super().__init__(f"The server failed in a way that it did not expect; the log has it under {request_id}.")


class Aborted(PasseurError):
    """The work was cancelled inside the server."""

    reason, grpc_code = "ABORTED", "ABORTED"

    def __init__(self) -> None:
        """Say that trying again is safe."""
        super().__init__("The server stopped this work before it ended: try again.")


class Edge(grpc.aio.ServerInterceptor):
    """Wraps each handler once and keeps the wrapped one by method."""

    def __init__(
        self, register: ClientRegister, scopes: Mapping[str, Scope | None], clock: Clock, metrics: RpcMetrics
    ) -> None:
        """Take the clients, and the scope that each full method name needs (None: any client)."""
        self._metrics = metrics
        self._register = register
        self._scopes = scopes
        self._clock = clock
        self._wrapped: dict[str, grpc.RpcMethodHandler] = {}
        self._running = 0
        self._idle = asyncio.Event()
        self._idle.set()

    async def idle(self, timeout_s: float) -> bool:
        """Wait until no handler runs, its `finally` included: grpc.aio's `stop` returns before that
        (github.com/grpc/grpc/issues/37239). Tells whether they all ended in time.
        """
        try:
            async with asyncio.timeout(timeout_s):
                await self._idle.wait()
        except TimeoutError:
            return False
        return True

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Any:
        """Return the handler with the edge around it; health checks pass as they are."""
        method: str = handler_call_details.method
        wrapped = self._wrapped.get(method)
        if wrapped is None:
            handler = await continuation(handler_call_details)
            if handler is None or method.startswith(OPEN_SERVICE):
                return handler
            wrapped = self._wrapped[method] = self._wrap(method, handler)
        return wrapped

    def _wrap(self, method: str, handler: Any) -> grpc.RpcMethodHandler:
        serial = {
            "request_deserializer": _tolerant(handler.request_deserializer),
            "response_serializer": handler.response_serializer,
        }
        if handler.request_streaming and handler.response_streaming:
            return grpc.stream_stream_rpc_method_handler(self._streaming(method, handler.stream_stream), **serial)
        if handler.response_streaming:
            return grpc.unary_stream_rpc_method_handler(self._streaming(method, handler.unary_stream), **serial)
        if handler.request_streaming:
            return grpc.stream_unary_rpc_method_handler(self._unary(method, handler.stream_unary), **serial)
        return grpc.unary_unary_rpc_method_handler(self._unary(method, handler.unary_unary), **serial)

    def _unary(self, method: str, behaviour: Callable[[Any, Any], Awaitable[Any]]) -> Callable[[Any, Any], Any]:
        async def guarded(request: Any, context: grpc.aio.ServicerContext) -> Any:
            request_id = self._request_id(context)
            try:
                with self._counted(method):
                    self._admit(method, context, request_id)
                    return await behaviour(_readable(request), context)
            except BaseException as error:  # noqa: BLE001 - the boundary between handlers and the wire
                await self._abort(method, context, request_id, error)

        return guarded

    def _streaming(
        self, method: str, behaviour: Callable[[Any, Any], AsyncGenerator[Any, None]]
    ) -> Callable[[Any, Any], AsyncIterator[Any]]:
        async def guarded(request: Any, context: grpc.aio.ServicerContext) -> AsyncIterator[Any]:
            request_id = self._request_id(context)
            try:
                with self._counted(method):
                    self._admit(method, context, request_id)
                    async with aclosing(behaviour(_readable(request), context)) as responses:
                        async for response in responses:
                            yield response
            except GeneratorExit:
                raise
            except BaseException as error:  # noqa: BLE001 - the boundary between handlers and the wire
                await self._abort(method, context, request_id, error)

        return guarded

    @contextmanager
    def _counted(self, method: str) -> Iterator[None]:
        self._running += 1
        self._idle.clear()
        started, code = self._clock.monotonic(), "OK"
        try:
            yield
        except PasseurError as error:
            code = error.grpc_code
            raise
        except (asyncio.CancelledError, GeneratorExit):
            code = "CANCELLED"
            raise
        except BaseException:
            code = "INTERNAL"
            raise
        finally:
            self._metrics.ended(method, code, self._clock.monotonic() - started)
            self._running -= 1
            if not self._running:
                self._idle.set()

    def _request_id(self, context: grpc.aio.ServicerContext) -> str:
        given = _metadata(context, "x-request-id")
        request_id = given if REQUEST_ID.fullmatch(given) else ids.new_id(self._clock.now())
        structlog.contextvars.bind_contextvars(request_id=request_id)
        return request_id

    def _admit(self, method: str, context: grpc.aio.ServicerContext, request_id: str) -> None:
        client = self._register.authenticate(_metadata(context, "authorization"))
        client.require(self._scopes.get(method))
        CURRENT.set(Caller(client, request_id))

    async def _abort(
        self, method: str, context: grpc.aio.ServicerContext, request_id: str, error: BaseException
    ) -> None:
        """Tell the client how the handler ended; always raises."""
        if isinstance(error, asyncio.CancelledError):
            if context.cancelled() or context.done():
                raise error
            error = Aborted()
        if isinstance(error, grpc.aio.AbortError) or not isinstance(error, Exception):
            raise error
        if not isinstance(error, PasseurError):
            LOG.error("handler failed", method=method, exc_info=error)
            error = InternalFault(request_id)
        status = to_status(error, now=self._clock.now(), request_id=request_id)
        await context.abort_with_status(status)  # pyright: ignore[reportAttributeAccessIssue] - the stubs lack it


class _Malformed:
    """Bytes that are no message of the expected kind: kept until the caller is known, so that only it is told."""


def _tolerant(deserialize: Callable[[bytes], Any] | None) -> Callable[[bytes], Any] | None:
    if deserialize is None:
        return None

    def read(data: bytes) -> Any:
        try:
            return deserialize(data)
        except DecodeError:
            return _Malformed()

    return read


def _readable(request: Any) -> Any:
    """Return the request, or a stream of requests, refusing what could not be read.

    Raises:
        InvalidRequest: it is no message of the rpc, or holds text that is not Unicode.
    """
    if isinstance(request, _Malformed):
        raise InvalidRequest.of(
            "message", "cannot be read: it is not the rpc's request, or holds text that is not UTF-8"
        )
    return _all_readable(request) if hasattr(request, "__aiter__") else request


async def _all_readable(requests: AsyncIterator[Any]) -> AsyncIterator[Any]:
    async for each in requests:
        yield _readable(each)


def _metadata(context: grpc.aio.ServicerContext, name: str) -> str:
    for key, value in context.invocation_metadata() or ():
        if key == name:
            return value if isinstance(value, str) else ""
    return ""
