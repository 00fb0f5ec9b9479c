"""What runs in the index child: Chroma, which is the durable index, and the vector cache beside it.

One process opens the folder, and it is not the server: a damaged segment can crash whoever opens it (a promise's
finding 3). Everything here is a module-level function that takes and gives picklable values. Vectors are always ours;
Chroma's own embedder is never built, so nothing is ever downloaded.
"""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ai_server.knowledge.durable import Records
from ai_server.knowledge.vectors import PassageVectors

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from chromadb.api import ClientAPI
    from chromadb.api.models.Collection import Collection
    from numpy.typing import NDArray

CHROMA: Final = "chroma"
"""Chroma's own folder inside the index folder."""
PAGE: Final = 1_000
"""Rows read at once: `get` of 50,000 fails with too many SQL variables."""
_CACHE_PAGE: Final = 500
_CACHE_SCHEMA: Final = """
create table if not exists vectors (
    fingerprint text not null,
    hash text not null,
    dimension integer not null,
    whole blob not null,
    sentences blob not null,
    scales blob not null,
    primary key (fingerprint, hash)
) without rowid
"""


class _Opened:
    """What this process holds; set by `open_index`."""

    client: ClientAPI
    cache: sqlite3.Connection


def open_index(folder: str) -> None:
    """Open (or create) Chroma and the vector cache in `folder`; runs first in the child."""
    import chromadb
    from chromadb.config import Settings

    root = Path(folder)
    root.mkdir(parents=True, exist_ok=True)
    _Opened.client = chromadb.PersistentClient(str(root / CHROMA), Settings(anonymized_telemetry=False))
    _Opened.cache = _open_cache(root / "vectors.sqlite")


def _open_cache(path: Path) -> sqlite3.Connection:
    """Open the cache; a damaged one is begun anew, since every vector in it can be made again."""
    try:
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute("pragma synchronous = normal")
        connection.execute(_CACHE_SCHEMA)
        connection.execute("pragma quick_check(1)").fetchone()
    except sqlite3.DatabaseError:
        path.rename(path.with_suffix(".damaged"))
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute(_CACHE_SCHEMA)
    return connection


def _collection(name: str) -> Collection:
    return _Opened.client.get_or_create_collection(
        name,
        embedding_function=None,
        configuration={"hnsw": {"space": "cosine"}},
    )


def prepare(name: str) -> tuple[int, int]:
    """Make sure that a collection exists; gives its row count and the client's largest batch."""
    return _collection(name).count(), _Opened.client.get_max_batch_size()


def collections() -> list[str]:
    """Name all collections."""
    return [collection.name for collection in _Opened.client.list_collections()]


def put(name: str, records: Records) -> None:
    """Write or replace rows, within the client's largest batch."""
    most = _Opened.client.get_max_batch_size()
    for start in range(0, len(records.ids), most):
        part = slice(start, start + most)
        _collection(name).upsert(
            ids=records.ids[part],
            embeddings=records.vectors[part],
            documents=records.texts[part],
            metadatas=[dict(body) for body in records.bodies[part]],
        )


def remove(name: str, ids: Sequence[str]) -> None:
    """Remove rows; unknown ids are fine."""
    most = min(_Opened.client.get_max_batch_size(), PAGE)
    for start in range(0, len(ids), most):
        _collection(name).delete(ids=list(ids[start : start + most]))


def page(name: str, offset: int) -> Records:
    """Read up to `PAGE` rows from `offset`, with vectors; fewer rows mean the end."""
    got: Any = _collection(name).get(limit=PAGE, offset=offset, include=["embeddings", "documents", "metadatas"])
    ids = list(got["ids"])
    vectors = np.asarray(got["embeddings"], dtype=np.float32) if ids else np.zeros((0, 0), np.float32)
    return Records(ids, vectors, list(got["documents"]), list(got["metadatas"]))


def nearest(name: str, vectors: NDArray[np.float32], count: int) -> list[list[str]]:
    """Give the ids of the `count` rows nearest to each vector, nearest first."""
    got: Any = _collection(name).query(query_embeddings=vectors, n_results=count, include=["distances"])
    return [list(ids) for ids in got["ids"]]


def drop(name: str) -> None:
    """Remove a collection with its rows; an unknown one is fine."""
    if name in collections():
        _Opened.client.delete_collection(name)


def recall(fingerprint: str, hashes: Sequence[str]) -> dict[str, PassageVectors]:
    """Give the cached vectors of those texts that have some."""
    found: dict[str, PassageVectors] = {}
    for start in range(0, len(hashes), _CACHE_PAGE):
        part = json.dumps(hashes[start : start + _CACHE_PAGE])
        rows = _Opened.cache.execute(
            "select hash, dimension, whole, sentences, scales from vectors where fingerprint = ? "
            "and hash in (select value from json_each(?))",
            (fingerprint, part),
        )
        found.update(_unpacked(rows))
    return found


def _unpacked(rows: Iterator[tuple[str, int, bytes, bytes, bytes]] | sqlite3.Cursor) -> dict[str, PassageVectors]:
    return {
        name: PassageVectors(
            np.frombuffer(whole, np.float32),
            np.frombuffer(quantised, np.int8).reshape(-1, dimension),
            np.frombuffer(scales, np.float32),
        )
        for name, dimension, whole, quantised, scales in rows
    }


def remember(fingerprint: str, vectors: Mapping[str, PassageVectors]) -> None:
    """Cache vectors by text hash."""
    _Opened.cache.execute("begin immediate")
    _Opened.cache.executemany(
        "insert or replace into vectors values (?, ?, ?, ?, ?, ?)",
        [
            (fingerprint, name, len(each.whole), each.whole.tobytes(), each.sentences.tobytes(), each.scales.tobytes())
            for name, each in vectors.items()
        ],
    )
    _Opened.cache.execute("commit")
