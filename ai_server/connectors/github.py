"""GitHub: repositories, issues, code, by the REST search API (its OpenAPI description read in `@octokit/openapi`)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from ai_server.connectors.client import SafeClient
from ai_server.connectors.reading import field, item, objects

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ai_server.connectors.contract import ConnectorSpec, Item, SearchRequest

QUALIFIERS: Final = {
    "repositories": ("in:name,description", "in:name,description,readme,topics"),
    "issues": ("is:issue in:title", "is:issue in:title,body,comments"),
    "code": ("", ""),
}
"""What is added to the terms, narrow and wide."""

_SIGNS: Final = re.compile(r"[^\w\s.+#@/-]")
_LEADS: Final = re.compile(r"(?<!\S)[-+#@/.]+|\b(?:AND|OR|NOT)\b")


def plain_terms(terms: str) -> str:
    """Take out of a person's words all that GitHub would read as a qualifier, an operator or a quotation.

    `repo:other/private` would otherwise widen the search past the configured `scope` to all that our token may read.
    """
    return " ".join(_LEADS.sub(" ", _SIGNS.sub(" ", terms)).split())


class GitHub:
    """Searches what one token may read, inside the configured `scope` ("org:acme repo:acme/web")."""

    def __init__(self, spec: ConnectorSpec, client: SafeClient | None = None) -> None:
        """Prepare; nothing is dialled."""
        self._spec = spec
        self._scope = str(spec.options.get("scope", ""))
        self._client = client or SafeClient(spec, headers_for(spec))

    @property
    def spec(self) -> ConnectorSpec:
        """How it was declared."""
        return self._spec

    async def search(self, request: SearchRequest) -> tuple[Item, ...]:
        """Find repositories, issues or code; `wide` looks into readmes, bodies and comments too."""
        endpoint = request.endpoint if request.endpoint in QUALIFIERS else "repositories"
        terms = plain_terms(request.terms)
        if not terms:
            return ()
        query = {
            "q": " ".join(filter(None, (terms, QUALIFIERS[endpoint][request.wide], self._scope))),
            "per_page": str(request.limit),
        }
        answer = await self._client.json(f"search/{endpoint}", query)
        read = {"repositories": _repository, "issues": _issue, "code": _code}[endpoint]
        found = [read(each, self._spec.url) for each in objects(field(answer, "items"))]
        return tuple(each for each in found if each is not None)[: request.limit]

    async def close(self) -> None:
        """Release connections."""
        await self._client.close()


def headers_for(spec: ConnectorSpec) -> dict[str, str]:
    """Carry the token and fix the API's version."""
    token = {"Authorization": f"Bearer {spec.secret}"} if spec.secret else {}
    return {"X-GitHub-Api-Version": "2022-11-28", **token}


def _repository(raw: Mapping[str, Any], base: str) -> Item | None:
    return item(
        title=raw.get("full_name"),
        url=raw.get("html_url"),
        date=raw.get("pushed_at") or raw.get("updated_at"),
        snippet=raw.get("description"),
        base=base,
        kind="repository",
    )


def _issue(raw: Mapping[str, Any], base: str) -> Item | None:
    number = raw.get("number")
    return item(
        title=f"{raw.get('title')} (#{number})" if raw.get("title") and isinstance(number, int) else raw.get("title"),
        url=raw.get("html_url"),
        date=raw.get("updated_at") or raw.get("created_at"),
        snippet=raw.get("body"),
        base=base,
        kind="pull request" if raw.get("pull_request") else "issue",
    )


def _code(raw: Mapping[str, Any], base: str) -> Item | None:
    repository = field(raw, "repository.full_name")
    path = raw.get("path")
    return item(
        title=f"{repository}: {path}" if repository and path else path,
        url=raw.get("html_url"),
        date=field(raw, "repository.pushed_at"),
        snippet=field(raw, "repository.description"),
        base=base,
        kind="code",
    )
