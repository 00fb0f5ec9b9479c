"""Documents as the turn sees them, without an index: what is found is said by the test."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from ai_server.knowledge.contract import Chunk, Hit, KnowledgeState, Retrieval, SentenceHit
from shared.errors import NotReady
from tests.fakes.clock import ManualClock


def chunk(
    text: str, *, title: str = "Title", url: str | None = None, language: str = "en", quotable: bool = True
) -> Chunk:
    """A passage with an id made from its text."""
    return Chunk(
        chunk_id=hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
        source_id="docs",
        path="page.md",
        title=title,
        url=url,
        heading="",
        text=text,
        language=language,
        metadata={},
        quotable=quotable,
    )


def hit(found: Chunk, *, distance: float = 0.3, kept: bool = True) -> Hit:
    """A hit whose sentences are the chunk's own."""
    sentences = tuple(SentenceHit(part.strip(), 1 - distance) for part in found.text.split("\n") if part.strip())
    return Hit(found, distance, 1 - distance, kept, sentences)


@dataclass
class FakeKnowledge:
    """Implements what the turn and the supervisor use of `KnowledgeService`. Without contexts nothing is found."""

    hits: tuple[Hit, ...] = ()
    broken: str = ""
    stopped: str = ""
    queries: list[str] = field(default_factory=list)
    languages: list[str] = field(default_factory=list)
    closed: bool = False
    embedder: object = None

    async def start(self) -> None:
        if self.broken:
            raise NotReady(self.broken)

    async def close(self) -> None:
        self.closed = True

    def state(self) -> KnowledgeState:
        state = "down" if self.broken else "degraded" if self.stopped else "ready"
        return KnowledgeState(state, self.broken or self.stopped, ManualClock().now())

    async def search(self, project_id, query, contexts, *, limit, language, spending) -> Retrieval:
        if self.broken:
            raise NotReady(self.broken)
        self.queries.append(query)
        self.languages.append(language)
        if not contexts or not any(all(context.values()) for context in contexts):
            return Retrieval((), False, {})
        if self.embedder is not None:
            await self.embedder.embed_query(query, spending)
        return Retrieval(self.hits[:limit], any(each.kept for each in self.hits), {"best": 1.0})

    async def passage(self, project_id, chunk_id, contexts):
        return next((each.chunk for each in self.hits if each.chunk.chunk_id == chunk_id), None)
