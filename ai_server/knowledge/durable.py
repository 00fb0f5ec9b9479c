"""The durable index as the server sees it: rows of passages that outlive the process, and a cache of vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from shared.errors import NotReady

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from ai_server.knowledge.vectors import PassageVectors


class IndexLost(NotReady):
    """The index died or refused; what it was doing is unknown."""


@dataclass(frozen=True, slots=True)
class Records:
    """Rows of one collection: ids, (n, d) vectors, texts, and flat metadata (text, number or bool values)."""

    ids: list[str]
    vectors: NDArray[np.float32]
    texts: list[str]
    bodies: list[Mapping[str, str | int | float | bool]]


class DurableIndex(Protocol):
    """Every method raises `IndexLost` when the index is gone; the next call may find it back."""

    owned: bool
    """Whether it is ours to begin anew: a call after a death does; a server comes back by itself, or not."""

    async def probe(self) -> None:
        """Find out, within a second or two, whether it would answer, however busy it is."""
        ...

    async def prepare(self, collection: str) -> int:
        """Create the collection if it is new; gives its row count."""
        ...

    async def put(self, collection: str, records: Records) -> None:
        """Write or replace any number of rows."""
        ...

    async def remove(self, collection: str, ids: Sequence[str]) -> None:
        """Remove rows; unknown ids are fine."""
        ...

    def rows(self, collection: str) -> AsyncIterator[Records]:
        """Read the whole collection, page by page; nobody writes it meanwhile."""
        ...

    async def nearest(self, collection: str, vectors: NDArray[np.float32], count: int) -> list[list[str]]:
        """Give the ids of up to `count` rows nearest to each vector by cosine, nearest first."""
        ...

    async def fetch(self, collection: str, ids: Sequence[str]) -> Records:
        """Read some rows, in any order; unknown ids are left out."""
        ...

    async def names(self) -> Sequence[str]:
        """Name every collection of passages."""
        ...

    async def drop(self, collection: str) -> None:
        """Remove a collection with its rows; an unknown one is fine."""
        ...

    async def recall(self, fingerprint: str, hashes: Sequence[str]) -> dict[str, PassageVectors]:
        """Give the cached vectors of those texts that have some."""
        ...

    async def remember(self, fingerprint: str, vectors: Mapping[str, PassageVectors]) -> None:
        """Cache vectors by text hash."""
        ...

    async def quarantine(self) -> None:
        """Put a damaged index aside and begin an empty one; the vector cache stays. Nothing for one not `owned`."""
        ...

    async def close(self) -> None:
        """Let it go; idempotent."""
        ...
