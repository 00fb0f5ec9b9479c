"""Whether a collection tells the truth: every passage is found by its own vector, and nothing else is there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ai_server.knowledge.contract import IndexAudit

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from ai_server.knowledge.durable import DurableIndex
    from ai_server.knowledge.snapshot import Snapshot

ASKED_AT_ONCE: Final = 100
NEIGHBOURS: Final = 5
"""How many rows are asked for: passages of the same text have the same vector, and any of them may come first."""
TWIN_GAP: Final = 1e-5


async def untrue(index: DurableIndex, collection: str, snapshot: Snapshot, wanted: Collection[str]) -> IndexAudit:
    """Ask a collection for every passage of a snapshot by its own vector, and for all that it should not hold."""
    held: set[str] = set()
    async for records in index.rows(collection):
        held.update(records.ids)
    unreachable = set(wanted) - held
    ghosts = held - set(wanted)
    for start in range(0, len(snapshot), ASKED_AT_ONCE):
        part = snapshot.entries[start : start + ASKED_AT_ONCE]
        vectors = snapshot.vectors[start : start + ASKED_AT_ONCE]
        found = await index.nearest(collection, vectors, NEIGHBOURS)
        for entry, vector, ids in zip(part, vectors, found, strict=True):
            ghosts.update(each for each in ids if each not in wanted)
            if entry.chunk.chunk_id not in ids and not _has_twin(snapshot, vector, ids):
                unreachable.add(entry.chunk.chunk_id)
    return IndexAudit(len(wanted), tuple(sorted(unreachable)), tuple(sorted(ghosts)))


def _has_twin(snapshot: Snapshot, vector: NDArray[np.float32], ids: Sequence[str]) -> bool:
    """Whether a row that came first has the very vector that was asked with."""
    row = snapshot.rows.get(ids[0]) if ids else None
    return row is not None and float(snapshot.vectors[row] @ vector) > 1 - TWIN_GAP
