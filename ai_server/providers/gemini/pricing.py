"""Prices by the catalogue. The SDK drops the service tier from the usage, so none is asked for and the base holds."""

from __future__ import annotations

from ai_server.providers.pricing import CatalogPricing


class GeminiPricing(CatalogPricing):
    """Prices by one row."""
