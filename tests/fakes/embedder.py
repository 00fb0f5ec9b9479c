"""An embedder without a model: words hashed into a few dimensions, so that shared words mean closeness."""

from __future__ import annotations

import asyncio
import re
import zlib

import numpy as np

DIMENSION = 64


def word_vector(text: str, dimension: int = DIMENSION) -> np.ndarray:
    """A unit vector of the text's words; a text without words gets a vector of its own."""
    vector = np.zeros(dimension, np.float32)
    for word in re.findall(r"\w+", text.casefold()) or [text]:
        digest = zlib.crc32(word.encode("utf-8", "surrogatepass"))
        vector[digest % dimension] += 1.0 if digest & 1024 else -1.0
    if not vector.any():
        vector[0] = 1.0
    return vector / np.linalg.norm(vector)


class FakeEmbedder:
    """Implements `Embedder`, counts, and fails when told."""

    def __init__(self, fingerprint: str = f"fake/words/{DIMENSION}", dimension: int = DIMENSION) -> None:
        self.fingerprint = fingerprint
        self.dimension = dimension
        self.queries: list[str] = []
        self.texts: list[str] = []
        self.keys: list[str] = []
        self.fail_after: int | None = None
        """Number of document calls after which each raises `failure`."""
        self.failure: Exception = RuntimeError("no failure set")
        self.query_failure: Exception | None = None
        self.gate: asyncio.Event | None = None
        """When set, document calls wait for it."""

    async def embed_query(self, text, spending):
        self.queries.append(text)
        self.keys.append(spending.key)
        if self.query_failure is not None:
            raise self.query_failure
        return word_vector(text, self.dimension)

    async def embed_documents(self, texts, spending):
        if self.gate is not None:
            await self.gate.wait()
        if self.fail_after is not None:
            if self.fail_after <= 0:
                raise self.failure
            self.fail_after -= 1
        self.texts += texts
        self.keys.append(spending.key)
        return np.stack([word_vector(text, self.dimension) for text in texts])
