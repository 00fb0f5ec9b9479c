"""The error table is complete and consistent: every error maps to a gRPC code, a status and a slug."""

import grpc
import pytest

from shared import errors

EVERY = sorted(
    (each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, errors.PasseurError)),
    key=lambda each: each.__name__,
)
# From CONTRACTS, «Errors»: situation by situation.
TABLE = {
    "INVALID_REQUEST": ("INVALID_ARGUMENT", 400, "invalid-request"),
    "UNAUTHENTICATED": ("UNAUTHENTICATED", 401, "unauthenticated"),
    "FORBIDDEN": ("PERMISSION_DENIED", 403, "forbidden"),
    "FORBIDDEN_ORIGIN": ("PERMISSION_DENIED", 403, "forbidden-origin"),
    "NOT_FOUND": ("NOT_FOUND", 404, "not-found"),
    "IDEMPOTENCY_CONFLICT": ("ALREADY_EXISTS", 409, "idempotency-conflict"),
    "TURN_RUNNING": ("ABORTED", 409, "turn-running"),
    "PENDING_EXPIRED": ("FAILED_PRECONDITION", 410, "pending-expired"),
    "BODY_TOO_LARGE": ("FAILED_PRECONDITION", 413, "body-too-large"),
    "INPUT_TOO_LARGE": ("FAILED_PRECONDITION", 413, "input-too-large"),
    "UNSUPPORTED_MEDIA": ("INVALID_ARGUMENT", 415, "unsupported-media"),
    "BUDGET_EXHAUSTED": ("RESOURCE_EXHAUSTED", 429, "budget-exhausted"),
    "RATE_LIMITED": ("RESOURCE_EXHAUSTED", 429, "rate-limited"),
    "PROVIDER_REFUSED": ("UNAVAILABLE", 502, "provider-refused"),
    "PROVIDER_OVERLOADED": ("UNAVAILABLE", 503, "provider-overloaded"),
    "PROVIDER_CUT": ("UNAVAILABLE", 502, "provider-cut"),
    "NOT_READY": ("UNAVAILABLE", 503, "not-ready"),
    "DEADLINE": ("DEADLINE_EXCEEDED", 504, "deadline"),
}


@pytest.mark.parametrize("error", EVERY, ids=lambda each: each.__name__)
def test_every_error_has_a_grpc_code_that_exists(error):
    assert hasattr(grpc.StatusCode, error.grpc_code)
    assert 400 <= error.http_status <= 599


def test_the_error_table_is_told_as_agreed():
    told = {each.reason: (each.grpc_code, each.http_status, each.slug) for each in EVERY}
    assert {reason: told.get(reason) for reason in TABLE} == TABLE
