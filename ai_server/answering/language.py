"""Which language a turn is answered in, among those of the project."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ai_server.knowledge.language import told

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_server.answering.contract import HistoryMessage

LOOK_BACK: Final = 6
"""Latest messages among which the person's own are asked where the question does not tell."""


def turn_language(question: str, hint: str, history: Sequence[HistoryMessage], languages: tuple[str, ...]) -> str:
    """Choose the language: the question's where it is certain, since people do not write in the language of the page
    that they are on; else that of what the person wrote before; else the hint; else what is likeliest, or the project's
    first.
    """
    asked = told(question, languages)
    if asked.certain:
        return asked.language
    for each in reversed(history[-LOOK_BACK:]):
        if each.role == "user" and (before := told(each.text, languages)).certain:
            return before.language
    hinted = hint.replace("_", "-").partition("-")[0].casefold()
    return hinted if hinted in languages else asked.language or languages[0]
