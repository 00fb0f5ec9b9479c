"""Prices by the catalogue: writes to the cache cost 1.25 or 2 times the input, by how long they are kept."""

from __future__ import annotations

from ai_server.providers.pricing import CatalogPricing


class ClaudePricing(CatalogPricing):
    """Prices by one row."""
