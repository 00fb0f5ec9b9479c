"""An embedded encoder over whole sets, with its vectors kept between runs outside the repository."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from ai_server.knowledge import chunking, ranking, sentences, snapshot
from ai_server.knowledge.contract import Chunk, KeySpec
from ai_server.knowledge.snapshot import Snapshot
from ai_server.knowledge.vectors import PassageVectors, quantise
from ai_server.providers.embedded import encoders

KEYS = (KeySpec("audience", True, frozenset({"public"}), True),)
PORTION = 128
"""Texts that are encoded before what is known is written down."""
Encode = Callable[[str, Sequence[str]], np.ndarray]
CONTEXTS = ({"audience": frozenset({"public"})},)


class CachedEncoder:
    """Encodes each text once; one file a model keeps the vectors between runs, also of one that is cut off."""

    def __init__(self, folder: Path, model: str = encoders.UNIVERSAL) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.model = model
        self.dimension = encoders.DIMENSIONS[model]
        self.fingerprint = f"embedded/{model}/{self.dimension}"
        self.words = ranking.lexical_weight(self.fingerprint)
        self._path = folder / ("vectors.npz" if model == encoders.UNIVERSAL else f"vectors-{model}.npz")
        self._known: dict[bytes, np.ndarray] = {}
        if self._path.exists():
            kept = np.load(self._path)
            self._known = {bytes(name): row for name, row in zip(kept["names"], kept["vectors"], strict=True)}

    def encode(self, texts: list[str]) -> np.ndarray:
        """Unit vectors of passages and sentences, (n, dimension)."""
        return self._encode(texts, texts, encoders.encode_documents)

    def encode_questions(self, texts: list[str]) -> np.ndarray:
        """Unit vectors of questions, (n, dimension); the universal encoder makes no difference."""
        if self.model == encoders.UNIVERSAL:
            return self.encode(texts)
        return self._encode([f"query: {text}" for text in texts], texts, encoders.encode_queries)

    def _encode(self, named: list[str], texts: list[str], how: Encode) -> np.ndarray:
        names = [hashlib.sha256(each.encode()).digest() for each in named]
        missing = {name: text for name, text in zip(names, texts, strict=True) if name not in self._known}
        todo = list(missing)
        for start in range(0, len(todo), PORTION):
            part = todo[start : start + PORTION]
            vectors = how(self.model, [missing[name] for name in part])
            self._known |= dict(zip(part, vectors.astype(np.float16), strict=True))
            self._save()
        found = [self._known[name] for name in names]
        return np.stack(found).astype(np.float32) if found else np.zeros((0, self.dimension), np.float32)

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
        return Snapshot(entries, KEYS, self.dimension, 1)
