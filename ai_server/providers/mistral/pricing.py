"""Prices by the catalogue. Mistral's regional endpoints cost more than the list: they have no row, so only its own
address is taken as priced.
"""

from __future__ import annotations

from ai_server.providers.pricing import CatalogPricing


class MistralPricing(CatalogPricing):
    """Prices by one row."""
