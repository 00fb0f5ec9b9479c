"""An embedding provider without a model."""

from __future__ import annotations

import numpy as np

from ai_server.providers.contract import Embeddings
from shared.usage import Usage
from tests.fakes.embedder import DIMENSION, word_vector


class ScriptedEmbedding:
    """Implements `EmbeddingProvider`; raises `failure` when it is set, else each of `failures` once; counts batches."""

    name = "fake"
    model = "words"
    dimension = DIMENSION
    max_batch = 4

    def __init__(self) -> None:
        self.batches: list[int] = []
        self.failure: Exception | None = None
        self.failures: list[Exception] = []

    async def initialize(self) -> None:
        if self.failure is not None:
            raise self.failure

    async def close(self) -> None:
        """Nothing to release."""

    async def embed(self, texts, kind, permit) -> Embeddings:
        self.batches.append(len(texts))
        if self.failure is not None:
            raise self.failure
        if self.failures:
            raise self.failures.pop(0)
        return Embeddings(np.stack([word_vector(each) for each in texts]), Usage(input=len(texts)))
