"""Embeddings in OpenAI's format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from ai_server.providers.calls import Call, close_quietly
from ai_server.providers.contract import Embeddings
from ai_server.providers.counts import NotBelievable, whole
from ai_server.providers.openai_compatible.client import REQUEST_ID_HEADER, classify
from ai_server.providers.vectors import unit_vectors
from shared.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    import openai

    from ai_server.ledger.contract import Permit
    from ai_server.providers.openai_compatible.client import Connection

MAX_BATCH: Final = 256
EMBED_DEADLINE_S: Final = 60.0


class OpenAICompatibleEmbedding:
    """Embeds with any model that is spoken to in OpenAI's format."""

    def __init__(self, connection: Connection, dimension: int) -> None:
        """Take where and as whom, and the length of a vector."""
        self._connection = connection
        self._dimension = dimension
        self._failures = connection.failures()
        self._client: openai.AsyncOpenAI | None = None

    @property
    def name(self) -> str:
        """The provider's name."""
        return self._connection.provider

    @property
    def model(self) -> str:
        """The model's id."""
        return self._connection.model

    @property
    def dimension(self) -> int:
        """Length of each vector."""
        return self._dimension

    @property
    def max_batch(self) -> int:
        """Most texts in one call."""
        return MAX_BATCH

    async def initialize(self) -> None:
        """Make the client."""
        self._client = self._client or self._connection.client()

    async def close(self) -> None:
        """Release connections."""
        client, self._client = self._client, None
        if client is not None:
            await close_quietly(client.close)

    async def embed(self, texts: Sequence[str], kind: Literal["query", "document"], permit: Permit) -> Embeddings:
        """Embed; questions and documents alike."""
        del kind
        await self.initialize()
        assert self._client is not None
        call = Call(self._failures, self._classify, EMBED_DEADLINE_S)
        answer = await call.whole(
            self._client.embeddings.create(
                model=self._connection.model,
                input=list(texts),
                encoding_format="float",
                timeout=EMBED_DEADLINE_S,
                extra_headers={REQUEST_ID_HEADER: permit.reservation_id},
            )
        )
        rows = [each.embedding for each in sorted(answer.data or [], key=lambda each: each.index)]
        vectors = unit_vectors(rows, len(texts), self._dimension, self._failures)
        return Embeddings(vectors, _usage(getattr(answer.usage, "prompt_tokens", None)))

    def _classify(self, exc: Exception, begun: bool) -> Exception:  # noqa: FBT001 - the shape that Call asks for
        return classify(self._failures, exc, begun=begun)


def _usage(prompt_tokens: object) -> Usage | None:
    try:
        tokens = whole(prompt_tokens)
    except NotBelievable:
        return None
    return Usage(input=tokens) if tokens else None
