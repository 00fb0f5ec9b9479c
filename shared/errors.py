"""Every error that Passeur tells someone, and how gRPC and HTTP say it.

PasseurError
├── InvalidRequest            malformed or out of bounds, field by field
│   └── UnsupportedMedia
├── Unauthenticated
├── Forbidden
│   └── ForbiddenOrigin
├── NotFound                  not there, or not yours
├── Conflict
│   ├── IdempotencyConflict   same key, other body
│   ├── TurnRunning
│   ├── SyncRunning
│   └── AlreadyResolved       a reservation resolves once
├── PendingExpired            the question, continuation or token expired or was used
├── TooLarge
│   ├── BodyTooLarge
│   └── InputTooLarge         over the model's limit
├── Exhausted                 says when it opens again
│   ├── BudgetExhausted
│   └── RateLimited
├── ProviderError             names provider and remedy
│   ├── ProviderRefused       our key, our request or their policy: trying again does not help
│   ├── ProviderOverloaded    busy, over quota, unreachable or too slow: another may do
│   └── ProviderCut           the stream broke
├── NotReady
├── DeadlinePassed
├── FailedPrecondition
│   ├── FolderSource          a source that takes no documents from here
│   └── NothingKept           no earlier index to return to
└── NotImplementedHere        the rpc comes with a later release

A foreign error becomes one of these in the one place that knows it, `from exc`. The names and numbers are those of
the error table: a reason in UPPER_SNAKE for gRPC's ErrorInfo, a slug for the problem document's type.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime


@dataclass(frozen=True, slots=True)
class Violation:
    """One field that is wrong, and what to do about it."""

    field: str
    problem: str


class PasseurError(Exception):
    """Base of all; `message` is for the person who must act, and carries no secret."""

    reason: ClassVar[str] = "INTERNAL"
    slug: ClassVar[str] = "internal"
    grpc_code: ClassVar[str] = "INTERNAL"
    http_status: ClassVar[int] = 500

    def __init__(self, message: str) -> None:
        """Keep the sentence that will be told."""
        super().__init__(message)
        self.message = message

    def details(self) -> dict[str, str]:
        """Further facts for ErrorInfo metadata and problem members; never secrets."""
        return {}


class InvalidRequest(PasseurError):
    """The request is malformed or out of bounds."""

    reason, slug, grpc_code, http_status = "INVALID_REQUEST", "invalid-request", "INVALID_ARGUMENT", 400

    def __init__(self, violations: Sequence[Violation]) -> None:
        """Take every fault found, not only the first; at least one."""
        super().__init__("; ".join(f"{each.field}: {each.problem}" for each in violations))
        self.violations = tuple(violations)

    @classmethod
    def of(cls, field: str, problem: str) -> InvalidRequest:
        """Make the error for one field."""
        return cls([Violation(field, problem)])


class UnsupportedMedia(InvalidRequest):
    """The media type is not one we read."""

    reason, slug, http_status = "UNSUPPORTED_MEDIA", "unsupported-media", 415


class Unauthenticated(PasseurError):
    """No credentials, or wrong ones: one body for all causes."""

    reason, slug, grpc_code, http_status = "UNAUTHENTICATED", "unauthenticated", "UNAUTHENTICATED", 401

    def __init__(self, cause: str = "", *, how: str = "") -> None:
        """Say the same for every cause, so that nothing can be learnt from it; `how` is where they belong.

        `cause` is a word for the log, never a secret, and is told to nobody.
        """
        super().__init__("Valid credentials are needed" + (f": {how}." if how else "."))
        self.cause = cause


class Forbidden(PasseurError):
    """Known, but not allowed this."""

    reason, slug, grpc_code, http_status = "FORBIDDEN", "forbidden", "PERMISSION_DENIED", 403


class ForbiddenOrigin(Forbidden):
    """The page's origin is not listed for the project."""

    reason, slug = "FORBIDDEN_ORIGIN", "forbidden-origin"


class NotFound(PasseurError):
    """Not there, or not yours: the two are told alike."""

    reason, slug, grpc_code, http_status = "NOT_FOUND", "not-found", "NOT_FOUND", 404


class Conflict(PasseurError):
    """The request collides with what is."""

    http_status = 409


class IdempotencyConflict(Conflict):
    """The same key came with another body."""

    reason, slug, grpc_code = "IDEMPOTENCY_CONFLICT", "idempotency-conflict", "ALREADY_EXISTS"


class TurnRunning(Conflict):
    """The conversation already has a turn under way."""

    reason, slug, grpc_code = "TURN_RUNNING", "turn-running", "ABORTED"

    def __init__(self, turn_id: str) -> None:
        """Name the running turn, so that the caller can watch or stop it."""
        super().__init__("A turn is already running in this conversation: wait for it or stop it.")
        self.turn_id = turn_id

    def details(self) -> dict[str, str]:
        """Carry the running turn's id."""
        return {"turn_id": self.turn_id}


