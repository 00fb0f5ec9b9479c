"""Makes a bundle for one model of one profile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_server.providers.openai_compatible.client import Connection
from ai_server.providers.openai_compatible.embedding import OpenAICompatibleEmbedding
from ai_server.providers.openai_compatible.generation import OpenAICompatibleGeneration
from ai_server.providers.openai_compatible.pricing import OpenAICompatiblePricing
from ai_server.providers.openai_compatible.profiles import OWN_MACHINE, PROFILES
from ai_server.providers.openai_compatible.tokenizer import OpenAICompatibleTokenizer
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
    profile = PROFILES[asked.provider]
    options = OptionReader(asked)
    row = options.row(catalog)
    key = options.secret("api_key", required=profile.key_required)
    unnamed = row is not None and not row.metered
    base_url = options.address(
        "base_url", profile.base_url, near_only=OWN_MACHINE if profile.near_only and unnamed else "", secret=key
    )
    stall_s = options.stall_s()
    dimension = 0
    if asked.purpose == "embedding" and row is not None:
        dimension = row.dimension or options.dimension()
    options.finish()
    assert row is not None
    connection = Connection(asked.provider, asked.model, profile, row, base_url, key, stall_s)
    return ProviderBundle(
        generation=OpenAICompatibleGeneration(connection) if asked.purpose == "generation" else None,
        embedding=OpenAICompatibleEmbedding(connection, dimension) if asked.purpose == "embedding" else None,
        tokenizer=OpenAICompatibleTokenizer(),
        pricing=OpenAICompatiblePricing(row, asked.clock),
    )
