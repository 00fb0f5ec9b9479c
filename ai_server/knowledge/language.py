"""Which language a text is in, among those that the project serves; nothing is downloaded."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from ai_server.knowledge.stop_words import STOP_WORDS
from shared.text import fold

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

WORDS_NEEDED: Final = 4
"""From this many words on a document's own text decides; a shorter one takes what its source says."""
MESSAGE_CHARACTERS: Final = 160
"""Of a message that are looked at: its language shows in its first words. Against the first 1,000 this changes nothing
on the handed sets (`docs/intents.md`)."""
MESSAGES_KEPT: Final = 1_024
"""Messages whose language is remembered: a turn asks for it where it answers and where it searches."""
FEWEST_WORDS: Final = 2
"""One word is a name as often as not: nothing is told from it, unless it is a function word."""
SURE: Final = 0.8
"""The model's belief, 0 to 1, from which a message whose words do not decide is certain all the same; chosen on the
handed sets (`docs/intents.md`), as is the next one."""
SURE_SHORT: Final = 0.95
"""The same for a message under `WORDS_NEEDED` words."""
_READ_LIMIT: Final = 4_000
_WORD: Final = re.compile(r"[^\W\d_]+")
_SPANISH: Final = re.compile("[¿¡]")
"""What nobody else writes: "¿Hay cookies?"."""
_MARKS: Final = {"es": re.compile("ñ", re.IGNORECASE), "fr": re.compile("[çœèêàùîëïâô]", re.IGNORECASE)}
"""What one language writes and the others of the three do not."""


class Told(NamedTuple):
    """The likeliest language of a message, "" where nothing tells; whether it is certain."""

    language: str
    certain: bool


def detect(text: str, languages: tuple[str, ...], otherwise: str) -> str:
    """Tell the ISO 639-1 code of a text among `languages`; `otherwise` for texts under four words."""
    words = _WORD.findall(text[:_READ_LIMIT])
    if len(words) < WORDS_NEEDED:
        return otherwise
    return _likeliest(" ".join(words), languages)[0]


def told(text: str, languages: tuple[str, ...]) -> Told:
    """Tell the language of what somebody wrote, by its first words: its function words, and what a model believes."""
    return _told(text[:MESSAGE_CHARACTERS], languages)


def detect_message(text: str, languages: tuple[str, ...], otherwise: str) -> str:
    """Tell the language of what somebody wrote where it is certain; `otherwise` where not."""
    found = told(text, languages)
    return found.language if found.certain else otherwise


@lru_cache(maxsize=MESSAGES_KEPT)
def _told(text: str, languages: tuple[str, ...]) -> Told:
    words = _WORD.findall(text)
    if not words:
        return Told("", certain=False)
    if "es" in languages and _SPANISH.search(text):
        return Told("es", certain=True)
    likeliest, belief = _likeliest(" ".join(words), languages)
    leader = _leader(text, words, languages)
    if leader:
        return Told(leader, certain=leader == likeliest)  # where they differ, its words are right more often
    if len(words) < FEWEST_WORDS:
        return Told("", certain=False)
    return Told(likeliest, certain=belief >= (SURE if len(words) >= WORDS_NEEDED else SURE_SHORT))


def _leader(text: str, words: list[str], languages: tuple[str, ...]) -> str:
    """Name the language of which most words and marks are that no other one of these has; "" for none or several."""
    votes = {language: len(_MARKS[language].findall(text)[:1]) for language in languages if language in _MARKS}
    for word in map(fold, words):
        holders = [language for language in languages if word in STOP_WORDS.get(language, ())]
        if len(holders) == 1:
            votes[holders[0]] = votes.get(holders[0], 0) + 1
    most = max(votes.values(), default=0)
    leaders = [language for language, count in votes.items() if count == most]
    return leaders[0] if most and len(leaders) == 1 else ""


def _likeliest(text: str, languages: tuple[str, ...]) -> tuple[str, float]:
    if len(languages) == 1:
        return languages[0], 1.0
    label, belief = _identifier(languages).classify(text)
    return str(label), float(belief)


@lru_cache(maxsize=32)
def _identifier(languages: tuple[str, ...]) -> LanguageIdentifier:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages(languages)
    # As handed out the table is half precision in column order, which every lookup of a few rows would convert.
    identifier.nb_ptc = np.ascontiguousarray(identifier.nb_ptc, dtype=np.float32)
    return identifier
