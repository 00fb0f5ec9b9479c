"""Every service that the server offers, in one list; each other file of this folder brings one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ai_server.rpc import assistant, budgets, catalog, documents, readiness

if TYPE_CHECKING:
    from ai_server.rpc.offer import Offer

OFFERS: Final[tuple[Offer, ...]] = (
    assistant.OFFER,
    documents.OFFER,
    budgets.OFFER,
    catalog.OFFER,
    readiness.OFFER,
)
"""In the order of the proto folder. A new service adds its `OFFER` here."""
