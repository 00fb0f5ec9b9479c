"""Jellyfin: films, series, music. `GET /Items` as its OpenAPI description has it (read in `@jellyfin/sdk` 1.0.0)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ai_server.connectors.client import SafeClient
from ai_server.connectors.reading import field, item, objects

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ai_server.connectors.contract import ConnectorSpec, Item, SearchRequest

TYPES: Final = "Movie,Series,Episode,Audio,MusicAlbum,MusicArtist,Book,AudioBook"


class Jellyfin:
    """Searches one Jellyfin server by name. `user` is the id of the Jellyfin user whose libraries are seen."""

    def __init__(self, spec: ConnectorSpec, client: SafeClient | None = None) -> None:
        """Prepare; nothing is dialled."""
        self._spec = spec
        self._client = client or SafeClient(spec, headers_for(spec))

    @property
    def spec(self) -> ConnectorSpec:
        """How it was declared."""
        return self._spec

    async def search(self, request: SearchRequest) -> tuple[Item, ...]:
        """Find items by name; `types` among the parameters narrows to kinds, `wide` takes all of them."""
        query = {
            "searchTerm": request.terms,
            "recursive": "true",
            "limit": str(request.limit),
            "fields": "Overview",
            "includeItemTypes": TYPES if request.wide else request.parameters.get("types", TYPES),
            "enableTotalRecordCount": "false",
        }
        if self._spec.user:
            query["userId"] = self._spec.user
        answer = await self._client.json("Items", query)
        found = [self._item(each) for each in objects(field(answer, "Items"))]
        return tuple(each for each in found if each is not None)[: request.limit]

    async def close(self) -> None:
        """Release connections."""
        await self._client.close()

    def _item(self, raw: Mapping[str, Any]) -> Item | None:
        year = raw.get("ProductionYear")
        series = raw.get("SeriesName") or raw.get("AlbumArtist")
        name = f"{series} – {raw.get('Name')}" if series and raw.get("Name") else raw.get("Name")
        return item(
            title=f"{name} ({year})" if name and isinstance(year, int) else name,
            url=f"web/#/details?id={raw['Id']}" if isinstance(raw.get("Id"), str) else None,
            date=raw.get("PremiereDate") or year,
            snippet=raw.get("Overview"),
            base=self._spec.url,
            kind=str(raw.get("Type") or ""),
        )


def headers_for(spec: ConnectorSpec) -> dict[str, str]:
    """Carry the API key as Jellyfin 10.8 and later want it."""
    return {"Authorization": f'MediaBrowser Client="Passeur", Token="{spec.secret}"'} if spec.secret else {}
