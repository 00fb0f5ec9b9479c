"""The durable index as the server sees it: a child process that may die at any call, and is begun anew."""

from __future__ import annotations

import asyncio
import shutil
from typing import TYPE_CHECKING, Final

from ai_server.knowledge import index_child
from ai_server.knowledge.durable import IndexLost
from shared.children import Child, ChildDied

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence
    from pathlib import Path
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray

    from ai_server.knowledge.durable import Records
    from ai_server.knowledge.vectors import PassageVectors


DAMAGED_KEPT: Final = 3
"""Most damaged folders that are kept; the oldest goes."""


def _put_aside(chroma: Path) -> None:
    if not chroma.exists():
        return
    kept = sorted(chroma.parent.glob(f"{chroma.name}.damaged-*"))
    for old in kept[: max(0, len(kept) - DAMAGED_KEPT + 1)]:
        shutil.rmtree(old, ignore_errors=True)
    number = int(kept[-1].name.rsplit("-", 1)[1]) + 1 if kept else 1
    chroma.rename(chroma.parent / f"{chroma.name}.damaged-{number:06}")


class ChromaIndex:
    """Chroma and the vector cache, in one child process that owns their folder."""

    def __init__(self, folder: Path) -> None:
        """Remember the folder; nothing is opened yet."""
        self._folder = folder
        self._child = Child(index_child.open_index, str(folder))

    @property
    def pid(self) -> int | None:
        """The child's process id, while it lives."""
        return self._child.pid

    @property
    def alive(self) -> bool:
        """Whether the child lives, as far as can be told without asking it; before its first call it does not."""
        return self._child.alive

    async def prepare(self, collection: str) -> int:
        """Create the collection if it is new; gives its row count."""
        count, _ = await self._call(index_child.prepare, collection)
        return count

    async def put(self, collection: str, records: Records) -> None:
        """Write or replace rows."""
        await self._call(index_child.put, collection, records)

    async def remove(self, collection: str, ids: Sequence[str]) -> None:
        """Remove rows; unknown ids are fine."""
        if ids:
            await self._call(index_child.remove, collection, list(ids))

    async def rows(self, collection: str) -> AsyncIterator[Records]:
        """Read the whole collection, page by page; a collection is written by nobody else meanwhile."""
        offset = 0
        while True:
            records = await self._call(index_child.page, collection, offset)
            if records.ids:
                yield records
            if len(records.ids) < index_child.PAGE:
                return
            offset += len(records.ids)

    async def nearest(self, collection: str, vectors: NDArray[np.float32], count: int) -> list[list[str]]:
        """Give the ids of the `count` rows nearest to each vector, nearest first."""
        return await self._call(index_child.nearest, collection, vectors, count)

    async def drop(self, collection: str) -> None:
        """Remove a collection."""
        await self._call(index_child.drop, collection)

    async def recall(self, fingerprint: str, hashes: Sequence[str]) -> dict[str, PassageVectors]:
        """Give cached vectors by text hash."""
        return await self._call(index_child.recall, fingerprint, list(hashes))

    async def remember(self, fingerprint: str, vectors: Mapping[str, PassageVectors]) -> None:
        """Cache vectors by text hash."""
        if vectors:
            await self._call(index_child.remember, fingerprint, dict(vectors))

    def kill(self) -> None:
        """End the child at once, as a crash would; the next call starts another."""
        self._child.kill()

    async def quarantine(self) -> None:
        """Put Chroma's folder aside, for whoever wants to look at it, and begin an empty one."""
        await self._child.close()
        await asyncio.to_thread(_put_aside, self._folder / index_child.CHROMA)

    async def close(self) -> None:
        """End the child; idempotent."""
        await self._child.close()

    async def _call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return await self._child.call(function, *arguments)
        except ChildDied as exc:
            raise IndexLost(f"The index of documents is not available: {exc}.") from exc
        except Exception as exc:  # the boundary to Chroma, which raises what its layers raise
            raise IndexLost(f"The index of documents refused: {type(exc).__name__}: {exc}") from exc
