"""Plain greetings, which are answered here: no documents, no model, no cost."""

from __future__ import annotations

import re
from typing import Final

from shared.text import fold

LONGEST: Final = 60
_GREETINGS: Final = """
bonjour bonsoir salut coucou hello hi hey yo hola buenas re allo good-morning good-evening good-afternoon buenos-dias
buenas-tardes buenas-noches bonne-journee hi-there hello-there hey-there rebonjour wesh saludos
"""
_POLITE: Final = """
ca-va comment-ca-va comment-allez-vous how-are-you how-are-you-doing que-tal como-estas como-esta tout-le-monde
a-tous a-toutes everyone all monsieur madame there
"""


def _choice(words: str) -> str:
    return "|".join(re.escape(each).replace(r"\-", r"\s+") for each in sorted(words.split(), key=len, reverse=True))


GREETING: Final = re.compile(rf"(?:{_choice(_GREETINGS)})(?:\s+(?:{_choice(_GREETINGS)}|{_choice(_POLITE)}))*")
_MARKS: Final = re.compile(r"[^\w\s]+")


def is_greeting(question: str) -> bool:
    """Tell whether a message is a greeting and nothing else: `Bonjour !` is, `Bonjour, comment payer ?` is not."""
    if len(question) > LONGEST:
        return False
    return GREETING.fullmatch(" ".join(_MARKS.sub(" ", fold(question)).split())) is not None
