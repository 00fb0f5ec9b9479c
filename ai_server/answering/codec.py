"""Results and request bodies as bytes: what is stored for 24 h, and what tells one body from another."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ai_server.answering.contract import (
    AnswerResult,
    Citation,
    FailedSearch,
    Intent,
    IntentKind,
    Outcome,
    Problem,
)
from shared.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ai_server.answering.contract import AnswerInput


def body_digest(operation: str, body: Mapping[str, Any]) -> bytes:
    """Digest a request body; equal bodies of one operation have equal digests, whatever the order of their sets."""
    text = json.dumps([operation, body], sort_keys=True, default=_plain, ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).digest()


def answer_body(asked: AnswerInput) -> dict[str, Any]:
    """Everything of an input but its key."""
    body = {name: getattr(asked, name) for name in asked.__slots__ if name != "idempotency_key"}
    body["contexts"] = [{key: sorted(values) for key, values in each.items()} for each in asked.contexts]
    body["image"] = [asked.image.mime_type, hashlib.sha256(asked.image.data).hexdigest()] if asked.image else None
    return body


def encode_result(result: AnswerResult) -> bytes:
    """Write a result as JSON."""
    return json.dumps(asdict_plain(result), default=_plain, ensure_ascii=False, separators=(",", ":")).encode("utf-8")


def decode_result(data: bytes) -> AnswerResult:
    """Read a result back."""
    body = json.loads(data)
    body["outcome"] = Outcome(body["outcome"])
    body["citations"] = tuple(Citation(**each) for each in body["citations"])
    body["candidates"] = tuple(map(_intent, body["candidates"]))
    body["usage"] = usage_from(body["usage"])
    body["problem"] = problem_from(body["problem"])
    search = body["failed_search"]
    if search is not None:
        body["failed_search"] = FailedSearch(
            intent=_intent(search["intent"]),
            search_terms=tuple(search["search_terms"]),
            tried_terms=tuple(search["tried_terms"]),
            suggestions=tuple(search["suggestions"]),
            other_services=tuple(map(_intent, search["other_services"])),
        )
    return AnswerResult(**body)


def asdict_plain(value: Any) -> dict[str, Any]:
    """Turn a result into plain data; `asdict` cannot copy a read-only mapping."""
    body = {name: getattr(value, name) for name in value.__slots__}
    body["usage"] = usage_plain(value.usage)
    return body


def usage_plain(usage: Usage) -> dict[str, Any]:
    """Turn a usage into plain data."""
    return {name: getattr(usage, name) for name in usage.__slots__ if name != "units"} | {"units": dict(usage.units)}


def usage_from(body: Mapping[str, Any]) -> Usage:
    """Read a usage back."""
    return Usage(**body)


def problem_from(body: Mapping[str, Any] | None) -> Problem | None:
    """Read a problem back."""
    if body is None:
        return None
    resets_at = body["resets_at"]
    return Problem(**{**body, "resets_at": datetime.fromisoformat(resets_at) if resets_at else None})


def _intent(body: Mapping[str, Any]) -> Intent:
    return Intent(**{**body, "kind": IntentKind(body["kind"]), "search_terms": tuple(body["search_terms"])})


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    if isinstance(value, bytes):
        return value.hex()
    if hasattr(value, "__dataclass_fields__"):
        return asdict(value)
    raise TypeError(f"{type(value).__name__} has no plain form")
