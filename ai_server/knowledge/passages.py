"""Embeds passages: each as a whole and sentence by sentence, in portions, remembering every vector that was made."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from ai_server.knowledge import sentences
from ai_server.knowledge.vectors import PassageVectors, quantise

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from ai_server.knowledge.contract import Embedder, Spending
    from ai_server.knowledge.durable import DurableIndex

EMBEDDED_AT_ONCE: Final = 32
"""Passages whose texts and sentences are embedded, and kept in the vector cache, before the next ones."""


async def embed_missing(
    index: DurableIndex,
    embedder: Embedder,
    wanted: Mapping[str, tuple[str, str]],
    vectors: dict[str, PassageVectors],
    spending: Spending,
) -> AsyncIterator[int]:
    """Add to `vectors` what it lacks of `wanted`: hash of the embedded text → (that text, the passage's own text).

    Gives how many were made after each portion; what was made by then is in the cache, whatever happens next.
    """
    missing = [name for name in wanted if name not in vectors]
    for start in range(0, len(missing), EMBEDDED_AT_ONCE):
        part = {name: wanted[name] for name in missing[start : start + EMBEDDED_AT_ONCE]}
        made = await _embed(embedder, part, replace(spending, key=f"{spending.key}/{start}"))
        await index.remember(embedder.fingerprint, made)
        vectors.update(made)
        yield len(made)


async def _embed(
    embedder: Embedder, texts: Mapping[str, tuple[str, str]], spending: Spending
) -> dict[str, PassageVectors]:
    """Embed whole texts, and the sentences of the passages in them, in one go."""
    split = {name: sentences.spoken(passage) for name, (_, passage) in texts.items()}
    flat = [whole for whole, _ in texts.values()] + [sentence for found in split.values() for sentence in found]
    vectors = await embedder.embed_documents(flat, spending)
    made: dict[str, PassageVectors] = {}
    start = len(texts)
    for number, (name, found) in enumerate(split.items()):
        quantised, scales = quantise(vectors[start : start + len(found)])
        made[name] = PassageVectors(np.array(vectors[number]), quantised, scales)
        start += len(found)
    return made
