"""Reads what callers send, with every bound and every fault by name."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar

from pydantic import BaseModel, ValidationError

from shared.errors import DeadlinePassed, InvalidRequest, UnsupportedMedia, Violation
from shared.ids import is_id
from shared.text import key_violation

if TYPE_CHECKING:
    from aiohttp import web

BODY_LIMIT: Final = 1024 * 1024
BODY_TIMEOUT_S: Final = 20.0
VIOLATION_LIMIT: Final = 20
PAGE_LIMIT: Final = 100
NUMBER_DIGITS: Final = 9

Model = TypeVar("Model", bound=BaseModel)


async def read_body(request: web.Request, model: type[Model]) -> Model:
    """Read a JSON object as `model`.

    Raises:
        UnsupportedMedia: the body is not declared as JSON, which also keeps HTML forms out.
        InvalidRequest: not JSON, not UTF-8, or fields that are wrong, all named.
        DeadlinePassed: the body took longer than `BODY_TIMEOUT_S` to arrive.
    """
    if request.content_type != "application/json":
        raise UnsupportedMedia([Violation("Content-Type", "must be application/json")])
    try:
        async with asyncio.timeout(BODY_TIMEOUT_S):
            raw = await request.read()
    except TimeoutError as exc:
        raise DeadlinePassed(f"The body did not arrive within {BODY_TIMEOUT_S:g} s.") from exc
    try:
        data = json.loads(raw.decode("utf-8"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as exc:
        raise InvalidRequest.of("body", "is not JSON in UTF-8") from exc
    try:
        return model.model_validate(data)
    except ValidationError as exc:
        raise InvalidRequest(_violations(exc)) from exc


def idempotency_key(request: web.Request) -> str | None:
    """Read `Idempotency-Key`, if it was sent.

    Raises:
        InvalidRequest: not 1 to 128 printable ASCII characters.
    """
    key = request.headers.get("Idempotency-Key")
    if key is not None and (violation := key_violation("Idempotency-Key", key)):
        raise InvalidRequest([violation])
    return key


def page_limit(request: web.Request, default: int) -> int:
    """Read the query's `limit`, 1 to `PAGE_LIMIT`.

    Raises:
        InvalidRequest: anything else.
    """
    return whole_number(request, "limit", default, PAGE_LIMIT)


def whole_number(request: web.Request, name: str, default: int, most: int) -> int:
    """Read a number from 1 to `most` from the query; `default` when it is not there.

    Raises:
        InvalidRequest: anything else.
    """
    text = request.query.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit()) or len(text) > NUMBER_DIGITS or not 1 <= int(text) <= most:
        raise InvalidRequest.of(name, f"must be a whole number from 1 to {most}")
    return int(text)


def path_id(request: web.Request, name: str) -> str:
    """Read an id in the path; what is not an id finds nothing, like an unknown one."""
    value = request.match_info[name]
    return value if is_id(value) else ""


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _violations(error: ValidationError) -> list[Violation]:
    return [
        Violation(".".join(str(part) for part in each["loc"]) or "body", _sentence(each))
        for each in error.errors(include_url=False, include_input=False)[:VIOLATION_LIMIT]
    ]


def _sentence(error: Any) -> str:
    message = str(error["msg"]).removeprefix("Value error, ")
    return message[:1].lower() + message[1:]
