"""Every error of ours has a status with details; the mapping lives in one place."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2

from ai_server.rpc.failed import CODES
from ai_server.rpc.status import DOMAIN, to_status
from shared import errors

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
ERRORS = [
    errors.InvalidRequest.of("question", "is empty"),
    errors.UnsupportedMedia.of("image", "is a song"),
    errors.Unauthenticated(),
    errors.Forbidden("no"),
    errors.NotFound("none"),
    errors.IdempotencyConflict("other body"),
    errors.TurnRunning("turn"),
    errors.PendingExpired("late"),
    errors.InputTooLarge("long"),
    errors.BudgetExhausted("spent", NOW + timedelta(hours=2)),
    errors.RateLimited("fast", None),
    errors.ProviderRefused("gemini", "no key", started=False, error_class="credentials"),
    errors.ProviderOverloaded("gemini", "busy", started=False, error_class="overloaded"),
    errors.ProviderCut("gemini", "cut", started=True, error_class="cut"),
    errors.NotReady("soon"),
    errors.DeadlinePassed("late"),
    errors.NotImplementedHere("schedules"),
]


def details(error):
    status = to_status(error, now=NOW, request_id="r1")
    packed = status_pb2.Status.FromString(dict(status.trailing_metadata)["grpc-status-details-bin"])
    found = {}
    for each in packed.details:
        for kind in (error_details_pb2.ErrorInfo, error_details_pb2.BadRequest, error_details_pb2.RetryInfo):
            if each.Is(kind.DESCRIPTOR):
                found[kind.__name__] = kind.FromString(each.value)
    return status, found


@pytest.mark.parametrize("error", ERRORS, ids=lambda each: each.reason)
def test_every_error_tells_code_reason_and_request(error):
    status, found = details(error)
    assert status.code is grpc.StatusCode[error.grpc_code]
    assert status.details == error.message
    info = found["ErrorInfo"]
    assert (info.reason, info.domain, info.metadata["request_id"]) == (error.reason, DOMAIN, "r1")
    assert CODES[error.reason] == error.grpc_code


def test_violations_are_fields_and_a_reset_is_a_retry():
    _, refused = details(errors.InvalidRequest([errors.Violation("a", "x"), errors.Violation("b", "y")]))
    assert [(each.field, each.description) for each in refused["BadRequest"].field_violations] == [
        ("a", "x"),
        ("b", "y"),
    ]
    _, spent = details(errors.BudgetExhausted("spent", NOW + timedelta(seconds=90)))
    assert spent["RetryInfo"].retry_delay.seconds == 91
    assert spent["ErrorInfo"].metadata["resets_at"] == "2026-11-30T12:01:30Z"
    _, unknown = details(errors.RateLimited("fast", None))
    assert "RetryInfo" not in unknown


def test_a_providers_name_and_class_travel_along():
    _, found = details(errors.ProviderCut("gemini", "cut", started=True, error_class="cut"))
    assert dict(found["ErrorInfo"].metadata) == {"provider": "gemini", "class": "cut", "request_id": "r1"}
