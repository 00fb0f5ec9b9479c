"""A small project and its service, for tests that need documents."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from ai_server.knowledge.contract import (
    FileLine,
    FileStatus,
    KeySpec,
    ProjectKnowledge,
    SourceSpec,
    Spending,
    SyncEvent,
    SyncSummary,
)
from ai_server.knowledge.durable import DurableIndex
from ai_server.knowledge.parsing import ThreadParser
from ai_server.knowledge.service import KnowledgeService
from shared.clock import SystemClock
from tests.fakes.durable_index import MemoryDurableIndex
from tests.fakes.embedder import FakeEmbedder
from tests.fakes.state_store import MemoryIndex

KEYS = (
    KeySpec("scope", required=True, values=frozenset({"docs"}), rights=True),
    KeySpec("audience", required=True, values=frozenset({"public", "members", "staff"}), rights=True),
    KeySpec("language", required=True, values=frozenset({"fr", "en", "es"}), rights=False),
    KeySpec("chatbot_only", required=False, values=frozenset({"true", "false"}), rights=False),
)
DEFAULTS = {"scope": ("docs",), "audience": ("public",)}
SPENDING = Spending("demo", "documents", "anonymous", "turn-1/0")


def context(*audiences: str) -> dict[str, frozenset[str]]:
    """What a person of these audiences may read."""
    return {"scope": frozenset({"docs"}), "audience": frozenset(audiences)}


PUBLIC = [context("public")]


class Desk:
    """A service over a fake embedder and an in-memory registry, with one source folder."""

    def __init__(
        self,
        folder: Path,
        *,
        index: DurableIndex | None = None,
        languages: tuple[str, ...] = ("fr", "en", "es"),
    ) -> None:
        """`index` None: an in-memory one. A restart hands the same one on."""
        self.folder = folder
        self.docs = folder / "docs"
        self.docs.mkdir(parents=True, exist_ok=True)
        self.embedder = FakeEmbedder()
        self.registry = MemoryIndex()
        self.others = {"fake/other": FakeEmbedder("fake/other/48", 48)}
        self.managed = SourceSpec("sent", folder / "ai" / "managed" / "demo" / "sent", DEFAULTS, {}, managed=True)
        self.project = ProjectKnowledge("demo", (self.source(), self.managed), KEYS, languages)
        self.index = index or MemoryDurableIndex()
        self.service = self.fresh()

    def fresh(self, *, shared: bool = False) -> KnowledgeService:
        """The service as a restart would make it; `shared`: as another server's."""
        return KnowledgeService(
            [self.project],
            {"demo": self.embedder},
            self.registry,
            self.folder / "ai",
            SystemClock(),
            index=self.index,
            parser=ThreadParser(),
            make_embedder=self.make_embedder,
            shared=shared,
        )

    async def make_embedder(self, provider: str, model: str) -> FakeEmbedder:
        return self.others[f"{provider}/{model}"]

    def source(self, name: str = "handbook", root: Path | None = None) -> SourceSpec:
        return SourceSpec(name, root or self.docs, DEFAULTS, {"lang": "language"})

    def write(self, path: str, text: str) -> Path:
        file = self.docs / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    async def sync(self, source: SourceSpec | None = None) -> tuple[dict[str, FileLine], SyncSummary]:
        """Sync and give the lines by path, and the summary."""
        lines: dict[str, FileLine] = {}
        summary: SyncSummary | None = None
        async for event in self.service.sync("demo", source or self.source()):
            if isinstance(event, FileLine):
                assert event.path not in lines, "one line a file"
                lines[event.path] = event
            elif isinstance(event, SyncSummary):
                summary = event
        assert summary is not None
        return lines, summary

    async def search(self, query: str, contexts=PUBLIC, *, limit: int = 8, language: str = "en"):
        return await self.service.search("demo", query, contexts, limit=limit, language=language, spending=SPENDING)


async def until(condition: Callable[[], bool], limit_s: float = 60.0) -> None:
    """Wait until something that another task does is done; fails past `limit_s`."""
    async with asyncio.timeout(limit_s):
        while not condition():  # noqa: ASYNC110 - what is waited for has no event to wait on
            await asyncio.sleep(0.01)


async def collect(events: AsyncIterator[SyncEvent], lines: dict[str, FileLine]) -> None:
    """Read a sync to its end, keeping its lines even when it fails."""
    async for event in events:
        if isinstance(event, FileLine):
            lines[event.path] = event


def statuses(lines: dict[str, FileLine]) -> dict[str, FileStatus]:
    """Just what happened to each file."""
    return {path: line.status for path, line in lines.items()}
