"""A few-shot classifier: examples of each label in, a score for each label out. No training run, no model call.

Kernel ridge regression (closed form) over two similarities: words and character sequences, and, where an encoder is
handed in, meaning. A score near 1 means "like the examples of this label", near 0 "like none of them", which is what
makes out-of-scope requests visible; a softmax over labels would hide them. Figures: `docs/intents.md`.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Protocol

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


@dataclass(frozen=True, slots=True)
class Ranked:
    """A label with its score, best first in any list of these."""

    label: str
    score: float


class ExampleModel:
    """Fitted once by `fit`; then `rank` costs one matrix product, and one encoder call where there is an encoder."""

    def __init__(self, encoder: SentenceEncoder | None = None) -> None:
        """Take the encoder; without one only words count."""
        self._encoder = encoder
        self._labels: tuple[str, ...] = ()
        self._rarity: NDArray[np.float32] = np.ones(FEATURES, np.float32)
        self._words: NDArray[np.float32] = np.zeros((0, FEATURES), np.float32)
        self._vectors: NDArray[np.float32] | None = None
        self._weights: NDArray[np.float32] = np.zeros((0, 0), np.float32)

    async def fit(self, examples: Sequence[tuple[str, str]]) -> None:
        """Learn from (label, text) pairs; texts under `BACKGROUND` teach what is none of the labels.

        Raises:
            ValueError: no label at all, or more examples than `EXAMPLE_LIMIT`.
        """
        self._labels = tuple(sorted({label for label, _ in examples} - {BACKGROUND}))
        if not self._labels or len(examples) > EXAMPLE_LIMIT:
            raise ValueError(f"1 to {EXAMPLE_LIMIT} examples of at least one label")
        texts = [text for _, text in examples]
        counts = np.stack([_features(text) for text in texts])
        self._rarity = (np.log((1 + len(texts)) / (1 + (counts > 0).sum(axis=0))) + 1).astype(np.float32)
        self._words = _unit(counts * self._rarity)
        self._vectors = await self._encoder.encode([text[:TEXT_LIMIT] for text in texts]) if self._encoder else None
        targets = np.array([[float(label == each) for each in self._labels] for label, _ in examples])
        kernel = self._kernel(self._words, self._vectors).astype(np.float64)
        self._weights = np.linalg.solve(kernel + RIDGE * np.eye(len(texts)), targets).astype(np.float32)

    async def rank(self, text: str) -> tuple[Ranked, ...]:
        """Score every label for a message, best first."""
        (ranked,) = await self.rank_all([text])
        return ranked

    async def rank_all(self, texts: Sequence[str]) -> list[tuple[Ranked, ...]]:
        """Score every label for each of several messages."""
        words = _unit(np.stack([_features(text) for text in texts]) * self._rarity)
        vectors = await self._encoder.encode([text[:TEXT_LIMIT] for text in texts]) if self._encoder else None
        scores = self._kernel(words, vectors) @ self._weights
        order = np.argsort(-scores, axis=1, kind="stable")
        return [
            tuple(Ranked(self._labels[at], float(row[at])) for at in best)
            for row, best in zip(scores, order, strict=True)
        ]

    def _kernel(self, words: NDArray[np.float32], vectors: NDArray[np.float32] | None) -> NDArray[np.float32]:
        lexical = words @ self._words.T
        if vectors is None or self._vectors is None:
            return lexical
        meaning = vectors @ self._vectors.T
        return np.asarray(LEXICAL_SHARE * lexical + (1 - LEXICAL_SHARE) * meaning, dtype=np.float32)


def _features(text: str) -> NDArray[np.float32]:
    """Hash words, neighbouring words and character sequences of a folded text, (FEATURES,)."""
    words = _WORD.findall(fold(text[:TEXT_LIMIT]))
    line = f" {' '.join(words)} "
    counts = np.zeros(FEATURES, np.float32)
    for word in words:
        counts[_place("w", word)] += _WORD_WEIGHT
    for before, after in pairwise(words):
        counts[_place("p", f"{before} {after}")] += _PAIR_WEIGHT
    for at in range(len(line) - _GRAM + 1):
        counts[_place("g", line[at : at + _GRAM])] += _GRAM_WEIGHT
    return np.asarray(np.log1p(counts), dtype=np.float32)


def _place(kind: str, text: str) -> int:
    """Hash to a column, the same in every process."""
    digest = hashlib.blake2b(f"{kind}{text}".encode(), digest_size=4).digest()
    return int.from_bytes(digest, "little") % FEATURES


def _unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths == 0, 1, lengths), dtype=np.float32)
