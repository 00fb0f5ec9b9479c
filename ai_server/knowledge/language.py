"""Which language a text is in, among those that the project serves; nothing is downloaded."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

WORDS_NEEDED: Final = 4
"""From this many words on the text itself decides; shorter ones take the caller's language."""
MESSAGE_CHARACTERS: Final = 160
"""Of a message that are looked at: its language shows in its first words. Against the first 1,000 this changes nothing
on the handed sets (`docs/intents.md`)."""
MESSAGES_KEPT: Final = 1_024
"""Messages whose language is remembered: a turn asks for it where it answers and where it searches."""
_READ_LIMIT: Final = 4_000
_WORD: Final = re.compile(r"[^\W\d_]+")


def detect(text: str, languages: tuple[str, ...], otherwise: str) -> str:
    """Tell the ISO 639-1 code of a text among `languages`; `otherwise` for texts under four words."""
    return _told(text[:_READ_LIMIT], languages) or otherwise


def detect_message(text: str, languages: tuple[str, ...], otherwise: str) -> str:
    """Tell the language of what somebody wrote, by its first words; otherwise as `detect`."""
    return _remembered(text[:MESSAGE_CHARACTERS], languages) or otherwise


def _told(text: str, languages: tuple[str, ...]) -> str:
    words = _WORD.findall(text)
    if len(words) < WORDS_NEEDED:
        return ""
    if len(languages) == 1:
        return languages[0]
    label, _ = _identifier(languages).classify(" ".join(words))
    return str(label)


_remembered: Final = lru_cache(maxsize=MESSAGES_KEPT)(_told)


@lru_cache(maxsize=32)
def _identifier(languages: tuple[str, ...]) -> LanguageIdentifier:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages(languages)
    # As handed out the table is half precision in column order, which every lookup of a few rows would convert.
    identifier.nb_ptc = np.ascontiguousarray(identifier.nb_ptc, dtype=np.float32)
    return identifier
