"""What the AI server refused, as our own errors: the only place in the gateway that reads gRPC statuses."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Final, TypeVar

import grpc
import grpc.aio
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from shared import errors

if TYPE_CHECKING:
    from collections.abc import Mapping

    from google.protobuf.message import Message
    from google.rpc import status_pb2

Detail = TypeVar("Detail", bound="Message")

NOTHING_TO_SAY: Final = "The AI server gave no reason."

PLAIN: Final[Mapping[str, type[errors.PasseurError]]] = {
    each.reason: each
    for each in (
        errors.Forbidden,
        errors.NotFound,
        errors.IdempotencyConflict,
        errors.PendingExpired,
        errors.BodyTooLarge,
        errors.InputTooLarge,
        errors.NotReady,
        errors.DeadlinePassed,
        errors.FailedPrecondition,
    )
}
PROVIDER: Final[Mapping[str, type[errors.ProviderError]]] = {
    each.reason: each for each in (errors.ProviderRefused, errors.ProviderOverloaded, errors.ProviderCut)
}
EXHAUSTED: Final[Mapping[str, type[errors.Exhausted]]] = {
    each.reason: each for each in (errors.BudgetExhausted, errors.RateLimited)
}
LOST: Final = frozenset(
    {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED, grpc.StatusCode.ABORTED, grpc.StatusCode.UNKNOWN}
)
"""Statuses without a reason of ours: the connection broke, or the server stopped while it worked."""


def from_rpc(error: grpc.aio.AioRpcError) -> errors.PasseurError:
    """Make our error of a failed call."""
    message = error.details() or NOTHING_TO_SAY
    status = _status(error)
    info = None if status is None else _unpack(status, error_details_pb2.ErrorInfo())
    if info is None:
        return _without_reason(error.code(), message)
    reason, facts = info.reason, info.metadata
    if reason in PLAIN:
        return PLAIN[reason](message)
    if reason in EXHAUSTED:
        return EXHAUSTED[reason](message, _instant(facts.get("resets_at", "")))
    if reason in PROVIDER:
        provider, error_class = facts.get("provider", ""), facts.get("class", "")
        said = message.removeprefix(f"{provider}: ")
        return PROVIDER[reason](provider, said, started=True, error_class=error_class)
    if reason == errors.TurnRunning.reason:
        return errors.TurnRunning(facts.get("turn_id", ""))
    if reason in {errors.InvalidRequest.reason, errors.UnsupportedMedia.reason}:
        return _invalid(status, message)
    return _without_reason(error.code(), message)


def _without_reason(code: grpc.StatusCode, message: str) -> errors.PasseurError:
    if code in LOST:
        return errors.NotReady(f"The AI server cannot be reached: {message}")
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return errors.DeadlinePassed(message)
    if code is grpc.StatusCode.NOT_FOUND:
        return errors.NotFound(message)
    return errors.PasseurError(f"The AI server answered {code.name}: {message}")


def _invalid(status: status_pb2.Status | None, message: str) -> errors.InvalidRequest:
    bad = None if status is None else _unpack(status, error_details_pb2.BadRequest())
    found = [] if bad is None else [errors.Violation(each.field, each.description) for each in bad.field_violations]
    return errors.InvalidRequest(found or [errors.Violation("request", message)])


def _status(error: grpc.aio.AioRpcError) -> status_pb2.Status | None:
    try:
        return rpc_status.from_call(error)  # pyright: ignore[reportArgumentType]  # it has what a Call has
    except ValueError:
        return None


def _unpack(status: status_pb2.Status, into: Detail) -> Detail | None:
    for detail in status.details:
        if detail.Unpack(into):
            return into
    return None


def _instant(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None
