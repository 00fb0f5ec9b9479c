"""Words: folded accents, stems, BM25, and how much of a question's rarity each passage covers.

BM25 is given as a share: the score divided by the most that the question's words could score. A share means the
same in a corpus of ten passages and of a hundred thousand, so it can be added to a cosine as it is, and a question
in another language than the passage gets little from it unless names and numbers match (decision 0020).
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np
import Stemmer

from ai_server.knowledge.stop_words import STOP_WORDS
from shared.text import fold

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_WORD: Final = re.compile(r"\w+")
_K1: Final = 0.9
_B: Final = 0.4
QUESTION_TERMS: Final = 64
"""Most different terms of a question that are looked up; the rest of a very long one is left out."""
_ALGORITHMS: Final = {
    "fr": "french",
    "en": "english",
    "es": "spanish",
    "de": "german",
    "it": "italian",
    "pt": "portuguese",
    "nl": "dutch",
}
"""Snowball stemmers by ISO 639-1 code; a language that is not here is compared word by word."""


@lru_cache(maxsize=16)
def _stemmer(language: str) -> Stemmer.Stemmer | None:
    algorithm = _ALGORITHMS.get(language)
    return Stemmer.Stemmer(algorithm) if algorithm else None


@lru_cache(maxsize=200_000)
def _term(word: str, language: str) -> str:
    """Give the folded stem of a case-folded word, or nothing for a function word."""
    folded = fold(word)
    if folded in STOP_WORDS.get(language, frozenset()):
        return ""
    stemmer = _stemmer(language)
    return fold(stemmer.stemWord(word)) if stemmer else folded


def terms(text: str, language: str) -> list[str]:
    """Cut text into what is indexed and searched: stems without accents and function words, in order.

    A text of nothing but function words keeps them, so that it can still be searched.
    """
    found = _WORD.findall(text.casefold())
    kept = [term for term in (_term(word, language) for word in found) if term]
    return kept or [fold(word) for word in found]


class LexicalIndex:
    """An immutable BM25 index over passages, row by row as they were given."""

    def __init__(self, documents: Sequence[Sequence[str]]) -> None:
        """Index the terms of each passage; empty passages and an empty corpus are fine."""
        import bm25s

        self._count = len(documents)
        vocabulary: dict[str, int] = {}
        ids = [[vocabulary.setdefault(term, len(vocabulary)) for term in document] for document in documents]
        self._vocabulary = vocabulary
        self._rarest = math.log(1 + (self._count + 0.5) / 0.5)
        if not vocabulary:
            self._data = np.zeros(0, np.float32)
            self._rows = np.zeros(0, np.int32)
            self._starts = np.zeros(1, np.int64)
            return
        model = bm25s.BM25(k1=_K1, b=_B, method="lucene")
        model.index((ids, vocabulary), create_empty_token=False, show_progress=False)
        self._data = np.asarray(model.scores["data"], dtype=np.float32)
        self._rows = np.asarray(model.scores["indices"], dtype=np.int32)
        self._starts = np.asarray(model.scores["indptr"], dtype=np.int64)

    def rarity(self, term: str) -> float:
        """Tell a term's inverse document frequency; a term that no passage holds is the rarest."""
        number = self._vocabulary.get(term)
        if number is None:
            return self._rarest
        holders = int(self._starts[number + 1] - self._starts[number])
        return math.log(1 + (self._count - holders + 0.5) / (holders + 0.5))

    def match(self, question: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Score every passage against the question's terms.

        Returns:
            Two (n,) float32 arrays from 0 to 1: the BM25 share, and the share of the question's rarity that the
            passage covers, each different term once.
        """
        shares = np.zeros(self._count, dtype=np.float32)
        covered = np.zeros(self._count, dtype=np.float32)
        different = list(dict.fromkeys(question))[:QUESTION_TERMS]
        total = sum(self.rarity(term) for term in different)
        for term in different:
            number = self._vocabulary.get(term)
            if number is None:
                continue
            start, stop = self._starts[number], self._starts[number + 1]
            rows = self._rows[start:stop]
            shares[rows] += self._data[start:stop]
            covered[rows] += self.rarity(term)
        if total > 0:
            shares /= total
            covered /= total
        return shares, covered
