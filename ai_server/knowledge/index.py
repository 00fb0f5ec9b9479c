"""The durable index as the server sees it: a child process that may die at any call, and is begun anew.

The child holds Chroma itself (`ChromaIndex`), or the connection to a Chroma server (`ChromaServer`).
"""

from __future__ import annotations

import asyncio
import http.client
import shutil
from typing import TYPE_CHECKING, Final

from ai_server.knowledge import index_child, server_child
from ai_server.knowledge.durable import IndexLost
from shared.children import Child, ChildDied

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence
    from pathlib import Path
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray

    from ai_server.knowledge.durable import Records
    from ai_server.knowledge.server_child import ServerAddress
    from ai_server.knowledge.vectors import PassageVectors


HEARTBEAT_SECONDS: Final = 1.0
"""Longest wait for a server's heartbeat: readiness flips within two."""
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


class _Chroma:
    """What both have in common: passages through the functions of the child."""

    _child: Child

    @property
    def pid(self) -> int | None:
        """The child's process id, while it lives."""
        return self._child.pid

    async def prepare(self, collection: str) -> int:
        """Create the collection if it is new; gives its row count."""
        return await self._call(index_child.prepare, collection)

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

    async def fetch(self, collection: str, ids: Sequence[str]) -> Records:
        """Read some rows, in any order; unknown ids are left out."""
        return await self._call(index_child.fetch, collection, list(ids))

    async def names(self) -> Sequence[str]:
        """Name every collection."""
        return await self._call(index_child.collections)

    def kill(self) -> None:
        """End the child at once, as a crash would; the next call starts another."""
        self._child.kill()

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


class ChromaIndex(_Chroma):
    """Chroma and the vector cache, in one child process that owns their folder."""

    owned = True

    def __init__(self, folder: Path) -> None:
        """Remember the folder; nothing is opened yet."""
        self._folder = folder
        self._child = Child(index_child.open_index, str(folder))
        self._seen_by: int | None = None

    async def probe(self) -> None:
        """See whether the child lives, without asking it, and still has its folder; before its first call it does not.

        One whose folder was thrown away under it is ended: it would go on reading what is gone and could write nothing.
        """
        if not self._child.alive:
            raise IndexLost("The index of documents died.")
        if (self._folder / index_child.CHROMA).exists():
            self._seen_by = self.pid
        elif self._seen_by == self.pid:
            self.kill()
            raise IndexLost("The folder of the index of documents is gone.")

    async def recall(self, fingerprint: str, hashes: Sequence[str]) -> dict[str, PassageVectors]:
        """Give cached vectors by text hash."""
        return await self._call(index_child.recall, fingerprint, list(hashes))

    async def remember(self, fingerprint: str, vectors: Mapping[str, PassageVectors]) -> None:
        """Cache vectors by text hash."""
        if vectors:
            await self._call(index_child.remember, fingerprint, dict(vectors))

    async def quarantine(self) -> None:
        """Put Chroma's folder aside, for whoever wants to look at it, and begin an empty one."""
        await self._child.close()
        await asyncio.to_thread(_put_aside, self._folder / index_child.CHROMA)


class ChromaServer(_Chroma):
    """A Chroma server, reached from a child process; the vector cache lies there too. Chroma Cloud has a token."""

    owned = False

    def __init__(self, address: ServerAddress) -> None:
        """Remember the address; nothing is connected yet."""
        self._address = address
        self._child = Child(server_child.open_server, address)

    async def probe(self) -> None:
        """Ask the server for its heartbeat, past whatever the child is busy with."""
        try:
            await asyncio.to_thread(self._heartbeat)
        except (OSError, http.client.HTTPException) as exc:
            reason = str(exc) or type(exc).__name__
            raise IndexLost(f"The Chroma server at {self._address.url} does not answer: {reason}.") from exc

    async def recall(self, fingerprint: str, hashes: Sequence[str]) -> dict[str, PassageVectors]:
        """Give cached vectors by text hash."""
        return await self._call(server_child.recall, fingerprint, list(hashes))

    async def remember(self, fingerprint: str, vectors: Mapping[str, PassageVectors]) -> None:
        """Cache vectors by text hash."""
        if vectors:
            await self._call(server_child.remember, fingerprint, dict(vectors))

    async def quarantine(self) -> None:
        """Leave it alone: it is not ours, and may only be away. `rebuild` begins our collections anew."""

    def _heartbeat(self) -> None:
        host, port, tls = self._address.place
        kind = http.client.HTTPSConnection if tls else http.client.HTTPConnection
        connection = kind(host, port, timeout=HEARTBEAT_SECONDS)
        try:
            connection.request("GET", "/api/v2/heartbeat", headers=self._address.headers)
            status = connection.getresponse().status
        finally:
            connection.close()
        if status != http.HTTPStatus.OK:
            raise ConnectionError(f"it answers {status}")
