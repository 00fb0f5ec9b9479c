"""What the rest of the AI server asks of the index registry: what was indexed, where, and who may write it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime


@dataclass(frozen=True, slots=True)
class DocumentRow:
    """One file that a sync saw. `metadata` and `chunk_ids` as they were indexed; `reason` why it was rejected."""

    project_id: str
    source_id: str
    path: str
    status: str
    reason: str
    content_sha256: bytes
    settings_sha256: bytes
    title: str
    language: str
    metadata: Mapping[str, Sequence[str]]
    chunk_ids: Sequence[str]
    synced_at: datetime


@dataclass(frozen=True, slots=True)
class SourceRow:
    """A folder that came with a sync and that no settings declare; `root` is absolute."""

    project_id: str
    source_id: str
    root: str
    defaults: Mapping[str, Sequence[str]]
    key_map: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class KeptIndex:
    """The collection that served before the last change of the embedding model."""

    collection: str
    fingerprint: str
    calibration: str


@dataclass(frozen=True, slots=True)
class IndexRow:
    """Which collection serves a project. `fingerprint` names embedding model and dimension."""

    project_id: str
    collection: str
    fingerprint: str
    generation: int
    calibration: str
    kept: KeptIndex | None = None


class IndexRegistry(Protocol):
    """What the index ought to hold: the truth that Chroma is compared with."""

    async def documents(self, project_id: str, source_id: str) -> Mapping[str, DocumentRow]:
        """All rows of a source (all sources when empty), by path (`source_id/path` when empty)."""
        ...

    async def put_documents(self, rows: Sequence[DocumentRow], removed: Sequence[tuple[str, str, str]]) -> None:
        """Write rows and remove (project, source, path) keys, in one transaction."""
        ...

    async def index(self, project_id: str) -> IndexRow | None:
        """Tell which collection serves the project."""
        ...

    async def put_index(self, row: IndexRow) -> None:
        """Create or replace the project's index row."""
        ...

    async def sources(self, project_id: str) -> Sequence[SourceRow]:
        """The folders remembered for a project, by id."""
        ...

    async def put_source(self, row: SourceRow) -> None:
        """Remember a folder, or what is new about it."""
        ...

    async def remove_source(self, project_id: str, source_id: str) -> None:
        """Remember a folder no more; nothing when it was not."""
        ...

    async def take_lease(self, name: str, owner: str, now: datetime, until: datetime) -> bool:
        """Take a lease, or renew one's own, until `until`; False while another's is not over at `now`."""
        ...

    async def drop_lease(self, name: str, owner: str) -> None:
        """Give a lease back; nothing when it is not `owner`'s."""
        ...
