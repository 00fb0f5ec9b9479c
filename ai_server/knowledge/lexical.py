"""Words: folded accents, stems, BM25, and how much of a question's rarity each passage covers.

BM25 is given as a share: the score divided by the most that the question's words could score. A share means the
same in a corpus of ten passages and of a hundred thousand, so it can be added to a cosine as it is, and a question
in another language than the passage gets little from it unless names and numbers match (decision 0020).
"""

from __future__ import annotations

import re
from functools import lru_cache
from threading import Lock
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
    return terms_of([text], language)[0]


def terms_of(pieces: Sequence[str], language: str) -> list[list[str]]:
    """Give the terms of each piece of one text."""
    found = [_WORD.findall(piece.casefold()) for piece in pieces]
    kept = [[term for term in (_term(word, language) for word in words) if term] for words in found]
    return kept if any(kept) else [[fold(word) for word in words] for words in found]


_numbers: dict[str, int] = {}
"""Every term that a passage of this process ever had, so that an index is built from numbers alone."""
_numbering = Lock()


def numbered(found: Sequence[str]) -> NDArray[np.int32]:
    """Give the terms of a passage as numbers, the same for the same term as long as the process lives."""
    with _numbering:
        return np.array([_numbers.setdefault(term, len(_numbers)) for term in found], dtype=np.int32)


class LexicalIndex:
    """An immutable BM25 index over passages, row by row as they were given.

    Built by sorting, which lets other threads run: a hundred thousand passages are indexed again with each change.
    """

    def __init__(self, words: NDArray[np.int32], lengths: NDArray[np.int64]) -> None:
        """Index the `numbered` terms of passages, end to end, `lengths` of them each; none at all is fine."""
        self._count = len(lengths)
        self._rarest = float(_rarities(np.zeros(1), self._count)[0])
        postings = words.astype(np.int64)
        postings *= max(self._count, 1)
        postings += np.repeat(np.arange(self._count), lengths)
        postings.sort()
        begins = np.flatnonzero(np.diff(postings, prepend=-1))
        often = np.diff(begins, append=len(postings))
        terms_held, rows = np.divmod(postings[begins], max(self._count, 1))
        self._rows = rows.astype(np.int32)
        self._terms, starts = np.unique(terms_held, return_index=True)
        self._starts = np.append(starts, len(rows))
        self._rarities = _rarities(np.diff(self._starts), self._count)
        damped = _K1 * (1 - _B + _B * lengths[rows] / max(lengths.mean() if len(lengths) else 0.0, 1e-9))
        weights = np.repeat(self._rarities, np.diff(self._starts)) * often / (often + damped)
        self._data = weights.astype(np.float32)

    def rarity(self, term: str) -> float:
        """Tell a term's inverse document frequency; a term that no passage holds is the rarest."""
        place = self._place(term)
        return self._rarest if place is None else float(self._rarities[place])

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
            place = self._place(term)
            if place is None:
                continue
            start, stop = self._starts[place], self._starts[place + 1]
            rows = self._rows[start:stop]
            shares[rows] += self._data[start:stop]
            covered[rows] += self._rarities[place]
        if total > 0:
            shares /= total
            covered /= total
        return shares, covered

    def weights(self, question: Sequence[str]) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Give the numbers of a question's terms that some passage had, ascending, and the share of rarity of each."""
        different = list(dict.fromkeys(question))[:QUESTION_TERMS]
        total = sum(self.rarity(term) for term in different)
        found = sorted((_numbers[term], self.rarity(term) / total) for term in different if term in _numbers)
        numbers, shares = zip(*found, strict=True) if found else ((), ())
        return np.array(numbers, np.int32), np.array(shares, np.float32)

    def _place(self, term: str) -> int | None:
        """Find a term among those that some passage holds."""
        number = _numbers.get(term, -1)
        place = int(np.searchsorted(self._terms, number))
        return place if place < len(self._terms) and self._terms[place] == number else None


def _rarities(holders: NDArray[np.int64] | NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """Inverse document frequencies, as Lucene has them, of terms that so many of `count` passages hold."""
    return np.log(1 + (count - holders + 0.5) / (holders + 0.5))
