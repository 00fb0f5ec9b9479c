"""A passage as a row of the durable index, and back."""

from __future__ import annotations

import json
import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from ai_server.knowledge.contract import Chunk
from ai_server.knowledge.durable import Records

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ai_server.knowledge.vectors import PassageVectors

_SHARED_KEPT: Final = 4_096
"""Most sets of metadata values that are remembered, so that passages with the same values share them."""


def to_records(items: Iterable[tuple[Chunk, str, PassageVectors]], needed: Sequence[str]) -> Records:
    """Make rows of (passage, hash of its embedded text, vectors); rights values become flags Chroma can filter by."""
    kept = list(items)
    return Records(
        ids=[chunk.chunk_id for chunk, _, _ in kept],
        vectors=np.stack([vectors.whole for _, _, vectors in kept]) if kept else np.zeros((0, 0), np.float32),
        texts=[chunk.text for chunk, _, _ in kept],
        bodies=[_body(chunk, text_hash, needed) for chunk, text_hash, _ in kept],
    )


def _body(chunk: Chunk, text_hash: str, needed: Sequence[str]) -> Mapping[str, str | int | float | bool]:
    flags = {f"{key}={value}": True for key in needed for value in chunk.metadata.get(key, ())}
    rest = {
        "source_id": chunk.source_id,
        "path": chunk.path,
        "title": chunk.title,
        "url": chunk.url,
        "heading": chunk.heading,
        "language": chunk.language,
        "metadata": {key: list(values) for key, values in chunk.metadata.items()},
        "quotable": chunk.quotable,
    }
    return {"chunk": json.dumps(rest, ensure_ascii=False), "hash": text_hash, **flags}


def to_chunks(records: Records) -> list[tuple[Chunk, str]]:
    """Read rows back as (passage, hash of its embedded text); what passages have in common is in memory once."""
    return [
        (_chunk(chunk_id, text, str(body["chunk"])), str(body["hash"]))
        for chunk_id, text, body in zip(records.ids, records.texts, records.bodies, strict=True)
    ]


def _chunk(chunk_id: str, text: str, body: str) -> Chunk:
    rest = json.loads(body)
    values = _shared(tuple((key, tuple(items)) for key, items in rest.pop("metadata").items()))
    rest |= {key: sys.intern(value) for key, value in rest.items() if isinstance(value, str)}
    return Chunk(chunk_id=chunk_id, text=text, metadata=values, **rest)


@lru_cache(maxsize=_SHARED_KEPT)
def _shared(items: tuple[tuple[str, tuple[str, ...]], ...]) -> Mapping[str, tuple[str, ...]]:
    return dict(items)
