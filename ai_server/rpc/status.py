"""Our errors as gRPC statuses with details: the only place that knows both."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING, Final

from google.protobuf import any_pb2, duration_pb2
from google.rpc import code_pb2, error_details_pb2, status_pb2
from grpc_status import rpc_status

from shared.errors import Exhausted, InvalidRequest, PasseurError

if TYPE_CHECKING:
    from datetime import datetime

    import grpc
    from google.protobuf.message import Message

DOMAIN: Final = "passeur"


def to_status(error: PasseurError, *, now: datetime, request_id: str = "") -> grpc.Status:
    """Write an error with ErrorInfo, and BadRequest or RetryInfo where they say more."""
    details: list[Message] = [_error_info(error, request_id)]
    if isinstance(error, InvalidRequest):
        details.append(_bad_request(error))
    if isinstance(error, Exhausted) and error.resets_at is not None:
        seconds = max(0, int((error.resets_at - now).total_seconds()) + 1)
        details.append(error_details_pb2.RetryInfo(retry_delay=duration_pb2.Duration(seconds=seconds)))
    status = status_pb2.Status(code=code_pb2.Code.Value(error.grpc_code), message=error.message)
    for detail in details:
        packed = any_pb2.Any()
        packed.Pack(detail)
        status.details.append(packed)
    return rpc_status.to_status(status)


def _error_info(error: PasseurError, request_id: str) -> error_details_pb2.ErrorInfo:
    metadata = error.details()
    if isinstance(error, Exhausted) and error.resets_at is not None:
        metadata = {**metadata, "resets_at": error.resets_at.astimezone(UTC).isoformat().replace("+00:00", "Z")}
    if request_id:
        metadata = {**metadata, "request_id": request_id}
    return error_details_pb2.ErrorInfo(reason=error.reason, domain=DOMAIN, metadata=metadata)


def _bad_request(error: InvalidRequest) -> error_details_pb2.BadRequest:
    fields = [
        error_details_pb2.BadRequest.FieldViolation(field=each.field, description=each.problem)
        for each in error.violations
    ]
    return error_details_pb2.BadRequest(field_violations=fields)
