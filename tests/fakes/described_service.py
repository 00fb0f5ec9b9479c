"""A service made of its own OpenAPI description: it takes only declared requests, and its answers fit the schema.

What the description requires and a test does not give is filled in by type, so a connector sees answers as full as
the real ones; what a test gives is checked, so a fixture cannot invent a field's type.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import yaml
from aiohttp import web

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

FOLDER = Path(__file__).parents[1] / "data" / "openapi"


def filled(schema: Mapping[str, Any], given: Any = None) -> Any:
    """Complete `given` with the smallest values that the schema requires."""
    for several in ("allOf", "anyOf", "oneOf"):
        if several in schema:
            return filled(schema[several][0], given)
    if schema.get("type") == "array":
        return [filled(schema["items"], each) for each in given or []]
    if schema.get("type") == "object" or "properties" in schema:
        if given is None and schema.get("nullable"):
            return None
        given = given or {}
        properties = schema.get("properties", {})
        names = [*schema.get("required", []), *(name for name in given if name not in schema.get("required", []))]
        return {
            name: filled(properties[name], given.get(name)) if name in properties else given[name] for name in names
        }
    if given is not None or schema.get("nullable"):
        return given
    return (
        schema["enum"][0]
        if "enum" in schema
        else {"string": "x", "integer": 1, "number": 1.0, "boolean": False}[schema["type"]]
    )


def plain(schema: Any) -> Any:
    """Rewrite OpenAPI 3.0's `nullable` as JSON Schema's null."""
    if isinstance(schema, list):
        return [plain(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {name: plain(value) for name, value in schema.items() if name not in {"nullable", "format"}}
    if schema.get("nullable") is True:
        if "enum" in kept:
            kept["enum"] = [*kept["enum"], None]
        return {"anyOf": [kept, {"type": "null"}]}
    return kept


class DescribedService:
    """Serves the GET operations of a description; `answer` gives what a path finds for a query.

    `requests` keeps path, query and headers of all that came; a request the description does not know fails loudly.
    """

    def __init__(self, file: str, answer: Callable[[str, Mapping[str, str]], Any], prefix: str = "") -> None:
        self._paths = yaml.safe_load((FOLDER / file).read_text("utf-8"))["paths"]
        self._answer = answer
        self.requests: list[tuple[str, dict[str, str], Mapping[str, str]]] = []
        self.undeclared: list[str] = []
        self.app = web.Application()
        for path in self._paths:
            self.app.router.add_get(prefix + path, self._handler(path))

    def _handler(self, path: str) -> Callable[[web.Request], Any]:
        operation = self._paths[path]["get"]
        schema = operation["responses"]["200"]["content"]["application/json"]["schema"]

        async def handle(request: web.Request) -> web.Response:
            self.requests.append((path, dict(request.query), dict(request.headers)))
            wrong = self._wrong(operation["parameters"], request)
            if wrong:
                self.undeclared += wrong
                return web.json_response({"message": "; ".join(wrong)}, status=400)
            body = filled(schema, self._answer(path, request.query))
            jsonschema.validate(body, plain(schema))
            return web.json_response(body)

        return handle

    @staticmethod
    def _wrong(parameters: list[Mapping[str, Any]], request: web.Request) -> list[str]:
        known = {each["name"]: each for each in parameters if each["in"] == "query"}
        wrong = [f"{name} is no parameter" for name in request.query if name not in known]
        for each in parameters:
            place = request.query if each["in"] == "query" else request.headers
            if each.get("required") and each["name"] not in place:
                wrong.append(f"{each['name']} is required")
            kind = each["schema"].get("type")
            value = place.get(each["name"], "")
            allowed = each["schema"].get("items", each["schema"]).get("enum")
            parts = value.split(",") if kind == "array" else [value]
            if value and allowed and not set(parts) <= set(allowed):
                wrong.append(f"{each['name']} is none of {allowed}")
            if value and kind == "integer" and not value.isdigit():
                wrong.append(f"{each['name']} is no integer")
            if value and kind == "boolean" and value not in {"true", "false"}:
                wrong.append(f"{each['name']} is no boolean")
        return wrong
