"""Which language a text is in, among those that the project serves; nothing is downloaded."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

WORDS_NEEDED: Final = 4
"""From this many words on the text itself decides; shorter ones take the caller's language."""
_READ_LIMIT: Final = 4_000
_WORD: Final = re.compile(r"[^\W\d_]+")


def detect(text: str, languages: tuple[str, ...], otherwise: str) -> str:
    """Tell the ISO 639-1 code of a text among `languages`; `otherwise` for texts under four words."""
    words = _WORD.findall(text[:_READ_LIMIT])
    if len(words) < WORDS_NEEDED:
        return otherwise
    if len(languages) == 1:
        return languages[0]
    label, _ = _identifier(languages).classify(" ".join(words))
    return str(label)


@lru_cache(maxsize=32)
def _identifier(languages: tuple[str, ...]) -> LanguageIdentifier:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages(languages)
    return identifier
