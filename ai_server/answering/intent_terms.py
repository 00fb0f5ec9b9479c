"""The search terms in a request, the steps in which a search widens, and what to suggest when it found nothing."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

import Stemmer

from ai_server.answering import intent_words as words
from ai_server.connectors.contract import TERMS_LIMIT, SearchRequest
from ai_server.knowledge.stop_words import STOP_WORDS
from shared.text import fold

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

SUGGESTION_LIMIT: Final = 5
SHORTEST_STEM: Final = 4
SHORTEST_SUGGESTION: Final = 2
WORD_LIMIT: Final = 40
"""Words of a message that are read for terms."""

_PIECE: Final = re.compile(r"[^\W_]+(?:[.+#@_&/]+[^\W_]+|[+#]+)*|\w+", re.UNICODE)
_STEMMED: Final = {"fr": "french", "en": "english", "es": "spanish"}


class Word(NamedTuple):
    """One word of a message as it was written, and folded."""

    text: str
    folded: str


def read_words(text: str) -> tuple[Word, ...]:
    """Split a message into words; "c++", "node.js" and "parse_date" are one word each."""
    return tuple(Word(found[0], fold(found[0])) for found in islice(_PIECE.finditer(text), WORD_LIMIT))


def folded(sequence: Iterable[Word]) -> tuple[str, ...]:
    """Give the folded forms."""
    return tuple(each.folded for each in sequence)


def without_politeness(message: Sequence[Word]) -> tuple[Word, ...]:
    """Drop greetings and thanks around a request, as long as something is left."""
    forms, begin = folded(message), 0
    while (size := words.POLITE_LEADS.at(forms, begin)) and begin + size < len(forms):
        begin += size
    end = len(forms) - words.POLITE_TAILS.at_end(forms[begin:])
    return tuple(message[begin:end])


def terms_of(message: Sequence[Word], hints: Collection[str]) -> tuple[str, ...]:
    """Give the words to search for: no articles before them, no hint ("film") in front where more is left.

    What follows a hint keeps its article, because titles have one ("la série The Office"), unless a word links it
    ("le dépôt de la vitrine").
    """
    left = _trimmed(message, words.ARTICLES)
    while len(left) > 1 and left[0].folded in hints:
        linked = len(left) > 1 and left[1].folded in words.LINKS
        shorter = _trimmed(left[1:], words.ARTICLES | words.LINKS if linked else ())
        if not shorter:
            break
        left = shorter
    texts = [each.text for each in left]
    while texts and len(" ".join(texts)) > TERMS_LIMIT:
        texts.pop()
    return tuple(texts)


def _trimmed(message: Sequence[Word], before: Collection[str]) -> tuple[Word, ...]:
    left = tuple(message)
    while left and left[0].folded in before:
        left = left[1:]
    while left and left[-1].folded in words.ARTICLES:
        left = left[:-1]
    return left


def widening_steps(
    terms: Sequence[str], endpoint: str, parameters: Mapping[str, str], language: str
) -> tuple[SearchRequest, ...]:
    """List the requests of one search, from what was asked to what is only like it.

    As asked; without what narrows it; folded and without function words; by word stems. Single words are not among
    them: whether "xenomorph" alone will do is for the person to say, so they are suggested instead.
    """
    asked = " ".join(terms)
    meant = " ".join(_meant(terms, language)) or fold(asked)
    steps = [
        SearchRequest(endpoint, asked, parameters),
        SearchRequest(endpoint, asked, {}, wide=True),
        SearchRequest(endpoint, meant, {}, wide=True),
        SearchRequest(endpoint, _stemmed(meant, language), {}, wide=True),
    ]
    kept = {(step.terms, step.wide): step for step in steps if step.terms}
    return tuple(kept.values())


def suggestions(terms: Sequence[str], tried: Collection[str], language: str) -> tuple[str, ...]:
    """Words of a failed search that are worth trying alone: no function words, none that was tried (folded)."""
    kept = {fold(word): word for word in terms if _speaks(word, language)}
    fresh = [word for key, word in kept.items() if key not in tried]
    return tuple(fresh[:SUGGESTION_LIMIT]) if len(kept) > 1 else ()


def _speaks(word: str, language: str) -> bool:
    return len(word) >= SHORTEST_SUGGESTION and fold(word) not in STOP_WORDS.get(language, frozenset()) | words.ARTICLES


def _meant(terms: Sequence[str], language: str) -> list[str]:
    return [fold(word) for word in terms if _speaks(word, language)]


def _stemmed(terms: str, language: str) -> str:
    """Shorten words to their stem where the stem begins the word, so that it still is found inside it."""
    if language not in _STEMMED:
        return terms
    stemmer = Stemmer.Stemmer(_STEMMED[language])
    pairs = [(word, stemmer.stemWord(word)) for word in terms.split()]
    return " ".join(stem if len(stem) >= SHORTEST_STEM and word.startswith(stem) else word for word, stem in pairs)
