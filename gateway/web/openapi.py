"""The OpenAPI 3.1 document, made of the route table and the schemas, so that it cannot say what the code does not."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Final, get_args

from aiohttp import web
from pydantic.json_schema import models_json_schema

from gateway.web import problems
from gateway.web.answers import dump
from gateway.web.route import Caller
from gateway.web.schemas import ProblemDocument
from gateway.web.sink import EVENT_STREAM

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aiohttp.typedefs import Handler
    from pydantic import BaseModel

    from gateway.web.route import Route

REF: Final = "#/components/schemas/{model}"
ALWAYS: Final = (429, 500)
REASONS: Final = {
    200: "Done", 201: "Created", 204: "Done", 400: "Malformed", 401: "Not authenticated", 403: "Not allowed",
    404: "Not there, or not yours", 409: "In conflict", 413: "Too large", 415: "Not a type we read",
    429: "Too many", 500: "Our fault", 501: "Not in this release", 503: "Not ready", 504: "Out of time",
}  # fmt: skip


def build(routes: Sequence[Route]) -> dict[str, Any]:
    """Write the document for these routes."""
    models = {ProblemDocument, *(model for route in routes for model in _models(route))}
    ordered = sorted(models, key=lambda model: model.__name__)
    _, schemas = models_json_schema([(model, "validation") for model in ordered], ref_template=REF)
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Passeur gateway", "version": _version(), "description": _DESCRIPTION},
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": schemas["$defs"],
            "securitySchemes": {caller: {"type": "http", "scheme": "bearer"} for caller in get_args(Caller)},
        },
    }


def handler(document: dict[str, Any]) -> Handler:
    """Serve a document."""
    text = dump(document)

    async def serve(request: web.Request) -> web.StreamResponse:
        del request
        return web.Response(text=text, content_type="application/json", headers={"Cache-Control": "no-cache"})

    return serve


def _operation(route: Route) -> dict[str, Any]:
    summary, _, rest = (route.handler.__doc__ or "").strip().partition("\n")
    operation: dict[str, Any] = {
        "operationId": f"{route.handler.__module__.rpartition('.')[2]}_{route.handler.__name__}",
        "summary": summary,
        "parameters": _parameters(route),
        "responses": {str(status): _response(route, status) for status in _statuses(route)},
    }
    if rest.strip():
        operation["description"] = re.sub(r"\n\s+", "\n", rest).strip()
    if route.callers:
        operation["security"] = [{caller: []} for caller in route.callers]
    if route.body is not None:
        operation["requestBody"] = {"required": True, "content": {"application/json": _schema(route.body)}}
    if route.media:
        content = {each: {"schema": {"type": "string", "format": "binary"}} for each in route.media}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _parameters(route: Route) -> list[dict[str, Any]]:
    names = re.findall(r"{(\w+)}", route.path)
    found = [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names]
    for name, text in route.query.items():
        found.append({"name": name, "in": "query", "description": text, "schema": {"type": "string"}})
    if route.takes_key:
        found.append(_KEY_HEADER)
    return found


def _statuses(route: Route) -> list[int]:
    auth = (401, 403, 503) if route.callers else ()
    session = (401, 503) if route.body is not None and not route.callers else ()
    return sorted({*route.answers, *route.problems, *auth, *session, *ALWAYS})


def _response(route: Route, status: int) -> dict[str, Any]:
    described = {"description": REASONS[status]}
    if status not in route.answers:
        return {**described, "content": {problems.CONTENT_TYPE: _schema(ProblemDocument)}}
    model = route.answers[status]
    content: dict[str, Any] = {} if model is None else {"application/json": _schema(model)}
    if route.streams:
        content[EVENT_STREAM] = {"schema": {"type": "string"}}
    content |= {each: {"schema": {"type": "string", "format": "binary"}} for each in route.sends}
    return {**described, "content": content} if content else described


def _schema(model: type[BaseModel]) -> dict[str, Any]:
    return {"schema": {"$ref": REF.format(model=model.__name__)}}


def _models(route: Route) -> list[type[BaseModel]]:
    return [model for model in (route.body, *route.answers.values()) if model is not None]


def _version() -> str:
    try:
        return version("passeur")
    except PackageNotFoundError:
        return "0"


_KEY_HEADER: Final = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "1 to 128 printable ASCII characters. The same key and body give the same thing; kept for 24 h.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 128},
}
_DESCRIPTION: Final = (
    "Sessions, conversations and event streams for browsers. Errors are problem documents (RFC 9457). "
    "Streams carry `message.created`, `message.delta` (replace the text from code point `start`), `turn.step` "
    "(the last one of a turn is `done`), `ticket.updated`, `typing`, `read`, `user.status`, `user.presence`, "
    "`admin.status`, `notification.created` and `resync` (fetch the state anew)."
)
