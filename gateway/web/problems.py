"""Every error as a problem document (RFC 9457): the only place where errors become responses."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from aiohttp import web

from gateway.web.answers import dump
from shared.errors import Exhausted, InvalidRequest, NotReady, PasseurError, Unauthenticated

if TYPE_CHECKING:
    from datetime import datetime

CONTENT_TYPE: Final = "application/problem+json"
NOT_READY_RETRY_S: Final = 5

TITLES: Final = {
    "invalid-request": "The request is malformed or out of bounds",
    "unsupported-media": "The media type is not one we read",
    "unauthenticated": "Valid credentials are needed",
    "forbidden": "Not allowed",
    "forbidden-origin": "This page may not use this project",
    "not-found": "Not there, or not yours",
    "method-not-allowed": "The method is not allowed here",
    "idempotency-conflict": "The idempotency key came before with another body",
    "turn-running": "A turn is running",
    "pending-expired": "The question expired or was answered",
    "body-too-large": "The body is too large",
    "input-too-large": "The input is over the model's limit",
    "budget-exhausted": "The budget is spent",
    "rate-limited": "Too many requests",
    "provider-refused": "The provider refused",
    "provider-overloaded": "The provider is overloaded",
    "provider-cut": "The provider's answer broke off",
    "not-ready": "Not ready",
    "deadline": "The time ran out",
    "failed-precondition": "Not possible in this state",
    "unimplemented": "Not in this release",
    "internal": "Something went wrong",
}


def problem_of(error: PasseurError, request_id: str, now: datetime) -> web.Response:
    """Tell one of our errors."""
    members: dict[str, Any] = dict(error.details())
    headers: dict[str, str] = {}
    if isinstance(error, InvalidRequest):
        members["violations"] = [{"field": each.field, "problem": each.problem} for each in error.violations]
    if isinstance(error, Unauthenticated):
        headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, Exhausted):
        wait_s = 1 if error.resets_at is None else max(1, math.ceil((error.resets_at - now).total_seconds()))
        headers["Retry-After"] = str(wait_s)
        members["resets_at"] = None if error.resets_at is None else error.resets_at.isoformat()
    if isinstance(error, NotReady):
        headers["Retry-After"] = str(NOT_READY_RETRY_S)
    return document(error.slug, error.http_status, error.message, request_id, members, headers)


def problem_of_http(error: web.HTTPException, request_id: str) -> web.Response:
    """Tell what aiohttp itself refused: unknown paths, methods, oversized bodies."""
    if isinstance(error, web.HTTPRequestEntityTooLarge):
        return document("body-too-large", 413, f"{error.text}.", request_id)
    if isinstance(error, web.HTTPMethodNotAllowed):
        allow = ", ".join(sorted(error.allowed_methods))
        return document("method-not-allowed", 405, f"Use one of: {allow}.", request_id, headers={"Allow": allow})
    slug = "not-found" if error.status == web.HTTPNotFound.status_code else "invalid-request"
    return document(slug, error.status, f"{error.reason}.", request_id)


def internal(request_id: str) -> web.Response:
    """Tell that something broke, without saying what; the log says it under the request id."""
    detail = f"Something went wrong on our side. An operator finds it in the log by request id {request_id}."
    return document("internal", 500, detail, request_id)


def document(
    slug: str,
    status: int,
    detail: str,
    request_id: str,
    members: dict[str, Any] | None = None,
    headers: dict[str, str] | None = None,
) -> web.Response:
    """Write a problem document; its type is a URI reference that is the slug itself."""
    body = {"type": slug, "title": TITLES[slug], "status": status, "detail": detail, "request_id": request_id}
    return web.Response(
        status=status, text=dump({**body, **(members or {})}), content_type=CONTENT_TYPE, headers=headers
    )
