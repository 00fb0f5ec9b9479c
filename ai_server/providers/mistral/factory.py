"""Makes a bundle for one of Mistral's models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_server.providers.mistral.client import BASE_URL, Connection
from ai_server.providers.mistral.embedding import MistralEmbedding
from ai_server.providers.mistral.generation import MistralGeneration
from ai_server.providers.mistral.pricing import MistralPricing
from ai_server.providers.mistral.tokenizer import MistralTokenizer
from ai_server.providers.options import OptionReader
from ai_server.providers.registry import ProviderBundle

if TYPE_CHECKING:
    from ai_server.providers.catalog import Catalog
    from ai_server.providers.registry import ProviderOptions


def build(asked: ProviderOptions, catalog: Catalog) -> ProviderBundle:
    """Make generation or embedding, as asked.

    Raises:
        SettingsError: options that are missing or wrong, a model without a row.
    """
    options = OptionReader(asked)
    row = options.row(catalog)
    key = options.secret("api_key", required=True)
    base_url = options.address("base_url", BASE_URL, secret=key)
    stall_s = options.stall_s()
    options.finish()
    assert row is not None
    connection = Connection(asked.model, row, base_url, key, stall_s)
    return ProviderBundle(
        generation=MistralGeneration(connection) if asked.purpose == "generation" else None,
        embedding=MistralEmbedding(connection, row.dimension or 0) if asked.purpose == "embedding" else None,
        tokenizer=MistralTokenizer(),
        pricing=MistralPricing(row, asked.clock),
    )
