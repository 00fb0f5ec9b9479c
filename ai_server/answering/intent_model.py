"""A few-shot classifier: examples of each label in, a score for each label out. No training run, no model call.

Kernel ridge regression (closed form) over two similarities: words and character sequences, and, where an encoder is
handed in, meaning. A score near 1 means "like the examples of this label", near 0 "like none of them", which is what
makes out-of-scope requests visible; a softmax over labels would hide them. Figures: `docs/intents.md`.
"""

from __future__ import annotations

import hashlib
import math
import re
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import numpy as np

from shared.text import fold

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

EXAMPLE_LIMIT: Final = 2_000
"""Most examples of one model: fitting solves a square system of this size, about a second."""
TEXT_LIMIT: Final = 400
"""Characters of a message that are looked at; what somebody wants is said before that."""
FEATURES: Final = 4_096
PLACES_KEPT: Final = 32_768
"""Columns remembered, of words and pieces of words: about 5 MB."""
LEXICAL_SHARE: Final = 0.5
"""Of the kernel, where there is an encoder; 0.3 to 0.7 differ by less than a point on the handed sets."""
RIDGE: Final = 0.5

BACKGROUND: Final = ""
"""The label of examples that belong to nothing that can be chosen."""

_WORD: Final = re.compile(r"\w+")
_WORD_WEIGHT: Final = 1.0
_PAIR_WEIGHT: Final = 0.5
_GRAM_WEIGHT: Final = 0.3
_GRAM: Final = 4


class SentenceEncoder(Protocol):
    """Turns sentences into unit vectors, free and local."""

    async def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Encode any number of texts, (n, d)."""
        ...


class Ranked(NamedTuple):
    """A label with its score, best first in any list of these."""

    label: str
    score: float


class ExampleModel:
    """Fitted once by `fit`; then `rank` costs a small product, and one encoder call where there is an encoder."""

    def __init__(self, encoder: SentenceEncoder | None = None) -> None:
        """Take the encoder; without one only words count."""
        self._encoder = encoder
        self._labels: tuple[str, ...] = ()
        self._rarity: NDArray[np.float32] = np.ones(FEATURES, np.float32)
        # The weights of the examples, folded into the examples' own features: a score for each column and label.
        self._lexical: NDArray[np.float32] = np.zeros((FEATURES, 0), np.float32)
        self._meaning: NDArray[np.float32] | None = None

    @property
    def fitted(self) -> bool:
        """Whether it has learnt from examples."""
        return bool(self._labels)

    async def fit(self, examples: Sequence[tuple[str, str]]) -> None:
        """Learn from (label, text) pairs; texts under `BACKGROUND` teach what is none of the labels.

        Raises:
            ValueError: no label at all, or more examples than `EXAMPLE_LIMIT`.
        """
        labels = tuple(sorted({label for label, _ in examples} - {BACKGROUND}))
        if not labels or len(examples) > EXAMPLE_LIMIT:
            raise ValueError(f"1 to {EXAMPLE_LIMIT} examples of at least one label")
        texts = [text for _, text in examples]
        counts = np.zeros((len(texts), FEATURES), np.float32)
        for row, text in zip(counts, texts, strict=True):
            columns, values = _features(text)
            row[columns] = values
        self._rarity = (np.log((1 + len(texts)) / (1 + (counts > 0).sum(axis=0))) + 1).astype(np.float32)
        rows = counts * self._rarity
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        rows = (rows / np.where(lengths == 0, 1, lengths)).astype(np.float64)
        kernel, share, vectors = rows @ rows.T, 1.0, None
        if self._encoder is not None:
            vectors = (await self._encoder.encode([text[:TEXT_LIMIT] for text in texts])).astype(np.float64)
            share = LEXICAL_SHARE
            kernel = share * kernel + (1 - share) * vectors @ vectors.T
        targets = np.array([[float(label == each) for each in labels] for label, _ in examples])
        weights = np.linalg.solve(kernel + RIDGE * np.eye(len(texts)), targets)
        self._lexical = (share * rows.T @ weights).astype(np.float32)
        self._meaning = None if vectors is None else ((1 - share) * vectors.T @ weights).astype(np.float32)
        self._labels = labels

    async def rank(self, text: str) -> tuple[Ranked, ...]:
        """Score every label for a message, best first."""
        (ranked,) = await self.rank_all([text])
        return ranked

    async def rank_all(self, texts: Sequence[str]) -> list[tuple[Ranked, ...]]:
        """Score every label for each of several messages."""
        rows = [self._by_words(text) for text in texts]
        if self._encoder is not None and self._meaning is not None:
            meant = await self._encoder.encode([text[:TEXT_LIMIT] for text in texts]) @ self._meaning
            rows = [row + more for row, more in zip(rows, meant, strict=True)]
        return [self._ordered(row.tolist()) for row in rows]

    def _ordered(self, scores: list[float]) -> tuple[Ranked, ...]:
        ranked = map(Ranked, self._labels, scores)
        return tuple(sorted(ranked, key=lambda each: -each.score))

    def _by_words(self, text: str) -> NDArray[np.float32]:
        """Score the labels by the few columns that a text has, (labels,)."""
        columns, values = _features(text)
        weighted = values * self._rarity[columns]
        length = math.sqrt(weighted @ weighted) or 1.0
        return np.asarray(weighted @ self._lexical[columns] / length, dtype=np.float32)


def _features(text: str) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
    """Hash words, neighbouring words and character sequences of a folded text into columns, each with its value."""
    words = _WORD.findall(fold(text[:TEXT_LIMIT]))
    line = f" {' '.join(words)} "
    weights: dict[int, float] = {}
    for word in words:
        column = _place(f"w{word}")
        weights[column] = weights.get(column, 0.0) + _WORD_WEIGHT
    for before, after in pairwise(words):
        column = _place(f"p{before} {after}")
        weights[column] = weights.get(column, 0.0) + _PAIR_WEIGHT
    for at in range(len(line) - _GRAM + 1):
        column = _place("g" + line[at : at + _GRAM])
        weights[column] = weights.get(column, 0.0) + _GRAM_WEIGHT
    columns = np.fromiter(weights.keys(), np.intp, len(weights))
    return columns, np.log1p(np.fromiter(weights.values(), np.float32, len(weights)))


@lru_cache(maxsize=PLACES_KEPT)
def _place(part: str) -> int:
    """Hash to a column, the same in every process; what people write repeats, so places are remembered."""
    digest = hashlib.blake2b(part.encode(), digest_size=4).digest()
    return int.from_bytes(digest, "little") % FEATURES
