"""Sources that were not declared in settings but given with a sync: remembered, so that a lost index is built again."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import structlog

from ai_server.knowledge.contract import SourceSpec
from ai_server.storage.index_contract import SourceRow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_server.storage.index_contract import IndexRegistry

log = structlog.get_logger(__name__)


class SourceBook:
    """What is remembered in the registry; the newest root of a source wins."""

    def __init__(self, registry: IndexRegistry, earlier: Path) -> None:
        """`earlier` is the file in which releases before this one remembered them; it need not exist."""
        self._registry = registry
        self._earlier = earlier

    async def of(self, project_id: str) -> Sequence[SourceSpec]:
        """Give the sources remembered for a project."""
        return [
            SourceSpec(
                source_id=row.source_id,
                root=Path(row.root),
                defaults={key: tuple(values) for key, values in row.defaults.items()},
                key_map=dict(row.key_map),
            )
            for row in await self._registry.sources(project_id)
        ]

    async def remember(self, project_id: str, source: SourceSpec) -> None:
        """Write a source down, durably."""
        root = await asyncio.to_thread(source.root.resolve)
        await self._registry.put_source(
            SourceRow(project_id, source.source_id, str(root), source.defaults, source.key_map)
        )

    async def forget(self, project_id: str, source_id: str) -> None:
        """Remember a source no more."""
        await self._registry.remove_source(project_id, source_id)

    async def take_over(self) -> None:
        """Take over what an earlier release remembered in its file, once; what is known already stays as it is."""
        for project_id, book in (await asyncio.to_thread(_read, self._earlier)).items():
            known = {row.source_id for row in await self._registry.sources(project_id)}
            for source_id, entry in book.items():
                if source_id not in known:
                    await self._registry.put_source(
                        SourceRow(project_id, source_id, entry["root"], entry["defaults"], entry["key_map"])
                    )
                    log.info("source taken over", project=project_id, source=source_id)
        if self._earlier.exists():
            self._earlier.replace(self._earlier.with_suffix(".taken-over"))


def _read(path: Path) -> dict[str, dict[str, dict[str, Any]]]:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except ValueError:
        log.warning("remembered sources cannot be read", file=str(path))
        return {}
