"""What differs in the index child when Chroma is a server that several AI servers share.

Passages go through the functions of `index_child`. The vector cache lies on the server too, in a collection for each
embedding model: whoever synced, everybody has the vectors of sentences.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import numpy as np

from ai_server.knowledge import index_child
from ai_server.knowledge.vectors import PassageVectors

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from chromadb.api import ClientAPI
    from numpy.typing import NDArray

HTTP_PORT, HTTPS_PORT = 80, 443
TOKEN_HEADER: Final = "X-Chroma-Token"  # noqa: S105 - a header's name
VALUE_LIMIT: Final = 4_000
"""Most characters of one metadata value: Chroma Cloud refuses longer ones, so sentence vectors are cut over several."""


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """Where the server is (`http://host:port`), and as whom to ask. `token` empty: none is sent."""

    url: str
    token: str = ""
    tenant: str = "default_tenant"
    database: str = "default_database"

    def __repr__(self) -> str:
        """Show everything but the token."""
        return f"ServerAddress({self.url}, {self.tenant}/{self.database})"

    @property
    def place(self) -> tuple[str, int, bool]:
        """Host, port, and whether it is TLS."""
        parts = urlsplit(self.url)
        tls = parts.scheme == "https"
        return parts.hostname or "", parts.port or (HTTPS_PORT if tls else HTTP_PORT), tls

    @property
    def headers(self) -> dict[str, str]:
        """What every request carries."""
        return {TOKEN_HEADER: self.token} if self.token else {}


def open_server(address: ServerAddress) -> None:
    """Remember where to connect; runs first in the child, which connects with its first call."""
    index_child.connect_by(lambda: _connect(address))


def _connect(address: ServerAddress) -> ClientAPI:
    import chromadb
    from chromadb.config import Settings

    host, port, tls = address.place
    return chromadb.HttpClient(
        host=host,
        port=port,
        ssl=tls,
        headers=address.headers,
        settings=Settings(anonymized_telemetry=False),
        tenant=address.tenant,
        database=address.database,
    )


def recall(fingerprint: str, hashes: Sequence[str]) -> dict[str, PassageVectors]:
    """Give the cached vectors of those texts that have some."""
    found: dict[str, PassageVectors] = {}
    for start in range(0, len(hashes), index_child.PAGE):
        got: Any = index_child.collection(_name(fingerprint)).get(
            ids=list(hashes[start : start + index_child.PAGE]), include=["embeddings", "metadatas"]
        )
        for name, whole, body in zip(got["ids"], got["embeddings"], got["metadatas"], strict=True):
            found[name] = _unpacked(np.asarray(whole, np.float32), body)
    return found


def remember(fingerprint: str, vectors: Mapping[str, PassageVectors]) -> None:
    """Cache vectors by text hash."""
    names = list(vectors)
    step = index_child.rows_at_once(len(vectors[names[0]].whole))
    for start in range(0, len(names), step):
        part = names[start : start + step]
        index_child.collection(_name(fingerprint)).upsert(
            ids=part,
            embeddings=np.stack([vectors[name].whole for name in part]),
            metadatas=[_packed(vectors[name]) for name in part],
        )


def _name(fingerprint: str) -> str:
    return f"passeur_vectors_{hashlib.sha256(fingerprint.encode()).hexdigest()[:16]}"


def _packed(vectors: PassageVectors) -> dict[str, str | int]:
    text = base64.b64encode(vectors.scales.tobytes() + vectors.sentences.tobytes()).decode()
    parts = {f"part{n}": text[start : start + VALUE_LIMIT] for n, start in enumerate(range(0, len(text), VALUE_LIMIT))}
    return {"sentences": len(vectors.scales), "parts": len(parts), **parts}


def _unpacked(whole: NDArray[np.float32], body: Mapping[str, Any]) -> PassageVectors:
    count = int(body["sentences"])
    data = base64.b64decode("".join(body[f"part{n}"] for n in range(int(body["parts"]))))
    scales = np.frombuffer(data[: 4 * count], np.float32)
    return PassageVectors(whole, np.frombuffer(data[4 * count :], np.int8).reshape(count, len(whole)), scales)
