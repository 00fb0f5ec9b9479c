"""Embedded encoders: one of `encoders`, in this process for queries and in a child for documents.

Queries are encoded in one thread of this process, and those that arrive together share one pass. Documents are
encoded in a child process with one thread and low priority, so that bulk work never makes an answer wait.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, Literal

from ai_server.providers.contract import Embeddings
from ai_server.providers.embedded import encoders
from shared.children import Child, ChildDied
from shared.errors import ProviderOverloaded

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from ai_server.ledger.contract import Permit

MODEL: Final = encoders.UNIVERSAL
MAX_BATCH: Final = 256
QUERY_LIMIT: Final = 2_000
"""Most characters of a query that are read: the tokenizer is pure Python, about 1 ms for each 1,000."""
DOCUMENT_LIMIT: Final = 20_000
WAITING_LIMIT: Final = 1_024
"""Most query texts that may wait for the thread."""
PASS_LIMIT: Final = 64
"""Most query texts in one pass."""
BULK_LIMIT_S: Final = 600.0
BULK_NICENESS: Final = 10


class EmbeddedEmbedding:
    """Free, local, deterministic; needs no network and no key."""

    name: Final = "embedded"
    max_batch: Final = MAX_BATCH

    def __init__(self, model: str = MODEL) -> None:
        """Take nothing yet: the weights are loaded by `initialize`, the child starts with the first documents."""
        self.model: Final = model
        self.dimension: Final = encoders.DIMENSIONS[model]
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="query-embedding")
        self._bulk = Child(encoders.load, model, niceness=BULK_NICENESS)
        self._waiting: list[tuple[list[str], asyncio.Future[NDArray[np.float32]]]] = []
        self._drain_task: asyncio.Task[None] | None = None
        self._closed = False

    async def initialize(self) -> None:
        """Load the weights for queries, about half a second, off the event loop."""
        await asyncio.get_running_loop().run_in_executor(self._thread, encoders.load, self.model)

    async def close(self) -> None:
        """End the thread and the child; idempotent."""
        if self._closed:
            return
        self._closed = True
        await self._bulk.close()
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def embed(self, texts: Sequence[str], kind: Literal["query", "document"], permit: Permit) -> Embeddings:
        """Embed 1 to `max_batch` texts; long ones are read up to the limit of their kind.

        Raises:
            ProviderOverloaded: too many queries wait, or the child died; trying again starts a new one.
        """
        del permit  # The proof that somebody reserved; nothing is billed here.
        if not 1 <= len(texts) <= MAX_BATCH:
            raise ValueError(f"1 to {MAX_BATCH} texts a call, not {len(texts)}")
        if kind == "query":
            return Embeddings(await self._embed_queries([text[:QUERY_LIMIT] for text in texts]), None)
        try:
            cut = [text[:DOCUMENT_LIMIT] for text in texts]
            vectors = await self._bulk.call_within(BULK_LIMIT_S, encoders.encode_documents, self.model, cut)
        except ChildDied as exc:
            raise ProviderOverloaded(self.name, str(exc), started=False, error_class="child-died") from exc
        return Embeddings(vectors, None)

    async def _embed_queries(self, texts: list[str]) -> NDArray[np.float32]:
        if sum(len(waiting) for waiting, _ in self._waiting) + len(texts) > WAITING_LIMIT:
            raise ProviderOverloaded(self.name, "too many queries wait", started=False, error_class="queue-full")
        future: asyncio.Future[NDArray[np.float32]] = asyncio.get_running_loop().create_future()
        self._waiting.append((texts, future))
        if self._drain_task is None or self._drain_task.done():
            self._drain_task = asyncio.create_task(self._drain())
        return await future

    async def _drain(self) -> None:
        """Encode what is queued, pass by pass, without ever waiting for more to come."""
        loop = asyncio.get_running_loop()
        while self._waiting:
            taken = self._take_pass()
            flat = [text for texts, _ in taken for text in texts]
            try:
                vectors = await loop.run_in_executor(self._thread, encoders.encode_queries, self.model, flat)
            except Exception as exc:  # noqa: BLE001 - the boundary to the waiters: each is told, none hangs
                for _, future in taken:
                    if not future.done():
                        future.set_exception(exc)
                continue
            start = 0
            for texts, future in taken:
                if not future.done():
                    future.set_result(vectors[start : start + len(texts)])
                start += len(texts)

    def _take_pass(self) -> list[tuple[list[str], asyncio.Future[NDArray[np.float32]]]]:
        taken = [self._waiting.pop(0)]
        count = len(taken[0][0])
        while self._waiting and count + len(self._waiting[0][0]) <= PASS_LIMIT:
            taken.append(self._waiting.pop(0))
            count += len(taken[-1][0])
        return taken
