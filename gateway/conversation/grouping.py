"""Puts questions that ask the same thing together, so that someone can see what to write next. Words only, no model."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from shared.text import fold

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

ALIKE: Final = 0.6
"""Share of words (of both questions together) from which two questions count as the same: 3 of 5."""
WORD: Final = re.compile(r"\w+")
SHORTEST: Final = 3
EXAMPLES: Final = 5
STOP_WORDS: Final = frozenset(
    fold(
        "a the an is are am was were be been do does did can could how what when where which who why my your our their "
        "this that these those with from for and not you they have has had will would should there about into "
        "un une des les aux dans sur pour par avec est sont ete etre avoir comment quel quelle quels quelles quand "
        "pourquoi qui que quoi mon mes ton tes ses nos vos leur leurs cette ces pas plus peut puis peux faire fait "
        "bonjour merci vous nous elle ils elles votre notre "
        "una unos unas los las del para con por como cual cuales cuando donde quien mis tus sus esta este estos estas "
        "puedo puede hacer hay son ser esta estan hola gracias usted ustedes hello please "
    ).split()
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question that found no answer; `cause` is `insufficient` or `escalated`."""

    text: str
    cause: str
    turn_id: str | None
    conversation_id: str
    language: str
    asked_at: datetime


@dataclass(slots=True)
class Group:
    """Questions that ask the same thing; the newest ones are the examples.

    A question that found no answer and then led to a person is one question with two causes: it counts once.
    """

    words: frozenset[str]
    text: str
    last_at: datetime
    count: int = 0
    insufficient_count: int = 0
    escalated_count: int = 0
    examples: list[Asked] = field(default_factory=list)
    _turns: set[str] = field(default_factory=set)

    def take(self, asked: Asked) -> None:
        """Count one more."""
        is_new = asked.turn_id is None or asked.turn_id not in self._turns
        if asked.turn_id is not None:
            self._turns.add(asked.turn_id)
        self.count += is_new
        self.insufficient_count += asked.cause == "insufficient"
        self.escalated_count += asked.cause == "escalated"
        self.last_at = max(self.last_at, asked.asked_at)
        if is_new and len(self.examples) < EXAMPLES:
            self.examples.append(asked)


def group(questions: Iterable[Asked]) -> list[Group]:
    """Group questions, the most asked first; among equals the newest first."""
    groups: list[Group] = []
    for asked in sorted(questions, key=lambda each: each.asked_at, reverse=True):
        words = words_of(asked.text)
        found = next((each for each in groups if alike(words, each.words)), None)
        if found is None:
            found = Group(words, asked.text, asked.asked_at)
            groups.append(found)
        found.take(asked)
    return sorted(groups, key=lambda each: (each.count, each.last_at), reverse=True)


def words_of(text: str) -> frozenset[str]:
    """Reduce a question to the words that matter, without accents, case and plural endings."""
    words = WORD.findall(fold(text))
    kept = {_stem(word) for word in words if len(word) >= SHORTEST and word not in STOP_WORDS}
    return frozenset(kept or words)


def alike(one: frozenset[str], other: frozenset[str]) -> bool:
    """Tell whether two sets of words ask the same thing."""
    together = len(one | other)
    return together > 0 and len(one & other) / together >= ALIKE


def _stem(word: str) -> str:
    return word[:-1] if len(word) > SHORTEST and word.endswith(("s", "x")) else word
