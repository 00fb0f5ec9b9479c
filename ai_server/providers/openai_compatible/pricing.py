"""Prices by the catalogue; OpenRouter's and Perplexity's own figure for a call counts where they give one."""

from __future__ import annotations

from ai_server.providers.pricing import CatalogPricing


class OpenAICompatiblePricing(CatalogPricing):
    """Prices by one row."""
