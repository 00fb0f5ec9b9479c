"""Helps providers find a prompt's beginning in their caches."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ai_server.providers.contract import GenerationRequest

BEGINNING: Final = 1_024
"""Characters of the instructions that name the group; they are the same in all turns of an assistant."""


def cache_key(request: GenerationRequest) -> str:
    """Name the group of requests that begin alike; a digest, so that it tells nothing."""
    return hashlib.sha256(request.instructions[:BEGINNING].encode("utf-8", "surrogatepass")).hexdigest()[:32]
