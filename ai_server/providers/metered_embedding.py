"""The paid door to embedding models: every batch is counted, admitted, made, and settled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np

from ai_server.ledger.contract import Payer, Quote
from ai_server.providers.account import Account
from ai_server.providers.patience import FOR_A_QUESTION, FOR_DOCUMENTS, Tries
from shared.errors import ProviderError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from ai_server.ledger.contract import Meter
    from ai_server.providers.account import CallRecord
    from ai_server.providers.contract import EmbeddingProvider
    from ai_server.providers.registry import ProviderBundle
    from shared.clock import Clock


class Spender(Protocol):
    """Who pays for an embedding, and the start of its ledger keys."""

    @property
    def project_id(self) -> str: ...  # noqa: D102 - named by the ledger's Payer
    @property
    def assistant(self) -> str: ...  # noqa: D102
    @property
    def user(self) -> str: ...  # noqa: D102
    @property
    def key(self) -> str: ...  # noqa: D102


class MeteredEmbedder:
    """One embedding model behind the ledger, as the documents ask for it."""

    def __init__(
        self,
        bundle: ProviderBundle,
        *,
        meter: Meter,
        clock: Clock,
        observe: Callable[[CallRecord], None],
    ) -> None:
        """Take a bundle that embeds."""
        assert bundle.embedding is not None
        self.provider: EmbeddingProvider = bundle.embedding
        self._tokenizer = bundle.tokenizer
        self._pricing = bundle.pricing
        self._meter = meter
        self._clock = clock
        self._observe = observe

    @property
    def fingerprint(self) -> str:
        """Provider, model and dimension: vectors of another fingerprint cannot be compared."""
        return f"{self.provider.name}/{self.provider.model}/{self.provider.dimension}"

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self.provider.dimension

    async def embed_query(self, text: str, spending: Spender) -> NDArray[np.float32]:
        """Embed one question, (dimension,)."""
        vectors = await self._tried([text], "query", spending, 0)
        return vectors[0]

    async def embed_documents(self, texts: Sequence[str], spending: Spender) -> NDArray[np.float32]:
        """Embed any number of texts, (n, dimension), batch by batch, each admitted by itself."""
        size = self.provider.max_batch
        batches = [
            await self._tried(texts[start : start + size], "document", spending, start // size)
            for start in range(0, len(texts), size)
        ]
        return np.concatenate(batches) if batches else np.empty((0, self.dimension), dtype=np.float32)

    async def _tried(
        self, texts: Sequence[str], kind: Literal["query", "document"], spending: Spender, batch: int
    ) -> NDArray[np.float32]:
        """Embed one batch, again where a passing failure came before anything began."""
        patience = FOR_A_QUESTION if kind == "query" else FOR_DOCUMENTS
        tries = Tries(patience, self._clock)
        key = f"{spending.key}/{batch}"
        for number in range(1, patience.tries + 1):
            try:
                return await self._call(texts, kind, spending, key if number == 1 else f"{key}/{number}")
            except ProviderError as error:
                if not await tries.again_after(error):
                    raise
        raise AssertionError("the last try raises")

    async def _call(
        self, texts: Sequence[str], kind: Literal["query", "document"], spending: Spender, key: str
    ) -> NDArray[np.float32]:
        counted = await self._tokenizer.count_texts(texts)
        quote = Quote(
            operation="embedding",
            provider=self.provider.name,
            model=self.provider.model,
            service_tier="",
            price_version=self._pricing.price_version,
            ceiling_nanousd=self._pricing.ceiling(counted.tokens, 0),
            metered=self._pricing.metered,
        )
        payer = Payer(spending.project_id, spending.assistant, spending.user)
        account: Account | None = None
        try:
            async with self._meter.call(key, payer, quote) as call:
                account = Account(key, quote, self._clock)
                try:
                    made = await self.provider.embed(texts, kind, call.permit)
                except ProviderError as error:
                    account.failed(call, error)
                    raise
                account.complete(call, made.usage, None if made.usage is None else self._pricing.cost(made.usage))
        finally:
            if account is not None:
                self._observe(account.record())
        return made.vectors
