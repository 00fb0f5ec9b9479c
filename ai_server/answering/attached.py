"""Files that a person sent with their questions, as passages for generators that quote instead of reading a prompt."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ai_server.answering.markers import inert
from ai_server.providers.contract import Passage
from shared.text import fold

if TYPE_CHECKING:
    from ai_server.answering.contract import AnswerInput

WORD: Final = re.compile(r"\w+")
_PICTURE_WORDS: Final = (
    "image images picture pictures photo photos photograph screenshot see seen show shows shown here both "
    "capture ecran photographie montre montrent montrer voir voit vois voyez ici deux "
    "imagen imagenes foto fotos captura pantalla muestra muestran ve ves mira aqui ambos"
)
OF_A_PICTURE: Final = frozenset(_PICTURE_WORDS.split())
"""Words of a question that are about a picture, folded."""


def files(asked: AnswerInput) -> tuple[Passage, ...]:
    """Make the files passages without a marker, the latest first: an index does not hold them, so none is cited."""
    return tuple(
        Passage("", inert(name), "", inert(text), "", (), quotable=True)
        for name, text in reversed(asked.attached_texts)
    )


def question_for_files(asked: AnswerInput) -> str:
    """Leave out what a question asks of a picture that cannot be looked at, where files came along: what is left is
    looked up in them.
    """
    if asked.image is None or not asked.attached_texts:
        return asked.question
    return WORD.sub(lambda word: "" if fold(word[0]) in OF_A_PICTURE else word[0], asked.question)