class SyncRunning(Conflict):
    """Another sync of the same source runs."""

    reason, slug, grpc_code = "SYNC_RUNNING", "sync-running", "ABORTED"


class AlreadyResolved(Conflict):
    """The reservation was resolved before, with another body."""

    reason, slug, grpc_code = "ALREADY_RESOLVED", "already-resolved", "FAILED_PRECONDITION"


class PendingExpired(PasseurError):
    """The pending question, continuation or token expired or was already used."""

    reason, slug, grpc_code, http_status = "PENDING_EXPIRED", "pending-expired", "FAILED_PRECONDITION", 410


class TooLarge(PasseurError):
    """More than is taken; the message states the limit."""

    reason, slug, grpc_code, http_status = "BODY_TOO_LARGE", "body-too-large", "FAILED_PRECONDITION", 413


class BodyTooLarge(TooLarge):
    """The body is over the stated limit."""


class InputTooLarge(TooLarge):
    """The counted input is over the model's limit."""

    reason, slug = "INPUT_TOO_LARGE", "input-too-large"


class Exhausted(PasseurError):
    """Not now: `resets_at` (aware UTC) says when, `None` that nobody knows."""

    grpc_code, http_status = "RESOURCE_EXHAUSTED", 429

    def __init__(self, message: str, resets_at: datetime | None) -> None:
        """Keep the instant from which trying again makes sense."""
        super().__init__(message)
        self.resets_at = resets_at


class BudgetExhausted(Exhausted):
    """A budget has no room for the call's ceiling."""

    reason, slug = "BUDGET_EXHAUSTED", "budget-exhausted"


class RateLimited(Exhausted):
    """Too many requests from one place."""

    reason, slug = "RATE_LIMITED", "rate-limited"


class ProviderError(PasseurError):
    """A provider did not do what was asked; `started` tells whether the paid work may have begun."""

    grpc_code = "UNAVAILABLE"

    def __init__(self, provider: str, message: str, *, started: bool, error_class: str) -> None:
        """Name the provider and the class of error; the message holds the remedy and never a key."""
        super().__init__(f"{provider}: {message}")
        self.provider = provider
        self.started = started
        self.error_class = error_class

    def details(self) -> dict[str, str]:
        """Carry provider and class."""
        return {"provider": self.provider, "class": self.error_class}


class ProviderRefused(ProviderError):
    """Wrong key, unknown model, bad request or policy: the same call would be refused again."""

    reason, slug, http_status = "PROVIDER_REFUSED", "provider-refused", 502


class ProviderOverloaded(ProviderError):
    """Busy, over quota, unreachable or silent: another provider, or later."""

    reason, slug, http_status = "PROVIDER_OVERLOADED", "provider-overloaded", 503


class ProviderCut(ProviderError):
    """The answer broke off."""

    reason, slug, http_status = "PROVIDER_CUT", "provider-cut", 502


class NotReady(PasseurError):
    """The process cannot take this work now; the message says which dependency and why."""

    reason, slug, grpc_code, http_status = "NOT_READY", "not-ready", "UNAVAILABLE", 503


class DeadlinePassed(PasseurError):
    """The caller's or our own time ran out."""

    reason, slug, grpc_code, http_status = "DEADLINE", "deadline", "DEADLINE_EXCEEDED", 504


class FailedPrecondition(PasseurError):
    """The thing is not in a state in which this can be done; `reason` says which."""

    slug, grpc_code, http_status = "failed-precondition", "FAILED_PRECONDITION", 409
    reason = "FAILED_PRECONDITION"


class FolderSource(FailedPrecondition):
    """The source is a folder that somebody else writes."""

    reason = "FOLDER_SOURCE"


class NothingKept(FailedPrecondition):
    """There is no earlier index to return to."""

    reason = "NOTHING_KEPT"


class NotImplementedHere(PasseurError):
    """The call belongs to a feature that this release does not have."""

    reason, slug, grpc_code, http_status = "UNIMPLEMENTED", "unimplemented", "UNIMPLEMENTED", 501

    def __init__(self, feature: str) -> None:
        """Name the feature."""
        super().__init__(f"Not in this release: {feature}.")
        self.feature = feature


class SettingsError(Exception):
    """The settings are wrong; holds every fault. The process prints them all and exits 2."""

    def __init__(self, faults: Sequence[str]) -> None:
        """Take one sentence for each fault, each naming the setting or file and what to do."""
        super().__init__("\n".join(faults))
        self.faults = tuple(faults)
