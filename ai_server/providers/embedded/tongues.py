"""What is said where the passages that answer are in another language than the question; one sentence, before them."""

from __future__ import annotations

from typing import Final

FALLBACK: Final = "en"

_ONLY_IN: Final = {
    "fr": "Je n’ai trouvé la réponse qu’en {language} :",
    "en": "I found the answer only in {language}:",
    "es": "Solo he encontrado la respuesta en {language}:",
}
_NAMES: Final = {
    "fr": {"fr": "français", "en": "anglais", "es": "espagnol"},
    "en": {"fr": "French", "en": "English", "es": "Spanish"},
    "es": {"fr": "francés", "en": "inglés", "es": "español"},
}
_ELSEWHERE: Final = {
    "fr": "Je n’ai trouvé la réponse que dans une autre langue :",
    "en": "I found the answer only in another language:",
    "es": "Solo he encontrado la respuesta en otro idioma:",
}


def only_in(found: str, reader: str) -> str:
    """Say to a reader of one language that the answer was found in another; codes are ISO 639-1."""
    told = reader if reader in _ONLY_IN else FALLBACK
    name = _NAMES[told].get(found)
    return _ELSEWHERE[told] if name is None else _ONLY_IN[told].format(language=name)
