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
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from chromadb.api import ClientAPI
    from chromadb.api.models.Collection import Collection
    from numpy.typing import NDArray

CHROMA: Final = "chroma"
"""Chroma's own folder inside the index folder."""
PAGE: Final = 1_000
"""Rows read at once: `get` of 50,000 fails with too many SQL variables."""
NUMBERS_AT_ONCE: Final = 1_000_000
"""Most numbers of vectors in one write: a server takes bodies of some tens of MB, whatever the largest batch is."""
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
    """What this process holds; set by `open_index`, or by the first call after `connect_by`."""

    client: ClientAPI | None = None
    cache: sqlite3.Connection


_connectors: list[Callable[[], ClientAPI]] = []
"""How to connect, where Chroma is a server."""


def connect_by(connect: Callable[[], ClientAPI]) -> None:
    """Let calls connect when they need to, and again after a failure."""
    _connectors[:] = [connect]


def _client() -> ClientAPI:
    client = _Opened.client
    if client is None:
        client = _Opened.client = _connectors[0]()
    return client


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


def collection(name: str) -> Collection:
    """Give a collection; a new one compares by cosine and embeds nothing by itself."""
    return _client().get_or_create_collection(
        name,
        embedding_function=None,
        configuration={"hnsw": {"space": "cosine"}},
    )


def prepare(name: str) -> int:
    """Make sure that a collection exists; gives its row count."""
    return collection(name).count()


def rows_at_once(dimension: int) -> int:
    """Tell how many rows one write may have."""
    return max(1, min(_client().get_max_batch_size(), NUMBERS_AT_ONCE // max(dimension, 1)))


def collections() -> list[str]:
    """Name all collections."""
    names: list[str] = []
    while True:
        page = [each.name for each in _client().list_collections(limit=PAGE, offset=len(names))]
        names += page
        if len(page) < PAGE:
            return names


def put(name: str, records: Records) -> None:
    """Write or replace rows, within the client's largest batch."""
    most = rows_at_once(records.vectors.shape[1])
    for start in range(0, len(records.ids), most):
        part = slice(start, start + most)
        collection(name).upsert(
            ids=records.ids[part],
            embeddings=records.vectors[part],
            documents=records.texts[part],
            metadatas=[dict(body) for body in records.bodies[part]],
        )


def remove(name: str, ids: Sequence[str]) -> None:
    """Remove rows; unknown ids are fine."""
    most = min(_client().get_max_batch_size(), PAGE)
    for start in range(0, len(ids), most):
        collection(name).delete(ids=list(ids[start : start + most]))


def page(name: str, offset: int) -> Records:
    """Read up to `PAGE` rows from `offset`, with vectors; fewer rows mean the end."""
    return _records(collection(name).get(limit=PAGE, offset=offset, include=["embeddings", "documents", "metadatas"]))


def fetch(name: str, ids: Sequence[str]) -> Records:
    """Read some rows with vectors; unknown ids are left out."""
    pages = [_fetch(name, ids[start : start + PAGE]) for start in range(0, len(ids), PAGE)]
    pages = [each for each in pages if each.ids]
    return Records(
        [each for page in pages for each in page.ids],
        np.concatenate([page.vectors for page in pages]) if pages else np.zeros((0, 0), np.float32),
        [each for page in pages for each in page.texts],
        [each for page in pages for each in page.bodies],
    )


def _fetch(name: str, ids: Sequence[str]) -> Records:
    return _records(collection(name).get(ids=list(ids), include=["embeddings", "documents", "metadatas"]))


def _records(got: Any) -> Records:
    ids = list(got["ids"])
    vectors = np.asarray(got["embeddings"], dtype=np.float32) if ids else np.zeros((0, 0), np.float32)
    return Records(ids, vectors, list(got["documents"]), list(got["metadatas"]))


def nearest(name: str, vectors: NDArray[np.float32], count: int) -> list[list[str]]:
    """Give the ids of the `count` rows nearest to each vector, nearest first."""
    got: Any = collection(name).query(query_embeddings=vectors, n_results=count, include=["distances"])
    return [list(ids) for ids in got["ids"]]


def drop(name: str) -> None:
    """Remove a collection with its rows; an unknown one is fine."""
    if name in collections():
        _client().delete_collection(name)


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
