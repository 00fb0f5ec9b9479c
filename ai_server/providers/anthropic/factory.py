"""Makes a bundle for one of Claude's models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_server.providers.anthropic.client import BASE_URL, Connection
from ai_server.providers.anthropic.generation import ClaudeGeneration
from ai_server.providers.anthropic.pricing import ClaudePricing
from ai_server.providers.anthropic.tokenizer import ClaudeTokenizer
from ai_server.providers.options import OptionReader
from ai_server.providers.registry import ProviderBundle

if TYPE_CHECKING:
    from ai_server.providers.catalog import Catalog
    from ai_server.providers.registry import ProviderOptions


def build(asked: ProviderOptions, catalog: Catalog) -> ProviderBundle:
    """Make generation; Claude does not embed.

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
    generation = ClaudeGeneration(connection)
    return ProviderBundle(
        generation=generation,
        embedding=None,
        tokenizer=ClaudeTokenizer(generation),
        pricing=ClaudePricing(row, asked.clock),
    )
