"""Any HTTP service with a search, declared without code: a path, its parameters, and where the answer keeps what.

With an OpenAPI description beside the declaration, operation and parameters are checked against it at start, so that a
typing mistake is a fault with a name instead of a search that finds nothing.
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from ai_server.connectors.client import SafeClient
from ai_server.connectors.reading import field, item, objects

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ai_server.connectors.contract import ConnectorSpec, Item, SearchRequest

PLACES: Final = frozenset({"terms", "limit"})
_PLACE: Final = re.compile(r"\{([\w.]+)\}")


@dataclass(frozen=True, slots=True)
class HttpEndpoint:
    """How one endpoint is asked and read. `query` and `path` may hold `{terms}` and `{limit}`; `wide` replaces
    parameters in a widened search. `items` is the dotted path of the list, empty when the answer is the list;
    `title`, `link`, `date`, `snippet` are dotted paths in an item, or templates with `{dotted.path}` in them.
    """

    path: str
    query: Mapping[str, str]
    wide: Mapping[str, str]
    items: str
    title: str
    link: str
    date: str
    snippet: str


class OpenApi:
    """Searches one declared HTTP service with GET."""

    def __init__(self, spec: ConnectorSpec, client: SafeClient | None = None) -> None:
        """Prepare; nothing is dialled. `spec.options["http"]` maps endpoint names to `HttpEndpoint`."""
        self._spec = spec
        declared = spec.options.get("http")
        self._http: Mapping[str, HttpEndpoint] = declared if isinstance(declared, dict) else {}
        self._client = client or SafeClient(spec, headers_for(spec))

    @property
    def spec(self) -> ConnectorSpec:
        """How it was declared."""
        return self._spec

    async def search(self, request: SearchRequest) -> tuple[Item, ...]:
        """Ask the endpoint of the request, the first declared one for an empty name."""
        endpoint = self._spec.endpoint(request.endpoint) or self._spec.endpoints[0]
        http = self._http[endpoint.name]
        values = {"terms": request.terms, "limit": str(request.limit)}
        templates = {**http.query, **request.parameters, **(http.wide if request.wide else {})}
        query = {name: _fill(template, values) for name, template in templates.items() if template}
        path = _PLACE.sub(lambda place: quote(values.get(place[1], ""), safe=""), http.path)
        answer = await self._client.json(path, query)
        found = [self._item(http, each) for each in objects(field(answer, http.items) if http.items else answer)]
        return tuple(each for each in found if each is not None)[: request.limit]

    async def close(self) -> None:
        """Release connections."""
        await self._client.close()

    def _item(self, http: HttpEndpoint, raw: Mapping[str, Any]) -> Item | None:
        return item(
            title=_read(raw, http.title),
            url=_read(raw, http.link, in_address=True),
            date=_read(raw, http.date),
            snippet=_read(raw, http.snippet),
            base=self._spec.url,
        )


def headers_for(spec: ConnectorSpec) -> dict[str, str]:
    """Carry the credential as `auth` says: `bearer`, `basic` or `header:NAME`."""
    auth = str(spec.options.get("auth", "bearer"))
    if not spec.secret:
        return {}
    if auth.startswith("header:"):
        return {auth.removeprefix("header:"): spec.secret}
    if auth == "basic":
        return {"Authorization": "Basic " + base64.b64encode(f"{spec.user}:{spec.secret}".encode()).decode()}
    return {"Authorization": f"Bearer {spec.secret}"}


def faults_in(description: Mapping[str, Any], name: str, http: HttpEndpoint) -> list[str]:
    """Compare an endpoint with the service's OpenAPI description (version 3, JSON or YAML already read)."""
    operation = field_of(description, http.path)
    if operation is None:
        return [f"endpoint {name}: the description has no GET {http.path}"]
    known = {each["name"]: each for each in objects(operation.get("parameters")) if each.get("in") == "query"}
    faults = [
        f"endpoint {name}: GET {http.path} has no parameter {each}" for each in {*http.query, *http.wide} - known.keys()
    ]
    missing = [each for each, declared in known.items() if declared.get("required") and each not in http.query]
    return sorted([*faults, *(f"endpoint {name}: GET {http.path} needs the parameter {each}" for each in missing)])


def field_of(description: Mapping[str, Any], path: str) -> Mapping[str, Any] | None:
    """Find the GET operation of a path, leading slash or not."""
    paths = description.get("paths")
    found = paths.get("/" + path.lstrip("/")) if isinstance(paths, dict) else None
    operation = found.get("get") if isinstance(found, dict) else None
    return operation if isinstance(operation, dict) else None


def _fill(template: str, values: Mapping[str, str]) -> str:
    return _PLACE.sub(lambda place: values.get(place[1], place[0]), template)


def _read(raw: Mapping[str, Any], source: str, *, in_address: bool = False) -> Any:
    """Read a dotted path, or fill a template with the values at dotted paths; None when a value is missing."""
    if not source:
        return None
    if "{" not in source:
        return field(raw, source)
    values = {name: field(raw, name) for name in _PLACE.findall(source)}
    if any(value is None or isinstance(value, dict | list) for value in values.values()):
        return None
    return _PLACE.sub(
        lambda place: quote(str(values[place[1]]), safe="") if in_address else str(values[place[1]]), source
    )
