"""Embeddings in OpenAI's format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

import openai

from ai_server.providers.contract import Embeddings
from ai_server.providers.counts import embedding_usage
from ai_server.providers.network import EMBED_DEADLINE_S, REQUEST_ID_HEADER, Networked
from ai_server.providers.openai_compatible.client import classify
from ai_server.providers.vectors import unit_vectors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_server.ledger.contract import Permit
    from ai_server.providers.openai_compatible.client import Connection

MAX_BATCH: Final = 256


class OpenAICompatibleEmbedding(Networked[openai.AsyncOpenAI]):
    """Embeds with any model that is spoken to in OpenAI's format."""

    def __init__(self, connection: Connection, dimension: int) -> None:
        """Take where and as whom, and the length of a vector."""
        super().__init__(
            connection.provider, connection.row, connection.model, connection.failures(), connection.stall_s
        )
        self._connection = connection
        self._dimension = dimension

    @property
    def model(self) -> str:
        """The model's id."""
        return self._model

    @property
    def dimension(self) -> int:
        """Length of each vector."""
        return self._dimension

    @property
    def max_batch(self) -> int:
        """Most texts in one call."""
        return MAX_BATCH

    async def embed(self, texts: Sequence[str], kind: Literal["query", "document"], permit: Permit) -> Embeddings:
        """Embed; questions and documents alike."""
        del kind
        client = await self.client()
        answer = await self.call(EMBED_DEADLINE_S).whole(
            lambda: client.embeddings.create(
                model=self._model,
                input=list(texts),
                encoding_format="float",
                extra_headers={REQUEST_ID_HEADER: permit.reservation_id},
            )
        )
        rows = [each.embedding for each in sorted(answer.data or [], key=lambda each: each.index)]
        vectors = unit_vectors(rows, len(texts), self._dimension, self.failures)
        return Embeddings(vectors, embedding_usage(getattr(answer.usage, "prompt_tokens", None)))

    def connect(self) -> openai.AsyncOpenAI:
        """Make the client."""
        return self._connection.client()

    async def disconnect(self, client: openai.AsyncOpenAI) -> None:
        """Close the client."""
        await client.close()

    def classify(self, exc: Exception, begun: bool) -> Exception:  # noqa: FBT001 - the shape that Call asks for
        """Classify by the SDK's classes."""
        return classify(self.failures, exc, begun=begun)
