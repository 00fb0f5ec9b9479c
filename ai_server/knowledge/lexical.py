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
NEAR_FROM: Final = 5
"""Letters that a term has at least for which a near one is looked up; shorter ones have too many neighbours."""
NEAR_SHARE: Final = 0.7
"""What a near term counts beside the term itself (decision 0088)."""
NEAR_TERMS: Final = 8
"""Most terms of a question that no passage holds for which near ones are looked up: about half a millisecond each."""
_NEAR_KEPT: Final = 1_024
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
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
        self._near = lru_cache(maxsize=_NEAR_KEPT)(self._nearest)

    def rarity(self, term: str) -> float:
        """Tell a term's inverse document frequency; a term that no passage holds is the rarest."""
        place = self._place(term)
        return self._rarest if place is None else float(self._rarities[place])

    def match(self, question: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Score every passage against the question's terms.

        A term that no passage holds stands for the one it was probably meant to be, at `NEAR_SHARE` of its weight.

        Returns:
            Two (n,) float32 arrays from 0 to 1: the BM25 share, and the share of the question's rarity that the
            passage covers, each different term once.
        """
        shares = np.zeros(self._count, dtype=np.float32)
        covered = np.zeros(self._count, dtype=np.float32)
        found, total = self._found(question)
        for place, part in found:
            start, stop = self._starts[place], self._starts[place + 1]
            rows = self._rows[start:stop]
            shares[rows] += part * self._data[start:stop]
            covered[rows] += part * self._rarities[place]
        if total > 0:
            shares /= total
            covered /= total
        return shares, covered

    def weights(self, question: Sequence[str]) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Give the numbers of the terms that `match` finds, ascending, and the share of rarity of each."""
        found, total = self._found(question)
        parts: dict[int, float] = {}
        for place, part in found:
            number = int(self._terms[place])
            parts[number] = parts.get(number, 0.0) + part * float(self._rarities[place]) / total
        numbers = sorted(parts)
        return np.array(numbers, np.int32), np.array([parts[number] for number in numbers], np.float32)

    def _found(self, question: Sequence[str]) -> tuple[list[tuple[int, float]], float]:
        """Look the question's terms up: places of those held or near, with what each counts; and all its rarity."""
        found: list[tuple[int, float]] = []
        total = 0.0
        unheard = 0
        for term in list(dict.fromkeys(question))[:QUESTION_TERMS]:
            place, part = self._place(term), 1.0
            if place is None and unheard < NEAR_TERMS:
                unheard += 1
                place, part = self._near(term), NEAR_SHARE
            total += self._rarest if place is None else float(self._rarities[place])
            if place is not None:
                found.append((place, part))
        return found, total

    def _nearest(self, term: str) -> int | None:
        """Find the term that most passages hold among those one slip away, which never changes the first letter.

        A slip leaves out, doubles, swaps or mistakes a letter. Numbers have no neighbours: another number is another.
        """
        if len(term) < NEAR_FROM or not term.isalpha():
            return None
        known = sorted(each for each in _slips(term) if each in _numbers)
        places = [place for each in known if (place := self._place(each)) is not None]
        return max(places, key=lambda place: self._starts[place + 1] - self._starts[place], default=None)

    def _place(self, term: str) -> int | None:
        """Find a term among those that some passage holds."""
        number = _numbers.get(term)
        if number is None:
            return None
        place = int(np.searchsorted(self._terms, number))
        return place if place < len(self._terms) and self._terms[place] == number else None


def _slips(term: str) -> set[str]:
    """Write a term with one letter behind the first too few, too many, another, or swapped with the next."""
    cuts = [(term[:place], term[place:]) for place in range(1, len(term) + 1)]
    short = {before + after[1:] for before, after in cuts}
    swapped = {before + after[1::-1] + after[2:] for before, after in cuts}
    wrong = {before + letter + after[1:] for before, after in cuts for letter in _LETTERS}
    return short | swapped | wrong | {before + letter + after for before, after in cuts for letter in _LETTERS}


def _rarities(holders: NDArray[np.int64] | NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """Inverse document frequencies, as Lucene has them, of terms that so many of `count` passages hold."""
    return np.log(1 + (count - holders + 0.5) / (holders + 0.5))
