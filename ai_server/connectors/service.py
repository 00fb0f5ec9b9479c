"""All connectors of all projects, and the search that widens in steps before it gives up."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ai_server.connectors.github import GitHub
from ai_server.connectors.jellyfin import Jellyfin
from ai_server.connectors.nextcloud import Nextcloud
from ai_server.connectors.openapi import OpenApi
from shared.errors import NotFound, ProviderError, ProviderOverloaded
from shared.text import fold

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ai_server.connectors.contract import Connector, ConnectorSpec, Item, SearchRequest

STEPS_LIMIT: Final = 4
"""Most requests of one search."""
SEARCH_DEADLINE_S: Final = 15.0
"""All steps together; what was found by then counts."""

FACTORIES: Final[dict[str, Callable[[ConnectorSpec], Connector]]] = {
    "jellyfin": Jellyfin,
    "nextcloud": Nextcloud,
    "github": GitHub,
    "openapi": OpenApi,
}


@dataclass(frozen=True, slots=True)
class Found:
    """What a search in steps found, and all terms it tried, folded, in order."""

    items: tuple[Item, ...]
    tried: tuple[str, ...]


class Connectors:
    """Every instance of every project; each works or fails alone."""

    def __init__(
        self,
        declared: Mapping[str, Sequence[ConnectorSpec]],
        make: Callable[[ConnectorSpec], Connector] | None = None,
    ) -> None:
        """Take the declared instances by project; nothing is dialled before the first search."""
        build = make or (lambda spec: FACTORIES[spec.connector](spec))
        self._by_project = {
            project_id: {spec.key: build(spec) for spec in specs} for project_id, specs in declared.items()
        }

    async def search(self, project_id: str, key: str, steps: Sequence[SearchRequest]) -> Found:
        """Ask `type/instance`, step by step, until one finds something.

        A step that fails after another one was answered ends the search with what is known: nothing found.

        Raises:
            NotFound: no such instance.
            ProviderOverloaded, ProviderRefused: the first step failed.
        """
        connector = self._by_project.get(project_id, {}).get(key)
        if connector is None:
            raise NotFound(f"There is no connector {key} in this project.")
        tried: list[str] = []
        try:
            async with asyncio.timeout(SEARCH_DEADLINE_S):
                for step in steps[:STEPS_LIMIT]:
                    try:
                        items = await connector.search(step)
                    except ProviderError:
                        if not tried:
                            raise
                        break
                    tried.append(fold(step.terms))
                    if items:
                        return Found(items, tuple(dict.fromkeys(tried)))
        except TimeoutError as fault:
            if not tried:
                message = f"{connector.spec.name} did not answer within {SEARCH_DEADLINE_S:g} s"
                raise ProviderOverloaded(key, message, started=False, error_class="timeout") from fault
        return Found((), tuple(dict.fromkeys(tried)))

    async def close(self) -> None:
        """Release all connections; idempotent."""
        for connectors in self._by_project.values():
            for connector in connectors.values():
                await connector.close()
