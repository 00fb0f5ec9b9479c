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
NEIGHBOURS_AGAIN: Final = 200
"""How many are asked for once more where a row was not among the first: among hundreds of near-twins an approximate
search looks at some of them only, unless it is asked for more.
"""
TWIN_GAP: Final = 1e-5


async def untrue(index: DurableIndex, collection: str, snapshot: Snapshot, wanted: Collection[str]) -> IndexAudit:
    """Ask a collection for every passage of a snapshot by its own vector, and for all that it should not hold."""
    held: set[str] = set()
    async for records in index.rows(collection):
        held.update(records.ids)
    unreachable = set(wanted) - held
    ghosts = held - set(wanted)
    rows = list(range(len(snapshot)))
    for count in (NEIGHBOURS, NEIGHBOURS_AGAIN):
        rows = await _not_among(index, collection, snapshot, rows, count, wanted, ghosts)
    unreachable.update(snapshot.chunks[row].chunk_id for row in rows)
    return IndexAudit(len(wanted), tuple(sorted(unreachable)), tuple(sorted(ghosts)))


async def _not_among(
    index: DurableIndex,
    collection: str,
    snapshot: Snapshot,
    rows: Sequence[int],
    count: int,
    wanted: Collection[str],
    ghosts: set[str],
) -> list[int]:
    """Give the rows that are not among the `count` nearest to their own vector; what should not be there is noted."""
    missing: list[int] = []
    for start in range(0, len(rows), ASKED_AT_ONCE):
        part = rows[start : start + ASKED_AT_ONCE]
        found = await index.nearest(collection, snapshot.vectors[part], count)
        for row, ids in zip(part, found, strict=True):
            ghosts.update(each for each in ids if each not in wanted)
            if snapshot.chunks[row].chunk_id not in ids and not _has_twin(snapshot, snapshot.vectors[row], ids):
                missing.append(row)
    return missing


def _has_twin(snapshot: Snapshot, vector: NDArray[np.float32], ids: Sequence[str]) -> bool:
    """Whether a row that came first has the very vector that was asked with."""
    row = snapshot.rows.get(ids[0]) if ids else None
    return row is not None and float(snapshot.vectors[row] @ vector) > 1 - TWIN_GAP
