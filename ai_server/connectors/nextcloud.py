"""Nextcloud: files and documents, by unified search and by WebDAV search (RFC 5323), joined by file id.

Unified search knows contents where a full-text app is installed, but no dates; WebDAV knows names and dates. Both are
asked at once; one that fails is made up for by the other.
"""

from __future__ import annotations

import asyncio
import base64
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, unquote
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape

from ai_server.connectors.client import SafeClient
from ai_server.connectors.reading import date_of, field, item, objects
from shared.errors import ProviderError, ProviderRefused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ai_server.connectors.contract import ConnectorSpec, Item, SearchRequest

DAV: Final = "{DAV:}"
OC: Final = "{http://owncloud.org/ns}"
WORDS_LIMIT: Final = 8
"""Most words of one WebDAV search; each is a condition for the server's database."""

_SEARCH: Final = """<?xml version="1.0" encoding="UTF-8"?>
<d:searchrequest xmlns:d="DAV:" xmlns:oc="http://owncloud.org/ns"><d:basicsearch>
<d:select><d:prop><oc:fileid/><d:displayname/><d:getlastmodified/><d:getcontenttype/></d:prop></d:select>
<d:from><d:scope><d:href>/files/{user}</d:href><d:depth>infinity</d:depth></d:scope></d:from>
<d:where>{where}</d:where>
<d:orderby><d:order><d:prop><d:getlastmodified/></d:prop><d:descending/></d:order></d:orderby>
<d:limit><d:nresults>{limit}</d:nresults></d:limit>
</d:basicsearch></d:searchrequest>"""


class Nextcloud:
    """Searches what one Nextcloud user may read. `user` and an app password; without a user, unified search alone."""

    def __init__(self, spec: ConnectorSpec, client: SafeClient | None = None) -> None:
        """Prepare; nothing is dialled."""
        self._spec = spec
        self._provider = str(spec.options.get("provider", "files"))
        self._client = client or SafeClient(spec, headers_for(spec))

    @property
    def spec(self) -> ConnectorSpec:
        """How it was declared."""
        return self._spec

    async def search(self, request: SearchRequest) -> tuple[Item, ...]:
        """Find files; `wide` lets WebDAV take names that hold any of the words, not all."""
        ways = [self._unified(request)]
        if self._spec.user:
            ways.append(self._dav(request))
        answers = await asyncio.gather(*ways, return_exceptions=True)
        failed = [each for each in answers if isinstance(each, BaseException)]
        for each in failed:
            if not isinstance(each, ProviderError):
                raise each
        found = [each for each in answers if isinstance(each, dict)]
        if not found:
            raise failed[0]
        return _join(found)[: request.limit]

    async def close(self) -> None:
        """Release connections."""
        await self._client.close()

    async def _unified(self, request: SearchRequest) -> dict[str, Item]:
        path = f"ocs/v2.php/search/providers/{quote(self._provider, safe='')}/search"
        answer = await self._client.json(path, {"term": request.terms, "limit": str(request.limit), "format": "json"})
        entries = objects(field(answer, "ocs.data.entries"))
        return dict(pair for pair in map(self._entry, entries) if pair)

    def _entry(self, raw: Mapping[str, Any]) -> tuple[str, Item] | None:
        read = item(
            title=raw.get("title"), url=raw.get("resourceUrl"), date="", snippet=raw.get("subline"), base=self._spec.url
        )
        key = field(raw, "attributes.fileId") or raw.get("resourceUrl") or raw.get("title")
        return (str(key), read) if read else None

    async def _dav(self, request: SearchRequest) -> dict[str, Item]:
        words = [_literal(word) for word in request.terms.split()[:WORDS_LIMIT]]
        likes = [
            f"<d:like><d:prop><d:displayname/></d:prop><d:literal>%{word}%</d:literal></d:like>"
            for word in words
            if word
        ]
        if not likes:
            return {}
        joint = "or" if request.wide else "and"
        where = likes[0] if len(likes) == 1 else f"<d:{joint}>{''.join(likes)}</d:{joint}>"
        body = _SEARCH.format(user=escape(quote(self._spec.user)), where=where, limit=request.limit)
        raw, _ = await self._client.fetch(
            "SEARCH",
            "remote.php/dav/",
            {},
            accept="application/xml",
            headers={"Content-Type": "text/xml; charset=utf-8"},
            body=body.encode(),
        )
        return dict(pair for pair in map(self._response, self._parse(raw).iter(f"{DAV}response")) if pair)

    def _parse(self, raw: bytes) -> ET.Element:
        # No entities at all: an answer of WebDAV needs none, and they can grow without bound.
        if b"<!DOCTYPE" in raw or b"<!ENTITY" in raw:
            raise self._unreadable()
        try:
            return ET.fromstring(raw)  # noqa: S314 - without a DTD there is nothing to expand
        except (ET.ParseError, ValueError) as fault:
            raise self._unreadable() from fault

    def _response(self, response: ET.Element) -> tuple[str, Item] | None:
        values = {element.tag: element.text or "" for prop in response.iter(f"{DAV}prop") for element in prop}
        href = unquote(response.findtext(f"{DAV}href") or "")
        _, _, path = href.partition(f"/files/{self._spec.user}/")
        file_id = values.get(f"{OC}fileid", "")
        read = item(
            title=values.get(f"{DAV}displayname") or path.rstrip("/").rpartition("/")[2],
            url=f"index.php/f/{file_id}" if file_id.isdigit() else None,
            date=values.get(f"{DAV}getlastmodified"),
            snippet=path,
            base=self._spec.url,
            kind=values.get(f"{DAV}getcontenttype", ""),
        )
        return (file_id or href, read) if read else None

    def _unreadable(self) -> ProviderRefused:
        message = f"{self._spec.name} answered a search with something that is not WebDAV"
        return ProviderRefused(self._spec.key, message, started=False, error_class="not_xml")


def headers_for(spec: ConnectorSpec) -> dict[str, str]:
    """Carry user and app password, and say that this is no browser form."""
    pair = base64.b64encode(f"{spec.user}:{spec.secret}".encode()).decode()
    return {"OCS-APIRequest": "true", **({"Authorization": f"Basic {pair}"} if spec.secret else {})}


def _literal(word: str) -> str:
    """Make a word inert in a LIKE pattern and in XML."""
    return escape(word.replace("\\", "").replace("%", "").replace("_", " ").strip())


def _join(found: list[dict[str, Item]]) -> tuple[Item, ...]:
    """Join the two answers by file id: unified order first, with WebDAV's dates and kinds."""
    joined: dict[str, Item] = {}
    for answer in found:
        for key, each in answer.items():
            before = joined.get(key)
            if before is None:
                joined[key] = each
            else:
                joined[key] = type(before)(
                    before.title,
                    before.url or each.url,
                    date_of(before.date) or each.date,
                    before.snippet or each.snippet,
                    before.kind or each.kind,
                )
    return tuple(joined.values())
