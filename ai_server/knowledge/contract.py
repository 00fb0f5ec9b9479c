"""What the turn and the operator's rpcs ask of the documents."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

RetrievalContext: TypeAlias = "Mapping[str, frozenset[str]]"
"""Allowed values for each rights key (AND); a person holds several (OR). No contexts, or an empty set: nothing."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage as it was indexed; code in its text has its marks (`code_marks`). `quotable` false (`chatbot_only`):
    nothing of it enters a browser.
    """

    chunk_id: str
    source_id: str
    path: str
    title: str
    url: str | None
    heading: str
    text: str
    language: str
    metadata: Mapping[str, tuple[str, ...]]
    quotable: bool


@dataclass(frozen=True, slots=True)
class SentenceHit:
    """A sentence of a chunk, verbatim, and its cosine similarity with the query."""

    text: str
    similarity: float


@dataclass(frozen=True, slots=True)
class Hit:
    """A readable chunk that was found. `distance` is cosine (0 to 2); `score` compares inside one retrieval only."""

    chunk: Chunk
    distance: float
    score: float
    kept: bool
    sentences: tuple[SentenceHit, ...]


@dataclass(frozen=True, slots=True)
class Retrieval:
    """Hits, best first. `sufficient` is the gate's word; `signals` are the numbers it decided by, for the journal."""

    hits: tuple[Hit, ...]
    sufficient: bool
    signals: Mapping[str, float]


class Embedder(Protocol):
    """What knowledge needs of an embedding model, already metered: who pays is said with each call."""

    @property
    def fingerprint(self) -> str:
        """Provider, model and dimension in one string; stored with the collection."""
        ...

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        ...

    async def embed_query(self, text: str, spending: Spending) -> NDArray[np.float32]:
        """One unit vector, (dimension,)."""
        ...

    async def embed_documents(self, texts: Sequence[str], spending: Spending) -> NDArray[np.float32]:
        """Unit vectors, (n, dimension), any n."""
        ...


@dataclass(frozen=True, slots=True)
class Spending:
    """Who pays for an embedding, and the ledger key it goes by (`turn/round/attempt` is made from `key`)."""

    project_id: str
    assistant: str
    user: str
    key: str


@dataclass(frozen=True, slots=True)
class SourceSpec:
    """A declared folder. `defaults` are metadata values of all its files; `key_map` renames front-matter keys."""

    source_id: str
    root: Path
    defaults: Mapping[str, tuple[str, ...]]
    key_map: Mapping[str, str]
    managed: bool = False


@dataclass(frozen=True, slots=True)
class KeySpec:
    """A declared metadata key. `values` empty: any value. `rights` keys are matched against retrieval contexts."""

    name: str
    required: bool
    values: frozenset[str]
    rights: bool


@dataclass(frozen=True, slots=True)
class ProjectKnowledge:
    """What a project's settings say about its documents. `languages` are ISO 639-1 codes it serves."""

    project_id: str
    sources: tuple[SourceSpec, ...]
    keys: tuple[KeySpec, ...]
    languages: tuple[str, ...]
    language_filters: bool = False


class FileStatus(StrEnum):
    """What happened to one file in a sync."""

    INDEXED = "indexed"
    UNCHANGED = "unchanged"
    MOVED = "moved"
    REMOVED = "removed"
    REJECTED = "rejected"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class FileLine:
    """The line that every file gets. `reason` says what is wrong and what to do."""

    path: str
    status: FileStatus
    chunk_count: int = 0
    reason: str = ""
    undeclared_keys: tuple[str, ...] = ()
    moved_from: str = ""


@dataclass(frozen=True, slots=True)
class SyncProgress:
    """How far a sync is."""

    files_done: int
    files_total: int
    chunks_embedded: int
    chunks_total: int


@dataclass(frozen=True, slots=True)
class SyncSummary:
    """Counts of a finished sync, by what happened; `duration_s` from the monotonic clock."""

    files: Mapping[FileStatus, int]
    chunks_embedded: int
    chunks_reused: int
    chunks_removed: int
    duration_s: float
    cost_nanousd: int | None
    generation: int


SyncEvent = FileLine | SyncProgress | SyncSummary


@dataclass(frozen=True, slots=True)
class DocumentEntry:
    """What the registry knows of one document."""

    source_id: str
    path: str
    status: FileStatus
    reason: str
    chunk_count: int
    title: str
    language: str
    metadata: Mapping[str, tuple[str, ...]]
    synced_at: datetime
    content_sha256: bytes


@dataclass(frozen=True, slots=True)
class SourceEntry:
    """A source with its counts."""

    source_id: str
    root: str
    managed: bool
    document_count: int
    chunk_count: int


@dataclass(frozen=True, slots=True)
class KnowledgeState:
    """Readiness of retrieval: `down` when a search would fail, `degraded` when it serves without its durable store."""

    state: Literal["ready", "degraded", "down"]
    reason: str
    since: datetime


@dataclass(frozen=True, slots=True)
class IndexAudit:
    """What an audit found: live passages that their own vector does not find, and others that are still returned."""

    chunk_count: int
    unreachable: tuple[str, ...]
    ghosts: tuple[str, ...]

    @property
    def clean(self) -> bool:
        """Whether the index tells the truth."""
        return not self.unreachable and not self.ghosts


class Knowledge(Protocol):
    """Everything the outside asks of documents."""

    async def search(
        self,
        project_id: str,
        query: str,
        contexts: Sequence[RetrievalContext],
        *,
        limit: int,
        language: str,
        spending: Spending,
    ) -> Retrieval:
        """Find up to `limit` (1 to 50) chunks that at least one context may read.

        No contexts, or contexts that allow nothing: an empty, insufficient retrieval, without any embedding.

        Raises:
            NotFound: no such project.
            NotReady: nothing to search in, with the reason.
            BudgetExhausted, ProviderError: from a metered embedding.
        """
        ...

    async def passage(self, project_id: str, chunk_id: str, contexts: Sequence[RetrievalContext]) -> Chunk | None:
        """Return a quotable chunk if one of the contexts may read it; None otherwise."""
        ...

    def sync(self, project_id: str, source: SourceSpec) -> AsyncIterator[SyncEvent]:
        """Bring the index in line with a folder; the summary comes last.

        Raises:
            SyncRunning: this source is being synced.
            InvalidRequest: the folder is missing or is not a folder.
            NotReady: the index or registry cannot be written.
        """
        ...

    async def sources(self, project_id: str) -> Sequence[SourceEntry]:
        """List sources with counts."""
        ...

    async def documents(self, project_id: str, source_id: str, limit: int, after: str) -> Sequence[DocumentEntry]:
        """List documents in the order of `source_id/path`; `after` is the last one seen, or empty."""
        ...

    async def explain(self, project_id: str, source_id: str, path: str) -> tuple[DocumentEntry, Sequence[Chunk]]:
        """Say what the index holds of one document.

        Raises:
            NotFound: no sync saw it.
        """
        ...

    def state(self) -> KnowledgeState:
        """Tell readiness now; never blocks."""
        ...
