"""Real sentences as passages with rights, the same in a Chroma folder that is kept between runs beside the vectors.

`python -m tests.bench._corpus 100000 200` goes on filling Chroma for at most 200 seconds: it takes some 450 rows a
second, so a hundred thousand do not fit into one bench.
"""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import chromadb
import numpy as np
from chromadb.config import Settings

from ai_server.knowledge.contract import Chunk, KeySpec
from ai_server.knowledge.records import to_records
from ai_server.knowledge.vectors import PassageVectors, quantise, without_sentences
from tests.bench._sentences import COUNT, DATA, Sentence, VectorCache, folder, sentences_of

SHARES = {"tenth": 0.1, "hundredth": 0.01, "thousandth": 0.001}
KEYS = (KeySpec("audience", required=True, values=frozenset({*SHARES, "rest"}), rights=True),)
NAME = "bench"


def audience(number: int) -> str:
    """Whose a row is: a thousandth, a hundredth and a tenth of the rows for three groups, spread evenly."""
    place = number % 1_000
    if place == 0:
        return "thousandth"
    if place <= 10:
        return "hundredth"
    return "tenth" if place <= 110 else "rest"


@dataclass
class Corpus:
    """The first `count` sentences with vectors, (count, 512)."""

    sentences: list[Sentence]
    vectors: np.ndarray

    def chunk(self, number: int) -> Chunk:
        each = self.sentences[number]
        values = {"audience": (audience(number),), "language": (each.language,)}
        return Chunk(
            f"s{number}", "bench", f"{number}.md", "", None, "", each.text, each.language, values, quotable=True
        )


def corpus(data: Path, count: int) -> Corpus:
    """Read sentences and vectors; fewer than asked where not all are encoded yet."""
    texts = sentences_of(data, COUNT)
    vectors = VectorCache("sentences", [each.text for each in texts]).read()[:count]
    return Corpus(texts[: len(vectors)], vectors)


class ChromaFolder:
    """The corpus in Chroma, as the product writes it."""

    def __init__(self, count: int) -> None:
        self._path = folder() / f"chroma-{count}"
        self._client = chromadb.PersistentClient(str(self._path), Settings(anonymized_telemetry=False))
        self.collection: Any = self._client.get_or_create_collection(
            NAME, embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
        )

    def fill(self, made: Corpus, seconds: float) -> bool:
        """Add what is missing for about that long; tells whether everything is there."""
        ends = time.monotonic() + seconds
        done = self.collection.count()
        while done < len(made.sentences) and time.monotonic() < ends:
            numbers = range(done, min(done + 1_000, len(made.sentences)))
            rows = to_records(((made.chunk(n), "", without_sentences(made.vectors[n])) for n in numbers), ("audience",))
            self.collection.add(
                ids=rows.ids, embeddings=rows.vectors, documents=rows.texts, metadatas=[dict(b) for b in rows.bodies]
            )
            done += len(numbers)
        return done >= len(made.sentences)


def passage_vectors(made: Corpus, number: int) -> PassageVectors:
    """A sentence is a passage of one sentence."""
    return PassageVectors(made.vectors[number], *quantise(made.vectors[number : number + 1]))


def main(words: list[str]) -> int:
    """Fill a folder for a while."""
    count = int(words[0])
    made = corpus(Path(os.environ[DATA]), count)
    held = ChromaFolder(count)
    whole = held.fill(made, float(words[1]))
    print(f"{held.collection.count():,} of {count:,}")
    return 0 if whole and len(made.sentences) == count else 3


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
