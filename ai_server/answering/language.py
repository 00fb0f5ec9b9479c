"""Which language a turn is answered in, among those of the project."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Final

from ai_server.knowledge.language import detect_message

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_server.answering.contract import HistoryMessage

SURE_WORDS: Final = 6
"""From this many words on the question's own language wins over the caller's belief: people do not write in the
language of the page that they are on."""

_WORD: Final = re.compile(r"[^\W\d_]+")


def turn_language(question: str, hint: str, history: Sequence[HistoryMessage], languages: tuple[str, ...]) -> str:
    """Choose the language: the question where it says enough, else the hint, else the conversation, else the
    project's first.
    """
    hinted = hint.replace("_", "-").partition("-")[0].casefold()
    told = detect_message(question, languages, otherwise="")
    if hinted in languages:
        return told if told and sum(1 for _ in islice(_WORD.finditer(question), SURE_WORDS)) == SURE_WORDS else hinted
    if told:
        return told
    said = " ".join(each.text for each in history[-6:] if each.role == "user")
    return detect_message(said, languages, otherwise=languages[0])
