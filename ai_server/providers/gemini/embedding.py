"""Embeddings with Gemini."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from google import genai
from google.genai import types

from ai_server.providers.contract import Embeddings
from ai_server.providers.counts import embedding_usage
from ai_server.providers.gemini.client import call_options, classify, close_client
from ai_server.providers.network import EMBED_DEADLINE_S, Networked
from ai_server.providers.vectors import unit_vectors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_server.ledger.contract import Permit
    from ai_server.providers.gemini.client import Connection

DEVELOPER_BATCH: Final = 100
VERTEX_BATCH: Final = 1
"""Vertex AI takes one text a request for this model
(https://cloud.google.com/vertex-ai/generative-ai/docs/embeddings/get-text-embeddings).
"""

TASKS: Final = {"query": "RETRIEVAL_QUERY", "document": "RETRIEVAL_DOCUMENT"}


class GeminiEmbedding(Networked[genai.Client]):
    """Embeds with `gemini-embedding-001`, questions and documents each in their own way."""

    def __init__(self, connection: Connection, dimension: int) -> None:
        """Take where and as whom, and the length of a vector."""
        super().__init__("gemini", connection.row, connection.model, connection.failures(), connection.stall_s)
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
        return VERTEX_BATCH if self._connection.vertex else DEVELOPER_BATCH

    async def embed(self, texts: Sequence[str], kind: Literal["query", "document"], permit: Permit) -> Embeddings:
        """Embed in order."""
        client = await self.client()
        answer = await self.call(EMBED_DEADLINE_S).whole(
            lambda: client.aio.models.embed_content(
                model=self._model,
                contents=list(texts),
                config=types.EmbedContentConfig(
                    task_type=TASKS[kind],
                    output_dimensionality=self._dimension,
                    http_options=call_options(EMBED_DEADLINE_S, permit),
                ),
            )
        )
        found = answer.embeddings or []
        vectors = unit_vectors([each.values or [] for each in found], len(texts), self._dimension, self.failures)
        return Embeddings(vectors, embedding_usage(_tokens(answer)))

    def connect(self) -> genai.Client:
        """Make the client."""
        return self._connection.client()

    async def disconnect(self, client: genai.Client) -> None:
        """Close the client."""
        await close_client(client)

    def classify(self, exc: Exception, begun: bool) -> Exception:  # noqa: FBT001 - the shape that Call asks for
        """Classify by the SDK's classes."""
        return classify(self.failures, exc, begun=begun)


def _tokens(answer: types.EmbedContentResponse) -> int | None:
    """Read the count: of the whole call in the Developer API, text by text in Vertex AI."""
    if answer.usage_metadata is not None:
        return answer.usage_metadata.prompt_token_count
    counts = [each.statistics.token_count if each.statistics else None for each in answer.embeddings or []]
    if not counts or any(count is None for count in counts):
        return None
    return sum(int(count) for count in counts if count is not None)
