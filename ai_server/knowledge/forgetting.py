"""Documents of sources that are no more: taken out of the registry, the index and what is served."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

import structlog

from ai_server.knowledge.sync import Outcome
from shared.errors import InvalidRequest, NotFound, SyncRunning

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from ai_server.knowledge.changes import Changes
    from ai_server.knowledge.sources import SourceBook
    from ai_server.storage.index_contract import DocumentRow

log = structlog.get_logger(__name__)


class Forgetter:
    """Ends sources. Their folders are never touched."""

    def __init__(self, changes: Changes, book: SourceBook) -> None:
        """Take what it works with; nothing is changed yet."""
        self._changes = changes
        self._book = book

    async def forget(self, project_id: str, source_id: str) -> tuple[int, int]:
        """Forget a source with everything that is indexed of it; gives how many documents and passages that were.

        Raises:
            InvalidRequest: the settings declare it.
            NotFound: there is no such source, and nothing is indexed of one.
            SyncRunning, NotReady: it is being changed, or cannot be now.
        """
        library = self._changes.library(project_id)
        library.ready()
        if any(each.source_id == source_id for each in library.project.sources):
            problem = "is declared in the settings: take it out of the project's ai.toml and restart, then forget it"
            raise InvalidRequest.of("source_id", f"source `{source_id}` {problem}")
        async with self._changes.held(project_id, source_id):
            rows = await self._changes.means.registry.documents(project_id, source_id)
            if not rows and source_id not in {each.source_id for each in await self._book.of(project_id)}:
                raise NotFound(f"No source `{source_id}` in project `{project_id}`: `documents list` shows them.")
            await self._drop(project_id, source_id, rows)
            await self._book.forget(project_id, source_id)
        return len(rows), sum(len(row.chunk_ids) for row in rows.values())

    async def give_up(self, project_id: str, known: Collection[str], *, held: bool = False) -> None:
        """Drop what the index lost of sources that are not among `known`: nothing is left to build it from.

        `held`: the caller holds the whole project.
        """
        lost = self._changes.library(project_id).lost
        rows = (await self._changes.means.registry.documents(project_id, "")).values()
        for source_id in sorted({row.source_id for row in rows if row.source_id not in known}):
            own = {row.path: row for row in rows if row.source_id == source_id and lost & set(row.chunk_ids)}
            if not own:
                continue
            try:
                async with nullcontext() if held else self._changes.held(project_id, source_id):
                    await self._drop(project_id, source_id, own)
            except SyncRunning:
                continue
            log.warning("documents given up: their source is known no more", source=source_id, documents=len(own))

    async def _drop(self, project_id: str, source_id: str, rows: Mapping[str, DocumentRow]) -> None:
        """Remove documents from the registry, which is the truth, then from what is served and from the index."""
        library, means = self._changes.library(project_id), self._changes.means
        outcome = Outcome(
            removed={chunk_id for row in rows.values() for chunk_id in row.chunk_ids},
            stamps={f"{source_id}/{path}": (b"", b"", "") for path in rows},
        )
        means.leases.check(project_id)
        await means.registry.put_documents([], [(project_id, source_id, path) for path in rows])
        library.running.append(outcome)
        try:
            await means.index.remove(library.row.collection, sorted(outcome.removed))
        finally:
            await library.publish(outcome)
            library.running.remove(outcome)
